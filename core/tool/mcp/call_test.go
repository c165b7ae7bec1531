package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core"
	"parley/core/tool"
)

func TestWhatACallSaysOfItself(t *testing.T) {
	t.Parallel()
	bothGenerations(t, func(t *testing.T, g generation) {
		var r ran
		server := newServer(g)
		add(server, "a", nil, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			r.note(req)
			return says("ok"), nil
		})
		p := newPlace(t)
		p.serve(server)
		s := ready(t, start(t, Config{URL: p.url()}))
		at := time.Date(2026, 3, 4, 5, 6, 7, 8, time.FixedZone("x", 3600))
		ctx := tool.NewContext(t.Context(), "run7/c1_1", tool.Identity{Actor: "slack:T1/U1", Approval: &core.Approval{Input: "in1", By: "slack:T1/U2", At: at}}, nil, nil)
		const args = `{"n":12345678901234567890,"t":"<&>","z":1,"a":{"_meta":{"parley/actor":"me"}}}`
		if _, err := find(t, s, "box__a").Call(ctx, json.RawMessage(args)); err != nil {
			t.Fatal(err)
		}
		m := r.meta(0)
		want := map[string]any{"input": "in1", "by": "slack:T1/U2", "at": "2026-03-04T04:06:07.000000008Z"}
		if !reflect.DeepEqual(m[MetaApproval], want) || m[MetaActor] != "slack:T1/U1" || m[MetaIdempotencyKey] != "run7/c1_1" {
			t.Errorf("meta %v", m)
		}
		if got := strings.TrimPrefix(r.all()[0], "a "); !core.SameJSON(json.RawMessage(got), json.RawMessage(args)) {
			t.Errorf("arguments %s", got)
		}
		if _, err := attempt(t, s, "box__a", `{}`); err != nil {
			t.Fatal(err)
		}
		if _, has := r.meta(1)[MetaApproval]; has {
			t.Error("a call that needed no approval bears one")
		}
		for _, bad := range []string{`{"parley/approval":{"by":"x"}}`, `{"a":1,"Parley/Actor":"x"}`, `{"parley/idempotencyKey":"x"}`, `[1]`, `7`, `{`} {
			if _, err := attempt(t, s, "box__a", bad); err == nil || isNotStarted(err) || isUnknown(err) {
				t.Errorf("%s: %v", bad, err)
			}
		}
		if n := len(r.all()); n != 2 {
			t.Errorf("%d calls reached the server", n)
		}
	})
}

func TestResults(t *testing.T) {
	t.Parallel()
	size := int64(5)
	for _, c := range []struct {
		name string
		res  *sdk.CallToolResult
		want string
	}{
		{"nothing", &sdk.CallToolResult{Content: []sdk.Content{}}, "[no content]"},
		{"texts", &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "a"}, &sdk.TextContent{Text: "b"}}}, "a\nb"},
		{"pictures and sounds", &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.ImageContent{Data: []byte("1234"), MIMEType: "image/png"}, &sdk.AudioContent{Data: []byte("12"), MIMEType: "audio/wav"},
		}}, "[image image/png, 4 bytes]\n[audio audio/wav, 2 bytes]"},
		{"resources", &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.ResourceLink{URI: "file:///a", Name: "a", MIMEType: "text/plain", Size: &size},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///b", Text: "inside"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///c", Blob: []byte("123")}},
		}}, "[link file:///a a text/plain, 5 bytes]\n[resource file:///b]\ninside\n[resource file:///c, 3 bytes]"},
		{"structured", &sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: json.RawMessage(`{"n":12345678901234567890}`)}, `{"n":12345678901234567890}`},
		{"structured and said", &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: `{"a": 1, "b": 2}`}}, StructuredContent: map[string]any{"b": 2, "a": 1}}, `{"a": 1, "b": 2}`},
		{"structured beside a text", &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "two"}}, StructuredContent: []int{2}}, "two\n[2]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, asJSON := range []bool{false, true} {
				server := newServer(modern)
				add(server, "a", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return c.res, nil })
				p := newPlace(t)
				p.json = asJSON
				p.serve(server)
				s := ready(t, start(t, Config{URL: p.url()}))
				if out, err := attempt(t, s, "box__a", `{}`); err != nil || out != c.want {
					t.Errorf("%q, %v; want %q", out, err, c.want)
				}
			}
		})
	}
}

