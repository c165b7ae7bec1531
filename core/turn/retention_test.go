package turn_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"parley/core"
	"parley/core/turn"
)

// TestRetentionLeavesWhatIsNotTold: what ended long ago stays while something of it is still to be read or sent, and
// while nobody can say so; after that it goes.
func TestRetentionLeavesWhatIsNotTold(t *testing.T) {
	for name, ground := range map[string]func(w *world, at time.Time, clear *atomic.Bool){
		"a webhook is behind": func(w *world, at time.Time, clear *atomic.Bool) {
			w.unread = func(context.Context) (time.Time, error) {
				if clear.Load() {
					return time.Time{}, nil
				}
				return at, nil
			}
		},
		"nobody can say": func(w *world, _ time.Time, clear *atomic.Bool) {
			w.unread = func(context.Context) (time.Time, error) {
				if clear.Load() {
					return time.Time{}, nil
				}
				return time.Time{}, errors.New("the store failed")
			}
		},
		"the chat was not told": nil,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				var clear atomic.Bool
				defer clear.Store(true)
				w.model = script(calls("", `db__drop {}`))
				w.keep = 24 * time.Hour
				if ground != nil {
					ground(w, time.Now(), &clear)
				}
				w.start()
				got := w.say(ana, "what is there?")
				has := func() bool {
					_, err := w.e.RunByID(t.Context(), got.Run)
					if err != nil && !errors.Is(err, turn.ErrNotFound) {
						t.Fatal(err)
					}
					return err == nil
				}
				in := w.waiting()
				if len(in) != 1 {
					t.Fatalf("%d wait", len(in))
				}
				w.mu.Lock()
				w.hold = ground == nil // how it ended and the reply are not delivered
				w.mu.Unlock()
				_, err := w.e.Settle(t.Context(), turn.Settlement{Input: in[0].ID, From: ana, Via: "go", Step: -1, Hash: in[0].Hash, Submission: core.Submission{Action: core.ActionDecline}})
				if err != nil {
					t.Fatal(err)
				}
				w.pass(72 * time.Hour)
				if !has() {
					t.Error("it went although it was not told")
				}
				clear.Store(true)
				w.mu.Lock()
				w.hold = false
				w.mu.Unlock()
				w.pass(72 * time.Hour)
				if has() {
					t.Error("it is still there")
				}
			})
		})
	}
}
