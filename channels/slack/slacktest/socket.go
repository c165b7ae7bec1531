package slacktest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// conn is one open socket.
type conn struct {
	ws     *websocket.Conn
	out    chan []byte
	gone   chan struct{}
	once   sync.Once
	silent bool // sends nothing any more, not even pings
}

func (c *conn) close() {
	c.once.Do(func() {
		close(c.gone)
		_ = c.ws.Close() // it is gone either way
	})
}

// socket serves one connection.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &conn{ws: ws, out: make(chan []byte, 1024), gone: make(chan struct{})}
	s.mu.Lock()
	if s.ctx.Err() != nil {
		s.mu.Unlock()
		c.close()
		return
	}
	s.conns = append(s.conns, c)
	s.work.Go(func() { s.write(c) })
	s.send(c, mustJSON(map[string]any{
		"type": "hello", "num_connections": len(s.conns), "connection_info": map[string]any{"app_id": AppID},
		"debug_info": map[string]any{"host": "applink", "approximate_connection_time": 18060},
	}))
	for _, d := range s.queue {
		if d.on == nil && !d.held {
			s.emit(d)
		}
	}
	s.mu.Note()
	s.mu.Unlock()
	s.read(c)
	c.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed(c)
}

// closed forgets a connection: what it did not acknowledge comes again. s.mu is held.
func (s *Server) closed(c *conn) {
	s.conns = slices.DeleteFunc(s.conns, func(o *conn) bool { return o == c })
	for _, d := range slices.Clone(s.queue) {
		if d.on == c {
			s.again(d, "connection_failed")
		}
	}
	s.mu.Note()
}

// send queues a frame. s.mu is held.
func (s *Server) send(c *conn, frame []byte) {
	select {
	case c.out <- frame:
	case <-c.gone:
	}
}

// write sends frames and pings until the connection is gone.
func (s *Server) write(c *conn) {
	tick := time.NewTicker(s.cfg.PingEvery)
	defer tick.Stop()
	_ = c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second)) // read will tell
	for {
		var err error
		select {
		case <-c.gone:
			return
		case f := <-c.out:
			if !s.quiet(c) {
				err = c.ws.WriteMessage(websocket.TextMessage, f)
			}
		case <-tick.C:
			if !s.quiet(c) {
				err = c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second))
			}
		}
		if err != nil {
			c.close()
			return
		}
	}
}

func (s *Server) quiet(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.silent
}

// read takes acknowledgements.
func (s *Server) read(c *conn) {
	for {
		_, raw, err := c.ws.ReadMessage()
		if err != nil {
			return
		}
		var ack struct {
			ID string `json:"envelope_id"`
		}
		if json.Unmarshal(raw, &ack) != nil || len(raw) >= 20<<10 {
			continue // Slack drops those in silence
		}
		s.mu.Lock()
		for _, d := range slices.Clone(s.queue) {
			if d.envelope == ack.ID && ack.ID != "" {
				s.done(d, d.sent)
			}
		}
		s.mu.Unlock()
	}
}

// emit sends a delivery on one of the sockets, if there are any. s.mu is held.
func (s *Server) emit(d *delivery) {
	if len(s.conns) == 0 {
		return
	}
	s.nextOn++
	c := s.conns[s.nextOn%len(s.conns)]
	d.envelope, d.on = "env-"+s.next(), c
	frame := []byte(strings.ReplaceAll(d.raw, "%s", d.envelope))
	if d.raw == "" {
		frame = mustJSON(map[string]any{
			"type": d.kind, "envelope_id": d.envelope, "payload": d.payload, "accepts_response_payload": d.kind == "interactive",
			"retry_attempt": d.attempts, "retry_reason": d.reason,
		})
	}
	d.attempts++
	d.sent = s.cfg.Now()
	d.timer = time.AfterFunc(s.cfg.AckWithin, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if slices.Contains(s.queue, d) && d.on == c {
			s.again(d, "timeout")
		}
	})
	s.send(c, frame)
}

// again sends a delivery once more, unless it has been tried often enough. s.mu is held.
func (s *Server) again(d *delivery, why string) {
	if d.timer != nil {
		d.timer.Stop()
	}
	d.on, d.reason = nil, why
	if d.attempts >= attempts {
		s.giveUp(d)
		return
	}
	pause := s.cfg.Retries[min(d.attempts-1, len(s.cfg.Retries)-1)]
	if pause == 0 {
		s.emit(d)
		return
	}
	d.timer = time.AfterFunc(pause, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if slices.Contains(s.queue, d) && d.on == nil {
			s.emit(d)
		}
	})
}

// Sockets counts the open connections.
func (s *Server) Sockets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Disconnect asks every client to leave, with a reason: "warning", "refresh_requested", "link_disabled".
func (s *Server) Disconnect(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		s.send(c, mustJSON(map[string]any{"type": "disconnect", "reason": reason, "debug_info": map[string]any{"host": "applink"}}))
	}
}

// Drop breaks every connection without a word.
func (s *Server) Drop() {
	s.mu.Lock()
	open := slices.Clone(s.conns)
	s.mu.Unlock()
	for _, c := range open {
		c.close()
	}
}

// Mute stops sending on every connection that is open now, pings included.
func (s *Server) Mute() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.silent = true
	}
}
