package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core/tool"
	"parley/core/tool/oauth"
	"parley/core/tool/oauth/oauthtest"
)

// guarded is a server that wants tokens.
type guarded struct {
	t      *testing.T
	as     *oauthtest.Server
	guard  *oauthtest.Guard
	place  *place
	config Config
	log    *logged
	// late is added to the clock of Parley and of the authorization server.
	late atomic.Int64
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{t: t, as: oauthtest.New(t), place: newPlace(t), log: &logged{}}
	g.as.Lifetime, g.as.Now = time.Hour, g.now
	g.guard = &oauthtest.Guard{Server: g.as, Resource: g.place.url()}
	g.place.wrap = g.guard.Handler
	g.config = Config{
		Name: "box", URL: g.place.url(), Retry: time.Millisecond, Log: g.log.logger(), HTTPClient: &http.Client{Transport: &http.Transport{}},
		OAuth: &oauth.Config{Grant: oauth.AuthorizationCode, Memory: &memory{}, Key: "k", Now: g.now, Hint: "run parley login"},
	}
	t.Cleanup(g.config.HTTPClient.CloseIdleConnections)
	t.Cleanup(func() { g.clean(g.log.String()) })
	return g
}

func (g *guarded) now() time.Time { return time.Now().Add(time.Duration(g.late.Load())) }

func (g *guarded) pass(d time.Duration) { g.late.Add(int64(d)) }

func (g *guarded) login() {
	g.t.Helper()
	if !operator(g.t.Context(), g.config) {
		g.t.Fatal("no login")
	}
}

// clean wants no token in a text.
func (g *guarded) clean(text string) {
	g.t.Helper()
	if strings.Contains(text, "access-") || strings.Contains(text, "refresh-") {
		g.t.Errorf("a token is told: %s", text)
	}
}

// wantLogin wants a failure that says how to log in, and of which nobody thinks that it may have run.
func (g *guarded) wantLogin(err error) {
	g.t.Helper()
	if err == nil || !strings.Contains(err.Error(), "not connected") || !strings.Contains(err.Error(), "run parley login") || errors.Is(err, tool.ErrUnknownOutcome) {
		g.t.Errorf("%v, want to be told to log in", err)
	}
}

func TestOAuthLogin(t *testing.T) {
	t.Parallel()
	bothGenerations(t, func(t *testing.T, gen generation) {
		g := newGuarded(t)
		server := newServer(gen)
		calls := &ran{}
		add(server, "act", nil, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			calls.note(r)
			return says("done"), nil
		})
		g.place.serve(server)
		s := start(t, g.config)
		s.Attempted(t.Context())
		err := s.Check(t.Context())
		g.wantLogin(err)
		if err != nil && !strings.HasPrefix(err.Error(), "connect to MCP server box: not connected: ") {
			t.Errorf("it says more than that: %v", err)
		}
		if s.Ready() || len(g.as.Requests()) > 0 {
			t.Error("it has tools, or asked for tokens")
		}
		g.login()
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if out, err := attempt(t, s, "box__act", `{}`); err != nil || out != "done" {
			t.Fatalf("%q, %v", out, err)
		}
		g.pass(2 * time.Hour) // renewed
		if out, err := attempt(t, s, "box__act", `{}`); err != nil || out != "done" {
			t.Fatalf("after its end: %q, %v", out, err)
		}
		g.as.Revoke(false) // renewed at the refusal
		g.pass(2 * time.Minute)
		if out, err := attempt(t, s, "box__act", `{}`); err != nil || out != "done" {
			t.Fatalf("withdrawn: %q, %v", out, err)
		}
		g.as.Revoke(true)
		g.pass(2 * time.Minute)
		for range 2 {
			_, err := attempt(t, s, "box__act", `{}`)
			g.wantLogin(err)
			g.clean(err.Error())
		}
		if got := names(s); !slices.Equal(got, []string{"box__act"}) {
			t.Errorf("its tools are %q", got)
		}
		g.login()
		if out, err := attempt(t, s, "box__act", `{}`); err != nil || out != "done" {
			t.Fatalf("logged in again: %q, %v", out, err)
		}
		if n := len(calls.all()); n != 4 {
			t.Errorf("it ran %d times, want 4", n)
		}
		if text := g.log.String(); !strings.Contains(text, "run parley login") {
			t.Errorf("the log does not say what to do: %s", text)
		}
	})
}

func TestOAuthClientCredentials(t *testing.T) {
	t.Parallel()
	bothGenerations(t, func(t *testing.T, gen generation) {
		g := newGuarded(t)
		g.as.Secrets["parley"] = "secret-of-parley"
		g.config.OAuth = &oauth.Config{Grant: oauth.ClientCredentials, ClientID: "parley", ClientSecret: "secret-of-parley", Issuer: g.as.URL, Now: g.now}
		server := newServer(gen)
		add(server, "act", nil, nil)
		g.place.serve(server)
		s := ready(t, start(t, g.config))
		for range 2 {
			if _, err := attempt(t, s, "box__act", `{}`); err != nil {
				t.Fatal(err)
			}
			g.pass(2 * time.Hour)
		}
		if strings.Contains(s.List()[0].Target, "secret") || strings.Contains(g.log.String(), "secret-of-parley") {
			t.Error("the secret is told")
		}
	})
}

