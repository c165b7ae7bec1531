package telegram

import (
	"context"
	"sync"
	"time"
)

// Telegram's limits, as documented: about one message a second in a chat with some at once, twenty a minute
// in a group, thirty a second in all.
const (
	directEvery = time.Second
	groupEvery  = 3 * time.Second
	directBurst = 10
	groupBurst  = 5
	allEvery    = time.Second / 30
	allBurst    = 30
	// longestWait is how long a send waits for its turn; beyond it, it comes back and says when.
	longestWait = 5 * time.Second
	// keptChats bounds the memory: above it quiet chats are forgotten.
	keptChats = 4096
)

// pacer spaces the calls of each chat, and of all together. A chat that Telegram told to wait is held alone.
type pacer struct {
	now   func() time.Time
	mu    sync.Mutex
	all   bucket
	chats map[int64]*paced
}

type paced struct {
	bucket
	until time.Time // held by a 429
}

// bucket is a token bucket kept as the time at which it will be full again.
type bucket struct{ full time.Time }

// wait is how long the next one must wait.
func (b bucket) wait(now time.Time, every time.Duration, burst int) time.Duration {
	return max(0, b.full.Sub(now)) - time.Duration(burst-1)*every
}

func (b *bucket) take(now time.Time, every time.Duration) {
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(every)
}

func newPacer(now func() time.Time) *pacer {
	return &pacer{now: now, chats: map[int64]*paced{}}
}

// turn waits until the chat may be written to. over is how long that would be where it is longer than a send
// should wait; nothing was spent then. It also ends with ctx.
func (p *pacer) turn(ctx context.Context, chat int64) (over time.Duration, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	d, over := p.reserve(chat)
	if over > 0 || d <= 0 {
		return over, nil
	}
	return 0, sleep(ctx, d)
}

func (p *pacer) reserve(chat int64) (d, over time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, every, burst := p.now(), groupEvery, groupBurst
	if chat > 0 {
		every, burst = directEvery, directBurst
	}
	c := p.chat(chat, now)
	d = max(c.wait(now, every, burst), p.all.wait(now, allEvery, allBurst))
	if held := c.until.Sub(now); held > 0 {
		return 0, max(held, d)
	}
	if d > longestWait {
		return 0, d
	}
	c.take(now, every)
	p.all.take(now, allEvery)
	return d, 0
}

// hold keeps a chat quiet for as long as Telegram said.
func (p *pacer) hold(chat int64, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if until := now.Add(d); until.After(p.chat(chat, now).until) {
		p.chat(chat, now).until = until
	}
}

// held reports whether a chat is to be left alone now.
func (p *pacer) held(chat int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	return p.chat(chat, now).until.After(now)
}

func (p *pacer) chat(id int64, now time.Time) *paced {
	if c := p.chats[id]; c != nil {
		return c
	}
	if len(p.chats) >= keptChats {
		for k, c := range p.chats {
			if !c.full.After(now) && !c.until.After(now) {
				delete(p.chats, k)
			}
		}
	}
	c := &paced{}
	p.chats[id] = c
	return c
}

// sleep waits, or ends with ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
