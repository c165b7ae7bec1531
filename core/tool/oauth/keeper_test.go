package oauth

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/core/tool/oauth/oauthtest"
)

func TestLoginIsRenewedAndSurvivesARestart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	k := r.keeper()
	r.wantLogin(k, "tools/list", "nobody has logged in")
	r.login()
	r.served(k, "tools/list")
	if n := len(r.as.Requests()); n != 1 {
		t.Fatalf("%d token requests, want that for the code", n)
	}
	for range 3 { // each refresh token is good once
		r.clock.pass(time.Hour)
		r.served(k, "tools/list")
		k = r.keeper()
		r.served(k, "tools/call")
	}
	asked := r.as.Requests()
	if len(asked) != 4 {
		t.Fatalf("%d token requests, want the code and one for each hour", len(asked))
	}
	for _, form := range asked {
		if form.Get("resource") != r.config.Server {
			t.Errorf("%s names the resource %q", form.Get("grant_type"), form.Get("resource"))
		}
	}
}

// TestRenewedLoginIsStoredFirst: what comes of a renewal is durable before its token is seen anywhere.
func TestRenewedLoginIsStoredFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.login()
	r.clock.pass(time.Hour)
	var asked []int
	r.memory.onSave = func() { asked = append(asked, len(r.as.Requests())) }
	k := r.keeper()
	source, err := k.TokenSource(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	token, err := source.Token()
	if err != nil {
		t.Fatal(err)
	}
	if len(asked) != 1 || asked[0] != 2 || !strings.Contains(r.memory.text(), token.AccessToken) {
		t.Errorf("stored after %v token requests, want once, after the second, before the token is handed out", asked)
	}
}

// TestKilledBetweenRenewalAndStore: the answer came and was not stored.
func TestKilledBetweenRenewalAndStore(t *testing.T) {
	t.Parallel()
	for name, grace := range map[string]bool{"replaced for good": false, "good once more": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.as.Grace = grace
			r.login()
			r.clock.pass(time.Hour)
			r.memory.set(true)
			r.served(r.keeper(), "tools/list") // goes on with what it has
			r.memory.set(false)
			after := r.keeper() // what it had is gone
			r.clock.pass(time.Hour)
			if grace {
				r.served(after, "tools/list")
				return
			}
			r.wantLogin(after, "tools/list", "invalid_grant")
			r.login()
			r.served(after, "tools/list")
		})
	}
}

// TestStoreIsTriedAgain: a login that could not be stored is before the next use.
func TestStoreIsTriedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.login()
	r.clock.pass(time.Hour)
	k := r.keeper()
	r.memory.set(true)
	r.served(k, "tools/list")
	r.memory.set(false)
	r.served(k, "tools/list")
	r.served(r.keeper(), "tools/list")
	if n := len(r.as.Requests()); n != 2 {
		t.Errorf("%d token requests, want that for the code and one renewal", n)
	}
}

func TestWithdrawnTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.login()
	k := r.keeper()
	r.served(k, "tools/list")
	r.as.Revoke(false)
	r.served(k, "tools/list") // by its refresh token
	r.as.Revoke(true)
	r.clock.pass(2 * time.Minute)
	r.wantLogin(k, "tools/list", "invalid_grant")
	n := len(r.as.Requests())
	r.wantLogin(k, "tools/list", "invalid_grant")
	r.wantLogin(r.keeper(), "tools/list", "invalid_grant")
	if got := len(r.as.Requests()); got != n {
		t.Errorf("%d more token requests with a token that is no more", got-n)
	}
	r.login()
	r.served(k, "tools/list")
}

func TestLoginWithoutRefreshToken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.as.NoRefresh = true
	r.login()
	k := r.keeper()
	r.served(k, "tools/list")
	r.clock.pass(time.Hour)
	r.wantLogin(k, "tools/list", "has ended and cannot be renewed")
	if n := len(r.as.Requests()); n != 1 {
		t.Errorf("%d token requests", n)
	}
}

// TestServerTakesNoTokens: a server that refuses even what was just renewed is not asked over and over.
func TestServerTakesNoTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.login()
	r.guard.Resource += "x" // tokens are for another resource now
	k := r.keeper()
	if status, err := r.ask(k, "tools/list"); err != nil || status != http.StatusUnauthorized {
		t.Fatalf("status %d, %v", status, err)
	}
	for range 5 {
		r.wantLogin(k, "tools/list", "does not take the login")
	}
	if n := len(r.as.Requests()); n != 2 {
		t.Errorf("%d token requests, want the code and one renewal", n)
	}
}

