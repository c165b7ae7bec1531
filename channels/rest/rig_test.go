package rest_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/channels/rest"
	"parley/core"
	"parley/core/model"
	"parley/core/tool"
	"parley/core/tool/askuser"
	"parley/core/tool/schema"
	"parley/core/turn"
	"parley/parse"
	"parley/store/bolt"
)

const (
	ana  core.PersonID = "test:ana"
	ben  core.PersonID = "test:ben"
	cleo core.PersonID = "test:cleo"
)

// tokens of the rig: their secrets are their names with "-secret".
var tokens = []rest.Token{
	{Name: "gate", Agents: []core.AgentID{"ops", "child"}, SpeaksFor: []string{"test:*"}, Channels: []string{"chat"}},
	{Name: "one", Agents: []core.AgentID{"ops"}, SpeaksFor: []string{"test:ana"}},
	{Name: "mute", Agents: []core.AgentID{"ops"}},
	{Name: "far", Agents: []core.AgentID{"other"}, SpeaksFor: []string{"test:*"}},
	{Name: "root", Admin: true, SpeaksFor: []string{"test:ana", "test:ben"}},
}

// syncBuffer may be read while others write.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// world is the interface on an engine with a real store.
type world struct {
	t       testing.TB
	path    string
	mu      sync.Mutex
	ahead   time.Duration
	ran     []string
	started chan string // a call of slow__go began
	release chan struct{}
	agents  map[core.AgentID]*turn.Agent
	log     syncBuffer
	limits  func(*rest.Config)

	store  *bolt.Store
	engine *turn.Engine
	api    *rest.API
	server *httptest.Server
	stop   func()
}

func newWorld(t testing.TB) *world { return newWorldWith(t, nil) }

// newWorldWith has other limits.
func newWorldWith(t testing.TB, limits func(*rest.Config)) *world {
	w := &world{
		t: t, limits: limits, path: filepath.Join(t.TempDir(), "parley.db"), started: make(chan string, 100), release: make(chan struct{}), agents: map[core.AgentID]*turn.Agent{},
	}
	for _, id := range []core.AgentID{"ops", "other", "child"} {
		w.agents[id] = &turn.Agent{
			ID: id, Name: strings.ToUpper(string(id)), Model: lineModel{}, Tools: w.tools(), AskUser: true, Ask: true, Human: core.DefaultHumanInput(), Redact: []string{"ssn"},
		}
	}
	w.agents["ops"].Human.Approvers = []core.PersonID{ben}
	w.agents["ops"].Agents = []core.AgentID{"child"}
	w.agents["ops"].MaxInputs = 100
	w.start()
	t.Cleanup(w.end)
	return w
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.ahead)
}

func (w *world) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead += d
}

func newID() string { return strings.ToLower(rand.Text()[:16]) }

func (w *world) start() {
	w.t.Helper()
	store, err := bolt.Open(w.path, bolt.Options{Clock: w.now})
	if err != nil {
		w.t.Fatal(err)
	}
	w.store = store
	w.engine, err = turn.New(turn.Config{
		Store: store, NewID: newID,
		Agents: func(id core.AgentID) (*turn.Agent, bool) { a, ok := w.agents[id]; return a, ok },
		Silent: func(ch string) bool { return ch == rest.Channel },
		Deps: turn.Deps{
			Read: func(in core.Input, m core.Message, _ core.HumanInput) core.Reading {
				return parse.Read(parse.Prompt{Input: in}, m.Text)
			},
			Prepare: schema.Prepare, AskSpecs: askuser.Specs,
			ParseAsk: func(name string, args json.RawMessage) (string, []core.Question, []string) {
				return askuser.Parse(name, args, parse.Fold)
			},
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	all := slices.Clone(tokens)
	for i := range all {
		all[i].Secret = all[i].Name + "-secret"
	}
	c := rest.Config{
		Turns: w.engine, Memory: store, Tokens: all, Now: w.now, NewID: newID,
		Log:    slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Checks: []rest.Check{{Name: "store", Run: func(ctx context.Context) error { _, err := store.Events(ctx, "", 0, 1); return err }}},
		Agents: func(id core.AgentID) (rest.Definition, bool) {
			a, ok := w.agents[id]
			if !ok {
				return rest.Definition{}, false
			}
			return rest.Definition{ID: id, Name: a.Name, Source: "file", Approvers: a.Human.Approvers}, true
		},
	}
	if w.limits != nil {
		w.limits(&c)
	}
	w.api, err = rest.New(c)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := w.engine.Run(ctx); err != nil {
			w.t.Errorf("the engine ended: %v", err)
		}
	})
	w.server = httptest.NewUnstartedServer(w.api)
	w.server.Config.ReadTimeout, w.server.Config.WriteTimeout = readTime, readTime
	w.server.Start()
	w.stop = func() {
		w.api.Close()
		w.server.Close()
		cancel()
		wg.Wait()
		if err := store.Close(); err != nil {
			w.t.Error(err)
		}
	}
}

func (w *world) end() {
	if w.stop != nil {
		w.stop()
		w.stop = nil
	}
}

func (w *world) restart() { w.end(); w.start() }

// effects are the calls that really ran.
func (w *world) effects() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ran)
}