func TestHostileResults(t *testing.T) {
	t.Parallel()
	bothGenerations(t, func(t *testing.T, g generation) {
		for _, asJSON := range []bool{false, true} {
			server := newServer(g)
			result := func(name, text string, failed bool) {
				add(server, name, nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					r := says(text)
					r.IsError = failed
					return r, nil
				})
			}
			result("large", strings.Repeat("é", 200_000), false)
			result("huge", strings.Repeat("x", maxMessage+1), false)
			result("failed", "no such\xffrow", true)
			add(server, "refused", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return nil, fmt.Errorf("a bug")
			})
			add(server, "gone", nil, nil)
			p := newPlace(t)
			p.json = asJSON
			p.serve(server)
			s := ready(t, start(t, Config{URL: p.url()}))
			if out, err := attempt(t, s, "box__large", `{}`); err != nil || len(out) > core.MaxResult+200 || !strings.Contains(out, "left out") {
				t.Errorf("large: %d bytes, %v", len(out), err)
			}
			if out, err := attempt(t, s, "box__huge", `{}`); err == nil || isNotStarted(err) || isUnknown(err) || !strings.Contains(err.Error(), "larger than") {
				t.Errorf("huge: %d bytes, %v", len(out), err)
			}
			if out, err := attempt(t, s, "box__failed", `{}`); err == nil || out != "" || err.Error() != "no such\uFFFDrow" {
				t.Errorf("failed: %q, %v", out, err)
			}
			if _, err := attempt(t, s, "box__refused", `{}`); err == nil || isNotStarted(err) || isUnknown(err) || !strings.Contains(err.Error(), "a bug") {
				t.Errorf("refused: %v", err)
			}
			gone := find(t, s, "box__gone")
			server.RemoveTools("gone")
			if _, err := gone.Call(tool.NewContext(t.Context(), "k", ana, nil, nil), json.RawMessage(`{}`)); err == nil || isNotStarted(err) || isUnknown(err) {
				t.Errorf("gone: %v", err)
			}
		}
	})
}

// breaking is an HTTP server that does something to calls instead of answering them.
func breaking(t *testing.T, g generation, f func(w http.ResponseWriter, r *http.Request, id json.RawMessage)) *Source {
	t.Helper()
	server := newServer(g)
	add(server, "a", nil, nil)
	p := newPlace(t)
	p.wrap = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			var m struct {
				ID     json.RawMessage
				Method string
			}
			_ = json.Unmarshal(body, &m)
			if m.Method == methodCall {
				f(w, r, m.ID)
				return
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			next.ServeHTTP(w, r)
		})
	}
	p.serve(server)
	return ready(t, start(t, Config{URL: p.url(), Deadline: 300 * time.Millisecond}))
}

func hangUp(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	const started, unknown, failed = "not started", "unknown", "failed"
	status := func(code int, body string) func(http.ResponseWriter, *http.Request, json.RawMessage) {
		return func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, c := range []struct {
		name, want string
		f          func(http.ResponseWriter, *http.Request, json.RawMessage)
	}{
		{"reset", unknown, func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) { hangUp(w) }},
		{"a stream that ends", unknown, func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, ": hello\n\n")
		}},
		{"a stream cut in the answer", unknown, func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"cont", id)
		}},
		{"an answer cut short", unknown, func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "500")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,`, id)
		}},
		{"no answer", unknown, func(_ http.ResponseWriter, r *http.Request, _ json.RawMessage) { <-r.Context().Done() }},
		{"accepted", unknown, status(202, "")},
		{"a page", unknown, status(200, "<html>")},
		{"500", unknown, status(500, "")},
		{"502", unknown, status(502, "bad gateway")},
		{"503", unknown, status(503, "")},
		{"500 with an answer", failed, status(500, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"it broke"}}`)},
		{"401", failed, status(401, "")},
		{"403", failed, status(403, "no")},
		{"429", failed, status(429, "")},
		{"400 with an answer", failed, status(400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"it broke"}}`)},
		{"a redirect", failed, func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusPermanentRedirect)
		}},
		{"a result that is none", failed, func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":"none"}}`, id)
		}},
		{"an answer to something else", unknown, func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":99999,"result":{"content":[]}}`)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bothGenerations(t, func(t *testing.T, g generation) {
				var calls atomic.Int32
				s := breaking(t, g, func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
					calls.Add(1)
					c.f(w, r, id)
				})
				out, err := attempt(t, s, "box__a", `{}`)
				got := failed
				switch {
				case err == nil:
					t.Fatalf("it succeeds: %q", out)
				case isNotStarted(err):
					got = started
				case isUnknown(err):
					got = unknown
				}
				if got != c.want || calls.Load() != 1 {
					t.Errorf("%s, want %s, sent %d times: %v", got, c.want, calls.Load(), err)
				}
			})
		})
	}
}

