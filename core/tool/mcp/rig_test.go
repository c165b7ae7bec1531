package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"parley/core"
	"parley/core/tool"
)

// childKind makes the test binary a server on its standard streams.
const childKind = "PARLEY_TEST_MCP_CHILD"

func TestMain(m *testing.M) {
	if kind := os.Getenv(childKind); kind != "" {
		os.Exit(child(kind))
	}
	goleak.VerifyTestMain(m)
}

const patience = 20 * time.Second

// generation is the protocol a test server speaks.
type generation string

const (
	modern generation = "modern"
	older  generation = "older"
)

func bothGenerations(t *testing.T, f func(t *testing.T, g generation)) {
	t.Helper()
	for _, g := range []generation{modern, older} {
		t.Run(string(g), func(t *testing.T) {
			t.Parallel()
			f(t, g)
		})
	}
}

// newServer is a server of the generation, without tools but able to have some.
func newServer(g generation) *sdk.Server {
	o := &sdk.ServerOptions{Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}}, PageSize: 3}
	if g == older {
		o.SupportedProtocolVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, o)
	generations.Store(s, g)
	return s
}

// generations are those of the servers: the newer protocol has no sessions over HTTP.
var generations sync.Map

type handler = func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error)

func says(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

func add(s *sdk.Server, name string, a *sdk.ToolAnnotations, h handler) {
	if h == nil {
		h = func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return says(name + " " + string(r.Params.Arguments)), nil
		}
	}
	s.AddTool(&sdk.Tool{Name: name, Annotations: a, InputSchema: json.RawMessage(`{"type":"object"}`)}, h)
}

func yes() *bool { v := true; return &v }
func no() *bool  { v := false; return &v }

// place is a loopback address at which a server can be started, killed and started again.
type place struct {
	t    *testing.T
	addr string
	mu   sync.Mutex
	// first listens before the first server is started, so that connecting hangs; vacate ends that.
	first net.Listener
	http  *http.Server
	over  sync.WaitGroup
	// wrap, if set, stands before the server.
	wrap func(http.Handler) http.Handler
	json bool
	dead context.CancelFunc
	life context.Context // ends when it is killed
}

func newPlace(t *testing.T) *place {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, addr: l.Addr().String()}
	p.life, p.dead = context.WithCancel(context.Background())
	p.first = l // kept, so that nobody else takes the address
	t.Cleanup(p.kill)
	return p
}

func (p *place) url() string { return "http://" + p.addr + "/mcp" }

func (p *place) serve(s *sdk.Server) {
	p.t.Helper()
	p.t.Cleanup(func() {
		p.kill()
		for session := range s.Sessions() {
			_ = session.Close()
		}
	})
	g, _ := generations.Load(s)
	stateless := g == modern
	p.serveHTTP(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{JSONResponse: p.json, Stateless: stateless}))
}

func (p *place) serveHTTP(h http.Handler) {
	p.t.Helper()
	if p.wrap != nil {
		h = p.wrap(h)
	}
	hs := &http.Server{Handler: h}
	p.mu.Lock()
	l := p.first
	p.first = nil
	p.mu.Unlock()
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", p.addr); err != nil {
			p.t.Fatal(err)
		}
	}
	p.mu.Lock()
	p.life, p.dead = context.WithCancel(context.Background())
	p.http = hs
	p.mu.Unlock()
	p.over.Go(func() { _ = hs.Serve(l) })
}

// vacate leaves nobody at the address.
func (p *place) vacate() *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first != nil {
		_ = p.first.Close()
		p.first = nil
	}
	return p
}

// alive ends when the server is killed.
func (p *place) alive() context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.life
}

// kill ends the server and its connections at once.
func (p *place) kill() {
	p.vacate()
	p.mu.Lock()
	hs, dead := p.http, p.dead
	p.http = nil
	p.mu.Unlock()
	if hs != nil {
		_ = hs.Close()
		p.over.Wait()
	}
	dead()
}

// logged is what a source logged.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func childConfig(kind string) Config {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Config{Name: "box", Command: []string{exe}, Env: map[string]string{childKind: kind}, Inherit: os.Environ()}
}

