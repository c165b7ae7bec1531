package discordtest

import (
	"fmt"
	"time"
)

// interactionLife is how long Discord waits for the first answer to an interaction.
const interactionLife = 3 * time.Second

// Said changes a message before it is said.
type Said func(*Message)

// Reply makes it a reply to a message of the same channel, which pings its author.
func Reply(to ID) Said { return func(m *Message) { m.Type, m.ReplyTo = 19, to } }

// Type makes it a message of another type.
func Type(n int) Said { return func(m *Message) { m.Type = n } }

// File attaches a file.
func File(name string) Said { return func(m *Message) { m.Files = append(m.Files, name) } }

// Field sets a field of the message, as in the API: "webhook_id", "message_reference", "flags".
func Field(name string, value any) Said { return func(m *Message) { m.Fields[name] = value } }

// Unheard keeps the event from every session: it is as if it came while none was there.
func Unheard() Said { return func(m *Message) { m.Fields[unheard] = true } }

const unheard = "-unheard"

// Say puts a message of a person into a channel and returns its id.
func (s *Server) Say(from User, at ID, text string, how ...Said) ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &Message{From: from, Content: text, Fields: map[string]any{}}
	for _, h := range how {
		h(m)
	}
	c := s.channels[at]
	if c == nil {
		panic(fmt.Sprintf("discordtest: channel %s was not opened", at))
	}
	s.users[from.ID] = from
	c.archived = c.archived && c.locked
	quiet := m.Fields[unheard] != nil
	delete(m.Fields, unheard)
	for _, a := range m.attached {
		a.id = s.next()
	}
	s.post(c, m, !quiet)
	return m.ID
}

// Hear tells the sessions now of a message that was said Unheard.
func (s *Server) Hear(at, id ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[at]
	s.tellMessage("MESSAGE_CREATE", c, c.find(id))
	s.mu.Note()
}

// Forward puts somebody's text into a channel as forwarded by a person.
func (s *Server) Forward(by User, at ID, text string) ID {
	return s.Say(by, at, "", Field("message_reference", map[string]any{"type": 1, "message_id": ID(77), "channel_id": at}),
		Field("message_snapshots", []any{map[string]any{"message": map[string]any{"content": text}}}))
}

// Edit changes a message of a person.
func (s *Server) Edit(at, id ID, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[at]
	m := c.find(id)
	m.Content = text
	m.Edits++
	s.tellMessage("MESSAGE_UPDATE", c, m)
	s.mu.Note()
}

// Delete takes a message away.
func (s *Server) Delete(at, id ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[at]
	for i, m := range c.messages {
		if m.ID == id {
			c.messages = append(c.messages[:i:i], c.messages[i+1:]...)
			break
		}
	}
	s.tell("MESSAGE_DELETE", map[string]any{"id": id, "channel_id": at, "guild_id": c.guild}, 0)
	s.mu.Note()
}

// post puts a message into a channel and tells the sessions. s.mu is held.
func (s *Server) post(c *channel, m *Message, heard bool) {
	m.ID = s.next()
	c.messages, c.last = append(c.messages, m), m.ID
	if heard {
		s.tellMessage("MESSAGE_CREATE", c, m)
	}
	s.mu.Note()
}

// Interaction is a press or a command, and what became of it.
type Interaction struct {
	ID      ID
	Token   string // a secret to look for
	Type    int    // of the first answer, 0 for none yet
	Line    string // that the person alone saw, "" for none
	After   time.Duration
	Late    bool // the first answer is refused
	command bool
	at      time.Time
}

// Press presses the button with that label, or chooses the option, under a message of the bot.
func (s *Server) Press(from User, at, message ID, label string) (ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.channels[at].find(message)
	if m == nil {
		return 0, fmt.Errorf("message %s is not there", message)
	}
	for _, b := range m.Buttons {
		if b.Label == label && b.URL == "" {
			return s.press(from, at, m, b), nil
		}
	}
	return 0, fmt.Errorf("message %s has no button %q", message, label)
}

// PressID submits any custom id under a message, as an old or forged button would.
func (s *Server) PressID(from User, at, message ID, customID string) ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.channels[at].find(message)
	if m == nil {
		m = &Message{ID: message, From: s.Bot(), Fields: map[string]any{}}
	}
	return s.press(from, at, m, Button{CustomID: customID})
}

func (s *Server) press(from User, at ID, m *Message, b Button) ID {
	c := s.channels[at]
	data := map[string]any{"custom_id": b.CustomID, "component_type": 2}
	if b.Value != "" {
		data["component_type"], data["values"] = 3, []string{b.Value}
	}
	return s.act(from, c, 3, data, map[string]any{"message": s.json(c, m, true)})
}

// Command uses a command that the bot offered.
func (s *Server) Command(from User, at ID, name string) ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.act(from, s.channels[at], 2, map[string]any{"id": ID(99), "name": name, "type": 1}, nil)
}

// act tells of an interaction. s.mu is held.
func (s *Server) act(from User, c *channel, kind int, data, more map[string]any) ID {
	id := s.next()
	a := &Interaction{ID: id, Token: "interaction-secret-" + id.String(), command: kind == 2, at: s.cfg.Now()}
	s.acts[id] = a
	out := map[string]any{
		"id": id, "application_id": appID, "type": kind, "token": a.Token, "version": 1, "channel_id": c.id,
		"channel": c.json(), "data": data, "locale": "de", "authorizing_integration_owners": map[string]any{"0": c.guild},
	}
	if c.guild != 0 {
		out["guild_id"], out["context"] = c.guild, 0
		out["member"] = map[string]any{"user": from.json(), "permissions": "0", "roles": []any{}}
	} else {
		out["context"], out["user"] = 1, from.json()
	}
	for k, v := range more {
		out[k] = v
	}
	s.tell("INTERACTION_CREATE", out, 0)
	s.mu.Note()
	return id
}

// Outcome is what became of an interaction.
func (s *Server) Outcome(id ID) Interaction {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.acts[id]
}

// Outlive makes the first answer to an interaction come too late.
func (s *Server) Outlive(id ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acts[id].Late = true
}
