package telegramtest

import (
	"maps"
	"slices"
)

// User is an account.
type User struct {
	ID       int64
	Username string
	Lang     string // language_code
	IsBot    bool
}

func (u User) json() map[string]any {
	out := map[string]any{"id": u.ID, "is_bot": u.IsBot, "first_name": "User"}
	if u.Username != "" {
		out["username"] = u.Username
	}
	if u.Lang != "" {
		out["language_code"] = u.Lang
	}
	return out
}

// Where is a chat, or a topic of one; Topic 0 is none (or a forum's General).
type Where struct{ Chat, Topic int64 }

// Message is one that stands in a chat.
type Message struct {
	Where
	ID       int64
	From     User
	Text     string // or the caption of a document
	Entities []Entity
	Buttons  [][]Button
	Document string // its name
	Data     []byte
	ReplyTo  int64
	Edits    int
	Forced   bool // sent with ForceReply: it cannot be edited
	// Fields are further fields of the message, as in the Bot API.
	Fields map[string]any
	Date   int64

	unheard  bool
	attached []attached
}

// Button finds a button by its label.
func (m Message) Button(label string) (Button, bool) {
	for _, row := range m.Buttons {
		for _, b := range row {
			if b.Text == label {
				return b, true
			}
		}
	}
	return Button{}, false
}

// room is one chat.
type room struct {
	id       int64
	kind     string
	forum    bool
	topics   map[int64]bool // true: open
	last     int64          // message id
	messages []*Message
	closed   *refusal // what sending there is answered
	movedTo  int64
	botLast  bool // the bot was the last bot to speak
	typing   int
	draft    *Draft
}

func (r *room) json() map[string]any {
	out := map[string]any{"id": r.id, "type": r.kind}
	if r.forum {
		out["is_forum"] = true
	}
	return out
}

func (r *room) find(id int64) *Message {
	for _, m := range r.messages {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// Private opens the direct chat with a person, as if they had pressed Start.
func (s *Server) Private(u User) Where { return s.open(u.ID, "private", false) }

// Group opens a basic group; its id is negative.
func (s *Server) Group(id int64) Where { return s.open(id, "group", false) }

// Supergroup opens a supergroup.
func (s *Server) Supergroup(id int64) Where { return s.open(id, "supergroup", false) }

// Forum opens a supergroup with topics; what it returns is General.
func (s *Server) Forum(id int64) Where { return s.open(id, "supergroup", true) }

func (s *Server) open(id int64, kind string, forum bool) Where {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chats[id] == nil {
		s.chats[id] = &room{id: id, kind: kind, forum: forum, topics: map[int64]bool{}}
	}
	return Where{Chat: id}
}

// Topic opens a topic in a forum, or in a direct chat; a user made it, as a service message tells.
func (s *Server) Topic(by User, in Where) Where {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.chats[in.Chat]
	id := r.last + 1
	r.topics[id] = true
	at := Where{Chat: in.Chat, Topic: id}
	s.post(r, &Message{Where: at, From: by, Fields: map[string]any{"forum_topic_created": map[string]any{"name": "topic", "icon_color": 1}}})
	return at
}

// CloseTopic deletes a topic.
func (s *Server) CloseTopic(at Where) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.chats[at.Chat].topics, at.Topic)
}

// Close reasons of a chat, as the Bot API words them.
const (
	Blocked = "Forbidden: bot was blocked by the user"
	Kicked  = "Forbidden: bot was kicked from the supergroup chat"
)

// Forbid makes every call on a chat fail with 403 and the text, "" lets them through again.
func (s *Server) Forbid(chat int64, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chats[chat].closed = nil
	if text != "" {
		s.chats[chat].closed = &refusal{Code: 403, Text: text}
	}
}

// Migrate makes a supergroup with the new id of a basic group, as adding topics or a public link does.
func (s *Server) Migrate(group Where, to int64) Where {
	at := s.Supergroup(to)
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.chats[group.Chat]
	old.movedTo = to
	s.post(old, &Message{Where: group, From: s.Bot(), Fields: map[string]any{"migrate_to_chat_id": to}})
	s.post(s.chats[to], &Message{Where: at, From: s.Bot(), Fields: map[string]any{"migrate_from_chat_id": group.Chat}})
	return at
}

// Messages lists what stands at a place now, oldest first; topics of the chat are places of their own.
func (s *Server) Messages(at Where) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	if r := s.chats[at.Chat]; r != nil {
		for _, m := range r.messages {
			if m.Topic == at.Topic {
				out = append(out, m.copy())
			}
		}
	}
	return out
}

// Sent lists what the bot sent to a place and how it stands now.
func (s *Server) Sent(at Where) []Message {
	return slices.DeleteFunc(s.Messages(at), func(m Message) bool { return m.From.ID != botID || m.Fields != nil })
}

// Typing counts how often the bot was shown typing in a chat.
func (s *Server) Typing(chat int64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.chats[chat]; r != nil {
		return r.typing
	}
	return 0
}

// Delete removes a message.
func (s *Server) Delete(at Where, id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.chats[at.Chat]
	r.messages = slices.DeleteFunc(r.messages, func(m *Message) bool { return m.ID == id })
	s.mu.Note()
}

func (m *Message) copy() Message {
	out := *m
	out.Entities, out.Data, out.Fields = slices.Clone(m.Entities), slices.Clone(m.Data), maps.Clone(m.Fields)
	out.Buttons = nil
	for _, row := range m.Buttons {
		out.Buttons = append(out.Buttons, slices.Clone(row))
	}
	return out
}
