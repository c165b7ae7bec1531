package discord

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Discord allows fifty calls a second in all, and tells the limit of each route in the headers of its answers.
const (
	allEvery = time.Second / 45
	allBurst = 45
	// longestWait is how long a send waits for its turn; beyond it, it comes back and says when.
	longestWait = 5 * time.Second
	// keptRoutes bounds the memory: above it quiet routes are forgotten.
	keptRoutes = 4096
)

// pacer spaces the calls of all routes together, and holds those that Discord told to wait.
type pacer struct {
	now    func() time.Time
	mu     sync.Mutex
	full   time.Time // when the bucket of all calls will be full again
	global time.Time // all are held until then
	routes map[string]time.Time
}

func newPacer(now func() time.Time) *pacer {
	return &pacer{now: now, routes: map[string]time.Time{}}
}

// turn waits until a route may be called. over is how long that would be where it is longer than a send
// should wait; nothing was spent then. It also ends with ctx.
func (p *pacer) turn(ctx context.Context, route string) (over time.Duration, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	d, over := p.reserve(route)
	if over > 0 || d <= 0 {
		return over, nil
	}
	return 0, sleep(ctx, d)
}

func (p *pacer) reserve(route string) (d, over time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	d = max(max(0, p.full.Sub(now))-(allBurst-1)*allEvery, p.routes[route].Sub(now), p.global.Sub(now), 0)
	if d > longestWait {
		return 0, d
	}
	if p.full.Before(now) {
		p.full = now
	}
	p.full = p.full.Add(allEvery)
	return d, 0
}

// hold keeps a route quiet, or all of them.
func (p *pacer) hold(route string, d time.Duration, global bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	until := now.Add(d)
	if global && until.After(p.global) {
		p.global = until
	}
	if !until.After(p.routes[route]) {
		return
	}
	if len(p.routes) >= keptRoutes {
		for k, t := range p.routes {
			if !t.After(now) {
				delete(p.routes, k)
			}
		}
	}
	p.routes[route] = until
}

// learn holds a route that has no call left.
func (p *pacer) learn(route string, h http.Header) {
	if h.Get("X-RateLimit-Remaining") == "0" {
		if d := seconds(h.Get("X-RateLimit-Reset-After"), 0); d > 0 {
			p.hold(route, d, false)
		}
	}
}

// held reports whether a route is to be left alone now.
func (p *pacer) held(route string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	return p.global.After(now) || p.routes[route].After(now)
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