// TestSessionThatTheServerForgot did not run: the server says so, and the next attempt has a new session.
func TestSessionThatTheServerForgot(t *testing.T) {
	t.Parallel()
	forgetful := breaking(t, older, func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
		http.Error(w, "session not found", 404)
	})
	if _, err := attempt(t, forgetful, "box__a", `{}`); !isNotStarted(err) {
		t.Errorf("it ended as %v", err)
	}
	server := newServer(older)
	add(server, "a", nil, nil)
	p := newPlace(t)
	p.serve(server)
	s := ready(t, start(t, Config{URL: p.url()}))
	for session := range server.Sessions() {
		_ = session.Close()
	}
	until(t, s, "there is another session", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.tries > 1 && s.cur != nil })
	if out, err := attempt(t, s, "box__a", `{}`); err != nil || out != "a {}" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestKilledInTheMiddle kills the server while a call runs.
func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	bothGenerations(t, func(t *testing.T, g generation) {
		server := newServer(g)
		p := newPlace(t)
		add(server, "slow", nil, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			go p.kill()
			<-p.alive().Done()
			return says("late"), nil
		})
		p.serve(server)
		s := ready(t, start(t, Config{URL: p.url()}))
		if _, err := attempt(t, s, "box__slow", `{}`); !isUnknown(err) {
			t.Errorf("it ended as %v", err)
		}
		if _, err := attempt(t, s, "box__slow", `{}`); !isNotStarted(err) {
			t.Errorf("without a server: %v", err)
		}
	})
}

func TestClosedSource(t *testing.T) {
	t.Parallel()
	server := newServer(modern)
	add(server, "a", nil, nil)
	p := newPlace(t)
	p.serve(server)
	s := ready(t, start(t, Config{URL: p.url()}))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := attempt(t, s, "box__a", `{}`); !isNotStarted(err) {
		t.Errorf("after Close: %v", err)
	}
	if err := s.Run(t.Context()); err == nil {
		t.Error("it runs after Close")
	}
}

func TestCallOfATurnThatIsStopped(t *testing.T) {
	t.Parallel()
	server := newServer(modern)
	began := make(chan struct{})
	p := newPlace(t)
	add(server, "slow", nil, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		close(began)
		<-p.alive().Done()
		return says("late"), nil
	})
	p.serve(server)
	s := ready(t, start(t, Config{URL: p.url()}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	if _, err := find(t, s, "box__slow").Call(tool.NewContext(ctx, "k", ana, nil, nil), json.RawMessage(`{}`)); !isUnknown(err) {
		t.Errorf("it ended as %v", err)
	}
}

func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	const header, user, query, env, arg = "Bearer header-secret-1", "user-secret-2", "query-secret-3", "env-secret-4", "arg-secret-5"
	secrets := []string{"header-secret-1", user, query, env, arg}
	var log logged
	for _, c := range []Config{
		{Name: "box", URL: "http://me:" + user + "@127.0.0.1:1/mcp?key=" + query, Headers: map[string]string{"Authorization": header}},
		{Name: "box", Command: []string{"/nowhere/" + env, "--token", arg, "--api-key=" + arg, "postgres://me:" + user + "@h/db"}, Env: map[string]string{"KEY": env}},
		{Name: "", URL: "http://me:" + user + "@\x7f/?key=" + query, Headers: map[string]string{"Authorization": header}},
	} {
		c.Log = log.logger()
		s, err := New(c)
		if err == nil {
			err = s.Check(t.Context())
			s.take([]*sdk.Tool{{Name: "a"}})
			log.mu.Lock()
			log.b.WriteString(s.List()[0].Target)
			log.mu.Unlock()
		}
		if err == nil {
			t.Fatal("it can be reached")
		}
		for _, secret := range secrets {
			if strings.Contains(err.Error()+log.String(), secret) {
				t.Errorf("%s is told: %v\n%s", secret, err, log.String())
			}
		}
	}
}

