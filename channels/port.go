package channels

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"parley/core"
	"parley/render"
)

// Status is how a channel is.
type Status string

// The states of a channel.
//
//	starting ──▶ running ──▶ ended      its input is over
//	    ▲           │
//	    └ retrying ◀┴──▶ stopped        a failure that waiting does not mend
const (
	Starting Status = "starting"
	Running  Status = "running"
	Retrying Status = "retrying"
	Stopped  Status = "stopped"
	Ended    Status = "ended"
)

// State is the state of one channel. Err is its last failure.
type State struct {
	Channel string
	Status  Status
	Err     error
	Since   time.Time
}

// How an adapter that failed is started again: after 1 s, then twice as long up to a minute; a run that
// went well for longer than that starts over.
const (
	firstBackoff = time.Second
	maxBackoff   = time.Minute
)

// port is one channel at work: an adapter, what guards its entrance, and its delivery.
type port struct {
	Channel
	name    string
	turns   Turns
	observe Observer
	memory  Memory
	now     func() time.Time
	log     *slog.Logger
	order   Turnstile[core.ConversationID]
	limit   *limiter
	told    told
	aside   chan aside
	typing  *typist
	deliver *delivery
	streams bool

	mu    sync.Mutex
	state State
}

func newPort(cfg Config, c Channel) *port {
	name := c.Adapter.Name()
	p := &port{
		Channel: c, name: name, turns: cfg.Turns, observe: observerOr(cfg.Observer), memory: cfg.Memory, now: cfg.Now,
		log:   cfg.Log.With("channel", name),
		limit: newLimiter(c.PerSenderPerMinute),
		aside: make(chan aside, 64), streams: c.Streams && c.Adapter.Dialect().Edits,
		state: State{Channel: name, Status: Starting, Since: cfg.Now()},
	}
	p.typing = newTypist(p)
	p.deliver = newDelivery(p, cfg)
	return p
}

// run keeps the channel going until ctx ends or the adapter has ended for good.
func (p *port) run(ctx context.Context) error {
	side, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { p.deliver.run(side) })
	wg.Go(func() { p.typing.run(side) })
	wg.Go(func() { p.speakAside(side) })
	err := p.supervise(ctx)
	stop()
	wg.Wait()
	return err
}

// supervise starts the adapter again after every passing failure.
func (p *port) supervise(ctx context.Context) error {
	wait := firstBackoff
	for {
		began := p.now()
		p.set(Running, nil)
		err := p.receive(ctx)
		var perm *Permanent
		switch {
		case ctx.Err() != nil:
			p.set(Ended, nil)
			return nil
		case err == nil:
			p.set(Ended, nil)
			return nil
		case errors.As(err, &perm):
			p.set(Stopped, err)
			p.log.Error("channel stopped: it needs the operator", "hint", perm.Hint, "err", perm.Err)
			return err
		}
		if p.now().Sub(began) > maxBackoff {
			wait = firstBackoff
		}
		p.set(Retrying, err)
		p.log.Warn("channel failed, it is started again", "after", wait, "err", err)
		if Sleep(ctx, wait) != nil {
			return nil
		}
		wait = min(2*wait, maxBackoff)
	}
}

// receive runs the adapter once; a panic in it is a failure like others.
func (p *port) receive(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			p.log.Error("the adapter panicked", "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("adapter panicked: %v", r)
		}
	}()
	return p.Adapter.Run(ctx, sink{p})
}

func (p *port) set(s Status, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = State{Channel: p.name, Status: s, Err: err, Since: p.now()}
}

// status asks an adapter that knows it whether it is connected.
func (p *port) status() State {
	p.mu.Lock()
	s := p.state
	p.mu.Unlock()
	if r, ok := p.Adapter.(Readiness); ok && s.Status == Running {
		if err := r.Ready(); err != nil {
			s.Status, s.Err = Starting, err
		}
	}
	return s
}

// view is how this channel shows things.
func (p *port) view(lang string, shared bool) render.View {
	return render.View{Dialect: p.Adapter.Dialect(), Lang: lang, Shared: shared, Now: p.now()}
}

// target is where the parts of a conversation go.
func target(c core.ConversationID, replyTo string) Target {
	_, _, place := c.Parts()
	return Target{Place: place, ReplyTo: replyTo}
}
