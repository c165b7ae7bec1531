package telegramtest

import (
	"reflect"
	"strings"
)

// room finds the chat of a call, or says why it cannot be written to.
func (s *Server) room(p params) (*room, *refusal) {
	r := s.chats[p.num("chat_id")]
	switch {
	case r == nil:
		return nil, bad("chat not found")
	case r.movedTo != 0:
		return nil, &refusal{Code: 400, Text: "Bad Request: group chat was upgraded to a supergroup chat", MigrateTo: r.movedTo}
	case r.closed != nil:
		return nil, r.closed
	}
	if topic := p.num("message_thread_id"); topic != 0 && !r.topics[topic] {
		return nil, bad("message thread not found")
	}
	return r, nil
}

func (s *Server) sendMessage(p params) (any, *refusal) {
	text, marks, no := p.body("text", "entities", 4096)
	if no != nil {
		return nil, no
	}
	if strings.TrimSpace(text) == "" {
		return nil, bad("message text is empty")
	}
	return s.say(p, &Message{Text: text, Entities: marks})
}

func (s *Server) sendDocument(p params) (any, *refusal) {
	caption, marks, no := p.body("caption", "caption_entities", 1024)
	if no != nil {
		return nil, no
	}
	if p.file == "" {
		return nil, bad("there is no document in the request")
	}
	if len(p.data) == 0 {
		return nil, bad("file must be non-empty")
	}
	return s.say(p, &Message{Text: caption, Entities: marks, Document: p.file, Data: p.data})
}

// say puts a message of the bot into a chat.
func (s *Server) say(p params, m *Message) (any, *refusal) {
	r, no := s.room(p)
	if no != nil {
		return nil, no
	}
	if m.Buttons, m.Forced, no = p.markup(); no != nil {
		return nil, no
	}
	to, anyway, no := p.replyTo()
	if no != nil {
		return nil, no
	}
	if to != 0 && r.find(to) == nil {
		if !anyway {
			return nil, bad("message to be replied not found")
		}
		to = 0
	}
	m.Where = Where{Chat: r.id, Topic: p.num("message_thread_id")}
	m.From, m.ReplyTo = s.Bot(), to
	s.post(r, m)
	r.botLast = true
	if r.draft != nil && r.draft.Where == m.Where {
		r.draft = nil
	}
	return s.json(r, m), nil
}

func (s *Server) edit(method string, p params) (any, *refusal) {
	r, no := s.room(p)
	if no != nil {
		return nil, no
	}
	m := r.find(p.num("message_id"))
	switch {
	case m == nil:
		return nil, bad("message to edit not found")
	case m.From.ID != botID || m.Forced:
		return nil, bad("message can't be edited")
	case method == "editMessageText" && m.Document != "":
		return nil, bad("there is no text in the message to edit")
	case method == "editMessageCaption" && m.Document == "":
		return nil, bad("there is no caption in the message to edit")
	}
	next := m.copy()
	if next.Buttons, _, no = p.markup(); no != nil {
		return nil, no
	}
	switch method {
	case "editMessageText":
		next.Text, next.Entities, no = p.body("text", "entities", 4096)
		if no == nil && strings.TrimSpace(next.Text) == "" {
			no = bad("message text is empty")
		}
	case "editMessageCaption":
		next.Text, next.Entities, no = p.body("caption", "caption_entities", 1024)
	}
	if no != nil {
		return nil, no
	}
	if next.Text == m.Text && same(next.Entities, m.Entities) && same(next.Buttons, m.Buttons) {
		return nil, bad("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	}
	next.Edits++
	*m = next
	return s.json(r, m), nil
}

func same[T any](a, b []T) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }

func (s *Server) answerPress(p params) (any, *refusal) {
	a := s.presses[p.str("callback_query_id")]
	switch {
	case a == nil || a.Late:
		return nil, bad("query is too old and response timeout expired or query ID is invalid")
	case len([]rune(p.str("text"))) > 200:
		return nil, bad("MESSAGE_TOO_LONG")
	}
	a.Done, a.Text, a.Alert = true, p.str("text"), p.yes("show_alert")
	return true, nil
}

func (s *Server) chatAction(p params) (any, *refusal) {
	r, no := s.room(p)
	if no != nil {
		return nil, no
	}
	if p.str("action") == "" {
		return nil, bad("wrong parameter action in request")
	}
	r.typing++
	return true, nil
}
