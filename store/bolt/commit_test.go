package bolt_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/core/turn"
	"parley/store/bolt"
	"parley/store/storetest"
)

// step appends one step to a run's journal.
func step(run core.RunID, name string) func(turn.Tx) error {
	return func(tx turn.Tx) error {
		steps, err := tx.Journal(run)
		if err != nil {
			return err
		}
		return tx.Append(run, len(steps), core.Step{Name: name})
	}
}

// behind runs f in a bubble in which an update is under way until f calls its argument.
func behind(t *testing.T, f func(t *testing.T, s *bolt.Store, letGo func() error)) {
	synctest.Test(t, func(t *testing.T) {
		s := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), storetest.NewClock())
		gate, done := make(chan struct{}), make(chan error, 1)
		go func() {
			done <- s.Update(t.Context(), turn.Scope{Conversation: "gate"}, func(tx turn.Tx) error {
				<-gate
				return step("gate", "x")(tx)
			})
		}()
		synctest.Wait()
		f(t, s, func() error { close(gate); return <-done })
	})
}

func TestWhatWaitsSharesACommit(t *testing.T) {
	t.Parallel()
	behind(t, func(t *testing.T, s *bolt.Store, letGo func() error) {
		const n = 50
		errs := make(chan error, n)
		for i := range n {
			go func() {
				errs <- s.Update(t.Context(), turn.Scope{Conversation: storetest.Conv(i), Lazy: i%2 == 0}, step(core.RunID(fmt.Sprint(i)), "x"))
			}()
		}
		synctest.Wait()
		before := s.Stats()
		if err := letGo(); err != nil {
			t.Fatal(err)
		}
		for range n {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		after := s.Stats()
		if got := after.Commits - before.Commits; got != 2 {
			t.Errorf("%d commits for an update and the %d that waited for it, want 2", got, n)
		}
		if got := after.Updates - before.Updates; got != n+1 {
			t.Errorf("%d updates counted, want %d", got, n+1)
		}
	})
}

// TestFailuresInABatch has every kind of failure amid updates of one conversation: their order stands and
// each closure sees what went before it, and nothing of what failed.
func TestFailuresInABatch(t *testing.T) {
	t.Parallel()
	errBad := errors.New("bad")
	behind(t, func(t *testing.T, s *bolt.Store, letGo func() error) {
		var want []string
		ends := make([]chan string, 12)
		for i := range ends {
			ends[i] = make(chan string, 1)
			if i%4 == 0 {
				want = append(want, fmt.Sprint(i))
			}
			go func() {
				defer func() {
					if r := recover(); r != nil {
						ends[i] <- fmt.Sprint("panic ", r)
					}
				}()
				err := s.Update(t.Context(), turn.Scope{Conversation: "c"}, func(tx turn.Tx) error {
					if i%4 == 1 {
						return errBad
					}
					err := step("r", fmt.Sprint(i))(tx)
					switch i % 4 {
					case 2:
						return errBad
					case 3:
						panic(i)
					}
					return err
				})
				ends[i] <- fmt.Sprint(err)
			}()
			synctest.Wait() // handed in, in order
		}
		if err := letGo(); err != nil {
			t.Fatal(err)
		}
		for i, end := range ends {
			want := []string{"<nil>", "bad", "bad", fmt.Sprint("panic ", i)}[i%4]
			if got := <-end; got != want {
				t.Errorf("update %d ended with %s, want %s", i, got, want)
			}
		}
		var got []string
		err := s.View(t.Context(), "c", func(rd turn.Reader) error {
			steps, err := rd.Journal("r")
			for _, st := range steps {
				got = append(got, st.Name)
			}
			return err
		})
		if fmt.Sprint(got) != fmt.Sprint(want) || err != nil {
			t.Errorf("stored %v, want %v, %v", got, want, err)
		}
	})
}

func TestClosureThatEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	behind(t, func(t *testing.T, s *bolt.Store, letGo func() error) {
		errs := make(chan error, 3)
		for i := range 3 {
			go func() {
				errs <- s.Update(t.Context(), turn.Scope{Conversation: storetest.Conv(i)}, func(tx turn.Tx) error {
					err := step(core.RunID(fmt.Sprint(i)), "x")(tx)
					if i == 1 {
						runtime.Goexit()
					}
					return err
				})
			}()
			synctest.Wait()
		}
		if err := letGo(); err != nil {
			t.Fatal(err)
		}
		bad := 0
		for range 3 {
			if <-errs != nil {
				bad++
			}
		}
		if bad != 1 {
			t.Errorf("%d updates failed, want the one that never returned", bad)
		}
		if err := s.Update(t.Context(), turn.Scope{Conversation: "c"}, step("r", "x")); err != nil {
			t.Errorf("the store stands still: %v", err)
		}
	})
}

