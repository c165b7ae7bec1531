package inbox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"parley/core"
	"parley/core/turn"
)

// slowWrite is how long a write to a stream may take.
const slowWrite = 10 * time.Second

// events tells a page when there is another version of it. What it sends is the version alone.
func (v *visit) events() error {
	if v.r.Method == http.MethodHead {
		return &failure{http.StatusMethodNotAllowed, "A stream has no head of its own."}
	}
	if !v.i.join() {
		v.w.Header().Set("Retry-After", "10")
		return &failure{http.StatusServiceUnavailable, "Too many pages are open."}
	}
	defer v.i.leave()
	ctl := http.NewResponseController(v.w)
	_ = ctl.SetReadDeadline(time.Time{}) // a writer without deadlines has none to be too short
	last, sent := "", false
	for {
		news := v.i.c.Turns.News("")
		now, err := v.current()
		if err != nil {
			if sent {
				v.i.c.Log.Debug("a live page ends", "person", v.s.Person, "err", err)
				return nil
			}
			return err
		}
		text := ": \n\n"
		if !sent || now != last {
			text = fmt.Sprintf("event: version\ndata: %s\n\n", now)
		}
		if !sent {
			v.w.Header().Set("Content-Type", "text/event-stream")
			v.w.Header().Set("X-Accel-Buffering", "no")
		}
		last, sent = now, true
		_ = ctl.SetWriteDeadline(v.i.c.Now().Add(slowWrite))
		if _, err := v.w.Write([]byte(text)); err != nil {
			return nil // whoever hung up does not hear it
		}
		if err := ctl.Flush(); err != nil {
			return nil
		}
		if !v.wait(news) || !v.i.holds(v.s) {
			return nil
		}
	}
}

func (i *Inbox) join() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.streams >= i.c.MaxStreams {
		return false
	}
	i.streams++
	return true
}

func (i *Inbox) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.streams--
}

// wait lets a pause go by, and then as long as nothing is new. False: the stream ends.
func (v *visit) wait(news <-chan struct{}) bool {
	pause := time.NewTimer(v.i.c.Pause)
	defer pause.Stop()
	late := time.NewTimer(v.i.c.KeepAlive)
	defer late.Stop()
	for _, c := range []<-chan struct{}{nil, news} {
		var until <-chan time.Time
		if c == nil {
			until = pause.C
		} else {
			until = late.C
		}
		select {
		case <-v.r.Context().Done():
			return false
		case <-v.i.closed:
			return false
		case <-until:
		case <-c:
		}
	}
	return true
}

// current is the version of the page that the address names.
func (v *visit) current() (string, error) {
	u := v.r.URL.Query()
	ctx, cancel := context.WithTimeout(v.r.Context(), slowWrite)
	defer cancel()
	switch {
	case u.Get("input") != "":
		in, err := v.i.c.Turns.Input(ctx, core.InputID(u.Get("input")))
		if errors.Is(err, turn.ErrNotFound) || err == nil && !v.may(in) {
			return "", errNoPage
		}
		if err != nil {
			return "", err
		}
		c := card{Input: in, Version: version(in)}
		if !in.Pending() {
			c.Ended = &ended{}
		}
		err = v.outcome(&c)
		return c.Version, err
	case u.Get("run") != "":
		h, err := v.history(core.RunID(u.Get("run")))
		return h.Version, err
	default:
		q := v.query()
		if q.List == listLost {
			all, err := v.lost(q)
			return lostVersion(all), err
		}
		found, next, err := v.list(q)
		return versions(found, next), err
	}
}
