package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"parley/core/tool/oauth/oauthtest"
	"parley/core/tool/outbound"
)

func TestLoginRequests(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.as.Metadata = func(m map[string]any) { m["scopes_supported"] = []string{"read", "offline_access"} }
	r.guard.Metadata = func(m map[string]any) { m["scopes_supported"] = []string{"read"} }
	r.login()
	v, form := r.as.Visits()[0], r.as.Requests()[0]
	for key, want := range map[string]string{
		"client_id": "client-1", "redirect_uri": DefaultRedirect, "resource": r.config.Server, "scope": "read offline_access", "code_challenge_method": "S256",
	} {
		if v.Get(key) != want {
			t.Errorf("%s of the visit is %q, want %q", key, v.Get(key), want)
		}
	}
	if v.Get("state") == "" || v.Get("code_challenge") == "" || form.Get("code_verifier") == "" || form.Get("resource") != r.config.Server {
		t.Errorf("visit %v, exchange %v", v, form)
	}
	r.login()
	if again := r.as.Visits()[1]; again.Get("state") == v.Get("state") || again.Get("code_challenge") == v.Get("code_challenge") {
		t.Error("a second login repeats the first")
	}
}

// attack is a login that must come to nothing. tokens says that a token request may be made all the same, visits
// that a person may be sent somewhere.
type attack struct {
	name   string
	do     func(r *rig)
	want   string
	visits bool
	tokens bool
}

func elsewhere(m map[string]any, key, value string) { m[key] = value }

var attacks = []attack{
	{name: "metadata of another resource", want: "metadata resource",
		do: func(r *rig) {
			r.guard.Metadata = func(m map[string]any) { elsewhere(m, "resource", "https://evil.example.com/mcp") }
		}},
	{name: "metadata of a neighbour", want: "metadata resource",
		do: func(r *rig) {
			r.guard.Metadata = func(m map[string]any) { elsewhere(m, "resource", r.config.Server+"/other") }
		}},
	{name: "no authorization server", want: "names no authorization server",
		do: func(r *rig) {
			r.guard.Metadata = func(m map[string]any) { m["authorization_servers"] = []string{} }
		}},
	{name: "another authorization server than configured", want: "accepts https://id.example.com alone",
		do: func(r *rig) { r.config.Issuer = "https://id.example.com" }},
	{name: "metadata of another issuer", want: "does not match issuer",
		do: func(r *rig) {
			r.as.Metadata = func(m map[string]any) { elsewhere(m, "issuer", "https://evil.example.com") }
		}},
	{name: "an authorization server without https", want: "HTTPS",
		do: func(r *rig) {
			r.guard.Metadata = func(m map[string]any) { m["authorization_servers"] = []string{"http://id.example.com"} }
		}},
	{name: "a token endpoint without https", want: "HTTPS",
		do: func(r *rig) {
			r.as.Metadata = func(m map[string]any) { elsewhere(m, "token_endpoint", "http://id.example.com/token") }
		}},
	{name: "no token endpoint", want: "no token endpoint",
		do: func(r *rig) { r.as.Metadata = func(m map[string]any) { delete(m, "token_endpoint") } }},
	{name: "an authorization endpoint that is a script", want: "disallowed scheme",
		do: func(r *rig) {
			r.as.Metadata = func(m map[string]any) { elsewhere(m, "authorization_endpoint", "javascript:alert(1)") }
		}},
	{name: "no PKCE", want: "PKCE",
		do: func(r *rig) { r.as.Metadata = func(m map[string]any) { delete(m, "code_challenge_methods_supported") } }},
	{name: "plain PKCE", want: "PKCE with S256",
		do: func(r *rig) {
			r.as.Metadata = func(m map[string]any) { m["code_challenge_methods_supported"] = []string{"plain"} }
		}},
	{name: "no way to be registered", want: "oauth.clientId",
		do: func(r *rig) { r.as.Metadata = func(m map[string]any) { delete(m, "registration_endpoint") } }},
	{name: "the answer has a wrong state", want: "belongs to another login", visits: true,
		do: func(r *rig) { r.as.Answer = func(q url.Values) { q.Set("state", "x") } }},
	{name: "the answer has no state", want: "belongs to another login", visits: true,
		do: func(r *rig) { r.as.Answer = func(q url.Values) { q.Del("state") } }},
	{name: "the answer has two states", want: "several values for state", visits: true,
		do: func(r *rig) { r.as.Answer = func(q url.Values) { q.Add("state", "x") } }},
	{name: "the answer has two codes", want: "several values for code", visits: true,
		do: func(r *rig) { r.as.Answer = func(q url.Values) { q.Add("code", "x") } }},
	{name: "the answer is of another issuer", want: "from another authorization server", visits: true,
		do: func(r *rig) { r.as.Answer = func(q url.Values) { q.Set("iss", "https://evil.example.com") } }},
	{name: "the answer is of nearly this issuer", want: "from another authorization server", visits: true,
		do: func(r *rig) { r.as.Answer = func(q url.Values) { q.Set("iss", r.as.URL+"/") } }},
	{name: "the answer names no issuer though it would", want: "does not say which", visits: true,
		do: func(r *rig) {
			r.as.Metadata = func(m map[string]any) { m["authorization_response_iss_parameter_supported"] = true }
		}},
	{name: "the person declines", want: "access_denied", visits: true,
		do: func(r *rig) {
			r.as.Answer = func(q url.Values) {
				q.Del("code")
				q.Set("error", "access_denied")
				q.Set("error_description", "secret-x")
			}
		}},
	{name: "the refusal is no code word", want: "refused", visits: true,
		do: func(r *rig) { r.as.Answer = func(q url.Values) { q.Set("error", "secret-x <b>") } }},
	{name: "the answer has no code", want: "holds no code", visits: true,
		do: func(r *rig) { r.as.Answer = func(q url.Values) { q.Del("code") } }},
	{name: "the answer has a code of somebody else", want: "invalid_grant", visits: true, tokens: true,
		do: func(r *rig) { r.as.Answer = func(q url.Values) { q.Set("code", "secret-of-another") } }},
	{name: "the exchange is refused", want: "invalid_grant", visits: true, tokens: true,
		do: func(r *rig) { r.as.Refuse = func(url.Values) string { return "invalid_grant" } }},
}

