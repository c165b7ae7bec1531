package slacktest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// params are the arguments of a method, from a form or JSON.
type params struct {
	values url.Values
	token  string
}

func readParams(r *http.Request) (params, error) {
	p := params{values: url.Values{}, token: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}
	raw, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, 8<<20))
	if err != nil {
		return p, err
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		var m map[string]json.RawMessage
		if len(raw) > 0 && json.Unmarshal(raw, &m) != nil {
			return p, errNotJSON
		}
		for k, v := range m {
			var s string
			if json.Unmarshal(v, &s) != nil {
				s = string(v)
			}
			p.values.Set(k, s)
		}
	} else if p.values, err = url.ParseQuery(string(raw)); err != nil {
		return p, err
	}
	if p.token == "" {
		p.token = p.values.Get("token")
	}
	p.values.Del("token")
	return p, nil
}

var errNotJSON = errors.New("invalid JSON")

func (p params) str(name string) string { return p.values.Get(name) }

// need is the scope of a method, in any of whose forms one is enough.
var need = map[string][]string{
	"chat.postMessage": {"chat:write"}, "chat.update": {"chat:write"}, "chat.postEphemeral": {"chat:write"},
	"chat.delete": {"chat:write"}, "chat.startStream": {"chat:write"}, "chat.appendStream": {"chat:write"}, "chat.stopStream": {"chat:write"},
	"conversations.history": {"channels:history", "groups:history", "im:history", "mpim:history"},
	"conversations.replies": {"channels:history", "groups:history", "im:history", "mpim:history"},
	"conversations.info":    {"channels:read", "groups:read", "im:read", "mpim:read"},
	"conversations.open":    {"im:write"}, "users.info": {"users:read"},
	"files.info": {"files:read"}, "files.getUploadURLExternal": {"files:write"}, "files.completeUploadExternal": {"files:write"},
}

// answer does what a method does.
func (s *Server) answer(method string, p params) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.mu.Note()
	if no := s.refuseToken(method, p); no != nil {
		return no
	}
	if until := s.limits[method+" "+p.str("channel")]; until.After(s.cfg.Now()) {
		out := refuse("ratelimited")
		out["retry_after"] = int((until.Sub(s.cfg.Now()) + time.Second - 1) / time.Second)
		return out
	}
	if no := s.overTier(method); no != nil {
		return no
	}
	switch method {
	case "auth.test":
		out := ok("url", "https://home.slack.test/", "team", "Home", "user", "parley", "team_id", s.cfg.Team, "user_id", BotUser, "bot_id", BotID)
		if s.cfg.Enterprise != "" {
			out["enterprise_id"] = s.cfg.Enterprise
		}
		return out
	case "apps.connections.open":
		return ok("url", strings.Replace(s.root(), "http", "ws", 1)+"/socket?ticket=socket-ticket-secret")
	case "chat.postMessage":
		return s.postMessage(p)
	case "chat.update":
		return s.update(p)
	case "chat.delete":
		return s.remove(p)
	case "chat.startStream":
		return s.startStream(p)
	case "chat.appendStream", "chat.stopStream":
		return s.changeStream(method, p)
	case "chat.postEphemeral":
		return s.postEphemeral(p)
	case "conversations.history", "conversations.replies":
		return s.history(method, p)
	case "conversations.info":
		return s.info(p)
	case "conversations.open":
		return s.openDM(p)
	case "users.info":
		return s.userInfo(p)
	case "assistant.threads.setStatus":
		return s.setStatus(p)
	case "files.getUploadURLExternal":
		return s.uploadURL(p)
	case "files.info":
		return s.fileInfo(p)
	case "files.completeUploadExternal":
		return s.completeUpload(p)
	}
	return refuse("unknown_method")
}

func (s *Server) refuseToken(method string, p params) map[string]any {
	app := method == "apps.connections.open"
	switch {
	case p.token == "":
		return refuse("not_authed")
	case p.token == s.cfg.AppToken && !app, p.token == s.cfg.BotToken && app:
		return refuse("not_allowed_token_type")
	case p.token != s.cfg.AppToken && p.token != s.cfg.BotToken:
		return refuse("invalid_auth")
	}
	if scopes := need[method]; len(scopes) > 0 && !slices.ContainsFunc(scopes, func(x string) bool { return slices.Contains(s.cfg.Scopes, x) }) {
		out := refuse("missing_scope")
		out["needed"], out["provided"] = scopes[0], strings.Join(s.cfg.Scopes, ",")
		return out
	}
	return nil
}

// Limit refuses a method in one channel with 429 for a while.
func (s *Server) Limit(method, channel string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits[method+" "+channel] = s.cfg.Now().Add(d)
}

func ok(pairs ...any) map[string]any {
	out := map[string]any{"ok": true}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}

// writable finds a channel that the bot may write to, or says why it may not.
func (s *Server) writable(p params) (*room, map[string]any) {
	r := s.rooms[p.str("channel")]
	switch {
	case r == nil:
		return nil, refuse("channel_not_found")
	case r.archived:
		return nil, refuse("is_archived")
	case !r.members[BotUser]:
		return nil, refuse("not_in_channel")
	}
	return r, nil
}

