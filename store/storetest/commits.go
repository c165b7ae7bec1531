package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/core/turn"
)

var errBad = errors.New("bad")

func (e *env) journal(conv core.ConversationID, run core.RunID) (names []string) {
	e.Helper()
	e.look(conv, func(rd turn.Reader) error {
		steps, err := rd.Journal(run)
		for _, s := range steps {
			names = append(names, s.Name)
		}
		return err
	})
	return names
}

func failedClosure(e *env) {
	r := Waiting(1, e.now())
	err := e.s.Update(e.ctx, turn.Scope{Conversation: Conv(1)}, func(tx turn.Tx) error {
		_, err := tx.AddOut(r.Out)
		_, err2 := tx.Enqueue(r.Message)
		return errors.Join(Put(tx, r), err, err2, tx.MarkSeen("m"), tx.AddEvent(r.Event), tx.WakeAt(e.now()), errBad)
	})
	e.is("update", err, errBad)
	e.noClaim("the wake-up was undone")
	e.same("inputs", len(e.inputs(turn.InputFilter{})), 0)
	e.look(Conv(1), func(rd turn.Reader) error {
		_, err := rd.Run(r.Run.ID)
		e.is("run", err, turn.ErrNotFound)
		seen, err := rd.Seen("m")
		queue, err2 := rd.Queue(0)
		out, err3 := rd.Out()
		if seen || len(queue)+len(out) > 0 {
			e.Errorf("left behind: seen %t, %d queued, %d to send", seen, len(queue), len(out))
		}
		return errors.Join(err, err2, err3)
	})
	log, err := e.s.Events(e.ctx, "", 0, 0)
	if len(log) > 0 || err != nil {
		e.Errorf("events %v, %v", log, err)
	}
}

// isolation hands in many updates at once, of which each third fails after it wrote and each fifth before.
func isolation(e *env) {
	const n = 120
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			errs[i] = e.s.Update(e.ctx, turn.Scope{Conversation: Conv(i)}, func(tx turn.Tx) error {
				if i%5 == 0 {
					return errBad
				}
				if err := tx.Append(core.RunID(fmt.Sprint("r", i)), 0, core.Step{Name: "x"}); err != nil {
					return err
				}
				if i%3 == 0 {
					return fmt.Errorf("late: %w", errBad)
				}
				return nil
			})
		})
	}
	wg.Wait()
	for i, err := range errs {
		bad := i%5 == 0 || i%3 == 0
		if errors.Is(err, errBad) != bad || !bad && err != nil {
			e.Errorf("update %d: %v", i, err)
		}
		if got := len(e.journal(Conv(i), core.RunID(fmt.Sprint("r", i)))); got == 0 != bad {
			e.Errorf("update %d: %d steps stored", i, got)
		}
	}
}

func panics(e *env) {
	const n = 30
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			defer func() {
				if r := recover(); (r != nil) != (i%4 == 0) {
					e.Errorf("update %d: panic %v", i, r)
				}
			}()
			err := e.s.Update(e.ctx, turn.Scope{Conversation: Conv(i)}, func(tx turn.Tx) error {
				err := tx.Append(core.RunID(fmt.Sprint("r", i)), 0, core.Step{Name: "x"})
				if i%4 == 0 {
					panic(fmt.Sprint("at ", i))
				}
				return err
			})
			if err != nil {
				e.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range n {
		if got := len(e.journal(Conv(i), core.RunID(fmt.Sprint("r", i)))); got == 1 == (i%4 == 0) {
			e.Errorf("update %d: %d steps stored", i, got)
		}
	}
}

// appendStep appends one step to the journal of a run, wherever it ends.
func appendStep(run core.RunID, name string) func(turn.Tx) error {
	return func(tx turn.Tx) error {
		steps, err := tx.Journal(run)
		if err != nil {
			return err
		}
		return tx.Append(run, len(steps), core.Step{Name: name})
	}
}

// handIn starts an update and returns once it waits in the store or has ended. It needs a bubble.
func (e *env) handIn(ctx context.Context, at turn.Scope, f func(turn.Tx) error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- e.s.Update(ctx, at, f) }()
	synctest.Wait()
	return done
}

