package slacktest

import (
	"net/http"
	"parley/channels/channeltest/faketest"
)

// Fault makes calls fail.
type Fault struct {
	// Error is a refusal with that code: {"ok": false, "error": Error}. Needed goes with missing_scope.
	Error  string
	Needed string
	// Status is an HTTP status with Body as it is, as a proxy would; 429 takes RetryAfter.
	Status     int
	Body       string
	RetryAfter int // seconds
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

// play answers as the fault says.
func (f *Fault) play(s *Server, w http.ResponseWriter, r *http.Request) {
	switch {
	case faketest.Break(s.ctx, r, f.Hang, f.Reset):
	case f.Status != 0:
		faketest.Proxy(w, f.Status, f.RetryAfter, f.Body)
	default:
		out := refuse(f.Error)
		if f.Needed != "" {
			out["needed"], out["provided"] = f.Needed, "none"
		}
		write(w, http.StatusOK, out)
	}
}
