package channels

import (
	"context"
	"sync"
	"time"
)

// Pace is how fast a platform takes calls: one every Every, and Burst at once after a pause. The zero value
// is no limit.
type Pace struct {
	Every time.Duration
	Burst int
}

// LongestTurn is how long a Pacer lets a call wait for its turn; beyond it the call comes back and says when.
const LongestTurn = 5 * time.Second

// keptPaces bounds the memory of a Pacer: above it quiet keys are forgotten.
const keptPaces = 4096

// Pacing is what a Pacer is made of.
type Pacing struct {
	Now func() time.Time
	// All is the pace of all calls together; Of is that of a key, nil for none.
	All Pace
	Of  func(key string) Pace
	// WaitHolds has a call wait for the end of a hold that is near, instead of coming back at once.
	WaitHolds bool
}

// Pacer spaces the calls of each key, a chat or a route, and of all keys together. A key that the platform
// told to wait is held alone.
type Pacer struct {
	Pacing
	mu    sync.Mutex
	all   paced
	paced map[string]*paced
}

// paced is a bucket of tokens, kept as the time at which it will be full again, and a hold.
type paced struct{ full, until time.Time }

// NewPacer returns a Pacer that has seen no call.
func NewPacer(p Pacing) *Pacer { return &Pacer{Pacing: p, paced: map[string]*paced{}} }

// Turn waits until a call may be made. over is how long that would be where it is longer than a call should
// wait; nothing was spent then. err is that of ctx.
func (p *Pacer) Turn(ctx context.Context, key string) (over time.Duration, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	d, over := p.reserve(key)
	if over > 0 || d <= 0 {
		return over, nil
	}
	return 0, Sleep(ctx, d)
}

// Try spends a turn that may be had at once; else it returns how long to wait for one, and spends none.
func (p *Pacer) Try(key string) (wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, pace := p.Now(), p.of(key)
	k := p.key(key, now)
	wait = max(k.wait(now, pace), p.all.wait(now, p.All), k.until.Sub(now), p.all.until.Sub(now))
	if wait <= 0 {
		k.take(now, pace)
		p.all.take(now, p.All)
	}
	return max(wait, 0)
}

// reserve spends a turn and returns how long to wait for it, or spends none and returns over.
func (p *Pacer) reserve(key string) (d, over time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, pace := p.Now(), p.of(key)
	k := p.key(key, now)
	d = max(k.wait(now, pace), p.all.wait(now, p.All), 0)
	if held := max(k.until.Sub(now), p.all.until.Sub(now)); held > 0 {
		if d = max(d, held); !p.WaitHolds {
			return 0, d
		}
	}
	if d > LongestTurn {
		return 0, d
	}
	k.take(now, pace)
	p.all.take(now, p.All)
	return d, 0
}

// Hold keeps a key quiet for as long as the platform said.
func (p *Pacer) Hold(key string, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Now()
	p.key(key, now).hold(now.Add(d))
}

// HoldAll keeps all keys quiet.
func (p *Pacer) HoldAll(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all.hold(p.Now().Add(d))
}

// Held reports whether a key is to be left alone now.
func (p *Pacer) Held(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Now()
	k := p.paced[key]
	return p.all.until.After(now) || k != nil && k.until.After(now)
}

func (p *Pacer) of(key string) Pace {
	if p.Of == nil {
		return Pace{}
	}
	return p.Of(key)
}

// key is what is known of a key. p.mu is held.
func (p *Pacer) key(id string, now time.Time) *paced {
	if k := p.paced[id]; k != nil {
		return k
	}
	if len(p.paced) >= keptPaces {
		for other, k := range p.paced {
			if !k.full.After(now) && !k.until.After(now) {
				delete(p.paced, other)
			}
		}
	}
	k := &paced{}
	p.paced[id] = k
	return k
}

// wait is how long the next call must wait; less than 0 where some could go at once.
func (k *paced) wait(now time.Time, at Pace) time.Duration {
	return max(0, k.full.Sub(now)) - time.Duration(at.Burst-1)*at.Every
}

func (k *paced) take(now time.Time, at Pace) {
	if k.full.Before(now) {
		k.full = now
	}
	k.full = k.full.Add(at.Every)
}

func (k *paced) hold(until time.Time) {
	if until.After(k.until) {
		k.until = until
	}
}