func TestLoginsThatMustNotBe(t *testing.T) {
	t.Parallel()
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			a.do(r)
			err := Login(t.Context(), r.config, r.browser)
			if err == nil || !strings.Contains(err.Error(), a.want) {
				t.Fatalf("%v, want %q", err, a.want)
			}
			r.clean(err.Error())
			if r.memory.writes > 0 {
				t.Error("something was kept")
			}
			if !a.visits && len(r.as.Visits()) > 0 || !a.tokens && len(r.as.Requests()) > 0 {
				t.Errorf("%d visits, %d token requests", len(r.as.Visits()), len(r.as.Requests()))
			}
		})
	}
}

// TestIssuerInTheAnswer: named and right is well, whether the server said that it would or not.
func TestIssuerInTheAnswer(t *testing.T) {
	t.Parallel()
	for _, says := range []bool{true, false} {
		r := newRig(t)
		r.as.Answer = func(q url.Values) { q.Set("iss", r.as.URL) }
		r.as.Metadata = func(m map[string]any) { m["authorization_response_iss_parameter_supported"] = says }
		r.login()
		r.served(r.keeper(), "tools/list")
	}
}

// TestMixUp: a server that sends to an authorization server of its own is not shown the secret of a client that
// belongs to another, and one that lets metadata of the right one stand elsewhere does not get its tokens.
func TestMixUp(t *testing.T) {
	t.Parallel()
	r, evil := newRig(t), oauthtest.New(t)
	r.as.Secrets["parley"], r.as.Methods = "secret-x", []string{"client_secret_basic"}
	r.config.ClientID, r.config.ClientSecret, r.config.Issuer = "parley", "secret-x", r.as.URL
	r.guard.Metadata = func(m map[string]any) { m["authorization_servers"] = []string{evil.URL} }
	if err := Login(t.Context(), r.config, r.browser); err == nil || !strings.Contains(err.Error(), "alone") {
		t.Errorf("%v", err)
	}
	r.guard.Metadata = func(m map[string]any) { m["authorization_servers"] = []string{evil.URL, r.as.URL} }
	r.login() // the configured one is among those named
	k := r.keeper()
	r.served(k, "tools/list")
	// From now on another names itself; the refresh token still goes where it came from.
	r.guard.Metadata = func(m map[string]any) { m["authorization_servers"] = []string{evil.URL} }
	r.as.Revoke(false)
	r.clock.pass(tooLongAgo)
	r.served(k, "tools/list")
	if len(evil.Requests())+len(evil.Visits())+evil.Registered() > 0 {
		t.Error("the other authorization server was asked for something")
	}
}

