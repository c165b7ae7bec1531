package discordtest

import (
	"net/http"
	"strconv"
)

// Fault makes calls fail.
type Fault struct {
	// Status, Code and Message are the answer; Status 0 with neither Hang nor Reset is 500.
	Status, Code int
	Message      string
	RetryAfter   float64 // seconds, of a 429
	Global       bool
	// Body is sent as it is instead of JSON, as a proxy would.
	Body string
	// Hang never answers; Reset breaks the connection.
	Hang, Reset bool
	// Applied lets the call have its effect first.
	Applied bool
	// Times is how many calls fail; 0 is one.
	Times int
}

// Fail arranges faults for a route, "" for any, after those that are arranged already.
func (s *Server) Fail(route string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		f.Times = max(f.Times, 1)
		s.faults[route] = append(s.faults[route], f)
	}
}

// Mend takes back all faults that have not happened yet.
func (s *Server) Mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.faults)
}

// takeFault uses up one fault. s.mu is held.
func (s *Server) takeFault(route string) *Fault {
	for _, key := range []string{route, ""} {
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

// play answers as the fault says, and returns the status.
func (f *Fault) play(s *Server, w http.ResponseWriter, r *http.Request) int {
	switch {
	case f.Hang:
		select {
		case <-r.Context().Done():
		case <-s.ctx.Done():
		}
		return 0
	case f.Reset:
		panic(http.ErrAbortHandler)
	}
	status := f.Status
	if status == 0 {
		status = http.StatusInternalServerError
	}
	if f.Body != "" {
		if f.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter)))
		}
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(f.Body)) // a client that went away
		return status
	}
	text := f.Message
	if text == "" {
		text = http.StatusText(status)
	}
	return s.write(w, nil, &refusal{Status: status, Code: f.Code, Text: text, RetryAfter: f.RetryAfter, Global: f.Global})
}
