package telegramtest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// waiting is an update that is not confirmed.
type waiting struct {
	id     int64
	chat   int64 // its lane
	raw    json.RawMessage
	posted bool // a webhook request for it is under way
}

// push queues an update unless its kind is not wanted. s.mu is held.
func (s *Server) push(kind string, value any, chat int64) int64 {
	if s.allowed != nil && !s.allowed[kind] {
		return 0
	}
	raw, err := json.Marshal(map[string]any{"update_id": s.lastID + 1, kind: value})
	if err != nil {
		panic("telegramtest: " + err.Error())
	}
	s.lastID++
	s.queue = append(s.queue, &waiting{id: s.lastID, chat: chat, raw: raw})
	return s.lastID
}

// Jump makes the ids of updates go on after id, as happens after a quiet week.
func (s *Server) Jump(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID = id
}

// Pending lists the ids of updates that wait or were not confirmed.
func (s *Server) Pending() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []int64
	for _, w := range s.queue {
		out = append(out, w.id)
	}
	return out
}

// Confirmed lists the ids of updates that the bot confirmed, in that order.
func (s *Server) Confirmed() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]int64(nil), s.confirmed...)
}

// allow remembers which updates are wanted, as long as nobody says otherwise.
func (s *Server) allow(p params) *refusal {
	raw := p.str("allowed_updates")
	if raw == "" || raw == "null" {
		return nil
	}
	var kinds []string
	if err := json.Unmarshal([]byte(raw), &kinds); err != nil {
		return bad("can't parse allowed_updates")
	}
	s.allowed = nil
	if len(kinds) > 0 {
		s.allowed = map[string]bool{}
		for _, k := range kinds {
			s.allowed[k] = true
		}
	}
	return nil
}

// confirm drops the updates before offset. After ids began anew a higher offset confirms nothing of theirs.
func (s *Server) confirm(offset int64) {
	if offset <= 0 || len(s.queue) == 0 || offset > s.lastID+1 {
		return
	}
	var kept []*waiting
	for _, w := range s.queue {
		if w.id < offset {
			s.confirmed = append(s.confirmed, w.id)
		} else {
			kept = append(kept, w)
		}
	}
	s.queue = kept
}

// getUpdates holds the request until there is something, it has been long enough, or another poll comes.
func (s *Server) getUpdates(ctx context.Context, p params) (any, *refusal) {
	limit := time.NewTimer(time.Duration(min(max(p.num("timeout"), 0), 50)) * time.Second)
	defer limit.Stop()
	mine := make(chan struct{})
	s.mu.Lock()
	if s.hook != nil {
		s.mu.Unlock()
		return nil, &refusal{Code: 409, Text: "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"}
	}
	if s.poller != nil {
		close(s.poller)
	}
	s.poller = mine
	if no := s.allow(p); no != nil {
		s.mu.Unlock()
		return nil, no
	}
	s.confirm(p.num("offset"))
	s.mu.Note()
	s.mu.Unlock()
	defer s.hangUp(mine)
	for {
		out, changed := s.batch(int(p.num("limit")))
		if len(out) > 0 {
			return out, nil
		}
		select {
		case <-changed:
		case <-limit.C:
			return out, nil
		case <-mine:
			return nil, &refusal{Code: 409, Text: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"}
		case <-ctx.Done():
			return out, nil
		case <-s.ctx.Done():
			return nil, &refusal{Code: 500, Text: "Internal Server Error: restart"}
		}
	}
}

func (s *Server) hangUp(mine chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.poller == mine {
		s.poller = nil
	}
}

func (s *Server) batch(limit int) ([]json.RawMessage, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if limit <= 0 || limit > 100 {
		limit = 100
	}
	out := []json.RawMessage{}
	for _, w := range s.queue[:min(limit, len(s.queue))] {
		out = append(out, w.raw)
	}
	return out, s.mu.Changed()
}

// Polling reports whether a poll waits for updates.
func (s *Server) Polling() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.poller != nil
}

// RawUpdate queues an update of any JSON; %d in it becomes its id.
func (s *Server) RawUpdate(format string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.mu.Note()
	s.lastID++
	s.queue = append(s.queue, &waiting{id: s.lastID, raw: json.RawMessage(fmt.Sprintf(format, s.lastID))})
	return s.lastID
}
