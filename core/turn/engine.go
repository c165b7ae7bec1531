package turn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"parley/core"
)

// Config is what an Engine is made of. Store, Agents and Deps are needed.
type Config struct {
	Store Store
	// Agents finds an agent as configured today. A run whose agent is gone stays parked.
	Agents func(core.AgentID) (*Agent, bool)
	Deps   Deps
	// NewID makes the random part of ids and tokens: 16 letters and digits.
	NewID func() string
	Log   *slog.Logger
	// ClaimTTL is how long a claim lives unless renewed; 30 s if 0.
	ClaimTTL time.Duration
	// Grace is how long a running tool call may go on after Run was told to stop; 10 s if 0.
	Grace time.Duration
	// Silent reports whether nobody delivers on a channel: what happens there is asked for, not sent.
	Silent func(channel string) bool
	// Streams reports whether a channel shows replies while they are written; nil is never.
	Streams func(channel string) bool
	// ReadFile reads a file of a message from where its channel keeps it; nil: files are only named to the model.
	// It ends with ctx, bounds what it reads, and is called for several files at once.
	ReadFile func(ctx context.Context, m core.Message, f core.File) ([]byte, error)
	// Tracer tells runs as spans; nil: nothing is traced, and that costs nothing.
	Tracer trace.Tracer
	// Retention is how long ended runs and the log are kept; 0 is for ever.
	Retention time.Duration
	// Unread, if set, is when the oldest thing happened that somebody is still to be told of and has not read:
	// nothing from then on is removed. Zero: everything was read.
	Unread func(context.Context) (time.Time, error)
	// Parallel bounds how many runs are advanced at once; 256 if 0.
	Parallel int
}

// Engine advances the runs of every conversation of a store.
type Engine struct {
	store   Store
	agents  func(core.AgentID) (*Agent, bool)
	deps    Deps
	newID   func() string
	log     *slog.Logger
	ttl     time.Duration
	grace   time.Duration
	keep    time.Duration
	unread  func(context.Context) (time.Time, error)
	silent  func(string) bool
	streams func(string) bool
	slots   chan struct{}

	readFile func(context.Context, core.Message, core.File) ([]byte, error)
	pictures pictures
	tracer   trace.Tracer // nil: off

	mu      sync.Mutex
	soft    context.Context // ends when Run is told to stop: no step begins after it
	hard    context.Context // ends after the grace: running tool calls are cut
	drivers sync.WaitGroup
	cuts    map[core.ConversationID][]*cut // what an abort ends at once
	working map[core.ConversationID]int    // being advanced
	held    map[core.InputID]bool          // asked by calls that go on here and wait for the answer

	glances  map[string][]core.Out // by channel: edits that are tried once, without a row
	partials partials

	news  bulletin      // something changed: for Idle and waiting callers
	sweep chan struct{} // an input was opened
	look  chan struct{} // a conversation became due
}

