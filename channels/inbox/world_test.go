package inbox_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/channels/inbox"
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
	ana  core.PersonID = "test:ana"  // asks
	ben  core.PersonID = "test:ben"  // approves
	cleo core.PersonID = "test:cleo" // neither
)

// world is the page on an engine with a real store.
type world struct {
	t      testing.TB
	mu     sync.Mutex
	ahead  time.Duration
	ran    []string
	agents map[core.AgentID]*turn.Agent
	engine *turn.Engine
	inbox  *inbox.Inbox
	server *httptest.Server
	close  func()
}

// tokens of the world: their secrets are their names with "-secret".
func tokens() []inbox.Token {
	all := []inbox.Token{
		{Name: "ana", Agents: []core.AgentID{"ops", "strict", "child"}, SpeaksFor: []string{string(ana)}},
		{Name: "ben", Agents: []core.AgentID{"ops", "strict", "child"}, SpeaksFor: []string{string(ben)}},
		{Name: "cleo", Agents: []core.AgentID{"ops", "strict"}, SpeaksFor: []string{string(cleo)}},
		{Name: "far", Agents: []core.AgentID{"other"}, SpeaksFor: []string{string(ana)}},
		{Name: "desk", Agents: []core.AgentID{"ops"}, SpeaksFor: []string{"test:*"}},
		{Name: "mute", Agents: []core.AgentID{"ops"}},
		{Name: "root", Admin: true, SpeaksFor: []string{string(ana)}},
	}
	for i := range all {
		all[i].Secret = all[i].Name + "-secret"
	}
	return all
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, agents: map[core.AgentID]*turn.Agent{}}
	for _, id := range []core.AgentID{"ops", "strict", "other", "child"} {
		w.agents[id] = &turn.Agent{
			ID: id, Name: strings.ToUpper(string(id)), Model: lineModel{}, Tools: w.tools(), AskUser: true, Ask: true, Human: core.DefaultHumanInput(),
			Redact: []string{"ssn"}, MaxInputs: 200,
		}
		w.agents[id].Human.Approvers = []core.PersonID{ben}
	}
	w.agents["strict"].Human.ApproversOnly = true
	w.agents["ops"].Agents = []core.AgentID{"child"}
	store, err := bolt.Open(filepath.Join(t.TempDir(), "parley.db"), bolt.Options{Clock: w.now})
	if err != nil {
		t.Fatal(err)
	}
	w.engine, err = turn.New(turn.Config{
		Store: store, NewID: newID, Agents: func(id core.AgentID) (*turn.Agent, bool) { a, ok := w.agents[id]; return a, ok },
		Silent: func(ch string) bool { return ch == "api" },
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
		t.Fatal(err)
	}
	w.inbox, err = inbox.New(inbox.Config{
		Turns: w.engine, Tokens: tokens(), Now: w.now, Pause: time.Millisecond, MaxStreams: 4,
		Agents: func() []inbox.Agent {
			return []inbox.Agent{{ID: "child", Name: "Child"}, {ID: "ops", Name: "Ops"}, {ID: "other", Name: "Other"}, {ID: "strict", Name: "Strict"}}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.engine.Run(ctx); err != nil {
			t.Errorf("the engine ended: %v", err)
		}
	})
	w.server = httptest.NewServer(w.inbox)
	w.close = sync.OnceFunc(w.inbox.Close)
	t.Cleanup(func() {
		w.close()
		w.server.Close()
		cancel()
		running.Wait()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func newID() string { return strings.ToLower(rand.Text()[:16]) }

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

func (w *world) did(what string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ran = append(w.ran, what)
	return what, nil
}

// effects are the calls that really ran.
func (w *world) effects() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ran)
}

// begin has ana send a message to an agent, and returns what the run then waits on.
func (w *world) begin(agent core.AgentID, text string) []core.Input {
	w.t.Helper()
	c := core.NewConversation(agent, "api", core.Place("t/"+newID()))
	got, err := w.engine.Accept(w.t.Context(), core.Message{ID: newID(), Conversation: c, From: ana, Text: text, SentAt: w.now(), Addressed: true, Fresh: true})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.engine.Stopped(w.t.Context(), got.Run); err != nil {
		w.t.Fatal(err)
	}
	waiting, err := w.engine.Waiting(w.t.Context(), c)
	if err != nil || len(waiting) == 0 {
		w.t.Fatalf("nothing waits: %v", err)
	}
	return waiting
}

func (w *world) input(id core.InputID) core.Input {
	w.t.Helper()
	in, err := w.engine.Input(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return in
}

// stopped waits until the run of an input stops.
func (w *world) stopped(in core.Input) core.Run {
	w.t.Helper()
	run, err := w.engine.Stopped(w.t.Context(), in.Run)
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

// browser is somebody's, with their cookies.
type browser struct {
	w      *world
	client *http.Client
	csrf   string
}

func (w *world) stranger() *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return &browser{w: w, client: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// as signs somebody in by the token of that name.
func (w *world) as(name string) *browser {
	w.t.Helper()
	b := w.stranger()
	if p := b.post("/inbox/session", url.Values{"token": {name + "-secret"}}); p.status != http.StatusSeeOther || p.header.Get("Location") != "/inbox" {
		w.t.Fatalf("sign in as %s: %d\n%s", name, p.status, p.body)
	}
	b.csrf = value(b.get("/inbox").body, "csrf")
	return b
}

type page struct {
	status int
	header http.Header
	body   string
}

func (b *browser) do(method, path, body string, header ...string) page {
	b.w.t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequest(method, b.w.server.URL+path, r)
	if err != nil {
		b.w.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", b.w.server.URL)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i+1] == "" {
			req.Header.Del(header[i])
		} else {
			req.Header.Set(header[i], header[i+1])
		}
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.w.t.Fatal(err)
	}
	return page{resp.StatusCode, resp.Header, string(text)}
}

func (b *browser) get(path string) page { b.w.t.Helper(); return b.do("GET", path, "") }

// post sends a form of this browser's session.
func (b *browser) post(path string, form url.Values, header ...string) page {
	b.w.t.Helper()
	if b.csrf != "" && form.Get("csrf") == "" {
		form.Set("csrf", b.csrf)
	}
	return b.do("POST", path, form.Encode(), header...)
}

// answer sends the form of an input as its card has it.
func (b *browser) answer(in core.Input, form url.Values) page {
	b.w.t.Helper()
	if form.Get("action") == "" {
		form.Set("action", "accept")
	}
	if form.Get("hash") == "" {
		form.Set("hash", in.Hash)
	}
	return b.post("/inbox/inputs/"+string(in.ID), form)
}

// want fails unless the page has this status and all of these texts; a text that begins with "!" must not be there.
func (p page) want(t testing.TB, status int, texts ...string) page {
	t.Helper()
	if p.status != status {
		t.Errorf("status %d, want %d\n%s", p.status, status, p.body)
	}
	for _, s := range texts {
		if not, ok := strings.CutPrefix(s, "!"); ok {
			if strings.Contains(p.body, not) {
				t.Errorf("%q is on the page\n%s", not, p.body)
			}
		} else if !strings.Contains(p.body, s) {
			t.Errorf("%q is not on the page\n%s", s, p.body)
		}
	}
	return p
}

// value is that of the first hidden field of a name.
func value(body, name string) string {
	m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(body)
	if m == nil {
		return ""
	}
	return m[1]
}

// lineModel makes the calls of the lines "call NAME ARGUMENTS" of the user's message and then reports their results.
type lineModel struct{}

func (lineModel) Generate(ctx context.Context, req model.Request) (model.Response, error) {
	if err := errors.Join(ctx.Err(), model.Valid(req.Messages)); err != nil {
		return model.Response{}, &model.Error{Sentence: "the history is not valid", Err: err}
	}
	said, results := "", []string(nil)
	for _, m := range req.Messages {
		switch m.Role {
		case model.RoleUser:
			said, results = m.Text, nil
		case model.RoleTool:
			results = append(results, m.Result.Content)
		}
	}
	var calls []model.Call
	for line := range strings.Lines(said) {
		if word, rest, _ := strings.Cut(strings.TrimSpace(line), " "); word == "call" && results == nil {
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

func (w *world) tools() toolbox {
	need := func(json.RawMessage) (tool.Verdict, error) { return tool.Verdict{Need: true, Rule: "always"}, nil }
	plain := func(source, name string, p tool.Policy, f func(*tool.Context, json.RawMessage) (string, error)) funcTool {
		return funcTool{tool.Spec{Source: source, Name: name, Type: core.ToolAction, Policy: p, Schema: json.RawMessage(`{"type":"object"}`)}, f}
	}
	return toolbox{
		plain("db", "drop", need, func(_ *tool.Context, args json.RawMessage) (string, error) {
			_, err := w.did("drop " + string(args))
			return "dropped", err
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
		plain("team", "sure", nil, func(ctx *tool.Context, args json.RawMessage) (string, error) {
			var a struct{ Message string }
			if err := json.Unmarshal(args, &a); err != nil {
				return "", err
			}
			yes, err := ctx.Confirm(a.Message)
			if err != nil || !yes {
				return "no", err
			}
			return w.did("sure")
		}),
		plain("cal", "connect", nil, func(ctx *tool.Context, args json.RawMessage) (string, error) {
			var a struct{ URL string }
			if err := json.Unmarshal(args, &a); err != nil {
				return "", err
			}
			if err := ctx.RequireURL(a.URL, "Let me in."); err != nil {
				return "", err
			}
			return w.did("connect")
		}),
	}
}

// undeliverable has a channel refuse for good what is to be sent there.
func (w *world) undeliverable(channel, why string) {
	w.t.Helper()
	rows, _, err := w.engine.Outbox(w.t.Context(), channel, 10)
	if err != nil || len(rows) == 0 {
		w.t.Fatalf("nothing is to be sent: %v", err)
	}
	for _, row := range rows {
		if row.Input == "" {
			w.t.Logf("a row of kind %s names no input", row.Kind)
		}
		if err := w.engine.Failed(w.t.Context(), row, turn.Failure{Permanent: true, Err: why}); err != nil {
			w.t.Fatal(err)
		}
	}
}