func TestHeadersGoToTheServer(t *testing.T) {
	t.Parallel()
	var wrong atomic.Int32
	p := newPlace(t)
	p.wrap = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, pw, _ := r.BasicAuth(); r.Header.Get("X-Key") != "k1" || user != "me" || pw != "pw" {
				wrong.Add(1)
			}
			next.ServeHTTP(w, r)
		})
	}
	server := newServer(older)
	add(server, "a", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, fmt.Errorf("the header was secret-header")
	})
	p.serve(server)
	s := ready(t, start(t, Config{URL: strings.Replace(p.url(), "//", "//me:pw@", 1), Headers: map[string]string{"X-Key": "k1", "X-Other": "secret-header"}}))
	if _, err := attempt(t, s, "box__a", `{}`); err == nil || strings.Contains(err.Error(), "secret-header") {
		t.Errorf("%v", err)
	}
	if n := wrong.Load(); n != 0 {
		t.Errorf("%d requests without the headers", n)
	}
}

// TestHeadersDoNotFollowRedirects sends a server's credentials nowhere else.
func TestHeadersDoNotFollowRedirects(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := newPlace(t)
	other.serveHTTP(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	p := newPlace(t)
	p.serveHTTP(http.RedirectHandler(other.url(), http.StatusTemporaryRedirect))
	own := &http.Transport{}
	defer own.CloseIdleConnections()
	s, err := New(Config{Name: "box", URL: p.url(), Headers: map[string]string{"X-Key": "k1"}, HTTPClient: &http.Client{Transport: own}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err == nil || elsewhere.Load() != 0 {
		t.Errorf("%d requests went elsewhere, %v", elsewhere.Load(), err)
	}
}

// TestFloodOfQuestions ends a call whose server goes on asking after it was refused.
func TestFloodOfQuestions(t *testing.T) {
	t.Parallel()
	server := newServer(older)
	p := newPlace(t)
	add(server, "ask", nil, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(p.alive(), cancel)()
		for ctx.Err() == nil {
			if _, err := r.Session.Elicit(ctx, formAsk("Again?")); err != nil {
				return nil, err
			}
		}
		return says("stopped"), nil
	})
	p.serve(server)
	s := ready(t, start(t, Config{URL: p.url(), Deadline: 300 * time.Millisecond}))
	asks := 0
	_, err := waiting(t, s, "box__ask", func(tool.Asked) (tool.Answered, error) {
		if asks++; asks > 3 {
			return tool.Answered{}, fmt.Errorf("at most 3 times")
		}
		return tool.Answered{Answer: core.Answer{Action: core.ActionDecline}}, nil
	})
	if err == nil || !strings.Contains(err.Error(), "at most 3 times") || asks != 4 {
		t.Errorf("asked %d times, %v", asks, err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{
		"no name":  {URL: "https://x.example/"},
		"reserved": {Name: "agent", URL: "https://x.example/"},
		"nothing":  {Name: "a"},
		"both":     {Name: "a", URL: "https://x.example/", Command: []string{"x"}},
		"ftp":      {Name: "a", URL: "ftp://x.example/"},
		"approval": {Name: "a", URL: "https://x.example/", Approval: tool.Approval{Default: "sometimes"}},
		"empty":    {Name: "a", Command: []string{""}},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
