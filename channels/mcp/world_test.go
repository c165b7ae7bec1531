package mcp_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/channels/mcp"
	"parley/core"
	"parley/core/model"
	"parley/core/model/scripted"
	"parley/core/tool"
	"parley/core/tool/askuser"
	"parley/core/tool/gotool"
	"parley/core/tool/schema"
	"parley/core/turn"
	"parley/parse"
	"parley/store/bolt"
)

const (
	ana core.PersonID = "api:ana"
	ben core.PersonID = "api:ben"
	old               = "2025-06-18"
	now               = "2026-07-28"
)

// world is an engine on a real store behind an endpoint on loopback.
type world struct {
	t      testing.TB
	e      *turn.Engine
	store  *bolt.Store
	end    *mcp.Endpoint
	url    string
	human  core.HumanInput
	tokens map[string]mcp.Client

	closed bool // the endpoint was closed by the test

	mu    sync.Mutex
	ahead time.Duration // of the endpoint's clock
	ran   []string      // calls that really ran
}

// tokens: "bound" may approve as ana, "asks" stands for ana and may not, "loose" for itself, "mute" for nobody,
// "foreign" sees another agent, "second" is ana's other client.
func newWorld(t testing.TB) *world {
	w := &world{t: t, human: core.DefaultHumanInput(), tokens: map[string]mcp.Client{
		"bound":   {Name: "bound", Agents: []core.AgentID{"ops"}, Person: ana, MayApprove: true},
		"second":  {Name: "second", Agents: []core.AgentID{"ops"}, Person: ana, MayApprove: true},
		"asks":    {Name: "asks", Agents: []core.AgentID{"ops"}, Person: ana},
		"loose":   {Name: "loose", Agents: []core.AgentID{"ops"}, Itself: true, MayApprove: true},
		"mute":    {Name: "mute", Agents: []core.AgentID{"ops"}, MayApprove: true},
		"foreign": {Name: "foreign", Agents: []core.AgentID{"other"}, Person: ana, MayApprove: true},
	}}
	var err error
	if w.store, err = bolt.Open(filepath.Join(t.TempDir(), "parley.db"), bolt.Options{Clock: time.Now}); err != nil {
		t.Fatal(err)
	}
	tools, err := tool.NewRegistry(w.tools()...)
	if err != nil {
		t.Fatal(err)
	}
	newID := func() string { return strings.ToLower(rand.Text())[:16] }
	w.e, err = turn.New(turn.Config{
		Store: w.store, NewID: newID, Silent: func(ch string) bool { return ch == mcp.Channel },
		Agents: func(id core.AgentID) (*turn.Agent, bool) {
			a := &turn.Agent{ID: id, Name: "Ops", Model: scripted.Func(reply), Tools: tools, AskUser: true, Human: w.human}
			if id == "ops" {
				a.Agents = []core.AgentID{"other"}
			}
			return a, id == "ops" || id == "other"
		},
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
	w.end, err = mcp.New(mcp.Config{
		Turns: w.e, Tokens: w, Key: []byte(strings.Repeat("k", 32)), NewID: newID,
		Agents: func(id core.AgentID) (string, bool) { return "Ops", id == "ops" || id == "other" },
		Now: func() time.Time {
			w.mu.Lock()
			defer w.mu.Unlock()
			return time.Now().Add(w.ahead)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.e.Run(ctx) }()
	srv := httptest.NewServer(w.end)
	w.url = srv.URL
	t.Cleanup(func() {
		if !w.closed {
			w.end.Close()
		}
		srv.CloseClientConnections()
		srv.Close()
		cancel()
		<-done
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) Client(token string) (mcp.Client, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.tokens[token]
	return c, ok
}

func (w *world) did(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ran = append(w.ran, what)
}

func (w *world) effects() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ran)
}

type named struct {
	Name     string `json:"name"`
	Password string `json:"password,omitempty"`
}

func (w *world) tools() []tool.Tool {
	type none struct{}
	form := json.RawMessage(`{"type":"object","required":["size"],"properties":{"size":{"type":"integer","minimum":1,"maximum":9},"code":{"type":"string","pattern":"^[A-Z]+$"}}}`)
	secret := json.RawMessage(`{"type":"object","properties":{"pin":{"type":"string","format":"password"}}}`)
	return []tool.Tool{
		gotool.New("db", "drop", "", func(ctx *tool.Context, in named) (string, error) {
			w.did("drop " + in.Name + " for " + string(ctx.Identity().Approval.By))
			return "dropped " + in.Name, nil
		}, gotool.NeedsApproval(true)),
		gotool.New("site", "confirm", "", func(ctx *tool.Context, _ none) (string, error) {
			yes, err := ctx.Confirm("Really?")
			return fmt.Sprint("confirmed ", yes), err
		}),
		gotool.New("site", "form", "", func(ctx *tool.Context, _ none) (string, error) {
			var out map[string]any
			err := ctx.Ask("How large?", form, &out)
			return fmt.Sprint("form ", out), err
		}),
		gotool.New("site", "secret", "", func(ctx *tool.Context, _ none) (string, error) {
			return "", ctx.Ask("Pin?", secret, nil)
		}),
		gotool.New("site", "login", "", func(ctx *tool.Context, _ none) (string, error) {
			err := ctx.RequireURL("https://login.example.com/x?state=1", "Sign in")
			return "signed in", err
		}),
	}
}

const questions = `{"questions":[{"prompt":"Which?","options":[{"label":"Red"},{"label":"Blue"}]},{"prompt":"Also?","multi":true,"options":[{"label":"A"},{"label":"B"}],"freeText":true}]}`

// reply is the model: a message of tool names calls them, and the results are the reply.
func reply(r model.Request) (model.Response, error) {
	last := r.Messages[len(r.Messages)-1]
	if last.Result == nil {
		var calls []model.Call
		for i, name := range strings.Fields(last.Text) {
			args, ok := map[string]string{
				"db__drop": `{"name":"staging","password":"hunter2222"}`, "ask_user": questions, "agent__other": `{"message":"db__drop"}`,
			}[name]
			if !ok {
				args = `{}`
			}
			if name == "ask_user" || strings.Contains(name, "__") {
				calls = append(calls, model.Call{ID: fmt.Sprint(i), Name: name, Arguments: json.RawMessage(args)})
			}
		}
		if len(calls) > 0 {
			return model.Response{Calls: calls, Stop: model.StopTools}, nil
		}
		return model.Response{Text: "you said " + last.Text, Stop: model.StopEnd}, nil
	}
	var out []string
	for _, m := range r.Messages[slices.IndexFunc(r.Messages, func(m model.Message) bool { return len(m.Calls) > 0 }):] {
		if m.Result != nil {
			out = append(out, m.Result.Content)
		}
	}
	return model.Response{Text: strings.Join(out, " / "), Stop: model.StopEnd}, nil
}

// asker is how a client answers elicitation; nil is a client that cannot.
type asker = func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error)

// dial connects a client of a generation.
func (w *world) dial(token, version string, f asker) *sdk.ClientSession {
	w.t.Helper()
	return w.dialWith(token, version, &sdk.ClientOptions{ElicitationHandler: f, Capabilities: capabilities(f)})
}

func capabilities(f asker) *sdk.ClientCapabilities {
	if f == nil {
		return &sdk.ClientCapabilities{}
	}
	return &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}}
}

func (w *world) dialWith(token, version string, o *sdk.ClientOptions) *sdk.ClientSession {
	w.t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o)
	s, err := c.Connect(context.Background(), &sdk.StreamableClientTransport{
		Endpoint: w.url + "/v1/agents/ops/mcp", HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true, MaxRetries: -1,
	}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		w.t.Fatalf("connect as %s with %s: %v", token, version, err)
	}
	w.t.Cleanup(func() { _ = s.Close() })
	return s
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// send calls the tool and returns its text and what it says for programs.
func (w *world) send(s *sdk.ClientSession, text string) (string, outcome) {
	w.t.Helper()
	res, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: "send_message", Arguments: map[string]any{"text": text}})
	if err != nil {
		w.t.Fatalf("send %q: %v", text, err)
	}
	return read(w.t, res)
}

