package slacktest

import (
	"net/http"
	"strconv"
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
		f.Times = max(f.Times, 1)
		s.faults[method] = append(s.faults[method], f)
	}
}

// Mend takes back all faults that have not happened yet.
func (s *Server) Mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.faults)
}

// takeFault uses up one fault. s.mu is held.
func (s *Server) takeFault(method string) *Fault {
	for _, key := range []string{method, ""} {
		list := s.faults[key]
		if len(list) == 0 {
			continue
		}
		f := list[0]
		if list[0].Times--; list[0].Times == 0 {
			s.faults[key] = list[1:]
		}
		return &f
	}
	return nil
}

// play answers as the fault says.
func (f *Fault) play(s *Server, w http.ResponseWriter, r *http.Request) {
	switch {
	case f.Hang:
		select {
		case <-r.Context().Done():
		case <-s.ctx.Done():
		}
	case f.Reset:
		panic(http.ErrAbortHandler)
	case f.Status != 0:
		if f.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
		}
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = w.Write([]byte(f.Body)) // a client that went away
	default:
		out := refuse(f.Error)
		if f.Needed != "" {
			out["needed"], out["provided"] = f.Needed, "none"
		}
		write(w, http.StatusOK, out)
	}
}
