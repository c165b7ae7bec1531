package bolt_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/core"
	"parley/core/turn"
	"parley/store/storetest"
)

// mutantEnv names the broken store that a child process of the test runs the suite on.
const mutantEnv = "PARLEY_TEST_MUTANT"

// mutants break one promise each; the suite's case of that name must notice.
var mutants = map[string]struct {
	breaks func(turn.Store) turn.Store
	case_  string
}{
	"a store without a fence":      {func(s turn.Store) turn.Store { return unfenced{s} }, "a_claim_that_was_given_back_is_fenced"},
	"a store that loses wake-ups":  {func(s turn.Store) turn.Store { return &changed{Store: s, tx: deaf} }, "no_wake-up_is_lost_while_held"},
	"a store that forgets":         {func(s turn.Store) turn.Store { return &changed{Store: s, tx: forgetful} }, "a_message_is_seen_once"},
	"a store that keeps failures":  {func(s turn.Store) turn.Store { return leaky{s} }, "a_failed_closure_leaves_no_trace"},
	"a store that expires late":    {func(s turn.Store) turn.Store { return late{s} }, "overdue_at_the_very_deadline"},
	"a store whose pages repeat":   {func(s turn.Store) turn.Store { return repeating{s} }, "inputs_of_one_moment_are_paged_by_id"},
	"a store without back-off":     {func(s turn.Store) turn.Store { return &changed{Store: s, tx: hasty} }, "a_row_that_must_wait_holds_back_those_behind_it"},
	"a store that reorders lazies": {func(s turn.Store) turn.Store { return eager{s} }, "a_lazy_update_comes_before_a_later_one"},
}

func TestMutantStore(t *testing.T) {
	name := os.Getenv(mutantEnv)
	if name == "" {
		t.Skip("runs in the child of TestSuiteNoticesBrokenStores")
	}
	dir := t.TempDir()
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) turn.Store {
		return mutants[name].breaks(openNew(dir)(t, clock))
	})
}

func TestSuiteNoticesBrokenStores(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(exe, "-test.run=^TestMutantStore$/^"+regexp.QuoteMeta(m.case_)+"$")
			cmd.Env = append(os.Environ(), mutantEnv+"="+name)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestMutantStore/"+m.case_) {
				t.Errorf("the suite did not notice: %v\n%s", err, out)
			}
		})
	}
}

// unfenced writes under a claim that is not current as under the one that is.
type unfenced struct{ turn.Store }

func (s unfenced) Update(ctx context.Context, at turn.Scope, f func(turn.Tx) error) error {
	err := s.Store.Update(ctx, at, f)
	if errors.Is(err, turn.ErrFenced) {
		at.Claim = nil
		return s.Store.Update(ctx, at, f)
	}
	return err
}

// changed hands out another Tx.
type changed struct {
	turn.Store
	tx func(turn.Tx) turn.Tx
}

func (s *changed) Update(ctx context.Context, at turn.Scope, f func(turn.Tx) error) error {
	return s.Store.Update(ctx, at, func(tx turn.Tx) error { return f(s.tx(tx)) })
}

func (s *changed) View(ctx context.Context, id core.ConversationID, f func(turn.Reader) error) error {
	return s.Store.View(ctx, id, func(rd turn.Reader) error {
		if _, ok := s.tx(nil).(forgetfulTx); ok {
			return f(forgetfulReader{rd})
		}
		return f(rd)
	})
}

type deafTx struct{ turn.Tx }

func deaf(tx turn.Tx) turn.Tx { return deafTx{tx} }

func (t deafTx) WakeAt(due time.Time) error {
	if held, err := t.Held(); held || err != nil {
		return err
	}
	return t.Tx.WakeAt(due)
}

type forgetfulTx struct{ turn.Tx }

func forgetful(tx turn.Tx) turn.Tx { return forgetfulTx{tx} }

type forgetfulReader struct{ turn.Reader }

func (forgetfulReader) Seen(string) (bool, error) { return false, nil }

type hastyTx struct{ turn.Tx }

func hasty(tx turn.Tx) turn.Tx { return hastyTx{tx} }

func (t hastyTx) PutOut(o core.Out) error {
	o.NextAt = time.Time{}
	return t.Tx.PutOut(o)
}

type leaky struct{ turn.Store }

func (s leaky) Update(ctx context.Context, at turn.Scope, f func(turn.Tx) error) error {
	var failed error
	err := s.Store.Update(ctx, at, func(tx turn.Tx) error { failed = f(tx); return nil })
	return errors.Join(failed, err)
}

type late struct{ turn.Store }

func (s late) Overdue(ctx context.Context, limit int) ([]core.Input, error) {
	all, err := s.Store.Overdue(ctx, limit)
	for len(all) > 0 && !all[len(all)-1].ExpiresAt.Before(s.Now()) {
		all = all[:len(all)-1]
	}
	return all, err
}

// repeating pages by creation alone.
type repeating struct{ turn.Store }

func (s repeating) Inputs(ctx context.Context, f turn.InputFilter) (page []core.Input, next string, err error) {
	if len(f.After) > 16 {
		f.After = f.After[:16]
	}
	page, next, err = s.Store.Inputs(ctx, f)
	if len(page) > 0 && f.After != "" {
		next = "" // else it would page for ever
	}
	return page, next, err
}

// eager lets a lazy update wait by itself, out of the order it came in.
type eager struct{ turn.Store }

func (s eager) Update(ctx context.Context, at turn.Scope, f func(turn.Tx) error) error {
	if at.Lazy {
		<-time.After(100 * time.Millisecond)
		at.Lazy = false
	}
	return s.Store.Update(ctx, at, f)
}
