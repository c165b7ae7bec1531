package bolt_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"parley/core"
	"parley/core/turn"
	"parley/store/storetest"
)

// TestListsDoNotScan counts the keys that each list reads beside 2,000 turns that wait, are to be woken
// later and have a row to be sent later.
func TestListsDoNotScan(t *testing.T) {
	t.Parallel()
	const n = 2000
	clock := storetest.NewClock()
	s := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), clock)
	fillFast(t, s, n)
	later := clock.Now().Add(time.Minute)
	err := s.Update(t.Context(), turn.Scope{Conversation: "x"}, func(tx turn.Tx) error { return tx.WakeAt(later) })
	if err != nil {
		t.Fatal(err)
	}
	delay(t, s, n, later)
	ctx := t.Context()
	_, next, err := s.Inputs(ctx, turn.InputFilter{Limit: n / 2})
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		most uint64
		f    func() error
	}{
		"first page":         {25, func() error { _, _, err := s.Inputs(ctx, turn.InputFilter{Limit: 10}); return err }},
		"page in the middle": {25, func() error { _, _, err := s.Inputs(ctx, turn.InputFilter{Limit: 10, After: next}); return err }},
		"page of a person": {25, func() error {
			_, _, err := s.Inputs(ctx, turn.InputFilter{Limit: 10, Responder: "telegram:43", After: next})
			return err
		}},
		"page of a stranger":     {2, func() error { _, _, err := s.Inputs(ctx, turn.InputFilter{Responder: "telegram:1"}); return err }},
		"page of settled inputs": {2, func() error { _, _, err := s.Inputs(ctx, turn.InputFilter{State: core.InputAccepted}); return err }},
		"inputs of a run":        {5, func() error { _, _, err := s.Inputs(ctx, turn.InputFilter{Run: "r00000007"}); return err }},
		"inputs of a place": {5, func() error {
			_, _, err := s.Inputs(ctx, turn.InputFilter{Conversation: storetest.Conv(7)})
			return err
		}},
		"nothing overdue":  {2, func() error { _, err := s.Overdue(ctx, 10); return err }},
		"next deadline":    {2, func() error { _, err := s.NextDeadline(ctx); return err }},
		"nothing due":      {3, func() error { _, err := s.Claim(ctx, time.Minute); return err }},
		"nothing to send":  {3, func() error { _, _, err := s.Outbox(ctx, "tg", 10); return err }},
		"another channel":  {3, func() error { _, _, err := s.Outbox(ctx, "work", 10); return err }},
		"nothing to prune": {5, func() error { _, err := s.Prune(ctx, clock.Now(), 10); return err }},
	} {
		before := s.Stats().Keys
		if err := c.f(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := s.Stats().Keys - before; got > c.most {
			t.Errorf("%s: %d keys read, want at most %d", what, got, c.most)
		}
	}
}

// delay gives each of n conversations a wake-up and an unsent row of a later time.
func delay(t *testing.T, s turn.Store, n int, later time.Time) {
	t.Helper()
	done := make(chan error, n)
	for i := range n {
		go func() {
			done <- s.Update(t.Context(), turn.Scope{Conversation: storetest.Conv(i)}, func(tx turn.Tx) error {
				_, err := tx.AddOut(core.Out{NextAt: later})
				return errors.Join(err, tx.WakeAt(later))
			})
		}()
	}
	for range n {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}