// start runs a source until the test ends.
func start(t *testing.T, c Config) *Source {
	t.Helper()
	if c.Name == "" {
		c.Name = "box"
	}
	if c.Retry == 0 {
		c.Retry = 10 * time.Millisecond
	}
	if c.URL != "" && c.HTTPClient == nil {
		own := &http.Transport{}
		t.Cleanup(own.CloseIdleConnections)
		c.HTTPClient = &http.Client{Transport: own}
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	var over sync.WaitGroup
	over.Go(func() {
		if err := s.Run(context.Background()); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		over.Wait()
	})
	return s
}

// until waits for the source to be as wanted.
func until(t *testing.T, s *Source, what string, ok func() bool) {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if ok() {
			return
		}
		select {
		case <-changed:
		case <-late.C:
			t.Fatalf("not in time: %s; tools %q", what, names(s))
		}
	}
}

func names(s *Source) (out []string) {
	for _, spec := range s.List() {
		out = append(out, spec.FullName())
	}
	return out
}

func ready(t *testing.T, s *Source) *Source {
	t.Helper()
	until(t, s, "connected", func() bool { return s.Ready() })
	return s
}

func find(t *testing.T, s *Source, name string) tool.Tool {
	t.Helper()
	got, ok := s.Lookup(name)
	if !ok {
		t.Fatalf("no tool %s, have %q", name, names(s))
	}
	return got
}

var ana = tool.Identity{Actor: "local:ana"}

// attempt calls a tool once, with the answers that earlier attempts got.
func attempt(t *testing.T, s *Source, name, args string, answers ...tool.Answered) (string, error) {
	t.Helper()
	return find(t, s, name).Call(tool.NewContext(t.Context(), "k1", ana, answers, nil), json.RawMessage(args))
}

// asked is what a failed attempt asks.
func asked(t *testing.T, err error) tool.Asked {
	t.Helper()
	var ask *tool.AskError
	if !errors.As(err, &ask) {
		t.Fatalf("it asks nothing: %v", err)
	}
	return ask.Asked
}

// answered is an ask with its answer as the engine stores it.
func answered(t *testing.T, a tool.Asked, action core.Action, fields string) tool.Answered {
	t.Helper()
	raw, err := json.Marshal(a) // it goes through the store
	if err != nil {
		t.Fatal(err)
	}
	var stored tool.Asked
	if err := json.Unmarshal(raw, &stored); err != nil {
		t.Fatal(err)
	}
	got := tool.Answered{Key: stored.Key, State: stored.State, By: "local:ana", Answer: core.Answer{Action: action}}
	if fields != "" {
		if err := json.Unmarshal([]byte(fields), &got.Answer.Fields); err != nil {
			t.Fatal(err)
		}
	}
	return got
}

// ran records the calls that reached a server.
type ran struct {
	mu    sync.Mutex
	calls []string
	metas []map[string]any
}

func (r *ran) note(req *sdk.CallToolRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, req.Params.Name+" "+string(req.Params.Arguments))
	r.metas = append(r.metas, req.Params.Meta)
}

func (r *ran) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

func (r *ran) meta(i int) map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.metas[i]
}

const inviteForm = `{"type":"object","required":["zone"],"properties":{"zone":{"type":"string","oneOf":[{"const":"eu","title":"Europe"},{"const":"us","title":"America"}]},"age":{"type":"integer"},"by":{"type":"string","enum":["m","p"],"enumNames":["Mail","Phone"]}}}`

// elicit asks inside the call and says what came back.
func elicit(ctx context.Context, r *sdk.CallToolRequest, p *sdk.ElicitParams) (*sdk.CallToolResult, error) {
	res, err := r.Session.Elicit(ctx, p)
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal(res.Content)
	if err != nil {
		return nil, err
	}
	return says(fmt.Sprintf("%s %s", res.Action, content)), nil
}

func formAsk(message string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Mode: "form", Message: message, RequestedSchema: json.RawMessage(inviteForm)}
}

// testLog logs to the test.
func testLog(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}
