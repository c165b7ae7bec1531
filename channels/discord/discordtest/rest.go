package discordtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The routes, as Call names them and Fail takes them.
const (
	RouteGateway     = "GET gateway"
	RouteGatewayBot  = "GET gateway/bot"
	RouteMe          = "GET users/@me"
	RouteApplication = "GET applications/@me"
	RouteCommands    = "PUT applications/:id/commands"
	RouteChannel     = "GET channels/:id"
	RouteOpenThread  = "PATCH channels/:id"
	RouteSend        = "POST channels/:id/messages"
	RouteHistory     = "GET channels/:id/messages"
	RouteMessage     = "GET channels/:id/messages/:id"
	RouteEdit        = "PATCH channels/:id/messages/:id"
	RouteDelete      = "DELETE channels/:id/messages/:id"
	RouteTyping      = "POST channels/:id/typing"
	RouteThreadMe    = "GET channels/:id/thread-members/@me"
	RouteRoles       = "GET guilds/:id/roles"
	RouteOpenChat    = "POST users/@me/channels"
	RouteMember      = "GET guilds/:id/members/:id"
	RouteRespond     = "POST interactions/:id/:token/callback"
	RouteFollowUp    = "POST webhooks/:id/:token"
	RouteOriginal    = "PATCH webhooks/:id/:token/messages/@original"
)

// restCall is one request, taken apart.
type restCall struct {
	route, path string
	ids         []ID
	token       string // of an interaction
	auth        string
	query       url.Values
	body        []byte
	files       []string
}

func readCall(r *http.Request, path string) (*restCall, error) {
	k := &restCall{path: r.Method + " " + path, auth: r.Header.Get("Authorization"), query: r.URL.Query()}
	words := strings.Split(path, "/")
	for i, w := range words {
		n, err := strconv.ParseUint(w, 10, 64)
		switch {
		case err == nil && n > 0:
			k.ids = append(k.ids, ID(n))
			words[i] = ":id"
		case i == 2 && (words[0] == "interactions" || words[0] == "webhooks"):
			k.token, words[i] = w, ":token"
		}
	}
	k.route = r.Method + " " + strings.Join(words, "/")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	kind, how, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil && kind == "multipart/form-data" {
		return k, k.readParts(multipart.NewReader(bytes.NewReader(body), how["boundary"]))
	}
	if len(body) > 0 && kind != "application/json" {
		return nil, errors.New("the body is no JSON")
	}
	k.body = body
	return k, nil
}

func (k *restCall) readParts(in *multipart.Reader) error {
	for {
		p, err := in.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(p)
		if err != nil {
			return err
		}
		if p.FormName() == "payload_json" {
			k.body = data
		} else {
			k.files = append(k.files, p.FileName())
		}
	}
}

// call does what a request asks for. A nil result is an empty answer.
func (s *Server) call(k *restCall) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.mu.Note()
	if k.token == "" && k.auth != "Bot "+s.cfg.Token {
		return nil, &refusal{Status: 401, Text: "401: Unauthorized"}
	}
	switch k.route {
	case RouteGateway:
		return map[string]any{"url": s.socketURL("")}, nil
	case RouteGatewayBot:
		return map[string]any{"url": s.socketURL(""), "shards": 1, "session_start_limit": map[string]any{
			"total": max(1000, s.cfg.Starts), "remaining": s.starts, "reset_after": 3600000, "max_concurrency": 1,
		}}, nil
	case RouteMe:
		return s.Bot().json(), nil
	case RouteOpenChat:
		return s.openChat(k)
	case RouteApplication:
		return map[string]any{"id": appID, "name": "relay", "flags": s.flags(), "bot": s.Bot().json()}, nil
	case RouteCommands:
		s.commands = string(k.body)
		return []any{}, nil
	case RouteRespond, RouteFollowUp, RouteOriginal:
		return s.respond(k)
	case RouteRoles, RouteMember:
		return s.guildCall(k)
	}
	return s.channelCall(k)
}

// openChat opens the direct chat with a person whom the server knows.
func (s *Server) openChat(k *restCall) (any, *refusal) {
	var b struct {
		Recipient string `json:"recipient_id"`
	}
	if err := json.Unmarshal(k.body, &b); err != nil {
		return nil, bad(err.Error())
	}
	for id, u := range s.users {
		if id.String() == b.Recipient {
			return s.chatWith(u).json(), nil
		}
	}
	return nil, &refusal{Status: 400, Code: 50033, Text: "Invalid Recipient(s)"}
}

func (s *Server) flags() int {
	if s.cfg.ContentOff {
		return 0
	}
	return 1 << 19
}

func (s *Server) socketURL(path string) string {
	return "ws" + strings.TrimPrefix(strings.TrimSuffix(s.URL, "/api/v9"), "http") + path
}

