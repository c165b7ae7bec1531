package discordtest

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// The kinds of channels.
const (
	kindText   = 0
	kindDirect = 1
	kindThread = 11
)

// channel is a channel, a thread or a direct chat.
type channel struct {
	id, guild, parent ID
	kind              int
	with              User // of a direct chat
	joined            bool // the bot is in the thread
	archived, locked  bool
	denied            int // the code with which the bot is kept out
	last              ID  // the newest message, also one that is deleted
	hidden            string
	typing            int
	messages          []*Message
	recent            []int64 // when the bot last wrote, in milliseconds
}

func (c *channel) find(id ID) *Message {
	for _, m := range c.messages {
		if m.ID == id {
			return m
		}
	}
	return nil
}

func (c *channel) json() map[string]any {
	out := map[string]any{"id": c.id, "type": c.kind, "last_message_id": c.last}
	if c.guild != 0 {
		out["guild_id"] = c.guild
		out["permission_overwrites"] = []any{}
		if c.hidden != "" {
			out["permission_overwrites"] = []any{map[string]any{"id": c.guild, "type": 0, "allow": "0", "deny": c.hidden}}
		}
	}
	if c.kind == kindThread {
		out["parent_id"] = c.parent
		out["thread_metadata"] = map[string]any{"archived": c.archived, "locked": c.locked}
		if c.joined {
			out["member"] = map[string]any{"user_id": BotID, "id": c.id}
		}
	}
	return out
}

// User is an account.
type User struct {
	ID   ID
	Name string
	Bot  bool
}

func (u User) json() map[string]any {
	out := map[string]any{"id": u.ID, "username": u.Name, "discriminator": "0", "global_name": strings.ToUpper(u.Name)}
	if u.Bot {
		out["bot"] = true
	}
	return out
}

// Message is a message as the channel shows it now.
type Message struct {
	ID      ID
	From    User
	Content string
	Type    int
	ReplyTo ID
	Nonce   string
	Flags   int
	Edits   int
	Files   []string
	// Buttons are all of its buttons and options, in order.
	Buttons []Button
	// Fields are further fields as Discord tells them.
	Fields map[string]any

	attached []*attached
}

// Button is a button, or an option of a menu.
type Button struct {
	Label    string
	CustomID string
	URL      string
	Value    string // of an option
}

// DM is the direct chat with a person; it opens by itself.
func (s *Server) DM(with User) ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[with.ID] = with
	return s.chatWith(with).id
}

// Meet makes a person known, whom the bot may then open a chat with.
func (s *Server) Meet(who User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[who.ID] = who
}

func (s *Server) chatWith(who User) *channel {
	for _, c := range s.channels {
		if c.kind == kindDirect && c.with.ID == who.ID {
			return c
		}
	}
	return s.open(&channel{kind: kindDirect, with: who})
}

// Guild makes a server with the bot in it.
func (s *Server) Guild() ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.next()
	s.guilds = append(s.guilds, id)
	s.tell("GUILD_CREATE", s.guildJSON(id), guildsIntent)
	return id
}

// Outage lets a server be away: it tells nothing of itself until it is back.
func (s *Server) Outage(guild ID, away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away[guild] = away
	if away {
		s.tell("GUILD_DELETE", map[string]any{"id": guild, "unavailable": true}, guildsIntent)
	} else {
		s.tell("GUILD_CREATE", s.guildJSON(guild), guildsIntent)
	}
	s.mu.Note()
}

// Leave takes the bot out of a server.
func (s *Server) Leave(guild ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guilds = slices.DeleteFunc(s.guilds, func(id ID) bool { return id == guild })
	s.tell("GUILD_DELETE", map[string]any{"id": guild}, guildsIntent)
	s.mu.Note()
}

// Join lets the bot into a server that it left.
func (s *Server) Join(guild ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guilds = append(s.guilds, guild)
	s.tell("GUILD_CREATE", s.guildJSON(guild), guildsIntent)
	s.mu.Note()
}

// Channel makes a text channel of a server.
func (s *Server) Channel(guild ID) ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.open(&channel{kind: kindText, guild: guild})
	s.tell("CHANNEL_CREATE", c.json(), guildsIntent)
	return c.id
}

// Thread makes a thread of a channel; joined says that the bot is part of it.
func (s *Server) Thread(parent ID, joined bool) ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.open(&channel{kind: kindThread, guild: s.channels[parent].guild, parent: parent, joined: joined})
	made := c.json()
	made["newly_created"] = true
	s.tell("THREAD_CREATE", made, guildsIntent)
	return c.id
}

func (s *Server) open(c *channel) *channel {
	c.id = s.next()
	s.channels[c.id] = c
	return c
}

// Archive archives a thread, and locks it.
func (s *Server) Archive(thread ID, locked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[thread].archived, s.channels[thread].locked = true, locked
}

// Archived reports whether a thread is archived.
func (s *Server) Archived(thread ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.channels[thread].archived
}

// Deny keeps the bot out of a channel with an error code such as 50001; 0 lets it in again.
func (s *Server) Deny(channel ID, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[channel].denied = code
}

// Overwrite takes rights away from everybody in a channel: a number of permission bits, as text.
func (s *Server) Overwrite(channel ID, deny string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[channel].hidden = deny
}

// Remove deletes a channel.
func (s *Server) Remove(channel ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.channels, channel)
}

// Typed counts how often the bot showed that it types.
func (s *Server) Typed(channel ID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.channels[channel].typing
}

// Messages lists what stands in a channel, oldest first.
func (s *Server) Messages(channel ID) (out []Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.channels[channel].messages {
		c := *m
		c.Buttons, c.Files = slices.Clone(m.Buttons), slices.Clone(m.Files)
		out = append(out, c)
	}
	return out
}

// Sent lists what the bot wrote in a channel, oldest first.
func (s *Server) Sent(channel ID) []Message {
	return slices.DeleteFunc(s.Messages(channel), func(m Message) bool { return m.From.ID != BotID })
}

// roleOf is the bot's own role in a server.
func roleOf(guild ID) ID { return guild + 1 }

// Role is the bot's own role in a server, as people mention it by mistake.
func (s *Server) Role(guild ID) ID { return roleOf(guild) }

func (s *Server) roles(guild ID) []any {
	return []any{
		map[string]any{"id": guild, "permissions": "1024"},
		map[string]any{"id": roleOf(guild), "permissions": "274877992000", "tags": map[string]any{"bot_id": BotID}},
	}
}

func (s *Server) guildJSON(id ID) map[string]any {
	rooms, threads := []any{}, []any{}
	for _, c := range s.inOrder() {
		switch {
		case c.guild != id, c.archived: // archived threads are not told
		case c.kind == kindThread:
			threads = append(threads, c.json())
		default:
			rooms = append(rooms, c.json())
		}
	}
	return map[string]any{"id": id, "channels": rooms, "threads": threads, "roles": s.roles(id), "members": []any{}}
}

func (s *Server) inOrder() []*channel {
	return slices.SortedFunc(maps.Values(s.channels), func(a, b *channel) int { return int(int64(a.id) - int64(b.id)) })
}

// json is a message as Discord tells it; without its content where the bot may not read it.
func (s *Server) json(c *channel, m *Message, readable bool) map[string]any {
	out := map[string]any{
		"id": m.ID, "channel_id": c.id, "channel_type": c.kind, "type": m.Type, "author": m.From.json(), "content": "",
		"mentions": []any{}, "mention_roles": []any{}, "attachments": []any{}, "embeds": []any{}, "components": []any{},
		"edited_timestamp": nil, "flags": m.Flags, "timestamp": s.cfg.Now().UTC().Format("2006-01-02T15:04:05.000000+00:00"),
	}
	if c.guild != 0 {
		out["guild_id"] = c.guild
	}
	if m.Edits > 0 {
		out["edited_timestamp"] = "2026-01-01T00:00:00+00:00"
	}
	if readable {
		out["content"] = m.Content
		files := s.attachments(c, m)
		for i, f := range m.Files {
			files = append(files, map[string]any{"id": ID(i + 1), "filename": f, "content_type": "text/plain", "size": utf8.RuneCountInString(f)})
		}
		out["attachments"] = files
	}
	var people, roles []any
	if strings.Contains(m.Content, "<@"+BotID.String()+">") || strings.Contains(m.Content, "<@!"+BotID.String()+">") || s.pings(c, m) {
		people = append(people, s.Bot().json())
	}
	if c.guild != 0 && strings.Contains(m.Content, "<@&"+roleOf(c.guild).String()+">") {
		roles = append(roles, roleOf(c.guild))
	}
	out["mentions"], out["mention_roles"] = people, roles
	if m.ReplyTo != 0 {
		out["message_reference"] = map[string]any{"type": 0, "channel_id": c.id, "message_id": m.ReplyTo}
		out["referenced_message"] = nil
		if to := c.find(m.ReplyTo); to != nil {
			out["referenced_message"] = map[string]any{"id": to.ID, "author": to.From.json(), "content": to.Content}
		}
	}
	maps.Copy(out, m.Fields)
	return out
}

// pings reports whether a message is a reply to the bot that pings it.
func (s *Server) pings(c *channel, m *Message) bool {
	to := c.find(m.ReplyTo)
	return to != nil && to.From.ID == BotID && m.Fields["silent"] == nil
}

// reads reports whether the bot may read a message: everything with the intent; else direct chats, its own,
// and what is meant for it.
func (s *Server) reads(c *channel, m *Message, intents int) bool {
	return intents&contentIntent != 0 && !s.cfg.ContentOff || c.guild == 0 || m.From.ID == BotID || s.pings(c, m) ||
		strings.Contains(m.Content, "<@"+BotID.String()+">") || strings.Contains(m.Content, "<@!"+BotID.String()+">") ||
		strings.Contains(m.Content, "<@&"+roleOf(c.guild).String()+">")
}
