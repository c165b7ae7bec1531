package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/channels/webhook"
	"parley/core"
	"parley/core/tool/outbound"
)

// A hook that is new begins at the end of the log; one that is known where it was, also after a restart.
func TestCursor(t *testing.T) {
	for _, before := range []int{0, 1, 64} {
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.put(approval("old"))
				w.put(approval("new"))
				for range before {
					w.tell(asked("old"))
				}
				w.start()
				w.tell(asked("new"))
				w.stop()
				w.tell(asked("new"))
				w.restart()
				got := w.attempts()
				if len(got) != 2 || strings.Contains(got[0].body+got[1].body, `"old"`) {
					t.Errorf("%d messages, want two of the new", len(got))
				}
				if got[0].head.Get("webhook-id") == got[1].head.Get("webhook-id") {
					t.Error("two messages have one id")
				}
			})
		})
	}
}

// More than the window holds waits in the log, and all comes.
func TestManyWhileItIsDown(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var up atomic.Bool
		w.answer = func(int, *http.Request) (*http.Response, error) {
			if up.Load() {
				return status(200), nil
			}
			return nil, errBroken
		}
		w.start()
		w.put(approval("i1"))
		var evs []core.Event
		for range 300 {
			evs = append(evs, asked("i1"))
		}
		w.tell(evs...)
		if n := len(w.look().Pending); n != 256 {
			t.Errorf("%d are pending, want 256", n)
		}
		up.Store(true)
		later(time.Hour)
		seen := map[string]bool{}
		for _, a := range w.attempts() {
			seen[a.head.Get("webhook-id")] = true
		}
		if len(seen) != 300 || len(w.look().Pending) != 0 {
			t.Errorf("%d messages came, %d are pending", len(seen), len(w.look().Pending))
		}
	})
}

// Memory that dies at its n-th write, before or after it is durable: the process is gone with it.
type dying struct {
	webhook.Memory
	left  int
	after bool
	dead  bool
	kill  context.CancelFunc
}

var errDead = errors.New("dead")

func (d *dying) Remember(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if d.dead {
		return errDead
	}
	if d.left--; d.left > 0 {
		return d.Memory.Remember(ctx, key, value, ttl)
	}
	d.dead = true
	if d.after {
		if err := d.Memory.Remember(ctx, key, value, ttl); err != nil {
			return err
		}
	}
	d.kill()
	return errDead
}

func (d *dying) Recall(ctx context.Context, key string) ([]byte, bool, error) {
	if d.dead {
		return nil, false, errDead
	}
	return d.Memory.Recall(ctx, key)
}

// A crash at every write: each event arrives at least once, and whatever arrives twice is the same.
func TestCrashAtEveryWrite(t *testing.T) {
	for n := 2; n < 12; n++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(n, after), func(t *testing.T) {
				bubble(t, func(t *testing.T, w *world) {
					w.put(approval("i1"))
					w.start() // the first write: where the hook begins
					w.stop()
					d := &dying{Memory: w.store, left: n, after: after}
					w.memory = d
					dead := make(chan struct{})
					d.kill = func() { close(dead) }
					w.start()
					w.tell(asked("i1"), ended("i1"))
					w.stop()
					w.memory = nil
					w.start()
					later(time.Minute)
					ids := map[string]string{}
					for _, a := range w.attempts() {
						id := a.head.Get("webhook-id")
						if body, ok := ids[id]; ok && body != a.body {
							t.Errorf("%s came with two bodies", id)
						}
						ids[id] = a.body
					}
					if len(ids) != 2 {
						t.Errorf("%d messages came, want 2: %v", len(ids), maps.Keys(ids))
					}
				})
			})
		}
	}
}

// Private addresses are refused by the client that the program is made with.
func TestPrivateAddressIsRefused(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer srv.Close()
	host, _, err := net.SplitHostPort(srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for name, allow := range map[string][]string{"refused": nil, "allowed": {host}} {
		w := newWorld(t)
		w.hooks[0].URL = srv.URL
		w.put(approval("i1"))
		first := make(chan webhook.Outcome, 1)
		h, err := webhook.New(webhook.Config{
			Turns: w, Memory: w.store, Hooks: w.hooks, Client: outbound.Client(outbound.Config{AllowPrivate: allow}), Now: time.Now,
			Observe: func(_ string, o webhook.Outcome) { first <- o },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.store.Remember(t.Context(), "webhook/"+core.Digest(srv.URL), []byte(`{"cursor":0}`), time.Hour); err != nil {
			t.Fatal(err)
		}
		w.events = []core.Event{{Seq: 1, Type: core.EventApproval, Input: "i1"}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = h.Run(ctx) }()
		o := <-first
		cancel()
		<-done
		if want := map[string]webhook.Outcome{"refused": webhook.Retried, "allowed": webhook.Delivered}[name]; o != want {
			t.Errorf("%s: %s, want %s", name, o, want)
		}
	}
	if hits.Load() != 1 {
		t.Errorf("%d requests arrived, want one", hits.Load())
	}
}