func (s *Server) guildCall(k *restCall) (any, *refusal) {
	if len(k.ids) == 0 || !slices.Contains(s.guilds, k.ids[0]) {
		return nil, gone(10004, "Guild")
	}
	if k.route == RouteRoles {
		return s.roles(k.ids[0]), nil
	}
	return map[string]any{"roles": []ID{roleOf(k.ids[0])}}, nil
}

func (s *Server) channelCall(k *restCall) (any, *refusal) {
	if len(k.ids) == 0 {
		return nil, &refusal{Status: 404, Text: "404: Not Found"}
	}
	c := s.channels[k.ids[0]]
	switch {
	case c == nil:
		return nil, gone(10003, "Channel")
	case c.denied != 0:
		return nil, &refusal{Status: 403, Code: c.denied, Text: "Missing Access"}
	}
	switch k.route {
	case RouteChannel:
		return c.json(), nil
	case RouteThreadMe:
		if !c.joined {
			return nil, gone(10007, "Member")
		}
		return map[string]any{"id": c.id, "user_id": BotID}, nil
	case RouteOpenThread:
		if c.locked {
			return nil, &refusal{Status: 403, Code: 50013, Text: "Missing Permissions"}
		}
		c.archived = false
		return c.json(), nil
	case RouteTyping:
		c.typing++
		return nil, nil
	case RouteHistory:
		return s.history(c, k), nil
	case RouteMessage:
		m := c.find(k.ids[1])
		if m == nil {
			return nil, gone(10008, "Message")
		}
		return s.past(c, m), nil
	case RouteSend:
		return s.create(c, k)
	case RouteDelete:
		return nil, c.remove(k.ids[1])
	case RouteEdit:
		return s.change(c, k)
	}
	return nil, &refusal{Status: 405, Text: "405: Method Not Allowed"}
}

// history is a page, the newest first, whichever end it begins at.
func (s *Server) history(c *channel, k *restCall) any {
	limit, _ := strconv.Atoi(k.query.Get("limit"))
	after, _ := strconv.ParseUint(k.query.Get("after"), 10, 64)
	if limit <= 0 {
		limit = 50
	}
	out := []any{}
	for _, m := range c.messages {
		if m.ID > ID(after) && len(out) < limit {
			out = append(out, s.past(c, m))
		}
	}
	slices.Reverse(out)
	return out
}

// remove deletes a message of the bot.
func (c *channel) remove(id ID) *refusal {
	m := c.find(id)
	switch {
	case m == nil:
		return gone(10008, "Message")
	case m.From.ID != BotID:
		return &refusal{Status: 403, Code: 50013, Text: "Missing Permissions"}
	}
	c.messages = slices.DeleteFunc(c.messages, func(o *Message) bool { return o == m })
	return nil
}

// past is a message as it is told later, without what a gateway event adds.
func (s *Server) past(c *channel, m *Message) map[string]any {
	j := s.json(c, m, s.reads(c, m, contentIntent))
	delete(j, "guild_id")
	delete(j, "channel_type")
	return j
}

// respond takes answers to interactions.
func (s *Server) respond(k *restCall) (any, *refusal) {
	var a *Interaction
	for _, x := range s.acts {
		if x.Token == k.token {
			a = x
		}
	}
	var body struct {
		Type    int     `json:"type"`
		Data    whisper `json:"data"`
		whisper         // of a follow-up
	}
	if err := json.Unmarshal(k.body, &body); err != nil {
		return nil, bad(err.Error())
	}
	if a == nil {
		return nil, gone(10062, "interaction")
	}
	if k.route == RouteRespond {
		return s.first(a, body.Type, body.Data)
	}
	if a.Type == 0 {
		return nil, gone(10015, "Webhook")
	}
	if body.Content == "" || k.route == RouteFollowUp && body.Flags&64 == 0 {
		return nil, s.complain("a follow-up that is empty or for everybody: %s", k.body)
	}
	a.Line = body.Content
	return map[string]any{"id": s.next(), "content": body.Content}, nil
}

type whisper struct {
	Content string `json:"content"`
	Flags   int    `json:"flags"`
}

func (s *Server) first(a *Interaction, kind int, data whisper) (any, *refusal) {
	switch {
	case a.Type != 0:
		return nil, &refusal{Status: 400, Code: 40060, Text: "Interaction has already been acknowledged."}
	case a.Late || s.cfg.Now().Sub(a.at) > interactionLife:
		a.Late = true
		return nil, gone(10062, "interaction")
	case kind == 4 && (data.Content == "" || data.Flags&64 == 0), kind == 5 && data.Flags&64 == 0:
		return nil, s.complain("an interaction answered for everybody: type %d %+v", kind, data)
	case kind == 6 && a.command, kind != 4 && kind != 5 && kind != 6:
		return nil, bad("this type does not answer that")
	}
	a.Type, a.Line, a.After = kind, data.Content, s.cfg.Now().Sub(a.at)
	return nil, nil
}
