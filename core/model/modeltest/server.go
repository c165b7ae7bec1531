package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Script answers a request that the server has found valid.
type Script func(Request) Reply

// Request is a valid request as the server read it.
type Request struct {
	Nth      int // counted from 1, the refused ones too
	Model    string
	Messages []Message
	Tools    []Tool
	Stream   bool // the answer is to come in pieces
	Header   http.Header
	Body     json.RawMessage

	usage bool // a stream is to end with the usage
}

// Last is the last message.
func (r Request) Last() Message { return r.Messages[len(r.Messages)-1] }

// Message is one message of a request. Content is its text, that of parts joined. What a dialect puts
// elsewhere is put here: its system prompt is the first message, and each result is one.
type Message struct {
	Role       string
	Content    string
	ToolCallID string
	IsError    bool // of a result
	Images     int  // pictures in it
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

// Server is a strict server. Set its fields before the first request.
type Server struct {
	Dialect Dialect
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
	sent     map[string]bool // canonical forms of the assistant messages sent
	pauses   map[string]bool // those of them that paused
	thoughts thoughts
}

// Key is the key of servers. It is easy to find in any text that it leaks into.
const Key = "sk-modeltest-0123456789-SECRET"

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
		Fails(status, kindOf(status), problem).withCode(code).write(w, r, s, req)
		return
	}
	s.script(req).write(w, r, s, req)
}

// check reads and judges a request. It runs under the lock.
func (s *Server) check(r *http.Request, req *Request) (status int, code, problem string) {
	want := s.Dialect.base() + s.Dialect.path()
	switch {
	case r.URL.Path != want:
		return http.StatusNotFound, "unknown_url", fmt.Sprintf("Invalid URL (POST %s)", r.URL.Path)
	case r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, "method_not_allowed", "Not allowed to " + r.Method + " on " + want + "."
	}
	if problem := s.keyProblem(r.Header); problem != "" {
		return http.StatusUnauthorized, "invalid_api_key", problem
	}
	read := s.readChat
	if s.Dialect == Messages {
		read = s.readMessages
	}
	if err := read(req); err != nil {
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
	return s.sent[string(canonical(raw))] || s.sent["stream "+string(canonical(settled(raw)))]
}

// readChat reads a request of Chat Completions.
func (s *Server) readChat(req *Request) error {
	if err := req.read(); err != nil {
		return err
	}
	if err := checkConversation(req.Messages); err != nil {
		return err
	}
	if s.Dialect == Gemini {
		return s.thoughts.checkSigned(req.Messages)
	}
	return nil
}

// remember keeps an assistant message that is sent, in pieces or not, and whether its turn pauses.
func (s *Server) remember(message json.RawMessage, stream, pauses bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent == nil {
		s.sent, s.pauses = map[string]bool{}, map[string]bool{}
	}
	s.pauses[string(canonical(message))] = pauses
	if stream {
		s.sent["stream "+string(canonical(settled(message)))] = true
	} else {
		s.sent[string(canonical(message))] = true
	}
	s.thoughts.remember(message)
}

// settled is an assistant message without what a stream does not tell: fields that are null, and the
// places of calls.
func settled(raw json.RawMessage) json.RawMessage {
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&m) != nil {
		return raw
	}
	for k, v := range m {
		if v == nil {
			delete(m, k)
		}
	}
	if calls, ok := m["tool_calls"].([]any); ok {
		for _, c := range calls {
			if call, ok := c.(map[string]any); ok {
				delete(call, "index")
			}
		}
	}
	return json.RawMessage(encode(m))
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