// lineModel makes the calls of the lines "call NAME ARGUMENTS" of the user's message, after their results
// those of the lines "then NAME ARGUMENTS", and then reports the results.
type lineModel struct{}

func (lineModel) Generate(ctx context.Context, req model.Request) (model.Response, error) {
	if err := errors.Join(ctx.Err(), model.Valid(req.Messages)); err != nil {
		return model.Response{}, &model.Error{Sentence: "the history is not valid", Err: err}
	}
	said, replies, results := "", 0, []string(nil)
	for _, m := range req.Messages {
		switch m.Role {
		case model.RoleUser:
			said, replies, results = m.Text, 0, nil
		case model.RoleAssistant:
			replies++
		case model.RoleTool:
			results = append(results, m.Result.Content)
		}
	}
	var calls []model.Call
	for line := range strings.Lines(said) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if replies == 0 && word == "call" || replies == 1 && word == "then" {
			name, args, _ := strings.Cut(rest, " ")
			calls = append(calls, model.Call{Name: name, Arguments: json.RawMessage(args)})
		}
	}
	if len(calls) > 0 {
		return model.Response{Text: "Let me see.", Calls: calls, Stop: model.StopTools}, nil
	}
	return model.Response{Text: "Done: " + strings.Join(results, " | "), Stop: model.StopEnd}, nil
}

type funcTool struct {
	spec tool.Spec
	call func(*tool.Context, json.RawMessage) (string, error)
}

func (t funcTool) Spec() tool.Spec { return t.spec }

func (t funcTool) Call(ctx *tool.Context, args json.RawMessage) (string, error) {
	return t.call(ctx, args)
}

type toolbox []funcTool

func (b toolbox) List() (out []tool.Spec) {
	for _, t := range b {
		out = append(out, t.spec)
	}
	return out
}

func (b toolbox) Lookup(name string) (tool.Tool, bool) {
	for _, t := range b {
		if t.spec.FullName() == name {
			return t, true
		}
	}
	return nil, false
}

func (w *world) did(what string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ran = append(w.ran, what)
	return what, nil
}

func (w *world) tools() toolbox {
	object := json.RawMessage(`{"type":"object"}`)
	need := func(json.RawMessage) (tool.Verdict, error) { return tool.Verdict{Need: true, Rule: "always"}, nil }
	plain := func(source, name string, p tool.Policy, f func(*tool.Context, json.RawMessage) (string, error)) funcTool {
		return funcTool{tool.Spec{Source: source, Name: name, Type: core.ToolAction, Policy: p, Schema: object}, f}
	}
	return toolbox{
		plain("db", "drop", need, func(_ *tool.Context, args json.RawMessage) (string, error) { return w.did("drop " + string(args)) }),
		plain("log", "write", nil, func(_ *tool.Context, args json.RawMessage) (string, error) { return w.did("write " + string(args)) }),
		plain("slow", "go", need, func(ctx *tool.Context, _ json.RawMessage) (string, error) {
			w.started <- "slow"
			select {
			case <-w.release:
			case <-ctx.Done():
				return "", ctx.Err()
			}
			return w.did("slow")
		}),
		plain("team", "form", nil, func(ctx *tool.Context, args json.RawMessage) (string, error) {
			var in map[string]any
			if err := ctx.Ask("Fill this in.", args, &in); err != nil {
				return "", err
			}
			b, err := json.Marshal(in)
			if err != nil {
				return "", err
			}
			return w.did("form " + string(b))
		}),
		plain("team", "sure", nil, func(ctx *tool.Context, _ json.RawMessage) (string, error) {
			yes, err := ctx.Confirm("Are you sure?")
			if err != nil || !yes {
				return "no", err
			}
			return w.did("sure")
		}),
		plain("cal", "connect", nil, func(ctx *tool.Context, _ json.RawMessage) (string, error) {
			if err := ctx.RequireURL("https://calendar.example.com/connect", "Let me in."); err != nil {
				return "", err
			}
			return w.did("connect")
		}),
	}
}