type outcome struct {
	RunID        core.RunID
	Status       core.RunStatus
	Conversation string
	Waiting      []struct {
		ID   core.InputID
		Kind core.Kind
	}
	Notes   []string
	IsError bool
}

func read(t testing.TB, res *sdk.CallToolResult) (string, outcome) {
	t.Helper()
	var o outcome
	raw, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(raw, &o)
	}
	if err != nil {
		t.Fatal(err)
	}
	o.IsError = res.IsError
	var text string
	for _, c := range res.Content {
		text += c.(*sdk.TextContent).Text
	}
	return text, o
}

// input is the one input of the agent in the store.
func (w *world) input() core.Input {
	w.t.Helper()
	all := w.inputs()
	if len(all) != 1 {
		w.t.Fatalf("there are %d inputs, want one", len(all))
	}
	return all[0]
}

func (w *world) inputs() (all []core.Input) {
	w.t.Helper()
	for _, s := range []core.InputState{core.InputPending, core.InputAccepted, core.InputDeclined, core.InputSkipped, core.InputCancelled, core.InputSuperseded, core.InputExpired} {
		page, _, err := w.e.Inputs(context.Background(), turn.InputFilter{State: s})
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, page...)
	}
	return all
}

// says answers every ask with the same result.
func says(action string, content map[string]any) asker {
	return func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: action, Content: maps.Clone(content)}, nil // the SDK writes defaults into it
	}
}

// generations runs a test with a client of each.
func generations(t *testing.T, f func(t *testing.T, version string)) {
	for _, v := range []string{old, now} {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			f(t, v)
		})
	}
}
