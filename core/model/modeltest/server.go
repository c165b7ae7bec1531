package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Script answers a request that the server has found valid.
type Script func(Request) Reply

// Request is a valid request as the server read it.
type Request struct {
	Nth      int // counted from 1, the refused ones too
	Model    string
	Messages []Message
	Tools    []Tool
	Header   http.Header
	Body     json.RawMessage
}

// Last is the last message.
func (r Request) Last() Message { return r.Messages[len(r.Messages)-1] }

// Message is one message of a request. Content is its text, that of parts joined.
type Message struct {
	Role       string
	Content    string
	ToolCallID string
	Calls      []Call
	Raw        json.RawMessage
}

// Call is a tool call. Arguments are as sent: text that need not be JSON.
type Call struct {
	ID, Name, Arguments string
}

// Tool is a tool as offered.
type Tool struct {
	Name, Description string
	Schema            json.RawMessage
}

// Server is a strict Chat Completions server. Set its fields before the first request.
type Server struct {
	// URL is the base URL to give to a client.
	URL string
	// Key is the only key that is accepted. NewServer sets one.
	Key string
	// Verbatim refuses an assistant message that is not, as JSON, one that this server sent.
	Verbatim bool

	script   Script
	closed   chan struct{}
	mu       sync.Mutex
	nth      int
	requests []Request
	refusals []string
	sent     [][]byte // canonical form of the assistant messages sent
}

// Key is the key of servers. It is easy to find in any text that it leaks into.
const Key = "sk-modeltest-0123456789-SECRET"

// NewServer starts a server for the time of the test.
func NewServer(t testing.TB, script Script) *Server {
	t.Helper()
	s := &Server{Key: Key, script: script, closed: make(chan struct{})}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		close(s.closed)
		h.Close()
	})
	s.URL = h.URL + "/v1"
	return s
}

// InOrder answers the n-th request with the n-th reply, and further ones with an error.
func InOrder(replies ...Reply) Script {
	return func(r Request) Reply {
		if r.Nth > len(replies) {
			return Status(http.StatusBadRequest, nil, Failure("the script has no reply to this request", "invalid_request_error", "", ""))
		}
		return replies[r.Nth-1]
	}
}

// Requests are the valid requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Refusals are the reasons for which requests were refused so far.
func (s *Server) Refusals() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.refusals...)
}

// maxRequest bounds a request in bytes.
const maxRequest = 32 << 20

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		return // the client went away
	}
	s.mu.Lock()
	s.nth++
	req := Request{Nth: s.nth, Header: r.Header.Clone(), Body: body}
	status, code, problem := s.check(r, &req)
	if problem != "" {
		s.refusals = append(s.refusals, problem)
	} else {
		s.requests = append(s.requests, req)
	}
	s.mu.Unlock()
	if problem != "" {
		Status(status, nil, Failure(problem, "invalid_request_error", "messages", code)).write(w, r, s)
		return
	}
	s.script(req).write(w, r, s)
}

// check reads and judges a request. It runs under the lock.
func (s *Server) check(r *http.Request, req *Request) (status int, code, problem string) {
	switch {
	case r.URL.Path != "/v1/chat/completions":
		return http.StatusNotFound, "unknown_url", fmt.Sprintf("Invalid URL (POST %s)", r.URL.Path)
	case r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, "method_not_allowed", "Not allowed to " + r.Method + " on /v1/chat/completions."
	case s.Key != "" && r.Header.Get("Authorization") != "Bearer "+s.Key, s.Key == "" && r.Header.Get("Authorization") != "":
		return http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided: " + r.Header.Get("Authorization")
	}
	if err := req.read(); err != nil {
		return http.StatusBadRequest, "", err.Error()
	}
	if err := checkConversation(req.Messages); err != nil {
		return http.StatusBadRequest, "", err.Error()
	}
	if s.Verbatim {
		for i, m := range req.Messages {
			if m.Role == "assistant" && !s.wasSent(m.Raw) {
				return http.StatusBadRequest, "", fmt.Sprintf("Invalid value for 'messages[%d]': it is not the message that was sent.", i)
			}
		}
	}
	return 0, "", ""
}

func (s *Server) wasSent(raw json.RawMessage) bool {
	c := canonical(raw)
	for _, sent := range s.sent {
		if bytes.Equal(sent, c) {
			return true
		}
	}
	return false
}

// remember keeps an assistant message that is sent.
func (s *Server) remember(message json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, canonical(message))
}

// canonical is JSON with sorted keys, numbers as they were written.
func canonical(raw json.RawMessage) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	b, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return b
}

// refusal is a reason for which a request is refused, in the words of the service.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }
