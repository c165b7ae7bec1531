package slacktest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Said changes a message before it is said.
type Said func(*Message)

// Field sets a field of the message, as in the API: "subtype", "bot_id", "client_msg_id", "files".
func Field(name string, value any) Said { return func(m *Message) { m.Fields[name] = value } }

// Silent puts the message into the channel without telling the app.
func Silent(m *Message) { m.Fields["slacktest_silent"] = true }

// Say puts a message of a person into a channel or thread and returns its timestamp. text is as the platform
// hands it over: escaped, mentions as <@U…>. Where it mentions the bot, app_mention goes with it.
func (s *Server) Say(user string, at Where, text string, how ...Said) string {
	m := &Message{Where: at, User: user, Text: text, Fields: map[string]any{}}
	for _, h := range how {
		h(m)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mustRoom(at.Channel)
	if _, ok := s.users[user]; !ok && user != "" {
		s.users[user] = User{ID: user}
	}
	m.TS = s.stamp()
	if _, ok := m.Fields["client_msg_id"]; !ok {
		m.Fields["client_msg_id"] = "gesture-" + s.next()
	}
	r.members[user] = true
	r.messages = append(r.messages, m)
	s.keep(m)
	if m.Fields["slacktest_silent"] != nil {
		delete(m.Fields, "slacktest_silent")
		s.mu.Note()
		return m.TS
	}
	s.tell(r, m)
	return m.TS
}

// tell queues the events of a message. s.mu is held.
func (s *Server) tell(r *room, m *Message) {
	told := s.json(r, m)
	told["channel_type"], told["event_ts"] = r.kind, m.TS
	if u := s.users[m.User]; u.Team != "" && u.Team != s.cfg.Team {
		told["user_team"], told["source_team"] = u.Team, u.Team
	}
	mention := map[string]any{"type": "app_mention", "event_ts": m.TS}
	for _, k := range []string{"user", "text", "ts", "thread_ts", "channel", "team", "user_team", "bot_id", "client_msg_id", "files"} {
		if v, ok := told[k]; ok {
			mention[k] = v
		}
	}
	both := r.kind != Direct && strings.Contains(m.Text, "<@"+BotUser+">") && told["subtype"] == nil
	if both && s.swapped {
		s.event(r.id, mention)
	}
	s.event(r.id, told)
	if both && !s.swapped {
		s.event(r.id, mention)
	}
}

// Mention is the bot's mention followed by the text.
func Mention(text string) string { return "<@" + BotUser + "> " + text }

// Edit changes a message of a person, and tells the app so.
func (s *Server) Edit(channel, ts, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mustRoom(channel)
	m := r.find(ts)
	before := s.json(r, m)
	m.Text = text
	m.Edits++
	now := s.json(r, m)
	now["edited"] = map[string]any{"user": m.User, "ts": m.TS}
	s.event(channel, map[string]any{
		"type": "message", "subtype": "message_changed", "hidden": true, "channel": channel, "channel_type": r.kind,
		"ts": s.stamp(), "message": now, "previous_message": before,
	})
}

// Press presses the control with the label under a message; an error says that there is none.
func (s *Server) Press(user, channel, ts, label string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.mustRoom(channel).find(ts)
	if m == nil {
		return fmt.Errorf("message %s is not there", ts)
	}
	c, ok := m.Control(label)
	if !ok {
		return fmt.Errorf("message %s has no control %q", ts, label)
	}
	s.press(user, s.rooms[channel], m, c)
	return nil
}

// PressValue submits any value under a message, as an old or forged button would.
func (s *Server) PressValue(user, channel, ts, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mustRoom(channel)
	m := r.find(ts)
	if m == nil {
		m = &Message{Where: Where{Channel: channel}, TS: ts, User: BotUser, Bot: BotID}
	}
	s.press(user, r, m, Control{Block: "b", Action: "parley:0", Kind: "button", Value: value})
}

// press queues a block_actions payload. s.mu is held.
func (s *Server) press(user string, r *room, m *Message, c Control) {
	u, ok := s.users[user]
	if !ok {
		u = User{ID: user}
		s.users[user] = u
	}
	r.members[user] = true
	action := map[string]any{"block_id": c.Block, "action_id": c.Action, "type": c.Kind, "action_ts": s.stamp()}
	switch {
	case c.Kind == "static_select":
		action["selected_option"] = map[string]any{"text": map[string]any{"type": "plain_text", "text": c.Label}, "value": c.Value}
	case c.URL != "":
		action["url"] = c.URL
	}
	if c.Value != "" && c.Kind == "button" {
		action["value"] = c.Value
	}
	container := map[string]any{"type": "message", "message_ts": m.TS, "channel_id": r.id, "is_ephemeral": false}
	if m.Thread != "" {
		container["thread_ts"] = m.Thread
	}
	s.enqueue("interactive", r.id, map[string]any{
		"type": "block_actions", "api_app_id": AppID, "trigger_id": "trigger-" + s.next(),
		"response_url": s.root() + "/response-url-secret", "team": map[string]any{"id": s.cfg.Team},
		"user":    map[string]any{"id": user, "team_id": s.teamOf(u), "username": "user"},
		"channel": map[string]any{"id": r.id}, "container": container, "message": s.json(r, m), "actions": []any{action},
	})
}

// Raw queues an inner event as it is; channel, "" for none, is where it belongs.
func (s *Server) Raw(channel string, inner map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.event(channel, inner)
}

// event queues an inner event of the Events API. s.mu is held.
func (s *Server) event(channel string, inner map[string]any) {
	times := 1
	if s.twice {
		times = 2
	}
	outer := map[string]any{
		"type": "event_callback", "token": "legacy", "team_id": s.cfg.Team, "api_app_id": AppID, "event": inner,
		"event_id": "Ev" + s.next(), "event_time": s.cfg.Now().Unix(), "is_ext_shared_channel": false,
		"authorizations": []any{map[string]any{"team_id": s.cfg.Team, "user_id": BotUser, "is_bot": true}},
	}
	for range times {
		s.enqueue("events_api", channel, outer)
	}
}

func (s *Server) root() string { return strings.TrimSuffix(s.URL, "/api/") }

func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // values of this package only
	}
	return raw
}