// TestAuthorizationServerIsDown: nothing is lost by a failure that passes.
func TestAuthorizationServerIsDown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.login()
	k := r.keeper()
	r.clock.pass(time.Hour - 10*time.Second) // a few seconds are left
	r.as.Change(func(s *oauthtest.Server) { s.Refuse = func(url.Values) string { return "temporarily_unavailable" } })
	r.served(k, "tools/list")
	r.clock.pass(time.Minute)
	var login *LoginError
	if _, err := r.ask(k, "tools/list"); err == nil || errors.As(err, &login) {
		t.Errorf("%v, want a failure that passes", err)
	} else {
		r.clean(err.Error())
	}
	r.as.Change(func(s *oauthtest.Server) { s.Refuse = nil })
	n := len(r.as.Requests())
	if _, err := r.ask(k, "tools/list"); err == nil || len(r.as.Requests()) != n {
		t.Errorf("asked again at once: %v", err)
	}
	r.clock.pass(calm)
	r.served(k, "tools/list")
}

// TestManyWaitForOneFailure: an authorization server that does not answer keeps each of them no longer than one.
func TestManyWaitForOneFailure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.login()
	k := r.keeper()
	r.served(k, "tools/list")
	r.clock.pass(time.Hour)
	n := len(r.as.Requests())
	r.as.Change(func(s *oauthtest.Server) { s.Refuse = func(url.Values) string { return "server_error" } })
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := r.ask(k, "tools/call"); err == nil {
				t.Error("served")
			}
		})
	}
	all.Wait()
	if got := len(r.as.Requests()) - n; got != 1 {
		t.Errorf("%d renewals, want one", got)
	}
}

// TestOneRenewalForAll: requests at the same time share it.
func TestOneRenewalForAll(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.login()
	k := r.keeper()
	r.served(k, "tools/list")
	for _, end := range []func(){func() { r.clock.pass(time.Hour) }, func() { r.clock.pass(2 * time.Minute); r.as.Revoke(false) }} {
		end()
		n := len(r.as.Requests())
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if status, err := r.ask(k, "tools/call"); err != nil || status != http.StatusOK {
					t.Errorf("status %d, %v", status, err)
				}
			})
		}
		all.Wait()
		if got := len(r.as.Requests()) - n; got != 1 {
			t.Errorf("%d renewals, want one", got)
		}
	}
}

// TestMoreScopes: what the server wants beyond the login is asked for at the next, and the rest goes on.
func TestMoreScopes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.guard.Scopes = func(method string) []string {
		if method == "tools/call" {
			return []string{"write"}
		}
		return []string{"read"}
	}
	r.login()
	k := r.keeper()
	r.served(k, "tools/list")
	r.wantLogin(k, "tools/call", `the scopes "write"`)
	r.served(k, "tools/list")
	r.login()
	r.served(k, "tools/call")
	r.served(k, "tools/list")
	visits := r.as.Visits()
	if got := []string{visits[0].Get("scope"), visits[1].Get("scope")}; got[0] != "read" || got[1] != "read write" {
		t.Errorf("asked for %q", got)
	}
	r.guard.Scopes = func(string) []string { return []string{"read", "write", "more"} }
	r.as.Change(func(s *oauthtest.Server) { s.Answer = nil })
	r.wantLogin(k, "tools/call", `the scopes "read write more"`)
}

// TestScopesThatDoNotHelp: a server that wants what was granted is not asked again.
func TestScopesThatDoNotHelp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.guard.Scopes = func(string) []string { return []string{"read"} }
	r.login()
	r.guard.Scopes = func(string) []string { return []string{"read", "\u00e4"} } // what is no scope is not read
	k := r.keeper()
	var login *LoginError
	if _, err := r.ask(k, "tools/list"); err == nil || errors.As(err, &login) || !strings.Contains(err.Error(), "did not help") {
		t.Errorf("%v", err)
	}
	r.guard.Scopes = nil
	r.served(k, "tools/list")
}