// TestOAuthMoreScopes: one call wants more than was granted; the others go on, over the same connection.
func TestOAuthMoreScopes(t *testing.T) {
	t.Parallel()
	bothGenerations(t, func(t *testing.T, gen generation) {
		g := newGuarded(t)
		var wants atomic.Bool
		g.guard.Scopes = func(method string) []string {
			if method == methodCall && wants.Load() {
				return []string{"write"}
			}
			return nil
		}
		server := newServer(gen)
		add(server, "act", nil, nil)
		g.place.serve(server)
		g.login()
		s := ready(t, start(t, g.config))
		wants.Store(true)
		_, err := attempt(t, s, "box__act", `{}`)
		g.wantLogin(err)
		if err != nil && !strings.Contains(err.Error(), `"write"`) {
			t.Errorf("%v", err)
		}
		wants.Store(false)
		if _, err := attempt(t, s, "box__act", `{}`); err != nil {
			t.Error(err)
		}
		wants.Store(true)
		g.login()
		if _, err := attempt(t, s, "box__act", `{}`); err != nil {
			t.Error(err)
		}
	})
}

// TestOAuthTokenIsNotRepeated: a server that sends back what it was sent shows it to nobody.
func TestOAuthTokenIsNotRepeated(t *testing.T) {
	t.Parallel()
	bothGenerations(t, func(t *testing.T, gen generation) {
		g := newGuarded(t)
		server := newServer(gen)
		token := func(r *sdk.CallToolRequest) string { return r.Extra.Header.Get("Authorization") }
		add(server, "result", nil, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: token(r)}}, StructuredContent: map[string]any{"sent": token(r)}}, nil
		})
		add(server, "error", nil, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return nil, errors.New("what is " + token(r))
		})
		add(server, "ask", &sdk.ToolAnnotations{ReadOnlyHint: true}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return elicit(ctx, r, formAsk("do you know "+token(r)))
		})
		g.place.serve(server)
		g.login()
		s := ready(t, start(t, g.config))
		out, err := attempt(t, s, "box__result", `{}`)
		if err != nil || !strings.Contains(out, "[secret]") {
			t.Errorf("%q, %v", out, err)
		}
		g.clean(out)
		_, err = attempt(t, s, "box__error", `{}`)
		if err == nil || !strings.Contains(err.Error(), "[secret]") {
			t.Errorf("%v", err)
		} else {
			g.clean(err.Error())
		}
		if gen == older { // which asks inside the call
			_, err = attempt(t, s, "box__ask", `{}`)
			g.clean(asked(t, err).Message)
		}
	})
}

// TestOAuthBrokenAfterRenewal: a call that was refused, renewed and sent again may have run where no answer came.
func TestOAuthBrokenAfterRenewal(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	server := newServer(modern)
	var breaks atomic.Bool
	add(server, "act", nil, nil)
	g.place.wrap = func(next http.Handler) http.Handler {
		return g.guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			if breaks.Load() && strings.Contains(string(body), methodCall) {
				panic(http.ErrAbortHandler)
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			next.ServeHTTP(w, r)
		}))
	}
	g.place.serve(server)
	g.login()
	s := ready(t, start(t, g.config))
	g.as.Revoke(false)
	breaks.Store(true)
	if _, err := attempt(t, s, "box__act", `{}`); !errors.Is(err, tool.ErrUnknownOutcome) {
		t.Errorf("%v, want an unknown outcome", err)
	}
}

// TestOAuthHeaderGoesHomeOnly: no token follows a redirect.
func TestOAuthHeaderGoesHomeOnly(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	server := newServer(modern)
	add(server, "act", nil, nil)
	var mu sync.Mutex
	var got []string
	other := newPlace(t)
	other.serveHTTP(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Header.Get("Authorization"))
	}))
	var away atomic.Bool
	g.place.wrap = func(next http.Handler) http.Handler {
		return g.guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if away.Load() {
				http.Redirect(w, r, other.url(), http.StatusTemporaryRedirect)
				return
			}
			next.ServeHTTP(w, r)
		}))
	}
	g.place.serve(server)
	g.login()
	s := ready(t, start(t, g.config))
	away.Store(true)
	if _, err := attempt(t, s, "box__act", `{}`); err == nil {
		t.Error("it ran")
	}
	mu.Lock()
	defer mu.Unlock()
	if len(got) > 0 {
		t.Errorf("another server was sent %q", got)
	}
}

func TestOAuthConfig(t *testing.T) {
	t.Parallel()
	good := func() Config {
		return Config{Name: "a", URL: "https://example.com/mcp", OAuth: &oauth.Config{Grant: oauth.AuthorizationCode, Now: time.Now}}
	}
	for name, c := range map[string]struct {
		do   func(*Config)
		want string
	}{
		"two ways": {func(c *Config) { c.Headers = map[string]string{"authorization": "x"} }, "either an Authorization header or oauth"},
		"a child":  {func(c *Config) { c.URL, c.Command = "", []string{"x"} }, "server with a url"},
		"no https": {func(c *Config) { c.URL = "http://example.com/mcp" }, "https"},
		"no grant": {func(c *Config) { c.OAuth.Grant = "" }, "grant"},
		"no clock": {func(c *Config) { c.OAuth.Now = nil }, "clock"},
	} {
		config := good()
		c.do(&config)
		if _, err := New(config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	s, err := New(good())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestOAuthAwait: no turn waits for the tools of a server that somebody has to log in to first.
func TestOAuthAwait(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	server := newServer(modern)
	add(server, "act", nil, nil)
	g.place.serve(server)
	s := start(t, g.config)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, ok := s.Await(ctx, "box__act"); ok || ctx.Err() != nil {
		t.Errorf("found %v, %v", ok, ctx.Err())
	}
	g.login()
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Await(ctx, "box__act"); !ok {
		t.Error("not found after the login")
	}
}
