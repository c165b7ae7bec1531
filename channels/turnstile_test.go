package channels

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

func TestTurnstileKeepsOrderWithinAKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, ctx := &Turnstile[string]{}, t.Context()
		first, err := l.Enter(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for i := range 20 {
			go func() {
				tk, err := l.Enter(ctx, "a")
				if err != nil {
					t.Error(err)
					return
				}
				got = append(got, i) // guarded by the turnstile itself: the race detector would tell
				l.Leave("a", tk, nil)
			}()
			synctest.Wait()
		}
		other, err := l.Enter(ctx, "b") // not held up by a
		if err != nil {
			t.Fatal(err)
		}
		l.Leave("b", other, nil)
		if len(got) != 0 {
			t.Fatalf("%v went past the one inside", got)
		}
		l.Leave("a", first, nil)
		synctest.Wait()
		if !slices.IsSorted(got) || len(got) != 20 {
			t.Errorf("order %v", got)
		}
		if len(l.m) != 0 {
			t.Errorf("%d keys are kept", len(l.m))
		}
	})
}

func TestTurnstileTurnsAwayWhatStandsBehindAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, ctx := &Turnstile[string]{}, t.Context()
		first, _ := l.Enter(ctx, "a")
		boom, errs := errors.New("boom"), make(chan error, 2)
		for range 2 {
			go func() {
				_, err := l.Enter(ctx, "a")
				errs <- err
			}()
		}
		synctest.Wait()
		l.Leave("a", first, boom)
		for range 2 {
			if err := <-errs; !errors.Is(err, boom) {
				t.Errorf("got %v, want the failure before it", err)
			}
		}
		again, err := l.Enter(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		l.Leave("a", again, nil)
	})
}

func TestTurnstileGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &Turnstile[string]{}
		first, _ := l.Enter(t.Context(), "a")
		ctx, cancel := context.WithCancel(t.Context())
		gone, last := make(chan error, 1), make(chan error, 1)
		go func() { _, err := l.Enter(ctx, "a"); gone <- err }()
		synctest.Wait()
		go func() { _, err := l.Enter(t.Context(), "a"); last <- err }()
		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		l.Leave("a", first, nil)
		if err := <-last; err != nil {
			t.Errorf("the one behind the one who gave up: %v", err)
		}
	})
}
