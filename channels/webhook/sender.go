package webhook

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"parley/core"
	"parley/core/turn"
)

const (
	// window is how many messages of a hook may be pending; the log keeps the others.
	window = 256
	// page is how many events are read at once.
	page = 200
	// stride is how many events of no interest may pass before the cursor is stored.
	stride = 1000
	// poll is how long lost news may delay a message, again how long a failed store is left alone.
	poll  = 30 * time.Second
	again = time.Second
)

// sender is one hook at work. Its state is its own while it runs.
type sender struct {
	Config
	hook   Hook
	keys   [][]byte
	client *http.Client
	log    *slog.Logger
	host   string

	state  State
	stored uint64 // the cursor as stored
}

func newSender(c Config, client *http.Client, h Hook) (*sender, error) {
	if err := Check(h); err != nil {
		return nil, err
	}
	if len(h.Events) == 0 {
		h.Events = []string{Requested, Resolved}
	}
	ks, err := keys(h.Secret)
	u, _ := url.Parse(h.URL) // Check has parsed it
	return &sender{Config: c, hook: h, keys: ks, client: client, host: u.Host, log: c.Log.With("webhook", shown(h.URL))}, err
}

// run takes in and sends until ctx ends or the address wants no more.
func (s *sender) run(ctx context.Context) {
	s.persist(ctx, "begin", s.begin)
	for ctx.Err() == nil {
		news := s.Turns.News("")
		s.persist(ctx, "take in events", s.takeIn)
		if s.state.Disabled != "" {
			s.log.Warn("disabled: nothing is sent until it is revived", "reason", s.state.Disabled)
			return
		}
		l, wait := s.state.due(s.Now())
		if l != nil {
			s.deliver(ctx, *l)
			continue
		}
		if wait == 0 || wait > poll {
			wait = poll
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-news:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// persist does something that needs the store, again and again until it succeeds or ctx ends.
func (s *sender) persist(ctx context.Context, what string, f func(context.Context) error) {
	for ctx.Err() == nil {
		err := f(ctx)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			return
		}
		s.log.Error("the store failed, it is tried again", "what", what, "err", err)
		timer := time.NewTimer(again)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// begin loads the state; a hook that is new begins at the end of the log.
func (s *sender) begin(ctx context.Context) error {
	st, known, err := Look(ctx, s.Memory, s.hook.URL)
	if err != nil {
		return err
	}
	if !known {
		if st.Cursor, err = s.Turns.LastEvent(ctx); err != nil {
			return err
		}
		if err := st.save(ctx, s.Memory, s.hook.URL); err != nil {
			return err
		}
	}
	s.state, s.stored = st, st.Cursor
	return nil
}

// takeIn makes messages of new events, as many as the window has room for. Bodies are stored before the
// state that names them.
func (s *sender) takeIn(ctx context.Context) error {
	next := s.state
	next.Pending = slices.Clone(next.Pending)
	for len(next.Pending) < window && next.Disabled == "" {
		evs, err := s.Turns.Events(ctx, "", next.Cursor, page)
		if err != nil {
			return err
		}
		for _, ev := range evs {
			if len(next.Pending) >= window {
				break
			}
			l, err := s.message(ctx, ev)
			if err != nil {
				return err
			}
			if l != nil {
				next.Pending = append(next.Pending, *l)
			}
			next.Cursor = ev.Seq
		}
		if len(evs) < page {
			break
		}
	}
	if len(next.Pending) > len(s.state.Pending) || next.Cursor >= s.stored+stride {
		if err := next.save(ctx, s.Memory, s.hook.URL); err != nil {
			return err
		}
		s.stored = next.Cursor
	}
	s.state = next
	return nil
}

// message stores the body of an event that the hook is told of; nil for any other.
func (s *sender) message(ctx context.Context, ev core.Event) (*Letter, error) {
	kind := kindOf(ev)
	if kind == "" || !slices.Contains(s.hook.Events, kind) {
		return nil, nil
	}
	in, err := s.Turns.Input(ctx, ev.Input)
	if errors.Is(err, turn.ErrNotFound) {
		s.log.Warn("an event is not told: its input was removed by retention", "input", ev.Input, "event", ev.Seq)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	body, err := compose(ev, in)
	if err != nil {
		return nil, err
	}
	l := &Letter{
		ID:   "msg_" + core.Digest(kind, string(ev.Input), strconv.FormatUint(ev.Seq, 10)),
		Type: kind, Sequence: ev.Seq, Input: ev.Input,
	}
	return l, s.Memory.Remember(ctx, bodyKey(s.hook.URL, l.ID), body, keepBody)
}
