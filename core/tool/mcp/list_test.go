package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core"
	"parley/core/tool"
)

func TestToolsComeAndGo(t *testing.T) {
	t.Parallel()
	bothGenerations(t, func(t *testing.T, g generation) {
		server := newServer(g)
		for i := range 8 { // three pages
			add(server, fmt.Sprintf("t%d", i), nil, nil)
		}
		p := newPlace(t)
		p.serve(server)
		s := ready(t, start(t, Config{URL: p.url()}))
		if got := names(s); len(got) != 8 || got[0] != "box__t0" || got[7] != "box__t7" {
			t.Fatalf("tools %q", got)
		}
		add(server, "new", nil, nil)
		until(t, s, "the new tool is there", func() bool { _, ok := s.Lookup("box__new"); return ok })
		server.RemoveTools("t3")
		until(t, s, "the old tool is gone", func() bool { _, ok := s.Lookup("box__t3"); return !ok })
		if out, err := attempt(t, s, "box__new", `{"a":1}`); err != nil || out != `new {"a":1}` {
			t.Errorf("call: %q, %v", out, err)
		}
	})
}

func TestUnreachableRemovesNothing(t *testing.T) {
	t.Parallel()
	bothGenerations(t, func(t *testing.T, g generation) {
		p := newPlace(t).vacate()
		s := start(t, Config{URL: p.url()})
		until(t, s, "a first attempt failed", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.failure != nil })
		if s.Ready() || len(s.List()) != 0 {
			t.Error("it is ready without a server")
		}
		if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "connect") {
			t.Errorf("check: %v", err)
		}
		server := newServer(g)
		add(server, "a", nil, nil)
		p.serve(server)
		ready(t, s)
		if err := s.Check(t.Context()); err != nil {
			t.Errorf("check: %v", err)
		}
		p.kill()
		until(t, s, "the loss is seen", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.cur == nil })
		if got := names(s); !slices.Equal(got, []string{"box__a"}) {
			t.Errorf("without a server the tools are %q", got)
		}
		if _, err := attempt(t, s, "box__a", `{}`); !isNotStarted(err) {
			t.Errorf("a call without a server: %v", err)
		}
		again := newServer(g)
		add(again, "b", nil, nil)
		p.serve(again)
		until(t, s, "the new server is listed", func() bool { return slices.Equal(names(s), []string{"box__b"}) })
		if out, err := attempt(t, s, "box__b", `{}`); err != nil || out != "b {}" {
			t.Errorf("call: %q, %v", out, err)
		}
	})
}

func TestPolicyOfAnnotations(t *testing.T) {
	t.Parallel()
	hints := map[string]*sdk.ToolAnnotations{
		"none":       nil,
		"empty":      {},
		"read":       {ReadOnlyHint: true},
		"read_wild":  {ReadOnlyHint: true, DestructiveHint: yes()},
		"gentle":     {DestructiveHint: no()},
		"wild":       {DestructiveHint: yes()},
		"idempotent": {IdempotentHint: true},
	}
	var listed []*sdk.Tool
	for name, a := range hints {
		listed = append(listed, &sdk.Tool{Name: name, Annotations: a, InputSchema: map[string]any{"type": "object"}})
	}
	for _, c := range []struct {
		name     string
		approval tool.Approval
		need     string // the tools that need approval, sorted
	}{
		{"by annotation", tool.Approval{}, "empty idempotent none wild"},
		{"destructive", tool.Approval{Default: tool.Destructive}, "empty idempotent none wild"},
		{"always", tool.Approval{Default: tool.Always}, "empty gentle idempotent none read read_wild wild"},
		{"never", tool.Approval{Default: tool.Never}, ""},
		{"a rule beats a hint", tool.Approval{Tools: map[string]string{"read": tool.Always, "gentle": tool.Always, "none": tool.Never}}, "empty gentle idempotent read wild"},
		{"a word that means nothing", tool.Approval{Tools: map[string]string{"read": tool.Destructive}}, "empty idempotent none wild"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := New(Config{Name: "box", URL: "http://127.0.0.1:1/", Approval: c.approval})
			if err != nil {
				t.Fatal(err)
			}
			s.take(listed)
			var need []string
			for _, spec := range s.List() {
				if tool.Decide(spec.Policy, json.RawMessage(`{}`)).Need {
					need = append(need, spec.Name)
				}
				read := spec.Name == "read" || spec.Name == "read_wild"
				if (spec.Type == core.ToolRead) != read || spec.Idempotent != (read || spec.Name == "idempotent") {
					t.Errorf("%s is %s, idempotent %v", spec.Name, spec.Type, spec.Idempotent)
				}
			}
			if got := strings.Join(need, " "); got != c.need {
				t.Errorf("approval is needed for %q, want %q", got, c.need)
			}
		})
	}
}

