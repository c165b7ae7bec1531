package oauth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/core/tool/oauth/oauthtest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(int) { http.DefaultClient.CloseIdleConnections() }))
}

// rig is an MCP server behind a guard, its authorization server, and what Parley keeps of them.
type rig struct {
	t      *testing.T
	as     *oauthtest.Server
	guard  *oauthtest.Guard
	clock  *clock
	memory *memory
	config Config
}

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// memory is a store of small values that can be made to fail.
type memory struct {
	mu     sync.Mutex
	kept   map[string][]byte
	broken bool
	writes int
	onSave func()
}

func (m *memory) Recall(_ context.Context, key string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.kept[key]
	return v, ok, nil
}

func (m *memory) Remember(ctx context.Context, key string, value []byte, _ time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.onSave != nil {
		m.onSave()
	}
	if m.broken {
		return errors.New("the disk is full")
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m.writes++
	m.kept[key] = value
	return nil
}

func (m *memory) set(broken bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = broken
}

func (m *memory) text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return string(m.kept["k"])
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, as: oauthtest.New(t), clock: &clock{at: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}, memory: &memory{kept: map[string][]byte{}}}
	r.as.Now, r.as.Lifetime = r.clock.now, time.Hour
	r.guard = &oauthtest.Guard{Server: r.as}
	server := httptest.NewServer(r.guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") })))
	t.Cleanup(server.Close)
	r.guard.Resource = server.URL + "/mcp"
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	r.config = Config{
		Server: r.guard.Resource, Grant: AuthorizationCode, Memory: r.memory, Key: "k", Hint: "run parley login", Now: r.clock.now, HTTPClient: client,
	}
	return r
}

// browser makes a visit as a person whom the authorization server knows: it is sent back at once.
func (r *rig) browser(ctx context.Context, v Visit) (url.Values, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.URL, nil)
	if err != nil {
		return nil, err
	}
	c := *r.config.HTTPClient
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close()
	back, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || resp.StatusCode != http.StatusFound {
		return nil, errors.New("the authorization server did not send the browser back")
	}
	return back.Query(), nil
}

func (r *rig) login() {
	r.t.Helper()
	if err := Login(r.t.Context(), r.config, r.browser); err != nil {
		r.t.Fatal(err)
	}
}

// keeper is that of a program that has just started.
func (r *rig) keeper() *Keeper {
	r.t.Helper()
	k, err := New(r.config)
	if err != nil {
		r.t.Fatal(err)
	}
	return k
}

// ask makes a request as the transport of the client library does: with a token, and once more after a refusal
// that could be mended.
func (r *rig) ask(k *Keeper, method string) (int, error) {
	once := func() (*http.Request, *http.Response, error) {
		req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.config.Server, strings.NewReader(`{"method":"`+method+`"}`))
		if err != nil {
			return nil, nil, err
		}
		source, err := k.TokenSource(r.t.Context())
		if err != nil {
			return nil, nil, err
		}
		if source != nil {
			token, err := source.Token()
			if err != nil {
				return nil, nil, err
			}
			token.SetAuthHeader(req)
		}
		resp, err := r.config.HTTPClient.Do(req)
		return req, resp, err
	}
	req, resp, err := once()
	if err != nil {
		return 0, err
	}
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		if err := k.Authorize(r.t.Context(), req, resp); err != nil {
			return resp.StatusCode, err
		}
		if _, resp, err = once(); err != nil {
			return 0, err
		}
	}
	return resp.StatusCode, resp.Body.Close()
}

func (r *rig) served(k *Keeper, method string) {
	r.t.Helper()
	if status, err := r.ask(k, method); err != nil || status != http.StatusOK {
		r.t.Fatalf("%s: status %d, %v", method, status, err)
	}
}

// wantLogin asks and wants to be told that somebody has to log in.
func (r *rig) wantLogin(k *Keeper, method, why string) {
	r.t.Helper()
	_, err := r.ask(k, method)
	var login *LoginError
	if !errors.As(err, &login) || !strings.Contains(login.Why, why) || !strings.Contains(err.Error(), "run parley login") {
		r.t.Fatalf("%s: %v, want to be told to log in: %s", method, err, why)
	}
	r.clean(err.Error())
}

// clean wants no secret in a text, not even in part.
func (r *rig) clean(text string) {
	r.t.Helper()
	for _, word := range []string{"access-", "refresh-", "secret-", "code_verifier", "client_assertion"} {
		if strings.Contains(text, word) {
			r.t.Errorf("a secret is told: %s", text)
		}
	}
	access, refresh := r.as.Given()
	for _, s := range append(access, refresh...) {
		if strings.Contains(text, s) {
			r.t.Errorf("a token is told: %s", text)
		}
	}
}
