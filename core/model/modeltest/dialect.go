package modeltest

import (
	"net/http"
	"testing"

	"net/http/httptest"
)

// Dialect is the protocol that a server speaks.
type Dialect int

// The dialects.
const (
	Chat     Dialect = iota // Chat Completions
	Gemini                  // Chat Completions, where each step's first call carries a signature
	Messages                // Anthropic's Messages
)

func (d Dialect) String() string { return [...]string{"chat", "gemini", "messages"}[d] }

// base is what of the path belongs to the base URL, path is the rest.
func (d Dialect) base() string { return [...]string{"/v1", "/v1beta/openai", ""}[d] }
func (d Dialect) path() string {
	return [...]string{"/chat/completions", "/chat/completions", "/v1/messages"}[d]
}

// NewServer starts a server of Chat Completions for the time of the test.
func NewServer(t testing.TB, script Script) *Server {
	t.Helper()
	return NewServerOf(t, Chat, script)
}

// NewServerOf starts a server of a dialect for the time of the test.
func NewServerOf(t testing.TB, d Dialect, script Script) *Server {
	t.Helper()
	s := &Server{Dialect: d, Key: Key, script: script, closed: make(chan struct{})}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		close(s.closed)
		h.Close()
	})
	s.URL = h.URL + d.base()
	return s
}

// keyProblem says what is wrong with the headers that carry the key.
func (s *Server) keyProblem(h http.Header) string {
	name, want := "Authorization", "Bearer "+s.Key
	other := "X-Api-Key"
	if s.Dialect == Messages {
		name, want, other = other, s.Key, name
	}
	if s.Key == "" {
		want = ""
	}
	if got := h.Get(name); got != want {
		return "Incorrect API key provided: " + got
	}
	if h.Get(other) != "" {
		return "Unexpected header " + other
	}
	return ""
}
