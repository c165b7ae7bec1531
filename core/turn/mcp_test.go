package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core"
	"parley/core/model"
	"parley/core/tool/mcp"
)

// remote is an MCP server on loopback and an engine that uses it, in real time.
type remote struct {
	*world
	first net.Listener // of the first server
	addr  string
	http  *http.Server
	over  sync.WaitGroup
	// bot is the agent's source, and stopBot ends it.
	stopBot func()

	mu    sync.Mutex
	metas []map[string]any // of the calls that reached the server
	last  []string         // results in the last model request
}

func newRemote(t *testing.T) *remote {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &remote{world: newWorld(t), first: l, addr: l.Addr().String()}
	r.quiet = true
	t.Cleanup(func() {
		r.away()
		r.close()
		r.down()
	})
	return r
}

func (r *remote) note(req *sdk.CallToolRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.metas = append(r.metas, req.Params.Meta)
}

func (r *remote) reached() []map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]map[string]any(nil), r.metas...)
}

// up starts the server with one tool. Older servers ask inside their calls.
func (r *remote) up(older bool, h sdk.ToolHandler) {
	r.t.Helper()
	o := &sdk.ServerOptions{}
	if older {
		o.SupportedProtocolVersions = []string{"2025-11-25"}
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, o)
	s.AddTool(&sdk.Tool{Name: "move", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		r.note(req)
		return h(ctx, req)
	})
	hs := &http.Server{Handler: sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: !older})}
	r.http = hs
	r.over.Go(func() { _ = hs.Serve(r.first) })
}

// down kills the server.
func (r *remote) down() {
	if r.http != nil {
		_ = r.http.Close()
		r.over.Wait()
	}
}

// come starts Parley: the source and the engine on the same store.
func (r *remote) come() {
	r.t.Helper()
	own := &http.Transport{}
	s, err := mcp.New(mcp.Config{Name: "box", URL: "http://" + r.addr + "/", HTTPClient: &http.Client{Transport: own}, Retry: 10 * time.Millisecond})
	if err != nil {
		r.t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { _ = s.Run(context.Background()) })
	r.agent.Tools = s
	r.stopBot = func() {
		_ = s.Close()
		running.Wait()
		own.CloseIdleConnections()
		r.stopBot = nil
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	for err := s.Check(ctx); !s.Ready(); err = s.Check(ctx) {
		if ctx.Err() != nil {
			r.t.Fatal(err)
		}
	}
	r.start()
}

// away ends Parley: what is not stored is gone.
func (r *remote) away() {
	r.close()
	if r.stopBot != nil {
		r.stopBot()
	}
}

func (r *remote) replies(replies ...model.Response) {
	next := script(replies...)
	r.model = func(q model.Request) (model.Response, error) {
		r.mu.Lock()
		r.last = nil
		for _, m := range q.Messages {
			if m.Result != nil {
				r.last = append(r.last, m.Result.Content)
			}
		}
		r.mu.Unlock()
		if q.Messages[len(q.Messages)-1].Text == "something else" {
			return model.Response{Text: "hello", Stop: model.StopEnd}, nil
		}
		return next(q)
	}
}

// tell sends a message and waits until the conversation stands still.
func (r *remote) tell(text string) {
	r.t.Helper()
	r.send(r.message(ana, text))
	r.rest()
}

func (r *remote) rest() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	if err := r.e.Idle(ctx, conv()); err != nil {
		r.t.Fatalf("the conversation does not come to rest: %v", err)
	}
}

func (r *remote) told() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.last, "\n")
}

func (r *remote) waits(kind core.Kind) core.Input {
	r.t.Helper()
	in := r.waiting()
	if len(in) != 1 || in[0].Kind != kind {
		r.t.Fatalf("waiting %+v, want one %s; the model was told %q", in, kind, r.told())
	}
	return in[0]
}

// shownForm waits until a form stands in the chat while its call goes on.
func (r *remote) shownForm() core.Input {
	for {
		for _, in := range r.waiting() {
			if _, ok := core.HomePrompt(in); ok && in.Kind == core.KindForm {
				return in
			}
		}
		r.pass(2 * time.Millisecond)
	}
}

func zones(message string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Mode: "form", Message: message, RequestedSchema: json.RawMessage(`{"type":"object","required":["zone"],"properties":{"zone":{"type":"string","enum":["eu","us"]}}}`)}
}

