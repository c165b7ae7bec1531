package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"parley/core"
)

// Turns is what hooks ask of the engine.
type Turns interface {
	Input(ctx context.Context, id core.InputID) (core.Input, error)
	Events(ctx context.Context, run core.RunID, after uint64, limit int) ([]core.Event, error)
	LastEvent(ctx context.Context) (uint64, error)
	News(id core.AgentID) <-chan struct{}
}

// Hook is one address that is told of events.
type Hook struct {
	// URL is https; http for a loopback address alone.
	URL string
	// Secret is whsec_ and base64; several, separated by spaces, while a key rotates: each signs.
	Secret string
	// Events are Requested and Resolved; none means both.
	Events []string
}

// Address is where it goes as it may be shown: paths and queries of webhooks often hold keys.
func (h Hook) Address() string { return shown(h.URL) }

// Outcome is how one attempt ended.
type Outcome string

// The outcomes of an attempt.
const (
	Delivered Outcome = "delivered"
	Retried   Outcome = "retried" // it failed and is tried again
	Died      Outcome = "dead"    // it failed for the last time
	Refused   Outcome = "gone"    // the address wants no more: the hook is disabled
)

// Config is what Hooks are made of. Turns, Memory, Client and Now are needed.
type Config struct {
	Turns  Turns
	Memory Memory
	Hooks  []Hook
	// Client sends; make it with the package outbound, so that private addresses are refused.
	Client *http.Client
	Now    func() time.Time
	Log    *slog.Logger
	// Observe, if set, hears how each attempt ended. host is the address's host and port.
	Observe func(host string, o Outcome)
}

// Hooks sends messages to every address of a configuration.
type Hooks struct{ all []*sender }

// New checks the configuration. Errors name addresses without secrets.
func New(c Config) (*Hooks, error) {
	if c.Turns == nil || c.Memory == nil || c.Client == nil || c.Now == nil {
		return nil, errors.New("webhook: Turns, Memory, Client and Now are needed")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	client := *c.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	h := &Hooks{}
	for i, hook := range c.Hooks {
		s, err := newSender(c, &client, hook)
		if err != nil {
			return nil, fmt.Errorf("webhook %d: %w", i+1, err)
		}
		if slices.ContainsFunc(h.all, func(o *sender) bool { return o.hook.URL == hook.URL }) {
			return nil, fmt.Errorf("webhook %d: %s is there twice: list its events in one", i+1, shown(hook.URL))
		}
		h.all = append(h.all, s)
	}
	return h, nil
}

// Check returns what is wrong with a hook, nil if nothing is.
func Check(h Hook) error {
	u, err := url.Parse(h.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("url: want an https address")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return fmt.Errorf("url %s: want https, since messages tell what is asked of people", shown(h.URL))
	case u.User != nil:
		return fmt.Errorf("url %s: no user and password: the signature proves who sends", shown(h.URL))
	}
	for _, e := range h.Events {
		if e != Requested && e != Resolved {
			return fmt.Errorf("event %q: want %s or %s", e, Requested, Resolved)
		}
	}
	_, err = keys(h.Secret)
	return err
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// shown is an address as it may be logged: paths and queries of webhooks often hold keys.
func shown(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "(unreadable)"
	}
	return u.Scheme + "://" + u.Host
}

// Run sends until ctx ends, and returns nil then.
func (h *Hooks) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, s := range h.all {
		wg.Go(func() { s.run(ctx) })
	}
	wg.Wait()
	return nil
}
