package discordtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// Intents.
const (
	guildsIntent  = 1 << 0
	messageIntent = 1 << 9
	directIntent  = 1 << 12
	contentIntent = 1 << 15
	knownIntents  = 1<<25 - 1
)

// Plan makes one connection of the gateway behave as none should.
type Plan struct {
	// NoHello keeps silent.
	NoHello bool
	// Refuse answers the handshake with this status.
	Refuse int
	// Close closes with this code at Identify or Resume.
	Close int
	// Reconnect asks for a new connection before READY.
	Reconnect bool
	// Invalid says at Identify or Resume that the session is not to be had.
	Invalid bool
	// NoReady never confirms.
	NoReady bool
}

// Next arranges plans for the connections to come, after those that are arranged already.
func (s *Server) Next(plans ...Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plans = append(s.plans, plans...)
}

// Identify is a session that was asked for.
type Identify struct {
	Intents int
	At      time.Time
}

// Resume is a session that was asked for again.
type Resume struct {
	Session string
	Seq     int64
	Path    string // of the connection
	OK      bool
}

// session is what the bot does not miss while it is away.
type session struct {
	id      string
	intents int
	seq     int64
	log     []event
	conn    *conn // nil while there is none
}

type event struct {
	seq  int64
	kind string
	data any
}

// conn is one connection.
type conn struct {
	ws    *websocket.Conn
	plan  Plan
	path  string
	out   chan struct{} // hints that the queue holds something
	queue []any
	muted bool
	code  int  // with which the client closed
	ended bool // by the server
}

// push queues a frame. s.mu is held.
func (c *conn) push(v any) {
	if c.muted {
		return
	}
	c.queue = append(c.queue, v)
	select {
	case c.out <- struct{}{}:
	default:
	}
}

type frame map[string]any

// closing is queued to close a connection with a code, 0 without a word.
type closing int

func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	var plan Plan
	if len(s.plans) > 0 {
		plan, s.plans = s.plans[0], s.plans[1:]
	}
	s.mu.Unlock()
	if plan.Refuse != 0 {
		w.WriteHeader(plan.Refuse)
		return
	}
	up := websocket.Upgrader{}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return // it was answered
	}
	c := &conn{ws: ws, plan: plan, path: r.URL.Path, out: make(chan struct{}, 1)}
	gone := make(chan struct{})
	s.mu.Lock()
	if s.ctx.Err() != nil {
		s.mu.Unlock()
		_ = ws.Close()
		return
	}
	s.conns = append(s.conns, c)
	s.work.Go(func() { s.writeConn(c, gone) })
	if r.URL.Query().Get("encoding") != "json" || r.URL.Query().Get("v") == "" {
		s.complain("gateway without version and encoding: %s", r.URL)
	}
	if !plan.NoHello {
		c.push(frame{"op": 10, "d": frame{"heartbeat_interval": s.cfg.Heartbeat.Milliseconds()}})
	}
	s.mu.Note()
	s.mu.Unlock()
	s.readConn(c)
	close(gone)
	_ = ws.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = slices.DeleteFunc(s.conns, func(x *conn) bool { return x == c })
	for _, one := range s.sessions {
		if one.conn == c {
			one.conn = nil
			if c.code == websocket.CloseNormalClosure || c.code == websocket.CloseGoingAway {
				delete(s.sessions, one.id)
			}
		}
	}
	s.mu.Note()
}

func (s *Server) writeConn(c *conn, gone chan struct{}) {
	for {
		select {
		case <-c.out:
		case <-gone:
			return
		case <-s.ctx.Done():
			return
		}
		for {
			s.mu.Lock()
			if len(c.queue) == 0 {
				s.mu.Unlock()
				break
			}
			v := c.queue[0]
			c.queue = c.queue[1:]
			code, ending := v.(closing)
			c.ended = c.ended || ending
			s.mu.Unlock()
			if ending {
				if code != 0 {
					_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(int(code), "closed by a test"), time.Time{})
				}
				_ = c.ws.Close()
				return
			}
			if raw, ok := v.([]byte); ok {
				_ = c.ws.WriteMessage(websocket.TextMessage, raw) // a client that went away
				continue
			}
			_ = c.ws.WriteJSON(v) // a client that went away
		}
	}
}

