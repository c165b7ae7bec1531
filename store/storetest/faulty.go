package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"parley/core"
	"parley/core/turn"
)

// Errors that Faulty returns.
var (
	// ErrStopped is what every call returns once the store was stopped, as if its process were dead.
	ErrStopped = errors.New("storetest: the store was stopped")
	// ErrFault is a write that was made to fail.
	ErrFault = errors.New("storetest: this write was made to fail")
)

// When says on which side of a commit a fault happens.
type When int

// The sides.
const (
	// Before the commit: it leaves no trace.
	Before When = iota
	// After the commit became durable: its caller does not learn that it did.
	After
)

func (w When) String() string { return [...]string{"before", "after"}[w] }

type fault int

const (
	faultStop fault = iota
	faultFail
	faultPanic
)

// plan is what happens at which commit.
type plan struct {
	when  When
	fault fault
}

// Faulty is a store that fails where it is told to. It counts commits from 1 in the order in which their
// closures ended. It is safe for concurrent use.
type Faulty struct {
	inner turn.Store

	mu      sync.Mutex
	begun   int // commits that were numbered
	commits int // those that became durable
	plans   map[int]plan
	refuse  bool
	stopped chan struct{}
	last    int // no commit after this number happens; 0: no end
}

// NewFaulty wraps a store. It does nothing of its own until it is told to.
func NewFaulty(inner turn.Store) *Faulty {
	return &Faulty{inner: inner, plans: map[int]plan{}, stopped: make(chan struct{})}
}

// Inner is the wrapped store, which goes on working after a stop: what a test looks into.
func (f *Faulty) Inner() turn.Store { return f.inner }

// Commits is how many writes became durable.
func (f *Faulty) Commits() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.commits
}

// StopAt stops the store at the n-th commit from the beginning, the first being 1.
func (f *Faulty) StopAt(n int, when When) { f.at(n, plan{when, faultStop}) }

// FailAt has the n-th commit return ErrFault; the store goes on.
func (f *Faulty) FailAt(n int, when When) { f.at(n, plan{when, faultFail}) }

// PanicAt has the n-th commit panic in its caller; the store goes on.
func (f *Faulty) PanicAt(n int, when When) { f.at(n, plan{when, faultPanic}) }

func (f *Faulty) at(n int, p plan) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plans[n] = p
	if p.fault == faultStop && (f.last == 0 || n < f.last) {
		f.last = n
	}
}

// FailWrites has every write return ErrFault, or lets them through again.
func (f *Faulty) FailWrites(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = on
}

// Stop has every further call return ErrStopped.
func (f *Faulty) Stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stop()
}

func (f *Faulty) stop() {
	select {
	case <-f.stopped:
	default:
		close(f.stopped)
	}
}

// Stopped is closed once the store was stopped.
func (f *Faulty) Stopped() <-chan struct{} { return f.stopped }

func (f *Faulty) alive() error {
	select {
	case <-f.stopped:
		return ErrStopped
	default:
		return nil
	}
}

// write is one commit under way; n is its number, 0 until its closure ended well.
type write struct {
	f *Faulty
	n int
}

// ready numbers the write and returns the fault that keeps it from happening.
func (w *write) ready() error {
	f := w.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.n == 0 { // a closure that runs again keeps its number, and what was decided about it
		if err := f.alive(); err != nil {
			return err
		}
		if f.refuse {
			return ErrFault
		}
		f.begun++
		w.n = f.begun
	}
	if f.last != 0 && w.n > f.last {
		return ErrStopped
	}
	if p, ok := f.plans[w.n]; ok && p.when == Before {
		return f.strike(p, w.n)
	}
	return nil
}

// done counts the write as durable and returns the fault that hides this from its caller.
func (w *write) done() error {
	f := w.f
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commits++
	if p, ok := f.plans[w.n]; ok && p.when == After {
		return f.strike(p, w.n)
	}
	return nil
}

// panicFault is carried out of a transaction as an error and becomes a panic in its caller.
type panicFault struct{ error }

func (f *Faulty) strike(p plan, n int) error {
	switch p.fault {
	case faultStop:
		f.stop()
		return ErrStopped
	case faultPanic:
		return panicFault{fmt.Errorf("storetest: panic %s commit %d", p.when, n)}
	}
	return ErrFault
}

