package slacktest

import (
	"encoding/json"
	"slices"
	"time"
)

// delivery is one event or press that the app has not acknowledged.
type delivery struct {
	kind     string // events_api, interactive or another type of envelope
	channel  string
	payload  json.RawMessage
	raw      string // sent as it is, for malformed envelopes; %s is the envelope id
	attempts int    // made so far
	reason   string // of the next attempt
	envelope string
	on       *conn // where it was sent, nil: to be sent
	timer    *time.Timer
	sent     time.Time
	held     bool
	late     chan struct{} // closed when it is given up or acknowledged
}

// Acked is a delivery that the app acknowledged.
type Acked struct {
	Envelope string
	Kind     string
	Attempts int
	Payload  json.RawMessage
	At       time.Time
	Took     time.Duration
}

// attempts is how often Slack tries: once, and three times more.
const attempts = 4

// enqueue adds a delivery and sends it where it can be. s.mu is held.
func (s *Server) enqueue(kind, channel string, payload map[string]any) {
	s.add(&delivery{kind: kind, channel: channel, payload: mustJSON(payload), held: s.held, late: make(chan struct{})})
}

func (s *Server) add(d *delivery) {
	s.queue = append(s.queue, d)
	s.dispatch(d)
	s.mu.Note()
}

// dispatch sends a delivery on its way. s.mu is held.
func (s *Server) dispatch(d *delivery) {
	switch {
	case d.held:
	case s.cfg.EventsURL != "":
		s.post(d)
	default:
		s.emit(d)
	}
}

// Twice has every event delivered two times.
func (s *Server) Twice(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.twice = on
}

// Swapped has app_mention come before its message.
func (s *Server) Swapped(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.swapped = on
}

// Hold keeps back what happens from now on, until Release.
func (s *Server) Hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
}

// Resume delivers what happens from now on at once, and goes on holding what is held.
func (s *Server) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
}

// Release delivers what was held; backwards reverses its order.
func (s *Server) Release(backwards bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
	var list []*delivery
	for _, d := range s.queue {
		if d.held {
			d.held = false
			list = append(list, d)
		}
	}
	if backwards {
		slices.Reverse(list)
	}
	for _, d := range list {
		s.dispatch(d)
	}
	s.mu.Note()
}

// Redeliver sends the payloads that were acknowledged last once more, as retries, n at most.
func (s *Server) Redeliver(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.acked[max(0, len(s.acked)-n):] {
		s.add(&delivery{kind: a.Kind, payload: a.Payload, attempts: 1, reason: "timeout", late: make(chan struct{})})
	}
}

// Envelope sends an envelope of any type and payload on a socket.
func (s *Server) Envelope(kind string, payload any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(&delivery{kind: kind, payload: mustJSON(payload), late: make(chan struct{})})
}

// Frame sends a text frame as it is on a socket; "%s" in it becomes an envelope id.
func (s *Server) Frame(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(&delivery{raw: text, late: make(chan struct{})})
}

// Unacked counts what is delivered and not acknowledged, held deliveries aside.
func (s *Server) Unacked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, d := range s.queue {
		if !d.held {
			n++
		}
	}
	return n
}

// Acknowledged lists what was acknowledged, in that order.
func (s *Server) Acknowledged() []Acked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.acked)
}

// Lost counts what was given up after all attempts.
func (s *Server) Lost() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lost)
}

// done takes a delivery out of the queue. s.mu is held.
func (s *Server) done(d *delivery, sent time.Time) {
	if !s.drop(d) {
		return
	}
	now := s.cfg.Now()
	s.acked = append(s.acked, Acked{
		Envelope: d.envelope, Kind: d.kind, Attempts: d.attempts, Payload: d.payload, At: now, Took: now.Sub(sent),
	})
	s.mu.Note()
}

func (s *Server) giveUp(d *delivery) {
	if s.drop(d) {
		s.lost = append(s.lost, d)
		s.mu.Note()
	}
}

func (s *Server) drop(d *delivery) bool {
	i := slices.Index(s.queue, d)
	if i < 0 {
		return false
	}
	s.queue = slices.Delete(s.queue, i, i+1)
	if d.timer != nil {
		d.timer.Stop()
	}
	close(d.late)
	return true
}
