package discordtest

// Dispatch sends any event to every session, as it is.
func (s *Server) Dispatch(kind string, data any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(kind, data, 0)
}

// Raw sends bytes over every connection, whatever they are.
func (s *Server) Raw(data []byte) {
	s.each(func(c *conn) { c.push(data) })
}

// Again sends the last n events of every session once more, as a resume may.
func (s *Server) Again(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sessions {
		for _, e := range one.log[max(0, len(one.log)-n):] {
			if one.conn != nil {
				one.conn.push(frame{"op": 0, "t": e.kind, "s": e.seq, "d": e.data})
			}
		}
	}
}

func (s *Server) each(f func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		f(c)
	}
	s.mu.Note()
}

// Reconnect asks for a new connection (op 7).
func (s *Server) Reconnect() { s.each(func(c *conn) { c.push(frame{"op": 7, "d": nil}) }) }

// Invalidate says that the session is over (op 9), or only for now.
func (s *Server) Invalidate(resumable bool) {
	if !resumable {
		s.Forget()
	}
	s.each(func(c *conn) { c.push(frame{"op": 9, "d": resumable}) })
}

// AskBeat asks for a heartbeat (op 1).
func (s *Server) AskBeat() { s.each(func(c *conn) { c.push(frame{"op": 1, "d": nil}) }) }

// Hangup closes every connection with a code; 0 without a word.
func (s *Server) Hangup(code int) { s.each(func(c *conn) { c.push(closing(code)) }) }

// Mute lets every connection stand and say nothing any more.
func (s *Server) Mute() { s.each(func(c *conn) { c.muted = true }) }

// Forget ends all sessions: none can be resumed.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
	s.mu.Note()
}

// Connected counts the connections.
func (s *Server) Connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Live counts the connections with a session.
func (s *Server) Live() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sessions {
		if one.conn != nil {
			n++
		}
	}
	return n
}

// Beats counts the heartbeats that came.
func (s *Server) Beats() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.beats
}

// Identifies lists the sessions that were asked for.
func (s *Server) Identifies() []Identify {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Identify(nil), s.identifies...)
}

// Resumes lists the sessions that were asked for again.
func (s *Server) Resumes() []Resume {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Resume(nil), s.resumes...)
}
