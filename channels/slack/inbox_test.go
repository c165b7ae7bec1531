package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
)

// A retry joins what waits, lanes do not wait for each other, and what is too much is left with Slack.
func TestInbox(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(context.Background())
		in := newInbox(ctx, slog.New(slog.DiscardHandler))
		tries := 0
		stuck := func(context.Context) error { tries++; return errors.New("locked") }
		one, err := in.submit("a", "m1", stuck)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := in.submit("a", "m1", stuck); err != nil || again != one {
			t.Errorf("a second job for one message: %v", err)
		}
		var order []int
		for i := range 3 {
			if _, err := in.submit("b", fmt.Sprint(i), func(context.Context) error { order = append(order, i); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if fmt.Sprint(order) != "[0 1 2]" || tries != 1 {
			t.Errorf("order %v, %d tries", order, tries)
		}
		for i := 1; i < maxWaiting; i++ {
			if _, err := in.submit("a", fmt.Sprint("more ", i), stuck); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := in.submit("c", "one too many", stuck); !errors.Is(err, errFull) {
			t.Errorf("%v", err)
		}
		stop()
		in.wait()
		<-one.done
		if one.err == nil {
			t.Error("a job that was not done counts as done")
		}
		if _, err := in.submit("c", "late", stuck); err == nil {
			t.Error("taken in after the end")
		}
	})
}

func TestRecent(t *testing.T) {
	t.Parallel()
	r := newRecent[int](2)
	for i := range 5 {
		r.set(fmt.Sprint(i), i)
	}
	if _, ok := r.get("0"); ok {
		t.Error("nothing is forgotten")
	}
	if v, ok := r.get("4"); !ok || v != 4 {
		t.Error("the newest is forgotten")
	}
	if r.claim("4", 9) != 4 || r.claim("5", 9) != 9 || r.claim("5", 8) != 9 {
		t.Error("claim")
	}
	r.forget("5")
	if _, ok := r.get("5"); ok {
		t.Error("forget")
	}
}
