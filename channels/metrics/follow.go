package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"parley/core"
	"parley/core/turn"
)

const (
	// page is how many rows are read at once.
	page = 500
	// poll is how long lost news may delay a number, again how long a failed store is left alone.
	poll  = 30 * time.Second
	again = time.Second
)

// Run lists what waits and follows the log until ctx ends; it returns nil then.
func (m *Metrics) Run(ctx context.Context) error {
	var cursor uint64
	m.until(ctx, func() (err error) {
		if cursor, err = m.c.Turns.LastEvent(ctx); err != nil {
			return err
		}
		return m.list(ctx)
	})
	m.ready.Set(1)
	for ctx.Err() == nil {
		news := m.c.Turns.News("")
		m.until(ctx, func() (err error) {
			cursor, err = m.follow(ctx, cursor)
			return err
		})
		rest(ctx, news, poll)
	}
	return nil
}

// until does something again and again until it succeeds or ctx ends.
func (m *Metrics) until(ctx context.Context, f func() error) {
	for ctx.Err() == nil {
		err := f()
		if err == nil || ctx.Err() != nil {
			return
		}
		m.c.Log.Error("the store could not be read for the metrics, it is tried again", "err", err)
		rest(ctx, nil, again)
	}
}

func rest(ctx context.Context, news <-chan struct{}, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-news:
	case <-timer.C:
	}
}

// list tracks what waits already, until that is all or enough.
func (m *Metrics) list(ctx context.Context) error {
	f := turn.InputFilter{State: core.InputPending, Limit: page}
	for {
		ins, next, err := m.c.Turns.Inputs(ctx, f)
		if err != nil {
			return err
		}
		for _, in := range ins {
			if !m.waiting.add(in) {
				m.c.Log.Warn("more inputs wait than the metrics count", "most", m.c.Most)
				return nil
			}
		}
		if f.After = next; next == "" {
			return nil
		}
	}
}

// follow counts what the log has after a place, and returns the place it has come to.
func (m *Metrics) follow(ctx context.Context, cursor uint64) (uint64, error) {
	for {
		evs, err := m.c.Turns.Events(ctx, "", cursor, page)
		if err != nil {
			return cursor, err
		}
		for _, ev := range evs {
			if err := m.event(ctx, ev); err != nil {
				return cursor, err
			}
			cursor = ev.Seq
		}
		if len(evs) < page {
			return cursor, nil
		}
	}
}

// event counts one event. What retention has removed meanwhile is counted as far as the event tells.
func (m *Metrics) event(ctx context.Context, ev core.Event) error {
	agent := string(ev.Conversation.Agent())
	switch ev.Type {
	case core.EventRunStarted, core.EventRunFinished, core.EventSetAside:
		run, err := m.c.Turns.RunByID(ctx, ev.Run)
		if err != nil && !errors.Is(err, turn.ErrNotFound) {
			return err
		}
		if run.Agent != "" {
			agent = string(run.Agent)
		}
		m.run(ev, agent)
	case core.EventApproval, core.EventElicitation, core.EventInputResolved:
		in, err := m.c.Turns.Input(ctx, ev.Input)
		if errors.Is(err, turn.ErrNotFound) {
			m.waiting.remove(ev.Input)
			return nil
		}
		if err != nil {
			return err
		}
		m.input(ev, in)
	case core.EventRefused:
		m.refused.WithLabelValues(agent, ev.Via).Inc()
	case core.EventUnclear:
		m.unclear.WithLabelValues(agent).Inc()
	case core.EventUndeliverable:
		m.undeliverable.WithLabelValues(ev.Conversation.Channel()).Inc()
	}
	return nil
}

func (m *Metrics) run(ev core.Event, agent string) {
	switch ev.Type {
	case core.EventRunStarted:
		m.started.WithLabelValues(agent).Inc()
	case core.EventSetAside:
		m.setAside.WithLabelValues(agent).Inc()
	default:
		var d struct {
			Status core.RunStatus `json:"status"`
		}
		if json.Unmarshal(ev.Data, &d) != nil || d.Status == "" {
			d.Status = "unknown"
		}
		m.turns.WithLabelValues(agent, string(d.Status)).Inc()
	}
}

func (m *Metrics) input(ev core.Event, in core.Input) {
	if ev.Type != core.EventInputResolved {
		m.waiting.add(in)
		return
	}
	m.waiting.remove(in.ID)
	agent, kind := string(agentOf(in)), string(in.Kind)
	m.ended.WithLabelValues(agent, kind, string(in.State), ev.Via).Inc()
	if s := in.Settled; s != nil && s.Answer != nil {
		m.settle.WithLabelValues(agent, kind).Observe(s.At.Sub(in.CreatedAt).Seconds())
	}
}

func agentOf(in core.Input) core.AgentID {
	if in.Agent == "" {
		return in.Conversation.Agent()
	}
	return in.Agent
}
