package telegramtest

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
)

// Anonymous is the account that stands for every anonymous admin of every group.
var Anonymous = User{ID: 1087968824, Username: "GroupAnonymousBot", IsBot: true}

// Said changes a message before it is said.
type Said func(*Message)

// Reply makes it a reply to a message of the same chat.
func Reply(to int64) Said { return func(m *Message) { m.ReplyTo = to } }

// Field sets a field of the message, as in the Bot API: "sticker", "forward_origin", "sender_chat".
func Field(name string, value any) Said { return func(m *Message) { m.Fields[name] = value } }

// At sets the time it was sent, in Unix seconds.
func At(date int64) Said { return func(m *Message) { m.Date = date } }

// Unheard keeps the update back until Hear: the message has its place, and is late on its way to the bot.
func Unheard(m *Message) { m.unheard = true }

// Hear sends the update of a message that was said Unheard.
func (s *Server) Hear(at Where, id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.chats[at.Chat]
	if m := r.find(id); m != nil && m.unheard {
		m.unheard = false
		if s.hears(r, m) {
			s.push("message", s.json(r, m), r.id)
		}
	}
	s.mu.Note()
}

// Say puts a message of a person into a chat and returns its id. A direct chat opens by itself.
func (s *Server) Say(from User, at Where, text string, how ...Said) int64 {
	if at.Chat == from.ID {
		s.Private(from)
	}
	m := &Message{Where: at, From: from, Text: text, Fields: map[string]any{}}
	for _, h := range how {
		h(m)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.chats[at.Chat]
	if r == nil {
		panic(fmt.Sprintf("telegramtest: chat %d was not opened", at.Chat))
	}
	r.botLast = r.botLast && !from.IsBot
	s.keep(m)
	s.post(r, m)
	return m.ID
}

// Forward puts somebody's text into a chat as forwarded by a person.
func (s *Server) Forward(by User, at Where, text string, original User) int64 {
	return s.Say(by, at, text, Field("forward_date", s.cfg.Now().Unix()),
		Field("forward_origin", map[string]any{"type": "user", "sender_user": original.json(), "date": s.cfg.Now().Unix()}))
}

// SayAnonymously puts a message of an anonymous admin into a group.
func (s *Server) SayAnonymously(at Where, text string, how ...Said) int64 {
	return s.Say(Anonymous, at, text, append(how, Field("sender_chat", map[string]any{"id": at.Chat, "type": "supergroup"}))...)
}

// Edit changes a message of a person.
func (s *Server) Edit(at Where, id int64, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.chats[at.Chat]
	m := r.find(id)
	m.Text = text
	m.Edits++
	out := s.json(r, m)
	out["edit_date"] = s.cfg.Now().Unix()
	if s.hears(r, m) {
		s.push("edited_message", out, at.Chat)
	}
	s.mu.Note()
}

// Answer is what became of a press.
type Answer struct {
	ID    string
	Done  bool   // the bot answered it
	Text  string // the line it showed
	Alert bool
	Late  bool // the bot will be told that the query is too old
}

// Press presses the button with the label under a message of the bot; an error says that there is none.
func (s *Server) Press(from User, at Where, message int64, label string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.chats[at.Chat]
	m := r.find(message)
	if m == nil {
		return "", fmt.Errorf("message %d is not there", message)
	}
	b, ok := m.Button(label)
	if !ok || b.Data == "" {
		return "", fmt.Errorf("message %d has no button %q", message, label)
	}
	return s.press(from, r, m, b.Data), nil
}

// PressData submits any payload under a message, as an old or forged button would.
func (s *Server) PressData(from User, at Where, message int64, data string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.chats[at.Chat]
	m := r.find(message)
	if m == nil { // too old: Telegram tells only where it was
		m = &Message{Where: Where{Chat: at.Chat}, ID: message}
	}
	return s.press(from, r, m, data)
}

func (s *Server) press(from User, r *room, m *Message, data string) string {
	s.lastPress++
	id := strconv.FormatInt(900000000+s.lastPress, 10)
	s.presses[id] = &Answer{ID: id}
	shown := map[string]any{"chat": r.json(), "message_id": m.ID, "date": 0}
	if m.Date != 0 {
		shown = s.json(r, m)
	}
	s.push("callback_query", map[string]any{"id": id, "from": from.json(), "chat_instance": "1", "data": data, "message": shown}, r.id)
	s.mu.Note()
	return id
}

// Answered is what became of a press.
func (s *Server) Answered(press string) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.presses[press]
}

// Outlive makes the answer to a press come too late.
func (s *Server) Outlive(press string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.presses[press].Late = true
}