// surface turns a planned panic into one.
func surface(err error) error {
	if p, ok := errors.AsType[panicFault](err); ok {
		panic(p.Error())
	}
	return err
}

// Update counts and breaks.
func (f *Faulty) Update(ctx context.Context, at turn.Scope, fn func(turn.Tx) error) error {
	if err := f.alive(); err != nil {
		return err
	}
	w := &write{f: f}
	err := f.inner.Update(ctx, at, func(tx turn.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return w.ready()
	})
	if err == nil {
		err = w.done()
	}
	return surface(err)
}

// Claim counts a claim that was made; one that is to fail before is given back.
func (f *Faulty) Claim(ctx context.Context, ttl time.Duration) (*turn.Claim, error) {
	if err := f.alive(); err != nil {
		return nil, err
	}
	c, err := f.inner.Claim(ctx, ttl)
	if err != nil || c == nil {
		return nil, err
	}
	w := &write{f: f}
	if err := w.ready(); err != nil {
		back := f.inner.Update(ctx, turn.Scope{Conversation: c.Conversation, Claim: c}, func(tx turn.Tx) error {
			return tx.Release(tx.Now())
		})
		return nil, surface(errors.Join(err, back))
	}
	if err := w.done(); err != nil {
		return nil, surface(err)
	}
	return c, nil
}

// Prune counts as one commit if anything went.
func (f *Faulty) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	w := &write{f: f}
	if err := w.ready(); err != nil {
		return 0, surface(err)
	}
	n, err := f.inner.Prune(ctx, before, limit)
	if err == nil {
		err = w.done()
	}
	return n, surface(err)
}

// reading refuses a read of a stopped store.
func reading[T any](f *Faulty, read func() (T, error)) (T, error) {
	if err := f.alive(); err != nil {
		var zero T
		return zero, err
	}
	return read()
}

// View passes through.
func (f *Faulty) View(ctx context.Context, id core.ConversationID, fn func(turn.Reader) error) error {
	_, err := reading(f, func() (struct{}, error) { return struct{}{}, f.inner.View(ctx, id, fn) })
	return err
}

// Renew passes through; it is no commit.
func (f *Faulty) Renew(ctx context.Context, c *turn.Claim, ttl time.Duration) error {
	_, err := reading(f, func() (struct{}, error) { return struct{}{}, f.inner.Renew(ctx, c, ttl) })
	return err
}

// Wake passes through.
func (f *Faulty) Wake() <-chan struct{} { return f.inner.Wake() }

// Now passes through.
func (f *Faulty) Now() time.Time { return f.inner.Now() }

// Close closes the wrapped store, also once stopped.
func (f *Faulty) Close() error {
	return f.inner.Close()
}

// Input passes through.
func (f *Faulty) Input(ctx context.Context, id core.InputID) (core.Input, error) {
	return reading(f, func() (core.Input, error) { return f.inner.Input(ctx, id) })
}

// Run passes through.
func (f *Faulty) Run(ctx context.Context, id core.RunID) (core.Run, error) {
	return reading(f, func() (core.Run, error) { return f.inner.Run(ctx, id) })
}

// Inputs passes through.
func (f *Faulty) Inputs(ctx context.Context, filter turn.InputFilter) (page []core.Input, next string, err error) {
	if err := f.alive(); err != nil {
		return nil, "", err
	}
	return f.inner.Inputs(ctx, filter)
}

// Overdue passes through.
func (f *Faulty) Overdue(ctx context.Context, limit int) ([]core.Input, error) {
	return reading(f, func() ([]core.Input, error) { return f.inner.Overdue(ctx, limit) })
}

// NextDeadline passes through.
func (f *Faulty) NextDeadline(ctx context.Context) (time.Time, error) {
	return reading(f, func() (time.Time, error) { return f.inner.NextDeadline(ctx) })
}

// Outbox passes through.
func (f *Faulty) Outbox(ctx context.Context, channel string, limit int) (rows []core.Out, next time.Time, err error) {
	if err := f.alive(); err != nil {
		return nil, time.Time{}, err
	}
	return f.inner.Outbox(ctx, channel, limit)
}

// Events passes through.
func (f *Faulty) Events(ctx context.Context, run core.RunID, after uint64, limit int) ([]core.Event, error) {
	return reading(f, func() ([]core.Event, error) { return f.inner.Events(ctx, run, after, limit) })
}

var _ turn.Store = (*Faulty)(nil)
