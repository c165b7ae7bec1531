package channels

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Config is what a Hub is made of.
type Config struct {
	Turns    Turns
	Channels []Channel
	// Now is the clock; it may not be nil.
	Now func() time.Time
	Log *slog.Logger // nil: slog.Default
	// Grace is how long sends in flight may go on after the context of Run has ended; 0 is 5 s.
	Grace time.Duration
	// Parallel is how many conversations of one channel are delivered to at once; 0 is 16.
	Parallel int
	// Memory lets a reply that was being shown while it was written be found again after a kill; nil: it is sent
	// anew then, below what had been shown of it.
	Memory Memory
	// Observer hears what is sent and read; nil for nobody.
	Observer Observer
}

// Channel is an adapter with who may use it and how fast.
type Channel struct {
	Adapter Adapter
	Access  Access
	// PerSenderPerMinute delays what one sender says beyond it; 0 is no limit.
	PerSenderPerMinute int
	// Streams shows replies while they are written, where the platform can edit.
	Streams bool
}

// Hub owns the adapters: it keeps each running, takes in what they receive, and delivers what waits for them.
type Hub struct {
	cfg   Config
	log   *slog.Logger
	ports []*port
}

// NewHub checks that the channels have names of their own.
func NewHub(cfg Config) (*Hub, error) {
	if cfg.Turns == nil || cfg.Now == nil {
		return nil, errors.New("channels: a hub needs Turns and Now")
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Grace <= 0 {
		cfg.Grace = 5 * time.Second
	}
	if cfg.Parallel <= 0 {
		cfg.Parallel = 16
	}
	h := &Hub{cfg: cfg, log: cfg.Log}
	seen := map[string]bool{}
	for _, c := range cfg.Channels {
		name := c.Adapter.Name()
		if name == "" || seen[name] {
			return nil, fmt.Errorf("channel name %q: want a name that no other channel has", name)
		}
		seen[name] = true
		h.ports = append(h.ports, newPort(cfg, c))
	}
	return h, nil
}

// Run carries messages until ctx ends, and returns nil then, after the sends in flight have ended or the
// grace has passed; what was not sent stays in the outbox. It also returns once every channel has ended by
// itself; the error then joins the *Permanent failures.
func (h *Hub) Run(ctx context.Context) error {
	errs := make([]error, len(h.ports))
	var wg sync.WaitGroup
	for i, p := range h.ports {
		wg.Go(func() { errs[i] = p.run(ctx) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return errors.Join(errs...)
}

// States says how each channel is, in the order of the configuration.
func (h *Hub) States() []State {
	out := make([]State, 0, len(h.ports))
	for _, p := range h.ports {
		out = append(out, p.status())
	}
	return out
}

// Ready returns nil when every channel that was not stopped for good is connected, else the first that is not.
func (h *Hub) Ready() error {
	for _, s := range h.States() {
		switch s.Status {
		case Starting, Retrying:
			return fmt.Errorf("channel %s is %s: %w", s.Channel, s.Status, orNot(s.Err))
		}
	}
	return nil
}

func orNot(err error) error {
	if err == nil {
		return errors.New("not connected yet")
	}
	return err
}