// TestConfiguredScopesAreTheMost that is asked for, whatever a server wants.
func TestConfiguredScopesAreTheMost(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*rig{"person": newRig(t), "client": clientRig(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.config.Scopes = []string{"read"}
			r.guard.Metadata = func(m map[string]any) { m["scopes_supported"] = []string{"read", "write", "admin"} }
			r.guard.Scopes = func(method string) []string { return []string{strings.TrimPrefix(method, "tools/")} }
			if r.config.Grant == AuthorizationCode {
				r.login()
			}
			k := r.keeper()
			r.served(k, "tools/read")
			var login *LoginError
			if _, err := r.ask(k, "tools/write"); err == nil || errors.As(err, &login) || !strings.Contains(err.Error(), "oauth.scopes") {
				t.Errorf("%v", err)
			}
			r.served(k, "tools/read")
			for _, q := range append(r.as.Visits(), r.as.Requests()...) {
				if s := q.Get("scope"); s != "" && s != "read" {
					t.Errorf("asked for %q", s)
				}
			}
		})
	}
}

// TestScopesDoNotPileUp: a server that wants others each time does not fill the store.
func TestScopesDoNotPileUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	n := 0
	r.guard.Scopes = func(method string) []string {
		if method != "tools/call" {
			return nil
		}
		n += 10
		var out []string
		for i := range 100 {
			out = append(out, fmt.Sprint("scope", n, "-", i))
		}
		return out
	}
	r.login()
	k := r.keeper()
	for range 20 {
		r.wantLogin(k, "tools/call", "scopes")
	}
	if size := len(r.memory.text()); size > 5000 {
		t.Errorf("the login has %d bytes", size)
	}
}

// TestLoginIsForOneServer: a login made for another address, client or issuer is none.
func TestLoginIsForOneServer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.login()
	for name, change := range map[string]func(*Config){
		"another server": func(c *Config) { c.Server = strings.Replace(c.Server, "/mcp", "/other", 1) },
		"another client": func(c *Config) { c.ClientID = "somebody" },
		"another issuer": func(c *Config) { c.Issuer = "https://id.example.com" },
	} {
		other := *r
		other.config = r.config
		change(&other.config)
		n := len(r.as.Requests())
		_, err := other.ask(other.keeper(), "tools/list")
		var login *LoginError
		if !errors.As(err, &login) || len(r.as.Requests()) != n {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFrozenKeeper renews nothing: what came of it could not be kept.
func TestFrozenKeeper(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.login()
	r.config.Frozen = true
	k := r.keeper()
	r.served(k, "tools/list")
	r.clock.pass(time.Hour)
	if _, err := r.ask(k, "tools/list"); !errors.Is(err, ErrFrozen) {
		t.Errorf("%v", err)
	}
	if n := len(r.as.Requests()); n != 1 {
		t.Errorf("%d token requests", n)
	}
	r.config.Frozen = false
	r.served(r.keeper(), "tools/list")
}

func TestUnreadableLogin(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, kept := range []string{"{", `{"version":2}`, "null"} {
		r.memory.kept["k"] = []byte(kept)
		if _, err := r.ask(r.keeper(), "tools/list"); err == nil || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("%s: %v", kept, err)
		}
	}
	r.login()
	r.served(r.keeper(), "tools/list")
	r.config.Memory = nil
	if _, err := r.ask(r.keeper(), "tools/list"); err == nil {
		t.Error("a login came from nowhere")
	}
}

// TestForbidden is not mended by tokens.
func TestForbidden(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.login()
	k := r.keeper()
	resp := &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody, Header: http.Header{}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.config.Server, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Authorize(t.Context(), req, resp); !errors.Is(err, ErrForbidden) {
		t.Errorf("%v", err)
	}
}

func TestHide(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.login()
	k := r.keeper()
	r.served(k, "tools/list")
	access, refresh := r.as.Given()
	text := "you sent " + access[0] + " and " + refresh[0]
	if got := k.Hide(text); got != "you sent [secret] and [secret]" {
		t.Errorf("%q", got)
	}
	k.hide.add("a/b/c")
	if got := k.Hide(`"a\/b\/c a/b/c"`); got != `"[secret] [secret]"` {
		t.Errorf("%q", got)
	}
	for i := range 200 { // the configured ones never leave
		k.hide.add(strings.Repeat("x", 4+i))
	}
	k.hide.fixed = []string{"configured"}
	if got := k.Hide("configured"); got != masked {
		t.Errorf("%q", got)
	}
}
