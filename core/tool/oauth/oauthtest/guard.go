package oauthtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Guard is an MCP server's guard: it lets requests through that bear a token of an authorization server.
type Guard struct {
	// Server gives the tokens.
	Server *Server
	// Resource is the address of what is guarded, as tokens must name it.
	Resource string
	// Scopes are what a method wants; nil wants none.
	Scopes func(method string) []string
	// Metadata changes the metadata of the resource before they are sent.
	Metadata func(map[string]any)
	// Hidden says nothing of the metadata in refusals.
	Hidden bool
}

const metadataPath = "/.well-known/oauth-protected-resource"

// Handler puts the guard before a handler.
func (g *Guard) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, metadataPath) {
			g.metadata(w)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "the body cannot be read", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var m struct {
			Method string `json:"method"`
		}
		_ = json.Unmarshal(body, &m) // a GET has none
		var want []string
		if g.Scopes != nil {
			want = g.Scopes(m.Method)
		}
		if status, reason := g.judge(r, want); status != http.StatusOK {
			g.refuse(w, status, reason, want)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g *Guard) judge(r *http.Request, want []string) (status int, reason string) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if token == "" {
		return http.StatusUnauthorized, ""
	}
	s := g.Server
	s.mu.Lock()
	defer s.mu.Unlock()
	got, ok := s.access[token]
	if !ok || got.resource != g.Resource || !got.until.IsZero() && !s.Now().Before(got.until) {
		return http.StatusUnauthorized, "invalid_token"
	}
	for _, scope := range want {
		if !slices.Contains(got.scopes, scope) {
			return http.StatusForbidden, "insufficient_scope"
		}
	}
	return http.StatusOK, ""
}

func (g *Guard) refuse(w http.ResponseWriter, status int, reason string, want []string) {
	challenge := `Bearer realm="mcp"`
	if !g.Hidden {
		challenge += `, resource_metadata="` + originOf(g.Resource) + metadataPath + `/mcp"`
	}
	if reason != "" {
		challenge += `, error="` + reason + `"`
	}
	if len(want) > 0 {
		challenge += `, scope="` + strings.Join(want, " ") + `"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
	reply(w, status, map[string]string{"error": reason})
}

func originOf(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}

func (g *Guard) metadata(w http.ResponseWriter) {
	m := map[string]any{"resource": g.Resource, "authorization_servers": []string{g.Server.URL}}
	if g.Metadata != nil {
		g.Metadata(m)
	}
	reply(w, http.StatusOK, m)
}