// Raw queues an update as it is; its update_id is given by the server.
func (s *Server) Raw(kind string, value any, chat int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.mu.Note()
	return s.push(kind, value, chat)
}

// post puts a message into a room, and into the queue if the bot hears it. s.mu is held.
func (s *Server) post(r *room, m *Message) {
	r.last++
	m.ID = r.last
	if m.Date == 0 {
		m.Date = s.cfg.Now().Unix()
	}
	r.messages = append(r.messages, m)
	if m.From.ID != botID || m.Fields["migrate_to_chat_id"] != nil || m.Fields["migrate_from_chat_id"] != nil {
		if !m.unheard && s.hears(r, m) {
			s.push("message", s.json(r, m), r.id)
		}
	}
	s.mu.Note()
}

// json is a message as the Bot API tells it.
func (s *Server) json(r *room, m *Message) map[string]any {
	out := s.plain(r, m)
	switch to := r.find(m.ReplyTo); {
	case to != nil:
		out["reply_to_message"] = s.plain(r, to)
	case m.Topic != 0 && m.ID != m.Topic:
		if root := r.find(m.Topic); root != nil {
			out["reply_to_message"] = s.plain(r, root)
		}
	}
	return out
}

func (s *Server) plain(r *room, m *Message) map[string]any {
	out := map[string]any{"message_id": m.ID, "chat": r.json(), "date": m.Date, "from": m.From.json()}
	if m.Topic != 0 {
		out["message_thread_id"], out["is_topic_message"] = m.Topic, true
	}
	text, marks := "text", "entities"
	if m.Document != "" || captioned(m.Fields) {
		text, marks = "caption", "caption_entities"
	}
	if m.Document != "" {
		out["document"] = map[string]any{"file_id": "f", "file_unique_id": "u", "file_name": m.Document, "file_size": len(m.Data)}
	}
	if m.Text != "" {
		out[text] = m.Text
		if es := append(detect(m.Text), m.Entities...); len(es) > 0 {
			out[marks] = es
		}
	}
	if len(m.Buttons) > 0 {
		out["reply_markup"] = map[string]any{"inline_keyboard": m.Buttons}
	}
	maps.Copy(out, m.Fields)
	return out
}

func captioned(fields map[string]any) bool {
	for _, f := range []string{"photo", "document", "voice", "video", "audio", "animation"} {
		if fields[f] != nil {
			return true
		}
	}
	return false
}

var (
	mention = regexp.MustCompile(`@[A-Za-z0-9_]{3,32}`)
	command = regexp.MustCompile(`(?:^|\s)(/[A-Za-z0-9_]{1,32}(?:@[A-Za-z0-9_]{3,32})?)`)
)

// detect finds the entities that clients mark by themselves.
func detect(text string) []Entity {
	var out []Entity
	for _, at := range mention.FindAllStringIndex(text, -1) {
		if at[0] > 0 && (text[at[0]-1] == '/' || isWord(text[at[0]-1])) {
			continue // the name in /cancel@relay_bot
		}
		out = append(out, Entity{"mention", units(text[:at[0]]), at[1] - at[0]})
	}
	for _, at := range command.FindAllStringSubmatchIndex(text, -1) {
		out = append(out, Entity{"bot_command", units(text[:at[2]]), at[3] - at[2]})
	}
	return out
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// hears reports whether privacy mode lets the bot have a message.
func (s *Server) hears(r *room, m *Message) bool {
	if s.cfg.HearsAll || r.kind == "private" || m.Text == "" && m.Fields != nil && !captioned(m.Fields) && service(m.Fields) {
		return true
	}
	if to := r.find(m.ReplyTo); to != nil && to.From.ID == botID {
		return true
	}
	us := "@" + strings.ToLower(s.cfg.Username)
	for _, e := range detect(m.Text) {
		found := strings.ToLower(slice(m.Text, e))
		name, to, _ := strings.Cut(found, "@")
		switch {
		case e.Type == "mention" && found == us, e.Type == "bot_command" && "@"+to == us:
			return true
		case e.Type == "bot_command" && to == "" && name != "" && r.botLast:
			return true
		}
	}
	return false
}

func service(fields map[string]any) bool {
	for _, f := range []string{"forum_topic_created", "migrate_to_chat_id", "migrate_from_chat_id", "pinned_message", "new_chat_members", "left_chat_member"} {
		if fields[f] != nil {
			return true
		}
	}
	return false
}

func slice(text string, e Entity) string {
	all := []rune{}
	n := 0
	for _, r := range text {
		if n >= e.Offset && n < e.Offset+e.Length {
			all = append(all, r)
		}
		n += units(string(r))
	}
	return string(all)
}
