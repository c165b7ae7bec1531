package slacktest

import (
	"slices"
	"time"
	"unicode/utf8"
)

// tiers are how often a method may be called in a minute.
var tiers = map[string]int{"chat.startStream": 20, "chat.appendStream": 100, "chat.stopStream": 20, "chat.update": 50, "chat.delete": 50}

// overTier holds a method to its limit where the Config says so. s.mu is held.
func (s *Server) overTier(method string) map[string]any {
	most, limited := tiers[method]
	if !limited || !s.cfg.Tiers {
		return nil
	}
	now := s.cfg.Now()
	n := 0
	for _, c := range s.calls {
		if c.Method == method && now.Sub(c.At) < time.Minute {
			n++
		}
	}
	if n <= most { // this call is among them
		return nil
	}
	out := refuse("ratelimited")
	out["retry_after"] = 10
	return out
}

// maxMarkdown is what markdown_text may hold.
const maxMarkdown = 12000

// startStream begins a message in a thread that grows.
func (s *Server) startStream(p params) map[string]any {
	if s.cfg.NoStreams {
		return refuse("method_not_supported_for_channel_type")
	}
	r, no := s.writable(p)
	if no != nil {
		return no
	}
	root := r.find(p.str("thread_ts"))
	text := p.str("markdown_text")
	switch {
	case p.str("text") != "" || p.str("blocks") != "":
		return refuse("markdown_text_conflict")
	case root == nil || root.Thread != "" && root.Thread != root.TS:
		return refuse("invalid_thread_ts")
	case r.kind != Direct && p.str("recipient_user_id") == "":
		return refuse("missing_recipient_user_id")
	case r.kind != Direct && p.str("recipient_team_id") == "":
		return refuse("missing_recipient_team_id")
	case utf8.RuneCountInString(text) > maxMarkdown:
		return refuse("msg_too_long")
	}
	if _, known := s.users[p.str("recipient_user_id")]; r.kind != Direct && !known {
		return refuse("user_not_found")
	}
	m := &Message{
		Where: Where{r.id, root.TS}, TS: s.stamp(), User: BotUser, Bot: BotID, Text: text, Fields: map[string]any{}, Streaming: true, Streamed: true,
	}
	r.messages = append(r.messages, m)
	told := s.json(r, m)
	told["channel_type"], told["event_ts"] = r.kind, m.TS
	s.event(r.id, told)
	return ok("channel", r.id, "ts", m.TS)
}

// changeStream adds to a stream, or ends it.
func (s *Server) changeStream(method string, p params) map[string]any {
	r, no := s.writable(p)
	if no != nil {
		return no
	}
	m, text := r.find(p.str("ts")), p.str("markdown_text")
	switch {
	case m == nil:
		return refuse("message_not_found")
	case m.User != BotUser:
		return refuse("message_not_owned_by_app")
	case m.Fields["slacktest_stopped"] != nil:
		return refuse("stopped_by_user")
	case !m.Streaming:
		return refuse("message_not_in_streaming_state")
	case method == "chat.appendStream" && text == "":
		return refuse("no_text")
	case utf8.RuneCountInString(text) > maxMarkdown:
		return refuse("msg_too_long")
	}
	m.Text += text
	m.Streaming = method != "chat.stopStream"
	return ok("channel", r.id, "ts", m.TS)
}

// StopStream has the reader of a stream stop it.
func (s *Server) StopStream(channel, ts string) {
	s.change(channel, func(r *room) {
		m := r.find(ts)
		m.Streaming, m.Fields["slacktest_stopped"] = false, true
	})
}

// remove deletes a message of the bot.
func (s *Server) remove(p params) map[string]any {
	r, no := s.writable(p)
	if no != nil {
		return no
	}
	m := r.find(p.str("ts"))
	switch {
	case m == nil:
		return refuse("message_not_found")
	case m.User != BotUser:
		return refuse("cant_delete_message")
	case m.Streaming:
		return refuse("streaming_state_conflict")
	}
	r.messages = slices.DeleteFunc(r.messages, func(o *Message) bool { return o == m })
	return ok("channel", r.id, "ts", m.TS)
}
