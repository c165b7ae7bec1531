package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"parley/core/tool/oauth/oauthtest"
)

// clientRig is of a client that needs nobody.
func clientRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.as.Secrets["parley"] = "secret-x+%"
	r.config.Grant, r.config.ClientID, r.config.ClientSecret, r.config.Memory = ClientCredentials, "parley", "secret-x+%", nil
	return r
}

func TestClientCredentials(t *testing.T) {
	t.Parallel()
	for _, method := range []string{methodBasic, methodPost} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			r := clientRig(t)
			r.as.Methods = []string{method}
			k := r.keeper()
			r.served(k, "tools/list")
			r.served(k, "tools/list")
			r.clock.pass(time.Hour)
			r.served(k, "tools/list")
			asked := r.as.Requests()
			if len(asked) != 2 || asked[1].Get("grant_type") != ClientCredentials || asked[1].Get("resource") != r.config.Server {
				t.Errorf("%d token requests: %v", len(asked), asked)
			}
			if inBody := asked[0].Get("client_secret") != ""; inBody != (method == methodPost) {
				t.Errorf("%v", asked[0])
			}
		})
	}
}

func TestClientCredentialsAreWithdrawn(t *testing.T) {
	t.Parallel()
	r := clientRig(t)
	k := r.keeper()
	r.served(k, "tools/list")
	r.clock.pass(tooLongAgo)
	r.as.Revoke(true)
	r.served(k, "tools/list")
	r.as.Change(func(s *oauthtest.Server) { s.Secrets["parley"] = "secret-new" })
	r.clock.pass(time.Hour)
	_, err := r.ask(k, "tools/list")
	if err == nil || !strings.Contains(err.Error(), "invalid_client") {
		t.Fatalf("%v", err)
	}
	r.clean(err.Error())
	r.as.Change(func(s *oauthtest.Server) { s.Secrets["parley"] = "secret-x+%" })
	r.clock.pass(calm)
	r.served(k, "tools/list")
}

func TestClientScopes(t *testing.T) {
	t.Parallel()
	r := clientRig(t)
	r.guard.Scopes = func(method string) []string {
		if method == "tools/call" {
			return []string{"write"}
		}
		return []string{"read"}
	}
	k := r.keeper()
	r.served(k, "tools/list")
	r.served(k, "tools/call")
	r.served(k, "tools/list") // the first is kept
	var got []string
	for _, form := range r.as.Requests() {
		got = append(got, form.Get("scope"))
	}
	if !slices.Equal(got, []string{"read", "read write"}) {
		t.Errorf("asked for %q", got)
	}
}

// TestScopesAreNotAskedForOverAndOver by a server that nothing satisfies.
func TestScopesAreNotAskedForOverAndOver(t *testing.T) {
	t.Parallel()
	r := clientRig(t)
	k := r.keeper()
	r.served(k, "tools/list")
	forbids := func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.config.Server, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+k.cur.Tokens.Access)
		h := http.Header{"Www-Authenticate": {`Bearer error="insufficient_scope", scope="admin"`}}
		return k.Authorize(t.Context(), req, &http.Response{StatusCode: http.StatusForbidden, Header: h, Body: http.NoBody})
	}
	if err := forbids(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := forbids(); err == nil || !strings.Contains(err.Error(), "did not help") {
			t.Errorf("%v", err)
		}
	}
	if n := len(r.as.Requests()); n != 2 {
		t.Errorf("%d token requests", n)
	}
}

// TestClientTokenIsNotTaken: a server that refuses what it was just given is not given more.
func TestClientTokenIsNotTaken(t *testing.T) {
	t.Parallel()
	r := clientRig(t)
	k := r.keeper()
	r.served(k, "tools/list")
	r.as.Revoke(true)
	r.guard.Resource += "x"
	for range 3 {
		if status, err := r.ask(k, "tools/list"); err == nil && status == http.StatusOK {
			t.Error("served")
		}
	}
	if n := len(r.as.Requests()); n != 1 {
		t.Errorf("%d token requests", n)
	}
}

