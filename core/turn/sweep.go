package turn

import (
	"context"
	"fmt"
	"time"

	"parley/core"
)

// sweepLoop closes inputs that nobody answered in time, by the store's clock: at start, at each deadline,
// and whenever an input was opened.
func (e *Engine) sweepLoop(ctx context.Context) {
	const longest = 5 * time.Minute // a clock that jumps is noticed within this
	for {
		if err := e.expire(ctx); err != nil && ctx.Err() == nil {
			e.log.Error("close overdue inputs", "err", err)
		}
		wait := longest
		if next, err := e.store.NextDeadline(ctx); err == nil && !next.IsZero() {
			wait = min(max(next.Sub(e.store.Now()), time.Millisecond), longest)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-e.sweep:
		}
		timer.Stop()
	}
}

// expire closes what is overdue now, each conversation in a transaction of its own.
func (e *Engine) expire(ctx context.Context) error {
	const batch = 100
	for {
		due, err := e.store.Overdue(ctx, batch)
		if err != nil {
			return err
		}
		done := map[core.ConversationID]bool{}
		for _, in := range due {
			if done[in.Conversation] {
				continue
			}
			done[in.Conversation] = true
			if err := e.act(ctx, in.Conversation, false, (*act).expireDue); err != nil {
				return err
			}
		}
		if len(due) < batch {
			return nil
		}
	}
}

// pruneLoop removes what is older than the retention, a little at a time. What waits is never removed.
func (e *Engine) pruneLoop(ctx context.Context) {
	const every, batch = time.Hour, 200
	for {
		n, err := e.prune(ctx, batch)
		if err != nil && ctx.Err() == nil {
			e.log.Error("remove what is older than the retention", "err", err)
		}
		wait := every
		if n == batch {
			wait = time.Second // there is more; let others have the store
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// prune removes what is older than the retention and was told to everybody.
func (e *Engine) prune(ctx context.Context, batch int) (int, error) {
	before := e.store.Now().Add(-e.keep)
	if e.unread != nil {
		at, err := e.unread(ctx)
		if err != nil {
			return 0, fmt.Errorf("find what is not told yet: %w", err)
		}
		if !at.IsZero() && at.Before(before) {
			before = at
		}
	}
	return e.store.Prune(ctx, before, batch)
}
