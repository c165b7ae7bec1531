package telegramtest

import (
	"strings"
	"time"
)

// draftLife is how long a draft is shown.
const draftLife = 30 * time.Second

// Draft is what a direct chat shows of a message that is being written.
type Draft struct {
	Where
	ID       int64
	Text     string
	Entities []Entity
	until    time.Time
}

// Draft is what stands at a place now; ok is false for nothing.
func (s *Server) Draft(at Where) (d Draft, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.chats[at.Chat]
	if r == nil || r.draft == nil || r.draft.Where != at || !s.cfg.Now().Before(r.draft.until) {
		return Draft{}, false
	}
	return *r.draft, true
}

func (s *Server) sendDraft(p params) (any, *refusal) {
	if s.cfg.NoDrafts {
		return nil, &refusal{Code: 404, Text: "Not Found: method not found"}
	}
	r, no := s.room(p)
	if no != nil {
		return nil, no
	}
	text, marks, no := p.body("text", "entities", 4096)
	switch {
	case no != nil:
		return nil, no
	case r.kind != "private":
		return nil, bad("drafts can be sent to private chats only")
	case p.num("draft_id") == 0:
		return nil, bad("draft_id must be non-zero")
	case p.values.Has("reply_markup") || p.values.Has("reply_parameters"):
		return nil, bad("a draft takes neither buttons nor a reply")
	case strings.TrimSpace(text) == "":
		text = "…" // shown as thinking
	}
	r.draft = &Draft{Where: Where{r.id, p.num("message_thread_id")}, ID: p.num("draft_id"), Text: text, Entities: marks, until: s.cfg.Now().Add(draftLife)}
	return true, nil
}

func (s *Server) deleteMessage(p params) (any, *refusal) {
	r, no := s.room(p)
	if no != nil {
		return nil, no
	}
	m := r.find(p.num("message_id"))
	switch {
	case m == nil:
		return nil, bad("message to delete not found")
	case m.From.ID != botID:
		return nil, bad("message can't be deleted")
	case s.cfg.Now().Unix()-m.Date > 48*3600:
		return nil, bad("message can't be deleted for everyone")
	}
	for i, o := range r.messages {
		if o == m {
			r.messages = append(r.messages[:i:i], r.messages[i+1:]...)
			break
		}
	}
	return true, nil
}
