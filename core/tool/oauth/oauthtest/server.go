// Package oauthtest is an authorization server on loopback that speaks the wire protocol: metadata,
// registration, codes with PKCE, refresh tokens that are replaced at each use, client credentials proven by
// header, body or signature, and an MCP server's guard in front of a handler.
//
// What it finds wrong in a request it refuses as a real one would, by code words. The description of a refusal
// quotes what was sent, since real ones do: a client that passes it on gives a secret away.
package oauthtest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is one authorization server. Its fields are set before it is used, or with Change.
type Server struct {
	// URL is its address and issuer.
	URL string
	// Now is its clock, Lifetime how long an access token is good; 0 is for ever.
	Now      func() time.Time
	Lifetime time.Duration
	// Metadata changes its metadata before they are sent.
	Metadata func(map[string]any)
	// Answer changes the query with which a browser is sent back.
	Answer func(url.Values)
	// Refuse ends a token request with this code word, and status 400, where it is not "".
	Refuse func(form url.Values) string
	// After is called once tokens have been made, before they are sent.
	After func()
	// Grace lets a refresh token that was replaced be used again.
	Grace bool
	// NoRefresh gives no refresh tokens.
	NoRefresh bool
	// Secrets are the clients that it knows with their secrets, "" for public ones; Methods how they prove themselves.
	Secrets map[string]string
	Methods []string
	// Verify judges a signed proof of a client.
	Verify func(clientID, assertion string) error

	mu      sync.Mutex
	http    *httptest.Server
	codes   map[string]grant
	access  map[string]grant
	refresh map[string]grant
	spent   map[string]grant // refresh tokens that were replaced
	asked   []url.Values     // token requests, as they came
	visited []url.Values
	joined  int
}

type grant struct {
	client, resource, challenge, redirect string
	scopes                                []string
	until                                 time.Time
}

// New starts a server that ends with the test.
func New(t *testing.T) *Server {
	t.Helper()
	s := &Server{
		Now: time.Now, Secrets: map[string]string{}, Methods: []string{"none", "client_secret_basic", "client_secret_post"},
		codes: map[string]grant{}, access: map[string]grant{}, refresh: map[string]grant{}, spent: map[string]grant{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", s.metadata)
	mux.HandleFunc("POST /register", s.register)
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	s.http = httptest.NewServer(mux)
	t.Cleanup(s.http.Close)
	s.URL = s.http.URL
	return s
}

// Change changes the server while it is used.
func (s *Server) Change(f func(*Server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

// Requests are the token requests so far, in order.
func (s *Server) Requests() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Visits are the queries with which browsers came.
func (s *Server) Visits() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.visited)
}

// Registered is how many clients have been registered.
func (s *Server) Registered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.joined
}

// Revoke withdraws all tokens that were given: access tokens, and refresh tokens if all is set.
func (s *Server) Revoke(all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
	if all {
		clear(s.refresh)
		clear(s.spent)
	}
}

// Given are the access and refresh tokens that are good now.
func (s *Server) Given() (access, refresh []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := range s.access {
		access = append(access, t)
	}
	for t := range s.refresh {
		refresh = append(refresh, t)
	}
	return access, refresh
}

func (s *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := map[string]any{
		"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
		"registration_endpoint": s.URL + "/register", "response_types_supported": []string{"code"},
		"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": s.Methods,
	}
	if s.Metadata != nil {
		s.Metadata(m)
	}
	reply(w, http.StatusOK, m)
}

func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var m map[string]any
	if json.NewDecoder(r.Body).Decode(&m) != nil || m["redirect_uris"] == nil {
		refuse(w, http.StatusBadRequest, "invalid_client_metadata", "")
		return
	}
	s.joined++
	id := fmt.Sprintf("client-%d", s.joined)
	m["client_id"] = id
	s.Secrets[id] = ""
	if m["token_endpoint_auth_method"] != "none" {
		s.Secrets[id] = "secret-" + rand.Text()
		m["client_secret"] = s.Secrets[id]
	}
	reply(w, http.StatusCreated, m)
}