func (s *Server) postMessage(p params) map[string]any {
	r, no := s.writable(p)
	if no != nil {
		return no
	}
	m, no := readBody(p, 40000)
	if no != nil {
		return no
	}
	if t := p.str("thread_ts"); t != "" {
		root := r.find(t)
		if root != nil && root.Thread != "" {
			t = root.Thread
		}
		if root != nil {
			m.Thread = t // a thread whose root is gone is posted without it
		}
	}
	m.Channel, m.User, m.Bot = r.id, BotUser, BotID
	m.TS = s.stamp()
	r.messages = append(r.messages, m)
	told := s.json(r, m)
	told["channel_type"], told["event_ts"] = r.kind, m.TS
	s.event(r.id, told) // our own messages come back
	return ok("channel", r.id, "ts", m.TS, "message", s.json(r, m))
}

func (s *Server) update(p params) map[string]any {
	r, no := s.writable(p)
	if no != nil {
		return no
	}
	m := r.find(p.str("ts"))
	switch {
	case m == nil:
		return refuse("message_not_found")
	case m.User != BotUser:
		return refuse("cant_update_message")
	case m.Streaming:
		return refuse("streaming_state_conflict")
	}
	next, no := readBody(p, 4000)
	if no != nil {
		return no
	}
	m.Text, m.Mrkdwn = next.Text, next.Mrkdwn
	if p.values.Has("blocks") { // without it the old ones stay
		m.Blocks, m.Controls = next.Blocks, next.Controls
	}
	m.Edits++
	s.event(r.id, map[string]any{
		"type": "message", "subtype": "message_changed", "hidden": true, "channel": r.id, "channel_type": r.kind, "ts": s.stamp(), "message": s.json(r, m),
	})
	return ok("channel", r.id, "ts", m.TS, "text", m.Text, "message", s.json(r, m))
}

func (s *Server) postEphemeral(p params) map[string]any {
	r, no := s.writable(p)
	if no != nil {
		return no
	}
	m, no := readBody(p, 40000)
	switch {
	case no != nil:
		return no
	case !r.members[p.str("user")]:
		return refuse("user_not_in_channel")
	}
	s.notes = append(s.notes, Note{Where{r.id, p.str("thread_ts")}, p.str("user"), m.Text})
	return ok("message_ts", s.stamp())
}

func (s *Server) history(method string, p params) map[string]any {
	r := s.rooms[p.str("channel")]
	if r == nil {
		return refuse("channel_not_found")
	}
	root := p.str("ts")
	if method == "conversations.replies" && r.find(root) == nil {
		return refuse("thread_not_found")
	}
	var list []any
	for _, m := range r.messages {
		in := m.Thread == "" && method == "conversations.history" || method == "conversations.replies" && (m.TS == root || m.Thread == root)
		oldest, latest := p.str("oldest"), p.str("latest")
		inclusive := p.str("inclusive") == "1"
		if !in || oldest != "" && (m.TS < oldest || m.TS == oldest && !inclusive) || latest != "" && (m.TS > latest || m.TS == latest && !inclusive) {
			continue
		}
		told := s.json(r, m)
		if len(m.Metadata) > 0 && p.str("include_all_metadata") == "1" {
			told["metadata"] = m.Metadata
		}
		list = append(list, told)
	}
	if method == "conversations.history" {
		slices.Reverse(list)
	}
	limit := 100
	if _, err := scan(p.str("limit"), &limit); err == nil && len(list) > limit {
		list = list[:limit]
	}
	return ok("messages", list, "has_more", false)
}

func (s *Server) info(p params) map[string]any {
	r := s.rooms[p.str("channel")]
	if r == nil {
		return refuse("channel_not_found")
	}
	return ok("channel", map[string]any{
		"id": r.id, "name": strings.ToLower(r.id), "is_im": r.kind == Direct, "is_mpim": r.kind == Several, "is_private": r.kind == Private,
		"is_channel": r.kind == Public, "is_group": r.kind == Private, "is_member": r.members[BotUser], "is_archived": r.archived,
	})
}

func (s *Server) openDM(p params) map[string]any {
	user := p.str("users")
	for _, r := range s.rooms {
		if r.kind == Direct && r.with == user && user != "" {
			return ok("channel", map[string]any{"id": r.id}, "no_op", true, "already_open", true)
		}
	}
	u, found := s.users[user]
	switch {
	case !found:
		return refuse("user_not_found")
	case u.Bot:
		return refuse("cannot_dm_bot")
	case u.Deleted:
		return refuse("user_disabled")
	}
	id := "D" + strings.TrimPrefix(user, "U")
	s.rooms[id] = &room{id: id, kind: Direct, members: map[string]bool{BotUser: true, user: true}, with: user}
	return ok("channel", map[string]any{"id": id})
}

func (s *Server) userInfo(p params) map[string]any {
	u, found := s.users[p.str("user")]
	if !found {
		return refuse("user_not_found")
	}
	out := map[string]any{
		"id": u.ID, "team_id": s.teamOf(u), "name": "user", "deleted": u.Deleted, "is_bot": u.Bot, "is_restricted": u.Guest,
		"is_ultra_restricted": u.Guest, "is_stranger": u.Team != "" && u.Team != s.cfg.Team,
	}
	if u.Name != "" {
		out["profile"] = map[string]any{"display_name": u.Name}
	}
	if p.str("include_locale") == "true" && u.Locale != "" {
		out["locale"] = u.Locale
	}
	return ok("user", out)
}

func (s *Server) setStatus(p params) map[string]any {
	if s.cfg.NoStatus {
		return refuse("not_allowed")
	}
	if s.rooms[p.str("channel_id")] == nil || p.str("thread_ts") == "" {
		return refuse("channel_not_found")
	}
	s.status = append(s.status, Status{Where{p.str("channel_id"), p.str("thread_ts")}, p.str("status")})
	return ok()
}