func TestRespondersAndTarget(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Name: "box", URL: "https://me:pw@mcp.example/x?key=12345678", Approval: tool.Approval{Responders: tool.RespondersApprovers}})
	if err != nil {
		t.Fatal(err)
	}
	s.take([]*sdk.Tool{{Name: "a"}})
	spec := s.List()[0]
	if !spec.ApproversOnly || !regexp.MustCompile(`^https://mcp\.example/x\?[a-z2-7]{8}$`).MatchString(spec.Target) {
		t.Errorf("spec %+v", spec)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	valid := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	seen := map[string]string{}
	for _, source := range []string{"a", "a_", "a__b", "a-b", "ä", strings.Repeat("s", 24), strings.Repeat("s", 25), "a b", "", "_"} {
		for _, name := range []string{"x", "_x", "b__x", "a.b", "a/b", "a b", "löschen", "😀", strings.Repeat("n", 38), strings.Repeat("n", 60), strings.Repeat("n", 200), "\xff"} {
			full := sourceName(source) + "__" + toolName(sourceName(source), name)
			if !valid.MatchString(full) {
				t.Errorf("%q %q is made %q", source, name, full)
			}
			if other, taken := seen[full]; taken {
				t.Errorf("%q %q and %s are both %q", source, name, other, full)
			}
			seen[full] = fmt.Sprintf("%q %q", source, name)
		}
	}
	for source, want := range map[string]string{"github": "github", "my_server-2": "my_server-2"} {
		if got := sourceName(source) + "__" + toolName(source, "delete_repo"); got != want+"__delete_repo" {
			t.Errorf("a plain name is made %q", got)
		}
	}
}

func TestTwoServersWithOneToolName(t *testing.T) {
	t.Parallel()
	var both []string
	for _, name := range []string{"one", "two"} {
		server := newServer(modern)
		add(server, "get", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return says("from " + name), nil
		})
		p := newPlace(t)
		p.serve(server)
		s := ready(t, start(t, Config{Name: name, URL: p.url()}))
		out, err := attempt(t, s, name+"__get", `{}`)
		if err != nil || out != "from "+name {
			t.Errorf("%s: %q, %v", name, out, err)
		}
		both = append(both, names(s)...)
	}
	if !slices.Equal(both, []string{"one__get", "two__get"}) {
		t.Errorf("names %q", both)
	}
}

