package telegramtest

import (
	"net/http"
	"parley/channels/channeltest/faketest"
)

// Fault makes calls fail.
type Fault struct {
	// Status and Description are the answer; Status 0 with neither Hang nor Reset is 500.
	Status      int
	Description string
	RetryAfter  int // seconds, in the answer's parameters
	// Body is sent as it is instead of JSON, as a proxy would.
	Body string
	// Hang never answers; Reset breaks the connection.
	Hang, Reset bool
	// Applied lets the call have its effect first.
	Applied bool
	// Times is how many calls fail; 0 is one.
	Times int
}

// Fail arranges faults for a method, "" for any, after those that are arranged already.
func (s *Server) Fail(method string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		s.faults.Add(method, f.Times, f)
	}
}

// Mend takes back all faults that have not happened yet.
func (s *Server) Mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.Clear()
}

// play answers as the fault says, and returns the status.
func (f *Fault) play(s *Server, w http.ResponseWriter, r *http.Request) int {
	if faketest.Break(s.ctx, r, f.Hang, f.Reset) {
		return 0
	}
	status := f.Status
	if status == 0 {
		status = http.StatusInternalServerError
	}
	if f.Body != "" {
		faketest.Proxy(w, status, f.RetryAfter, f.Body)
		return status
	}
	text := f.Description
	if text == "" {
		text = http.StatusText(status)
	}
	return s.write(w, nil, &refusal{Code: status, Text: text, RetryAfter: f.RetryAfter})
}