// authorize sends the browser back at once: the person has agreed.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	s.visited = append(s.visited, q)
	_, known := s.Secrets[q.Get("client_id")]
	if !known || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("resource") == "" {
		http.Error(w, "this request cannot be granted", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	s.codes[code] = grant{
		client: q.Get("client_id"), resource: q.Get("resource"), challenge: q.Get("code_challenge"), redirect: q.Get("redirect_uri"),
		scopes: strings.Fields(q.Get("scope")),
	}
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	if s.Answer != nil {
		s.Answer(back)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := r.ParseForm(); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request", "")
		return
	}
	form := r.PostForm
	s.asked = append(s.asked, form)
	quote := form.Encode()
	if s.Refuse != nil {
		if code := s.Refuse(form); code != "" {
			refuse(w, http.StatusBadRequest, code, quote)
			return
		}
	}
	client, ok := s.client(r)
	if !ok {
		refuse(w, http.StatusUnauthorized, "invalid_client", quote)
		return
	}
	g, refreshes, ok := s.granted(client, form)
	if !ok {
		refuse(w, http.StatusBadRequest, "invalid_grant", quote)
		return
	}
	if form.Get("resource") != g.resource {
		refuse(w, http.StatusBadRequest, "invalid_target", quote)
		return
	}
	given := s.give(g, refreshes)
	if s.After != nil {
		s.After()
	}
	reply(w, http.StatusOK, given)
}

// granted finds what a token request is for.
func (s *Server) granted(client string, form url.Values) (g grant, refreshes, ok bool) {
	switch form.Get("grant_type") {
	case "authorization_code":
		g, ok = s.codes[form.Get("code")]
		delete(s.codes, form.Get("code")) // a code is good once
		sum := sha256.Sum256([]byte(form.Get("code_verifier")))
		ok = ok && g.challenge == base64.RawURLEncoding.EncodeToString(sum[:]) && g.redirect == form.Get("redirect_uri")
		refreshes = true
	case "refresh_token":
		token := form.Get("refresh_token")
		if g, ok = s.refresh[token]; ok {
			delete(s.refresh, token)
			s.spent[token] = g
		} else if g, ok = s.spent[token]; ok && !s.Grace {
			clear(s.refresh) // it was stolen, or so it seems
			clear(s.access)
			ok = false
		}
		refreshes = true
	case "client_credentials":
		g, ok = grant{client: client, resource: form.Get("resource"), scopes: strings.Fields(form.Get("scope"))}, s.Secrets[client] != "" || s.Verify != nil
	}
	return g, refreshes, ok && g.client == client
}

func (s *Server) give(g grant, refreshes bool) map[string]any {
	access := "access-" + rand.Text()
	out := map[string]any{"access_token": access, "token_type": "Bearer"}
	if s.Lifetime > 0 {
		g.until = s.Now().Add(s.Lifetime)
		out["expires_in"] = int(s.Lifetime / time.Second)
	}
	s.access[access] = g
	if len(g.scopes) > 0 {
		out["scope"] = strings.Join(g.scopes, " ")
	}
	if refreshes && !s.NoRefresh {
		token := "refresh-" + rand.Text()
		s.refresh[token] = g
		out["refresh_token"] = token
	}
	return out
}

// client finds out who asks for a token.
func (s *Server) client(r *http.Request) (string, bool) {
	if id, secret, ok := r.BasicAuth(); ok {
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
		want, known := s.Secrets[id]
		return id, known && want != "" && secret == want && slices.Contains(s.Methods, "client_secret_basic")
	}
	id := r.PostForm.Get("client_id")
	want, known := s.Secrets[id]
	switch assertion := r.PostForm.Get("client_assertion"); {
	case assertion != "":
		return id, s.Verify != nil && s.Verify(id, assertion) == nil
	case want == "":
		return id, known && r.PostForm.Get("client_secret") == ""
	}
	return id, known && r.PostForm.Get("client_secret") == want && slices.Contains(s.Methods, "client_secret_post")
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, code, description string) {
	reply(w, status, map[string]string{"error": code, "error_description": description})
}