// answer is a response, read to its end and held against the document.
type answer struct {
	status int
	header http.Header
	body   []byte
	Problem
}

// Problem is what a client reads of a problem document.
type Problem struct {
	Code   string
	Detail string
	State  core.InputState
	By     core.PersonID
	At     time.Time
	Fields []core.FieldError
	Answer *int
}

func (a answer) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
}

// do sends a request as a token ("" for none) and holds the response against the document. body is JSON
// text, or a value.
func (w *world) do(token, method, path string, body any, header ...string) answer {
	w.t.Helper()
	a := w.send(token, method, path, body, header...)
	checkDocument(w.t, method, path, a)
	return a
}

// send is do without the document.
func (w *world) send(token, method, path string, body any, header ...string) answer {
	w.t.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			w.t.Fatal(err)
		}
		r = bytes.NewReader(raw)
	}
	req, err := http.NewRequest(method, w.server.URL+path, r)
	if err != nil {
		w.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token+"-secret")
	}
	if r != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := w.server.Client().Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		w.t.Fatal(err)
	}
	if resp.Header.Get("Content-Type") == "application/problem+json" {
		a.into(w.t, &a.Problem)
	}
	return a
}

// want fails unless the status is this.
func (w *world) want(a answer, status int) answer {
	w.t.Helper()
	if a.status != status {
		w.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

type run struct {
	ID, Agent, Conversation, Status, Text, Reason, Parent string
	Inputs                                                []input
}

type input struct {
	ID, Kind, State, Message, Tool, Source, Hash, URL string
	RunID, CallID, Agent, Conversation                string
	Arguments                                         json.RawMessage
	Masked                                            []string
	Responders                                        struct{ Audience []core.PersonID }
	ExpiresAt                                         time.Time
	Settled                                           *struct {
		State, Via, Role, Reason string
		By                       core.PersonID
		At                       time.Time
		Content                  json.RawMessage
		Defaulted, Skipped       []string
	}
}

type settled struct {
	Input   input
	Request *run
}

// begin sends a message of ana and returns its run once it stops.
func (w *world) begin(text string, conversation ...string) run {
	w.t.Helper()
	name := "c" + newID()
	if len(conversation) > 0 {
		name = conversation[0]
	}
	var r run
	w.want(w.do("gate", "POST", "/v1/agents/ops/runs", map[string]string{"text": text, "conversation": name, "from": string(ana)}), 202).into(w.t, &r)
	return w.run(r.ID)
}

// run waits until a run stops.
func (w *world) run(id string) (r run) {
	w.t.Helper()
	w.want(w.do("gate", "GET", "/v1/runs/"+id+"?wait=60", nil), 200).into(w.t, &r)
	return r
}

// answer posts an answer to an input of ops.
func (w *world) answer(token string, in input, body any) answer {
	w.t.Helper()
	return w.do(token, "POST", "/v1/agents/ops/inputs/"+in.ID, body)
}

func accept(from core.PersonID, content any) map[string]any {
	return map[string]any{"action": "accept", "content": content, "from": from}
}

func act(action string, from core.PersonID) map[string]any {
	return map[string]any{"action": action, "from": from}
}

// input reads an input again.
func (w *world) input(id string) (in input) {
	w.t.Helper()
	w.want(w.do("root", "GET", "/v1/agents/ops/inputs/"+id, nil), 200).into(w.t, &in)
	return in
}

// readTime is how long the server lets a request and its answer take, if the interface does not ask for more.
const readTime = 500 * time.Millisecond

const drop = `call db__drop {"name":"staging"}`