func keepsOrder(e *env) {
	const convs, each = 8, 25
	var wg sync.WaitGroup
	for c := range convs {
		wg.Go(func() {
			run := core.RunID(fmt.Sprint("r", c))
			for i := range each {
				fail := i%7 == 3
				err := e.s.Update(e.ctx, turn.Scope{Conversation: Conv(c)}, func(tx turn.Tx) error {
					if err := appendStep(run, fmt.Sprint(i))(tx); err != nil || !fail {
						return err
					}
					return errBad
				})
				if fail != (err != nil) {
					e.Errorf("update %d of %d: %v", i, c, err)
				}
			}
		})
	}
	wg.Wait()
	var want []string
	for i := range each {
		if i%7 != 3 {
			want = append(want, fmt.Sprint(i))
		}
	}
	for c := range convs {
		e.same(fmt.Sprint("conversation ", c), e.journal(Conv(c), core.RunID(fmt.Sprint("r", c))), want)
	}
}

func lazyOrder(e *env) {
	lazy := turn.Scope{Conversation: Conv(1), Lazy: true}
	first := e.handIn(e.ctx, lazy, appendStep("r", "lazy"))
	second := e.handIn(e.ctx, lazy, appendStep("r", "lazy too"))
	start := time.Now()
	e.do(Conv(1), appendStep("r", "later"))
	if err := errors.Join(<-first, <-second); err != nil {
		e.Fatal(err)
	}
	e.same("journal", e.journal(Conv(1), "r"), []string{"lazy", "lazy too", "later"})
	e.same("time spent", time.Since(start), time.Duration(0))
}

func lazyAlone(e *env) {
	for i := range 3 {
		start := time.Now()
		if err := e.s.Update(e.ctx, turn.Scope{Conversation: Conv(1), Lazy: true}, appendStep("r", fmt.Sprint(i))); err != nil {
			e.Fatal(err)
		}
		if took := time.Since(start); took > 100*time.Millisecond {
			e.Errorf("a lazy update took %s", took)
		}
	}
	e.same("journal", e.journal(Conv(1), "r"), []string{"0", "1", "2"})
}

func cancelled(e *env) {
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	err := e.s.Update(ctx, turn.Scope{Conversation: Conv(1)}, appendStep("r", "never"))
	e.is("update with an ended context", err, context.Canceled)
	ctx, cancel = context.WithCancel(e.ctx)
	done := e.handIn(ctx, turn.Scope{Conversation: Conv(1), Lazy: true}, appendStep("r", "lazy"))
	cancel()
	e.is("update dropped from the queue", <-done, context.Canceled)
	e.do(Conv(1), appendStep("r", "x"))
	e.same("journal", e.journal(Conv(1), "r"), []string{"x"})
}

func closeDrains(e *env) {
	done := e.handIn(e.ctx, turn.Scope{Conversation: Conv(1), Lazy: true}, appendStep("r", "x"))
	start := time.Now()
	if err := e.s.Close(); err != nil {
		e.Fatal(err)
	}
	if err := <-done; err != nil {
		e.Errorf("a queued update met Close: %v", err)
	}
	e.same("time spent", time.Since(start), time.Duration(0))
	if err := e.s.Update(e.ctx, turn.Scope{Conversation: Conv(1)}, appendStep("r", "y")); err == nil {
		e.Error("a closed store took an update")
	}
	if err := e.s.View(e.ctx, Conv(1), func(turn.Reader) error { return nil }); err == nil {
		e.Error("a closed store was read")
	}
	if err := e.s.Close(); err != nil {
		e.Errorf("closed twice: %v", err)
	}
}