// TestClientSecretStaysWithItsIssuer also where the MCP server sends elsewhere.
func TestClientSecretStaysWithItsIssuer(t *testing.T) {
	t.Parallel()
	r, evil := clientRig(t), oauthtest.New(t)
	r.config.Issuer = r.as.URL
	r.guard.Metadata = func(m map[string]any) { m["authorization_servers"] = []string{evil.URL} }
	if _, err := r.ask(r.keeper(), "tools/list"); err == nil || !strings.Contains(err.Error(), "alone") {
		t.Errorf("%v", err)
	}
	if len(evil.Requests()) > 0 {
		t.Error("the secret was shown to another authorization server")
	}
}

type signer interface {
	crypto.PrivateKey
	Public() crypto.PublicKey
}

func keys(t *testing.T) map[string]signer {
	t.Helper()
	out := map[string]signer{}
	var errs []error
	for name, curve := range map[string]elliptic.Curve{"ES256": elliptic.P256(), "ES384": elliptic.P384(), "ES512": elliptic.P521()} {
		k, err := ecdsa.GenerateKey(curve, rand.Reader)
		out[name], errs = k, append(errs, err)
	}
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	out["RS256"], out["PS256"] = k, k
	_, ed, err2 := ed25519.GenerateKey(rand.Reader)
	out["EdDSA"] = ed
	if err := errors.Join(append(errs, err, err2)...); err != nil {
		t.Fatal(err)
	}
	return out
}

func inPEM(t *testing.T, key crypto.PrivateKey) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func TestPrivateKeyJWT(t *testing.T) {
	t.Parallel()
	for alg, key := range keys(t) {
		t.Run(alg, func(t *testing.T) {
			t.Parallel()
			r := clientRig(t)
			r.as.Secrets["parley"] = ""
			r.config.ClientSecret, r.config.PrivateKey, r.config.KeyID = "", inPEM(t, key), "k1"
			r.as.Metadata = func(m map[string]any) {
				m["token_endpoint_auth_signing_alg_values_supported"] = []string{"none", "HS256", alg}
			}
			seen := map[string]bool{}
			r.as.Verify = func(id, assertion string) error {
				claims := &jwt.RegisteredClaims{}
				token, err := jwt.ParseWithClaims(assertion, claims, func(*jwt.Token) (any, error) { return key.Public(), nil },
					jwt.WithValidMethods([]string{alg}), jwt.WithAudience(r.as.URL), jwt.WithIssuer("parley"), jwt.WithSubject("parley"),
					jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithTimeFunc(r.clock.now))
				if err != nil || id != "parley" || token.Header["kid"] != "k1" || claims.ID == "" || seen[claims.ID] || len(claims.Audience) != 1 {
					t.Errorf("client %q, header %v, %v", id, token.Header, err)
				}
				seen[claims.ID] = true
				return err
			}
			k := r.keeper()
			r.served(k, "tools/list")
			r.clock.pass(time.Hour)
			r.served(k, "tools/list")
			for _, form := range r.as.Requests() {
				if form.Get("client_secret") != "" || form.Get("client_assertion_type") != assertionType {
					t.Errorf("%v", form)
				}
			}
		})
	}
}

func TestNoSignatureThatIsTaken(t *testing.T) {
	t.Parallel()
	r := clientRig(t)
	r.config.ClientSecret, r.config.PrivateKey = "", inPEM(t, keys(t)["ES256"])
	r.as.Metadata = func(m map[string]any) {
		m["token_endpoint_auth_signing_alg_values_supported"] = []string{"RS256", "HS256", "none"}
	}
	if _, err := r.ask(r.keeper(), "tools/list"); err == nil || !strings.Contains(err.Error(), "no signature") {
		t.Errorf("%v", err)
	}
}

func TestNoWayToProveTheClient(t *testing.T) {
	t.Parallel()
	r := clientRig(t)
	r.as.Methods = []string{"tls_client_auth"}
	if _, err := r.ask(r.keeper(), "tools/list"); err == nil || !strings.Contains(err.Error(), "no client secret") {
		t.Errorf("%v", err)
	}
}