func TestBadToolsAreLeftOut(t *testing.T) {
	t.Parallel()
	var log logged
	s, err := New(Config{Name: "box", URL: "http://127.0.0.1:1/", Log: log.logger(), Approval: tool.Approval{Tools: map[string]string{"a.b": tool.Never, "nobody": tool.Always}}})
	if err != nil {
		t.Fatal(err)
	}
	deep := any("x")
	for range 300 {
		deep = map[string]any{"type": "object", "properties": map[string]any{"p": deep}}
	}
	s.take([]*sdk.Tool{
		{Name: "ok", Description: "\xff" + strings.Repeat("d", 20_000), InputSchema: map[string]any{"properties": map[string]any{}}},
		{Name: "ok", Description: "a second one"},
		{Name: " "},
		{Name: "a.b"},
		{Name: "string", InputSchema: "no schema"},
		{Name: "list", InputSchema: []any{1}},
		{Name: "number", InputSchema: map[string]any{"type": "number"}},
		{Name: "broken", InputSchema: map[string]any{"type": "object", "properties": 7}},
		{Name: "remote", InputSchema: map[string]any{"type": "object", "$ref": "http://127.0.0.1:1/s.json"}},
		{Name: "large", InputSchema: map[string]any{"type": "object", "description": strings.Repeat("x", maxSchema)}},
		{Name: "deep", InputSchema: deep},
	})
	got := names(s)
	if !slices.Contains(got, "box__ok") || len(got) > 3 {
		t.Errorf("tools %q", got)
	}
	for _, spec := range s.List() {
		if len(spec.Description) > maxDescription+8 || !json.Valid(spec.Schema) {
			t.Errorf("spec %+v", spec)
		}
		if strings.HasPrefix(spec.Name, "a_b-") && tool.Decide(spec.Policy, nil).Need {
			t.Error("a rule does not find a tool by the server's name for it")
		}
	}
	for _, want := range []string{"one of that name already", "no name", "no JSON object", "rule=tools.nobody"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("nothing was said about %q:\n%s", want, log.String())
		}
	}
}

func TestThousandsOfTools(t *testing.T) {
	t.Parallel()
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ServerOptions{PageSize: 500})
	for i := range 3000 {
		add(server, fmt.Sprintf("tool_%04d", i), nil, nil)
	}
	p := newPlace(t)
	p.serve(server)
	s := ready(t, start(t, Config{URL: p.url()}))
	if n := len(s.List()); n != 3000 {
		t.Errorf("%d tools", n)
	}
	if out, err := attempt(t, s, "box__tool_2999", `{}`); err != nil || out != "tool_2999 {}" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestListThatDoesNotEnd keeps the tools of a server whose next list is no good.
func TestListThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	server := newServer(older)
	add(server, "a", nil, nil)
	var endless atomic.Bool
	seen := make(chan struct{}, 100)
	p := newPlace(t)
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if method == "tools/list" && endless.Load() {
				select {
				case seen <- struct{}{}:
				default:
				}
				return &sdk.ListToolsResult{Tools: []*sdk.Tool{{Name: "b", InputSchema: map[string]any{"type": "object"}}}, NextCursor: "again"}, nil
			}
			return next(ctx, method, r)
		}
	})
	p.serve(server)
	var log logged
	s := ready(t, start(t, Config{URL: p.url(), Log: log.logger(), Refresh: 20 * time.Millisecond}))
	endless.Store(true)
	for range 5 { // two whole lists and a half
		<-seen
	}
	if got := names(s); !slices.Equal(got, []string{"box__a"}) {
		t.Errorf("tools %q", got)
	}
}

func TestServerWithoutTools(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.serve(sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ServerOptions{Capabilities: &sdk.ServerCapabilities{}}))
	s := ready(t, start(t, Config{URL: p.url()}))
	if n := len(s.List()); n != 0 {
		t.Errorf("%d tools", n)
	}
}

func TestNoServerAtAll(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.HandlerFunc{
		"not found": http.NotFound,
		"a page":    func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"a failure": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "oops", 500) },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/elsewhere", http.StatusTemporaryRedirect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.serveHTTP(h)
			own := &http.Transport{}
			defer own.CloseIdleConnections()
			s, err := New(Config{Name: "box", URL: p.url(), HTTPClient: &http.Client{Transport: own}})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Check(t.Context()); err == nil || strings.Contains(err.Error(), "elsewhere") {
				t.Errorf("check: %v", err)
			}
		})
	}
}
