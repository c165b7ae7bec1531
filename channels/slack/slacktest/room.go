package slacktest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// User is an account. Team is its workspace, "" for the app's own.
type User struct {
	ID, Team, Locale string
	Name             string // the display name
	Bot              bool   // another app's
	Guest            bool
	Deleted          bool
}

// Where is a channel, or a thread of one; Thread "" is none.
type Where struct{ Channel, Thread string }

// The kinds of channels.
const (
	Direct  = "im"
	Several = "mpim"
	Public  = "channel"
	Private = "group"
)

// Message is one that stands in a channel.
type Message struct {
	Where
	TS       string
	User     string
	Bot      string // bot_id
	Text     string
	Blocks   json.RawMessage
	Controls []Control
	Metadata json.RawMessage
	Files    []File
	Mrkdwn   bool
	Edits    int
	// Streaming says that it still grows; Streamed that it ever did.
	Streaming, Streamed bool
	// Fields are further fields of the message, as in the API.
	Fields map[string]any
}

// Control is a button, or an option of a select, of a message.
type Control struct {
	Block, Action, Kind string
	Label, Value, URL   string
}

// File is one that was uploaded and shared.
type File struct {
	ID, Name, Title string
	Type            string // "": text/plain
	Data            []byte
}

// Note is an ephemeral message.
type Note struct {
	Where
	User, Text string
}

// Status is a call of assistant.threads.setStatus.
type Status struct {
	Where
	Text string
}

// room is one channel.
type room struct {
	id       string
	kind     string
	members  map[string]bool
	archived bool
	with     string // of a direct chat
	messages []*Message
}

func (r *room) find(ts string) *Message {
	for _, m := range r.messages {
		if m.TS == ts {
			return m
		}
	}
	return nil
}

// AddUser makes an account known.
func (s *Server) AddUser(u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[u.ID] = u
}

// Open opens a channel of a kind, with the bot in it.
func (s *Server) Open(id, kind string) Where {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rooms[id] == nil {
		s.rooms[id] = &room{id: id, kind: kind, members: map[string]bool{BotUser: true}}
	}
	return Where{Channel: id}
}

// DM opens the direct chat of a person with the bot.
func (s *Server) DM(user string) Where {
	at := s.Open("D"+strings.TrimPrefix(user, "U"), Direct)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rooms[at.Channel].with = user
	return at
}

// Archive archives a channel.
func (s *Server) Archive(channel string) { s.change(channel, func(r *room) { r.archived = true }) }

// Leave takes the bot out of a channel.
func (s *Server) Leave(channel string) {
	s.change(channel, func(r *room) { delete(r.members, BotUser) })
}

// Invite puts the bot into a channel.
func (s *Server) Invite(channel string) {
	s.change(channel, func(r *room) { r.members[BotUser] = true })
}

func (s *Server) change(channel string, f func(*room)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.mustRoom(channel))
	s.mu.Note()
}

func (s *Server) mustRoom(channel string) *room {
	r := s.rooms[channel]
	if r == nil {
		panic(fmt.Sprintf("slacktest: channel %s was not opened", channel))
	}
	return r
}

// Messages lists what stands at a place now, oldest first; threads are places of their own, and hold their root.
func (s *Server) Messages(at Where) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	if r := s.rooms[at.Channel]; r != nil {
		for _, m := range r.messages {
			if m.Thread == at.Thread || at.Thread != "" && m.TS == at.Thread {
				out = append(out, m.copy())
			}
		}
	}
	return out
}

// Sent lists what the bot sent to a place and how it stands now.
func (s *Server) Sent(at Where) []Message {
	return slices.DeleteFunc(s.Messages(at), func(m Message) bool { return m.User != BotUser })
}

// Notes lists the ephemeral messages.
func (s *Server) Notes() []Note {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

// Statuses lists the thread statuses that were set.
func (s *Server) Statuses() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.status)
}

// Remove deletes a message, and tells the app so.
func (s *Server) Remove(channel, ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mustRoom(channel)
	r.messages = slices.DeleteFunc(r.messages, func(m *Message) bool { return m.TS == ts })
	s.event(channel, map[string]any{"type": "message", "subtype": "message_deleted", "hidden": true, "channel": channel, "channel_type": r.kind, "deleted_ts": ts, "ts": s.stamp()})
}

// stamp takes the next timestamp. s.mu is held.
func (s *Server) stamp() string {
	s.lastTS = max(s.lastTS+1, s.cfg.Now().UnixMicro())
	return fmt.Sprintf("%d.%06d", s.lastTS/1e6, s.lastTS%1e6)
}

// next takes a serial number. s.mu is held.
func (s *Server) next() string {
	s.serial++
	return strconv.Itoa(s.serial)
}

func (m *Message) copy() Message {
	out := *m
	out.Controls, out.Files, out.Fields = slices.Clone(m.Controls), slices.Clone(m.Files), maps.Clone(m.Fields)
	return out
}

// Control finds a control by its label.
func (m Message) Control(label string) (Control, bool) {
	for _, c := range m.Controls {
		if c.Label == label {
			return c, true
		}
	}
	return Control{}, false
}

// json is a message as the API tells it.
func (s *Server) json(r *room, m *Message) map[string]any {
	out := map[string]any{"type": "message", "ts": m.TS, "text": m.Text, "channel": r.id}
	u := s.users[m.User]
	if m.User != "" {
		out["user"] = m.User
		out["team"] = s.teamOf(u)
	}
	if m.Bot != "" {
		out["bot_id"], out["app_id"] = m.Bot, AppID
		out["bot_profile"] = map[string]any{"id": m.Bot}
	}
	if m.Thread != "" {
		out["thread_ts"] = m.Thread
		if root := r.find(m.Thread); root != nil {
			out["parent_user_id"] = root.User
		}
	} else if slices.ContainsFunc(r.messages, func(o *Message) bool { return o.Thread == m.TS }) {
		out["thread_ts"] = m.TS
	}
	if len(m.Blocks) > 0 {
		out["blocks"] = m.Blocks
	}
	if m.Streamed {
		out["streaming_state"] = map[bool]string{true: "in_progress", false: "completed"}[m.Streaming]
	}
	if m.Edits > 0 && m.User == BotUser {
		out["edited"] = map[string]any{"user": BotUser, "ts": m.TS}
	}
	if len(m.Files) > 0 {
		var list []any
		for _, f := range m.Files {
			list = append(list, s.fileJSON(f))
		}
		out["files"] = list
	}
	maps.Copy(out, m.Fields)
	return out
}

func (s *Server) teamOf(u User) string {
	if u.Team != "" {
		return u.Team
	}
	return s.cfg.Team
}