// TestMCPRoundsOverRestarts stops Parley at every wait of a call whose server asks twice.
func TestMCPRoundsOverRestarts(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.up(false, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		p := req.Params
		answer := func() string {
			res, _ := p.InputResponses["q"].(*sdk.ElicitResult)
			return fmt.Sprint(res.Action, " ", res.Content["zone"])
		}
		switch p.RequestState {
		case "":
			return &sdk.CallToolResult{RequestState: "hidden-1", InputRequests: sdk.InputRequestMap{"q": zones("From where?")}}, nil
		case "hidden-1":
			return &sdk.CallToolResult{RequestState: "hidden-2 " + answer(), InputRequests: sdk.InputRequestMap{"q": zones("To where?")}}, nil
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.TrimPrefix(p.RequestState, "hidden-2 ") + ", then " + answer()}}}, nil
	})
	r.replies(calls("", `box__move {"a":1}`))
	r.come()
	r.tell("go")
	restart := func() { r.away(); r.come(); r.rest() }
	restart()
	approval := r.waits(core.KindApproval)
	r.tell("yes")
	if in := r.waits(core.KindForm); in.Message != "From where?" || strings.Contains(fmt.Sprintf("%+v", in.Schema)+in.Message, "hidden") {
		t.Errorf("asked %+v", in)
	}
	restart()
	r.tell(`"eu"`)
	if in := r.waits(core.KindForm); in.Message != "To where?" {
		t.Errorf("asked %+v", in)
	}
	restart()
	r.tell(`"us"`)
	if got := r.told(); !strings.Contains(got, "accept eu, then accept us") || strings.Contains(got, "hidden") {
		t.Errorf("the model was told %q", got)
	}
	metas := r.reached()
	if len(metas) != 3 {
		t.Fatalf("%d calls reached the server", len(metas))
	}
	for _, m := range metas {
		by, _ := m[mcp.MetaApproval].(map[string]any)
		if by["input"] != string(approval.ID) || by["by"] != string(ana) || m[mcp.MetaActor] != string(ana) || m[mcp.MetaIdempotencyKey] != metas[0][mcp.MetaIdempotencyKey] {
			t.Errorf("meta %v", m)
		}
	}
}

// TestMCPAskEndsWithItsConnection kills the server while the person is asked inside an open call.
func TestMCPAskEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprint("killed ", killed), func(t *testing.T) {
			t.Parallel()
			r := newRemote(t)
			asks, end := make(chan struct{}), make(chan struct{})
			r.up(true, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				go func() { <-end; cancel() }()
				close(asks)
				res, err := req.Session.Elicit(ctx, zones("Where to?"))
				if err != nil {
					return nil, err
				}
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(res.Action, " ", res.Content["zone"])}}}, nil
			})
			r.replies(calls("", `box__move {}`))
			r.come()
			r.tell("go")
			r.send(r.message(ana, "yes"))
			<-asks
			in := r.shownForm()
			if killed {
				r.down()
				for len(r.waiting()) > 0 {
					r.pass(2 * time.Millisecond)
				}
				r.rest()
			} else {
				r.tell(`"us"`)
			}
			close(end)
			got, err := r.store.Input(t.Context(), in.ID)
			if err != nil {
				t.Fatal(err)
			}
			told := r.told()
			if killed && (got.State != core.InputExpired || !strings.Contains(told, "nobody answered") || strings.Contains(told, "eclined")) {
				t.Errorf("the input is %s, the model was told %q", got.State, told)
			}
			if !killed && (got.State != core.InputAccepted || !strings.Contains(told, "accept us")) {
				t.Errorf("the input is %s, the model was told %q", got.State, told)
			}
			if len(r.waiting()) != 0 || len(r.reached()) != 1 {
				t.Errorf("waiting %d, %d calls reached the server", len(r.waiting()), len(r.reached()))
			}
		})
	}
}

// TestMCPUnknownOutcome kills the server in the middle of an approved call: it is asked about, not repeated.
func TestMCPUnknownOutcome(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	killed := make(chan struct{})
	r.up(false, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		go func() { _ = r.http.Close(); close(killed) }()
		<-killed
		return &sdk.CallToolResult{}, nil
	})
	r.replies(calls("", `box__move {}`))
	r.come()
	r.tell("go")
	r.tell("yes")
	if in := r.waits(core.KindQuestion); in.Purpose != core.PurposeUnknown {
		t.Errorf("asked %+v", in)
	}
	if n := len(r.reached()); n != 1 {
		t.Errorf("%d calls reached the server", n)
	}
}

// TestPR15ServerUnreachable answers approvals while the server is away.
func TestPR15ServerUnreachable(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.up(false, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{}, nil
	})
	r.replies(calls("", `box__move {}`))
	r.come()
	for _, c := range []struct{ answer, told string }{
		{"no", "Declined"},
		{"yes", "did not start"},
		{"something else", core.SupersededText},
	} {
		r.tell("go")
		r.waits(core.KindApproval)
		r.down()
		r.tell(c.answer)
		if got := r.told(); !strings.Contains(got, c.told) || len(r.waiting()) != 0 {
			t.Errorf("%s: the model was told %q", c.answer, got)
		}
	}
	if n := len(r.reached()); n != 0 {
		t.Errorf("%d calls reached the server", n)
	}
}