const tooLongAgo = 2 * again

// TestRedirects: no request that carries anything is sent on.
func TestRedirects(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	reached := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) { reached <- q.URL.Path }))
	t.Cleanup(other.Close)
	sends := httptest.NewServer(http.RedirectHandler(other.URL+"/stolen", http.StatusTemporaryRedirect))
	t.Cleanup(sends.Close)
	r.as.Metadata = func(m map[string]any) { m["token_endpoint"] = sends.URL + "/token" }
	err := Login(t.Context(), r.config, r.browser)
	if err == nil || !strings.Contains(err.Error(), "307") {
		t.Errorf("%v", err)
	}
	select {
	case path := <-reached:
		t.Errorf("a token request was sent on to %s", path)
	default:
	}
}

// TestAddressesThatMayNotBeReached: what a server names is judged like every other address.
func TestAddressesThatMayNotBeReached(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	server, err := url.Parse(r.config.Server)
	if err != nil {
		t.Fatal(err)
	}
	r.config.HTTPClient = outbound.Client(outbound.Config{AllowPrivate: []string{server.Host}})
	t.Cleanup(r.config.HTTPClient.CloseIdleConnections)
	err = Login(t.Context(), r.config, r.browser)
	if err == nil || !strings.Contains(err.Error(), "outbound.allowPrivate") || len(r.as.Visits())+r.as.Registered() > 0 {
		t.Errorf("%v", err)
	}
	as, err := url.Parse(r.as.URL)
	if err != nil {
		t.Fatal(err)
	}
	r.config.HTTPClient = outbound.Client(outbound.Config{AllowPrivate: []string{server.Host, as.Host}})
	t.Cleanup(r.config.HTTPClient.CloseIdleConnections)
	r.login()
	r.served(r.keeper(), "tools/list")
}

// TestServerIsItsOwnAuthorizationServer as servers were before there were metadata of resources.
func TestServerIsItsOwnAuthorizationServer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	as := httptest.NewServer(nil)
	t.Cleanup(as.Close)
	var asked []string
	as.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asked = append(asked, q.Method+" "+q.URL.Path)
		switch q.URL.Path {
		case "/register":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(`{"client_id":"c","redirect_uris":[]}`))
		case "/token":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"access_token":"a","token_type":"bearer"}`))
		case "/authorize":
			http.Redirect(w, q, q.FormValue("redirect_uri")+"?code=x&state="+q.FormValue("state"), http.StatusFound)
		default:
			http.NotFound(w, q)
		}
	})
	r.config.Server = as.URL + "/mcp"
	r.login()
	if got := asked[len(asked)-3:]; strings.Join(got, ",") != "POST /register,GET /authorize,POST /token" {
		t.Errorf("%q", asked)
	}
}

// TestServerThatNamesItselfBelowItsRoot is taken where it is its own authorization server and names nobody else.
func TestServerThatNamesItselfBelowItsRoot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, issuer, token string
		want                bool
	}{
		{"itself", "/oauth", "/token", true},
		{"another issuer", "https://evil.example.com", "/token", false},
		{"another token endpoint", "/oauth", "https://evil.example.com/token", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			root := ""
			whole := func(s string) string {
				if strings.HasPrefix(s, "/") {
					return root + s
				}
				return s
			}
			root = newServer(t, func(w http.ResponseWriter, q *http.Request) {
				if q.URL.Path != "/.well-known/oauth-authorization-server" {
					http.NotFound(w, q)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"issuer":%q,"token_endpoint":%q,"authorization_endpoint":%q,"code_challenge_methods_supported":["S256"]}`,
					whole(c.issuer), whole(c.token), root+"/authorize")
			})
			r.config.Server, r.config.ClientID = root+"/mcp", "parley"
			visited := false
			err := Login(t.Context(), r.config, func(context.Context, Visit) (url.Values, error) {
				visited = true
				return nil, errors.New("far enough")
			})
			if visited != c.want {
				t.Errorf("visited %v: %v", visited, err)
			}
		})
	}
}

