package bolt_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"parley/core"
	"parley/core/turn"
	"parley/store/storetest"
)

func TestFaultyPassesTheSuite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) turn.Store {
		return storetest.NewFaulty(openNew(dir)(t, clock))
	})
}

// TestFaultyAtEachCommit writes five steps and stops, fails or panics at each of them, on each side.
func TestFaultyAtEachCommit(t *testing.T) {
	t.Parallel()
	const n = 5
	for at := 1; at <= n; at++ {
		for _, when := range []storetest.When{storetest.Before, storetest.After} {
			for kind, arm := range map[string]func(*storetest.Faulty, int, storetest.When){
				"stop": (*storetest.Faulty).StopAt, "fail": (*storetest.Faulty).FailAt, "panic": (*storetest.Faulty).PanicAt,
			} {
				t.Run(fmt.Sprint(kind, " ", when, " ", at), func(t *testing.T) {
					t.Parallel()
					s := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), storetest.NewClock())
					f := storetest.NewFaulty(s)
					arm(f, at, when)
					faultySteps(t, f, kind, n, at, when)
				})
			}
		}
	}
}

func faultySteps(t *testing.T, f *storetest.Faulty, kind string, n, at int, when storetest.When) {
	t.Helper()
	for i := 1; i <= n; i++ {
		var err error
		panicked := func() (r any) {
			defer func() { r = recover() }()
			err = f.Update(t.Context(), turn.Scope{Conversation: "c"}, step("r", fmt.Sprint(i)))
			return nil
		}()
		want := map[bool]error{true: map[string]error{"stop": storetest.ErrStopped, "fail": storetest.ErrFault}[kind]}[i == at]
		if kind == "stop" && i > at {
			want = storetest.ErrStopped
		}
		if !errors.Is(err, want) || (panicked != nil) != (kind == "panic" && i == at) {
			t.Errorf("commit %d: %v, panic %v", i, err, panicked)
		}
	}
	stored := n
	if kind == "stop" {
		stored = at
	}
	if when == storetest.Before {
		stored-- // the one that was hit
	}
	err := f.Inner().View(t.Context(), "c", func(rd turn.Reader) error {
		steps, err := rd.Journal("r")
		if len(steps) != stored || f.Commits() != stored {
			t.Errorf("%d steps stored and %d commits counted, want %d", len(steps), f.Commits(), stored)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestFaultyStopped(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	s := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), clock)
	f := storetest.NewFaulty(s)
	err := f.Update(t.Context(), turn.Scope{Conversation: "c"}, func(tx turn.Tx) error { return tx.WakeAt(tx.Now()) })
	if err != nil {
		t.Fatal(err)
	}
	f.StopAt(2, storetest.Before)
	if c, err := f.Claim(t.Context(), time.Minute); c != nil || !errors.Is(err, storetest.ErrStopped) {
		t.Fatalf("claim: %+v, %v", c, err)
	}
	<-f.Stopped()
	ctx := t.Context()
	_, _, inputs := f.Inputs(ctx, turn.InputFilter{})
	_, input := f.Input(ctx, "i")
	_, run := f.Run(ctx, "r")
	_, overdue := f.Overdue(ctx, 1)
	_, deadline := f.NextDeadline(ctx)
	_, _, outbox := f.Outbox(ctx, "tg", 1)
	_, log := f.Events(ctx, "", 0, 1)
	_, prune := f.Prune(ctx, clock.Now(), 1)
	_, claim := f.Claim(ctx, 1)
	for what, err := range map[string]error{
		"inputs": inputs, "input": input, "run": run, "overdue": overdue, "deadline": deadline, "outbox": outbox, "events": log,
		"prune": prune, "claim": claim, "renew": f.Renew(ctx, &turn.Claim{Conversation: "c"}, 1),
		"view":   f.View(ctx, "c", func(turn.Reader) error { return nil }),
		"update": f.Update(ctx, turn.Scope{Conversation: "c"}, func(turn.Tx) error { return nil }),
	} {
		if !errors.Is(err, storetest.ErrStopped) {
			t.Errorf("%s of a stopped store: %v", what, err)
		}
	}
	if c, err := s.Claim(ctx, time.Minute); c == nil || err != nil {
		t.Errorf("the claim that was stopped before it happened is not free: %v", err)
	}
}

// TestFaultyStopsAmidOthers stops among updates that share commits: what is stored are the commits counted.
func TestFaultyStopsAmidOthers(t *testing.T) {
	t.Parallel()
	for _, when := range []storetest.When{storetest.Before, storetest.After} {
		s := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), storetest.NewClock())
		f := storetest.NewFaulty(s)
		f.StopAt(10, when)
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				err := f.Update(t.Context(), turn.Scope{Conversation: storetest.Conv(i)}, step(core.RunID(fmt.Sprint(i)), "x"))
				if err != nil && !errors.Is(err, storetest.ErrStopped) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		stored := 0
		for i := range 40 {
			err := s.View(t.Context(), storetest.Conv(i), func(rd turn.Reader) error {
				steps, err := rd.Journal(core.RunID(fmt.Sprint(i)))
				stored += len(steps)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if want := 9 + int(when); stored != want || f.Commits() != want {
			t.Errorf("stopped %v commit 10: %d stored, %d counted", when, stored, f.Commits())
		}
	}
}

func TestFaultyWrites(t *testing.T) {
	t.Parallel()
	f := storetest.NewFaulty(mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), storetest.NewClock()))
	write := func() error { return f.Update(t.Context(), turn.Scope{Conversation: "c"}, step("r", "x")) }
	f.FailWrites(true)
	if err := write(); !errors.Is(err, storetest.ErrFault) {
		t.Errorf("a write while all fail: %v", err)
	}
	if err := f.View(t.Context(), "c", func(turn.Reader) error { return nil }); err != nil {
		t.Errorf("a read while all writes fail: %v", err)
	}
	f.FailWrites(false)
	if err := write(); err != nil || f.Commits() != 1 {
		t.Errorf("a write once they may: %v, %d commits", err, f.Commits())
	}
}
