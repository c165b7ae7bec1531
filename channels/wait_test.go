package channels

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackoffGrowsToItsLongestAndBeginsAgain(t *testing.T) {
	t.Parallel()
	for _, longest := range []time.Duration{0, 3 * time.Second, time.Minute} {
		b := Backoff{Longest: longest}
		last := longest
		if last == 0 {
			last = 30 * time.Second
		}
		for range 2 {
			for step, i := FirstPause, 0; i < 9; step, i = min(2*step, last), i+1 {
				if d := b.Pause(); d < step/2 || d >= step {
					t.Errorf("longest %v: pause %d is %v, want %v to %v", longest, i, d, step/2, step)
				}
			}
			b.Reset()
		}
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := Sleep(t.Context(), time.Second); err != nil || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