func (s *Server) readConn(c *conn) {
	for {
		var f struct {
			Op   int             `json:"op"`
			Data json.RawMessage `json:"d"`
		}
		if err := c.ws.ReadJSON(&f); err != nil {
			s.mu.Lock()
			if e, ok := err.(*websocket.CloseError); ok && !c.ended {
				c.code = e.Code
			}
			s.mu.Unlock()
			return
		}
		s.mu.Lock()
		switch f.Op {
		case 1:
			s.beats++
			c.push(frame{"op": 11})
		case 2, 6:
			s.greet(c, f.Op, f.Data)
		}
		s.mu.Note()
		s.mu.Unlock()
	}
}

// greet answers Identify and Resume. s.mu is held.
func (s *Server) greet(c *conn, op int, data json.RawMessage) {
	var d struct {
		Token    string `json:"token"`
		Intents  int    `json:"intents"`
		Compress bool   `json:"compress"`
		Session  string `json:"session_id"`
		Seq      int64  `json:"seq"`
	}
	_ = json.Unmarshal(data, &d) // then the token is wrong
	one := s.sessions[d.Session]
	if op == 2 {
		s.identifies = append(s.identifies, Identify{d.Intents, s.cfg.Now()})
		s.starts--
	} else {
		s.resumes = append(s.resumes, Resume{d.Session, d.Seq, c.path, one != nil && c.plan == Plan{}})
	}
	switch {
	case strings.TrimPrefix(d.Token, "Bot ") != s.cfg.Token:
		c.push(closing(4004))
	case c.plan.Close != 0:
		c.push(closing(c.plan.Close))
	case c.plan.Reconnect:
		c.push(frame{"op": 7, "d": nil})
	case c.plan.Invalid, op == 6 && one == nil:
		c.push(frame{"op": 9, "d": false})
	case c.plan.NoReady:
	case op == 6:
		s.resume(c, one, d.Seq)
	case d.Compress:
		c.push(closing(4002))
	case d.Intents&^knownIntents != 0:
		c.push(closing(4013))
	case d.Intents&contentIntent != 0 && s.cfg.ContentOff:
		c.push(closing(4014))
	default:
		s.begins(c, d.Intents)
	}
}

func (s *Server) begins(c *conn, intents int) {
	one := &session{id: fmt.Sprintf("session-%d", len(s.identifies)), intents: intents, conn: c}
	s.sessions[one.id] = one
	guilds := []any{}
	for _, g := range s.guilds {
		guilds = append(guilds, frame{"id": g, "unavailable": true})
	}
	one.add("READY", frame{
		"v": 9, "user": s.Bot().json(), "guilds": guilds, "session_id": one.id, "resume_gateway_url": s.socketURL("/resume"),
		"application": frame{"id": appID, "flags": s.flags()},
	})
	for _, g := range s.guilds {
		if !s.away[g] {
			one.add("GUILD_CREATE", s.guildJSON(g))
		}
	}
}

// resume sends what came after seq.
func (s *Server) resume(c *conn, one *session, seq int64) {
	one.conn = c
	for _, e := range one.log {
		if e.seq > seq {
			c.push(frame{"op": 0, "t": e.kind, "s": e.seq, "d": e.data})
		}
	}
	one.add("RESUMED", frame{})
}

// add logs an event and sends it where somebody listens.
func (one *session) add(kind string, data any) {
	one.seq++
	one.log = append(one.log, event{one.seq, kind, data})
	if one.conn != nil {
		one.conn.push(frame{"op": 0, "t": kind, "s": one.seq, "d": data})
	}
}

// tell adds an event to every session with one of the intents; 0 is every session. s.mu is held.
func (s *Server) tell(kind string, data any, intents int) {
	for _, one := range s.sessions {
		if intents == 0 || one.intents&intents != 0 {
			one.add(kind, data)
		}
	}
}

// tellMessage adds a message to the sessions that hear its channel, as each may read it. s.mu is held.
func (s *Server) tellMessage(kind string, c *channel, m *Message) {
	intent := messageIntent
	if c.guild == 0 {
		intent = directIntent
	}
	for _, one := range s.sessions {
		if one.intents&intent != 0 {
			one.add(kind, s.json(c, m, s.reads(c, m, one.intents)))
		}
	}
}
