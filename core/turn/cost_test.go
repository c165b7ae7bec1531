package turn_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"parley/core"
	"parley/store/bolt"
)

func commits(w *world) int64 { return int64(w.store.(*bolt.Store).Stats().Commits) }

// TestCommitsOfATurn counts the commits of a turn that stops once for an approval, from the accepted
// message to the receipt of the final reply.
func TestCommitsOfATurn(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.pass(time.Minute)
		before := commits(w)
		w.say(ana, "go")
		w.pass(time.Minute)
		w.say(ana, "yes")
		w.pass(time.Minute)
		if got := commits(w) - before; got > 7 {
			t.Errorf("%d commits, want at most 7", got)
		} else {
			t.Logf("%d commits", got)
		}
	})
}

// TestCommitsOf64Conversations counts the commits of a turn when 64 conversations run at once.
func TestCommitsOf64Conversations(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		const n = 64
		round := func(text string) {
			var all sync.WaitGroup
			for i := range n {
				m := w.message(ana, text)
				m.Conversation = core.NewConversation("ops", home, core.Place(fmt.Sprint(i)))
				all.Go(func() {
					if _, err := w.e.Accept(t.Context(), m); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			for i := range n {
				if err := w.e.Idle(t.Context(), core.NewConversation("ops", home, core.Place(fmt.Sprint(i)))); err != nil {
					t.Fatal(err)
				}
			}
		}
		before := commits(w)
		round("go")
		round("yes")
		got := commits(w) - before
		if ran := w.tools["db__drop"].ran(); ran != n {
			t.Errorf("%d calls ran, want %d", ran, n)
		}
		if got >= n {
			t.Errorf("%d commits for %d turns, want under one a turn", got, n)
		} else {
			t.Logf("%d commits for %d turns", got, n)
		}
	})
}