// TestMetadataCannotBeRead: a server in trouble is not taken for one without metadata.
func TestMetadataCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"in trouble": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"no JSON":    func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"sent on": func(w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, "http://127.0.0.1:1/x", http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				if strings.HasPrefix(q.URL.Path, "/.well-known/oauth-protected-resource") {
					answer(w, q)
					return
				}
				w.WriteHeader(http.StatusUnauthorized)
			}))
			t.Cleanup(server.Close)
			r.config.Server = server.URL + "/mcp"
			if err := Login(t.Context(), r.config, r.browser); err == nil || !strings.Contains(err.Error(), "metadata of the MCP server") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestSpellingsOfAResource(t *testing.T) {
	t.Parallel()
	for _, spelling := range []func(server string) string{
		func(s string) string { return s }, func(s string) string { return s + "/" },
		origin, func(s string) string { return origin(s) + "/" },
	} {
		r := newRig(t)
		published := spelling(r.config.Server)
		r.guard.Metadata = func(m map[string]any) { m["resource"] = published }
		r.login()
		if v, form := r.as.Visits()[0], r.as.Requests()[0]; v.Get("resource") != published || form.Get("resource") != published {
			t.Errorf("%q is asked for as %q and %q", published, v.Get("resource"), form.Get("resource"))
		}
	}
}

// TestRefusalThatNamesNothing: the metadata are looked for where they usually are.
func TestRefusalThatNamesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.guard.Hidden = true
	r.login()
	r.served(r.keeper(), "tools/list")
}

func TestClientsOfALogin(t *testing.T) {
	t.Parallel()
	const document = "https://example.com/parley.json"
	for _, c := range []struct {
		name       string
		set        func(r *rig)
		registered int
		client     string
	}{
		{"registered, public", func(r *rig) {}, 1, "client-1"},
		{"registered, header", func(r *rig) { r.as.Methods = []string{"client_secret_basic"} }, 1, "client-1"},
		{"registered, body", func(r *rig) { r.as.Methods = []string{"client_secret_post"} }, 1, "client-1"},
		{"configured, public", func(r *rig) { r.config.ClientID = "parley"; r.as.Secrets["parley"] = "" }, 0, "parley"},
		{"configured, header", func(r *rig) {
			r.config.ClientID, r.config.ClientSecret, r.as.Secrets["parley"] = "parley", "secret-+%&", "secret-+%&"
		}, 0, "parley"},
		{"configured, body", func(r *rig) {
			r.as.Methods = []string{"client_secret_post"}
			r.config.ClientID, r.config.ClientSecret, r.as.Secrets["parley"] = "parley", "secret-x", "secret-x"
		}, 0, "parley"},
		{"a document", func(r *rig) {
			r.config.ClientID, r.as.Secrets[document] = document, ""
			r.as.Metadata = func(m map[string]any) { m["client_id_metadata_document_supported"] = true }
		}, 0, document},
		{"a document that the server does not read", func(r *rig) { r.config.ClientID = document }, 1, "client-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			c.set(r)
			r.login()
			k := r.keeper()
			r.served(k, "tools/list")
			r.clock.pass(2 * 3600e9)
			r.served(k, "tools/list") // renewed as the same client
			if got := r.as.Visits()[0].Get("client_id"); got != c.client || r.as.Registered() != c.registered {
				t.Errorf("client %q, %d registered", got, r.as.Registered())
			}
		})
	}
}

func TestLoginIsGivenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	gone := errors.New("the person went away")
	if err := Login(t.Context(), r.config, func(context.Context, Visit) (url.Values, error) { return nil, gone }); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
	r.config.Grant = ClientCredentials
	r.config.ClientID, r.config.ClientSecret = "a", "secret-b"
	if err := Login(t.Context(), r.config, r.browser); err == nil || !strings.Contains(err.Error(), "needs no login") {
		t.Errorf("%v", err)
	}
}
