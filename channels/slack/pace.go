package slack

import (
	"context"
	"sync"
	"time"
)

// Slack takes about one message a second in a channel, and more at once for a short while; what is too much
// it says itself.
const (
	every = time.Second
	burst = 40
	// longestWait is how long a send waits for its turn; beyond it, it comes back and says when.
	longestWait = 5 * time.Second
	// keptChannels bounds the memory: above it quiet channels are forgotten.
	keptChannels = 4096
)

// pacer spaces the messages of each channel. A channel that Slack told to wait is held alone.
type pacer struct {
	now      func() time.Time
	mu       sync.Mutex
	channels map[string]*paced
}

type paced struct {
	full  time.Time // when the bucket of tokens is full again
	until time.Time // held by a 429
}

func newPacer(now func() time.Time) *pacer {
	return &pacer{now: now, channels: map[string]*paced{}}
}

// turn waits until the channel may be written to. over is how long that would be where it is longer than a
// send should wait; nothing was spent then. It also ends with ctx.
func (p *pacer) turn(ctx context.Context, channel string) (over time.Duration, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	d, over := p.reserve(channel)
	if over > 0 || d <= 0 {
		return over, nil
	}
	return 0, sleep(ctx, d)
}

func (p *pacer) reserve(channel string) (d, over time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	c := p.channel(channel, now)
	d = max(0, c.full.Sub(now)) - (burst-1)*every
	if held := c.until.Sub(now); held > 0 {
		return 0, max(held, d)
	}
	if d > longestWait {
		return 0, d
	}
	if c.full.Before(now) {
		c.full = now
	}
	c.full = c.full.Add(every)
	return d, 0
}

// hold keeps a channel quiet for as long as Slack said.
func (p *pacer) hold(channel string, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if until := now.Add(d); until.After(p.channel(channel, now).until) {
		p.channel(channel, now).until = until
	}
}

// held reports whether a channel is to be left alone now.
func (p *pacer) held(channel string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	return p.channel(channel, now).until.After(now)
}

func (p *pacer) channel(id string, now time.Time) *paced {
	if c := p.channels[id]; c != nil {
		return c
	}
	if len(p.channels) >= keptChannels {
		for k, c := range p.channels {
			if !c.full.After(now) && !c.until.After(now) {
				delete(p.channels, k)
			}
		}
	}
	c := &paced{}
	p.channels[id] = c
	return c
}
