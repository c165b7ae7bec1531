package channels

import (
	"context"
	"math/rand/v2"
	"time"
)

// Sleep waits for d. It returns the error of ctx if that ended first.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// FirstPause is the first step of a Backoff.
const FirstPause = time.Second

// Backoff is the growing pause between tries: from FirstPause, twice as long each time, up to Longest, 0 for
// 30 s.
type Backoff struct {
	Longest time.Duration
	next    time.Duration
}

// Pause is how long to wait now: between half and all of the step, so that many programs do not come back at
// once.
func (b *Backoff) Pause() time.Duration {
	longest := b.Longest
	if longest <= 0 {
		longest = 30 * time.Second
	}
	step := max(b.next, FirstPause)
	b.next = min(2*step, longest)
	return step/2 + rand.N(step/2)
}

// Reset begins at the first step again.
func (b *Backoff) Reset() { b.next = 0 }