func TestLookingCostsNoCommit(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), storetest.NewClock())
	scope := turn.Scope{Conversation: "c"}
	if err := s.Update(t.Context(), scope, func(tx turn.Tx) error { return tx.WakeAt(tx.Now()) }); err != nil {
		t.Fatal(err)
	}
	c, err := s.Claim(t.Context(), time.Minute)
	if err != nil || c == nil {
		t.Fatal(c, err)
	}
	if got := s.Stats().Commits; got != 2 {
		t.Errorf("%d commits for a wake-up and a claim", got)
	}
	_, err = s.Claim(t.Context(), time.Minute)
	err2 := s.Renew(t.Context(), c, time.Minute)
	err3 := s.Update(t.Context(), scope, func(tx turn.Tx) error { _, err := tx.Conversation(); return err })
	err4 := s.Update(t.Context(), scope, func(tx turn.Tx) error { return errors.New("no") })
	if err := errors.Join(err, err2, err3); err != nil || err4 == nil {
		t.Fatal(err, err4)
	}
	if got := s.Stats().Commits; got != 2 {
		t.Errorf("%d commits after a claim of nothing, a renewal, a read and a failure, want 2", got)
	}
}

// TestClaimsOfTheDead opens a file whose last holder did not release: its claims are free at once, and
// worth nothing.
func TestClaimsOfTheDead(t *testing.T) {
	t.Parallel()
	path, clock := filepath.Join(t.TempDir(), "parley.db"), storetest.NewClock()
	s := mustOpen(t, path, clock)
	var claims []*turn.Claim
	for i := range 5 {
		err := s.Update(t.Context(), turn.Scope{Conversation: storetest.Conv(i)}, func(tx turn.Tx) error {
			c, err := tx.TakeClaim(time.Hour)
			claims = append(claims, c)
			return errors.Join(err, tx.WakeAt(tx.Now()))
		})
		if err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Second)
	}
	for life := range 3 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = mustOpen(t, path, clock)
		err := s.View(t.Context(), storetest.Conv(0), func(rd turn.Reader) error {
			held, err := rd.Held()
			if held {
				t.Error("held by the dead")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		// Each life takes a few more of them and dies with them.
		for i := range life + 1 {
			c, err := s.Claim(t.Context(), time.Hour)
			if err != nil || c == nil || c.Epoch <= claims[len(claims)-1].Epoch {
				t.Fatalf("life %d, claim %d: %+v, %v", life, i, c, err)
			}
			claims = append(claims, c)
		}
	}
	for _, c := range claims[:5] {
		err := s.Update(t.Context(), turn.Scope{Conversation: c.Conversation, Claim: c}, step("r", "x"))
		if !errors.Is(err, turn.ErrFenced) {
			t.Errorf("a claim of a dead instance: %v", err)
		}
	}
	seen := map[core.ConversationID]bool{}
	for range 2 {
		c, err := s.Claim(t.Context(), time.Hour)
		if err != nil || c == nil {
			t.Fatal(c, err)
		}
		seen[c.Conversation] = true
	}
	if c, err := s.Claim(t.Context(), time.Hour); c != nil || err != nil {
		t.Errorf("claimed %+v, %v although all are held", c, err)
	}
}

// TestOpenReadsAHandfulOfKeys opens files with ten and with 10,000 waiting turns.
func TestOpenReadsAHandfulOfKeys(t *testing.T) {
	t.Parallel()
	var keys []uint64
	for _, n := range []int{10, 10_000} {
		path := filepath.Join(t.TempDir(), "parley.db")
		s := mustOpen(t, path, storetest.NewClock())
		fillFast(t, s, n)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = mustOpen(t, path, storetest.NewClock())
		at := s.Stats()
		if at.Commits != 0 {
			t.Errorf("opening wrote %d times", at.Commits)
		}
		for range 3 { // what an engine does as it starts
			_, err := s.Claim(t.Context(), time.Minute)
			_, err2 := s.Overdue(t.Context(), 10)
			_, err3 := s.NextDeadline(t.Context())
			_, _, err4 := s.Outbox(t.Context(), "tg", 10)
			if err := errors.Join(err, err2, err3, err4); err != nil {
				t.Fatal(err)
			}
		}
		keys = append(keys, s.Stats().Keys)
	}
	if keys[0] != keys[1] || keys[1] > 50 {
		t.Errorf("keys read with 10 and with 10,000 waiting turns: %v", keys)
	}
}

// fillFast stores n waiting turns, many in a commit.
func fillFast(t testing.TB, s *bolt.Store, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for w := range 128 {
		wg.Go(func() {
			for i := w; i < n; i += 128 {
				err := s.Update(t.Context(), turn.Scope{Conversation: storetest.Conv(i)}, func(tx turn.Tx) error {
					return storetest.Put(tx, storetest.Waiting(i, tx.Now()))
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
