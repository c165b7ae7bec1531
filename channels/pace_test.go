package channels

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// fiveThenThree lets five calls of a key through at once, then one every three seconds, ten a second of all.
func fiveThenThree(waitHolds bool) *Pacer {
	return NewPacer(Pacing{
		Now: time.Now, All: Pace{Every: time.Second / 10, Burst: 10}, WaitHolds: waitHolds,
		Of: func(string) Pace { return Pace{Every: 3 * time.Second, Burst: 5} },
	})
}

func TestPacerSpacesTheCallsOfAKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, began := fiveThenThree(false), time.Now()
		for i := range 8 {
			if over, err := p.Turn(t.Context(), "a"); over > 0 || err != nil {
				t.Fatal(i, over, err)
			}
		}
		if d := time.Since(began); d != 9*time.Second {
			t.Errorf("eight calls took %v, want 9 s", d)
		}
		began = time.Now()
		if over, err := p.Turn(t.Context(), "b"); over > 0 || err != nil || time.Since(began) > 0 {
			t.Errorf("another key waited %v: %v, %v", time.Since(began), over, err)
		}
	})
}

func TestPacerSpacesAllCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, began := fiveThenThree(false), time.Now()
		for i := range 40 {
			if over, err := p.Turn(t.Context(), strconv.Itoa(i)); over > 0 || err != nil {
				t.Fatal(i, over, err)
			}
		}
		if d := time.Since(began); d != 3*time.Second {
			t.Errorf("forty keys took %v, want 3 s", d)
		}
	})
}

// Who waits for their turn stops with their context; who would wait long is told when, and spends nothing.
func TestPacerDoesNotLetWaitLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := fiveThenThree(false)
		for range 5 {
			if d, over := p.reserve("a"); d > 0 || over > 0 {
				t.Fatal(d, over)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := p.Turn(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("it ended with %v after %v", err, time.Since(began))
		}
		p.reserve("a")
		for range 3 {
			if over, err := p.Turn(t.Context(), "a"); over != 8*time.Second || err != nil {
				t.Errorf("over %v, %v", over, err)
			}
		}
		if _, err := p.Turn(ctx, "b"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a turn after the end: %v", err)
		}
	})
}

func TestPacerHolds(t *testing.T) {
	t.Parallel()
	for _, waits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := fiveThenThree(waits)
			p.Hold("a", 2*time.Second)
			p.Hold("a", time.Second) // a shorter one changes nothing
			if !p.Held("a") || p.Held("b") {
				t.Error("the hold is not on its key alone")
			}
			began := time.Now()
			over, err := p.Turn(t.Context(), "a")
			if waited := time.Since(began); err != nil || waits && (over != 0 || waited != 2*time.Second) || !waits && (over != 2*time.Second || waited != 0) {
				t.Errorf("waits %v: over %v after %v, %v", waits, over, waited, err)
			}
			p.HoldAll(time.Minute)
			if over, _ := p.Turn(t.Context(), "b"); over != time.Minute || !p.Held("b") {
				t.Errorf("over %v while all are held", over)
			}
			_ = Sleep(t.Context(), time.Minute)
			if over, err := p.Turn(t.Context(), "b"); over > 0 || err != nil || p.Held("b") {
				t.Errorf("held for longer: %v, %v", over, err)
			}
		})
	}
}

func TestPacerTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := fiveThenThree(true)
		for i := range 5 {
			if wait := p.Try("a"); wait != 0 {
				t.Fatal(i, wait)
			}
		}
		for range 2 {
			if wait := p.Try("a"); wait != 3*time.Second {
				t.Errorf("wait %v", wait)
			}
		}
		_ = Sleep(t.Context(), 3*time.Second)
		if wait := p.Try("a"); wait != 0 {
			t.Errorf("wait %v after the pause", wait)
		}
		p.Hold("b", time.Second)
		if wait := p.Try("b"); wait != time.Second {
			t.Errorf("held, wait %v", wait)
		}
	})
}

// Keys that are quiet are forgotten, those that are held are not.
func TestPacerForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer(Pacing{Now: time.Now})
		p.Hold("held", 24*time.Hour)
		for i := range 3 * keptPaces {
			p.Hold(strconv.Itoa(i), time.Millisecond)
			if over, err := p.Turn(t.Context(), "free"); over > 0 || err != nil {
				t.Fatal(over, err)
			}
			_ = Sleep(t.Context(), time.Second)
		}
		if n := len(p.paced); n > keptPaces {
			t.Errorf("%d keys are kept", n)
		}
		if !p.Held("held") {
			t.Error("a held key was forgotten")
		}
	})
}