// TestAnswersThatAreNoTokens: nothing of them is told.
func TestAnswersThatAreNoTokens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		kind   string
		body   string
	}{
		{200, "application/json", `{"access_token":"secret-a\nx","token_type":"bearer"}`},
		{200, "application/json", `{"access_token":"secret-a","token_type":"DPoP"}`},
		{200, "application/json", `{"access_token":"","refresh_token":"secret-b"}`},
		{200, "application/json", `{"access_token":"secret-a`},
		{200, "application/json", `{"error":"secret-c not a word","error_description":"secret-d"}`},
		{400, "application/json", `secret-e`},
		{400, "text/plain", `error=invalid_grant&error_description=secret-f`},
		{500, "text/html", `<p>secret-g`},
	} {
		r := clientRig(t)
		at := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.status)
			_, _ = fmt.Fprint(w, c.body)
		})
		r.as.Metadata = func(m map[string]any) { m["token_endpoint"] = at + "/token" }
		_, err := r.ask(r.keeper(), "tools/list")
		if err == nil {
			t.Errorf("%s was taken", c.body)
			continue
		}
		r.clean(err.Error())
	}
}

func TestLifetimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   any
		want time.Duration
	}{{nil, 0}, {float64(60), time.Minute}, {"60", time.Minute}, {"soon", 0}, {float64(-1), 0}, {1e300, 10 * 365 * 24 * time.Hour}, {"NaN", 0}, {true, 0}} {
		if got := lifetime(c.in); got != c.want {
			t.Errorf("%v is %s, want %s", c.in, got, c.want)
		}
	}
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	good := Config{Server: "https://a.example.com/mcp", Grant: ClientCredentials, ClientID: "c", ClientSecret: "secret-s"}
	person := Config{Server: "https://a.example.com/mcp", Grant: AuthorizationCode}
	for _, c := range []struct {
		name string
		from Config
		do   func(*Config)
		want string
	}{
		{"well", good, func(*Config) {}, ""},
		{"well, by a person", person, func(*Config) {}, ""},
		{"loopback", good, func(c *Config) { c.Server = "http://[::1]:8080/mcp" }, ""},
		{"a page as redirect", person, func(c *Config) { c.Redirect = "https://example.com/done" }, ""},
		{"no https", good, func(c *Config) { c.Server = "http://a.example.com/mcp" }, "must be https"},
		{"nearly loopback", good, func(c *Config) { c.Server = "http://localhost.example.com/mcp" }, "must be https"},
		{"issuer without https", good, func(c *Config) { c.Issuer = "http://id.example.com" }, "issuer"},
		{"no grant", good, func(c *Config) { c.Grant = "" }, "grant: want"},
		{"implicit", good, func(c *Config) { c.Grant = "implicit" }, "grant: want"},
		{"no client", good, func(c *Config) { c.ClientID = "" }, "clientId"},
		{"a secret of nobody", person, func(c *Config) { c.ClientSecret = "secret-s" }, "clientId"},
		{"no proof", good, func(c *Config) { c.ClientSecret = "" }, "clientSecret"},
		{"two proofs", good, func(c *Config) { c.PrivateKey = "x" }, "either"},
		{"no key", good, func(c *Config) { c.ClientSecret, c.PrivateKey = "", "secret-key" }, "PEM"},
		{"redirect of nobody", good, func(c *Config) { c.Redirect = DefaultRedirect }, "no browser"},
		{"redirect without https", person, func(c *Config) { c.Redirect = "http://example.com/cb" }, "redirect"},
		{"two scopes in one", good, func(c *Config) { c.Scopes = []string{"a b"} }, "scopes"},
	} {
		c.do(&c.from)
		err := c.from.Check()
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		case err != nil && strings.Contains(err.Error(), "secret-"):
			t.Errorf("%s tells a secret: %v", c.name, err)
		}
	}
	if _, err := New(good); err == nil {
		t.Error("a keeper without a clock")
	}
	if _, err := url.Parse(DefaultRedirect); err != nil || listenAddress(DefaultRedirect) != "127.0.0.1:33418" || listenAddress("https://example.com/cb") != "" {
		t.Error("the default redirect is not one to listen at")
	}
}
