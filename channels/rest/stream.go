package rest

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"parley/core"
)

// place is where a stream begins.
type place struct {
	selector
	after uint64
	// run is the run of a stream that ends with it.
	run *core.Run
}

// stream is the handler of a route that is one.
func (a *API) stream(f func(*call) (place, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := a.call(r)
		if err == nil && r.Method == http.MethodHead {
			err = &Problem{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Detail: "a stream has no head of its own"}
		}
		if err == nil && !a.feed.join(a.c.MaxStreams) {
			err = &Problem{Status: http.StatusServiceUnavailable, Code: "busy", Detail: "come back later", RetryAfter: 5}
		} else if err == nil {
			defer a.feed.leave()
		}
		var at place
		if err == nil {
			at, err = f(c)
		}
		if err != nil {
			if c.token != nil {
				a.refused(c, err)
			}
			fail(w, c.id, problemOf(err))
			return
		}
		patient(w)
		s := &streaming{a: a, w: w, at: at}
		s.serve(r.Context(), c)
	})
}

// after reads Last-Event-ID, ok false without one.
func (c *call) after() (n uint64, ok bool, err error) {
	s := c.r.Header.Get("Last-Event-ID")
	if s == "" {
		return 0, false, nil
	}
	n, err = strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, false, badFields("the Last-Event-ID does not fit", fieldOf("Last-Event-ID", "want the id of a frame"))
	}
	end, err := c.a.feed.end(c.ctx)
	if err == nil && n > end {
		err = badFields("the Last-Event-ID does not fit", fieldOf("Last-Event-ID", "no frame has this id yet"))
	}
	return n, true, err
}

func (c *call) agentEvents() (place, error) {
	agent, err := c.agent()
	if err != nil {
		return place{}, err
	}
	after, ok, err := c.after()
	if err == nil && !ok {
		after, err = c.a.feed.end(c.ctx)
	}
	return place{selector: selector{agent: agent}, after: after}, err
}

func (c *call) runEvents() (place, error) {
	run, err := c.run()
	if err != nil {
		return place{}, err
	}
	after, _, err := c.after()
	return place{selector: selector{run: run.ID}, after: after, run: &run}, err
}

// streaming is one open stream.
type streaming struct {
	a     *API
	w     http.ResponseWriter
	at    place
	begun bool
	ended bool // the run's last frame was met
}

// serve writes frames until the client goes, a write takes too long, the run has ended or the server closes.
func (s *streaming) serve(ctx context.Context, c *call) {
	s.ended = s.at.run != nil && !s.at.run.Status.Open()
	alive := time.NewTicker(s.a.c.KeepAlive)
	defer alive.Stop()
	force := false
	for {
		entries, to, news, err := s.a.feed.page(ctx, s.at.selector, s.at.after, force)
		if err != nil {
			s.a.refused(c, err)
			if !s.begun {
				fail(s.w, c.id, problemOf(err))
			}
			return // the client comes back with its Last-Event-ID
		}
		s.at.after = to
		done := news != nil && s.ended && len(entries) == 0
		if done && !s.begun { // there is nothing to come: a client that comes back again and again stops at this
			s.w.WriteHeader(http.StatusNoContent)
			return
		}
		if done || !s.frames(entries) {
			return
		}
		if len(entries) > 0 || news == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-s.a.closed:
			return
		case <-news:
			force = false
		case <-alive.C:
			if force = true; !s.write([]byte(": still here\n\n")) { // another process may have moved things
				return
			}
		}
	}
}

// frames writes what came, and the head before the first. It reports whether the client still reads.
func (s *streaming) frames(entries []entry) bool {
	var b bytes.Buffer
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.Header().Set("X-Accel-Buffering", "no")
		s.w.WriteHeader(http.StatusOK)
		b.WriteString(": hello\n\n")
	}
	for _, e := range entries {
		b.Write(e.frame)
		s.ended = s.ended || s.at.run != nil && e.runs[0] == s.at.run.ID && e.last
	}
	return b.Len() == 0 || s.write(b.Bytes())
}

// write gives up on a reader that is too slow.
func (s *streaming) write(b []byte) bool {
	deadline(s.w, s.a.c.Now().Add(s.a.c.SlowWrite))
	if _, err := s.w.Write(b); err != nil {
		return false
	}
	return http.NewResponseController(s.w).Flush() == nil
}