// New returns an engine. It does nothing until Run, except take messages and answers.
func New(c Config) (*Engine, error) {
	switch {
	case c.Store == nil, c.Agents == nil, c.NewID == nil:
		return nil, errors.New("turn: Store, Agents and NewID are needed")
	case c.Deps.Read == nil, c.Deps.Prepare == nil, c.Deps.AskSpecs == nil, c.Deps.ParseAsk == nil:
		return nil, errors.New("turn: every one of Deps is needed")
	}
	e := &Engine{
		store: c.Store, agents: c.Agents, deps: c.Deps, newID: c.NewID, log: c.Log,
		ttl: c.ClaimTTL, grace: c.Grace, keep: c.Retention, unread: c.Unread, silent: c.Silent, streams: c.Streams, readFile: c.ReadFile, tracer: c.Tracer,
		cuts:     map[core.ConversationID][]*cut{},
		working:  map[core.ConversationID]int{},
		held:     map[core.InputID]bool{},
		glances:  map[string][]core.Out{},
		partials: partials{texts: map[core.ConversationID]*partial{}, told: map[string]bool{}},
		sweep:    make(chan struct{}, 1),
		look:     make(chan struct{}, 1),
	}
	if e.silent == nil {
		e.silent = func(string) bool { return false }
	}
	if e.streams == nil {
		e.streams = func(string) bool { return false }
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	if e.ttl == 0 {
		e.ttl = 30 * time.Second
	}
	if e.grace == 0 {
		e.grace = 10 * time.Second
	}
	if c.Parallel == 0 {
		c.Parallel = 256
	}
	e.slots = make(chan struct{}, c.Parallel)
	return e, nil
}

// Run advances what is due until ctx ends; then nothing new begins, running tool calls get the grace to
// finish, and what is left goes on at the next start. It returns nil unless the store failed for good.
func (e *Engine) Run(ctx context.Context) error {
	hard, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	e.mu.Lock()
	e.soft, e.hard = ctx, hard
	e.mu.Unlock()

	var loops sync.WaitGroup
	loops.Go(func() { e.claimLoop(ctx) })
	loops.Go(func() { e.sweepLoop(ctx) })
	if e.keep > 0 {
		loops.Go(func() { e.pruneLoop(ctx) })
	}
	loops.Wait()

	done := make(chan struct{})
	go func() { e.drivers.Wait(); close(done) }()
	timer := time.NewTimer(e.grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		cut()
		<-done
	}
	return nil
}

// claimLoop takes due conversations: those left by a crash, delayed, or woken.
func (e *Engine) claimLoop(ctx context.Context) {
	const poll = 30 * time.Second // for what another process made due
	for {
		c, err := e.store.Claim(ctx, e.ttl)
		switch {
		case err != nil && ctx.Err() == nil:
			e.log.Error("claim a due conversation", "err", err)
		case c != nil:
			e.launch(c, nil)
			continue
		}
		timer := time.NewTimer(poll)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-e.store.Wake():
		case <-e.look:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// lookAt has the claim loop look when a conversation of this process is due.
func (e *Engine) lookAt(now, due time.Time) {
	if due.After(now) {
		time.AfterFunc(due.Sub(now), func() { nudge(e.look) })
	}
}

// nudge wakes a loop that listens on c, now or when it next listens.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// running reports whether Run goes on; only then a transaction may take a claim to advance at once.
func (e *Engine) running() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.soft != nil && e.soft.Err() == nil
}

// launch advances a claimed conversation in a goroutine of its own. begun is a call whose executing was
// written in the commit that took the claim.
func (e *Engine) launch(c *Claim, begun *core.Call) {
	e.mu.Lock()
	soft, hard := e.soft, e.hard
	if soft != nil {
		e.drivers.Add(1)
	}
	e.mu.Unlock()
	if soft == nil {
		return
	}
	go func() {
		defer e.drivers.Done()
		select {
		case e.slots <- struct{}{}:
			defer func() { <-e.slots }()
		case <-soft.Done():
			if begun == nil {
				return
			}
		}
		e.works(c.Conversation, 1)
		defer e.works(c.Conversation, -1)
		e.drive(soft, hard, c, begun)
	}()
}

func (e *Engine) works(c core.ConversationID, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.working[c] += n; e.working[c] == 0 {
		delete(e.working, c)
	}
}

// renew keeps a claim alive until ctx ends; it calls lost when it cannot, before another could start.
func (e *Engine) renew(ctx context.Context, c *Claim, lost func(error)) {
	t := time.NewTicker(e.ttl / 3)
	defer t.Stop()
	last := time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			rctx, cancel := context.WithTimeout(ctx, e.ttl/4)
			err := e.store.Renew(rctx, c, e.ttl)
			cancel()
			last += e.ttl / 3
			switch {
			case err == nil:
				last = 0
			case errors.Is(err, ErrFenced), last > e.ttl/2:
				lost(fmt.Errorf("claim on %s lost: %w", c.Conversation, err))
				return
			}
		}
	}
}

// id returns a new id that sorts by time: ten letters of the millisecond, then random.
func (e *Engine) id(prefix string, now time.Time) string {
	const letters = "0123456789abcdefghjkmnpqrstvwxyz"
	ms := now.UnixMilli()
	var b [9]byte
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = letters[ms&31]
		ms >>= 5
	}
	return prefix + string(b[:]) + e.newID()
}
