package storetest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core"
	"parley/core/turn"
)

// Open makes an empty store that judges by clock. What it opens it closes in t.Cleanup; the suite closes
// stores itself as well, so Close must bear being called twice.
type Open func(t *testing.T, clock *Clock) turn.Store

// cases are the suite, by the part of the port that they demand.
var cases = []struct {
	name string
	f    func(*env)
}{
	{"rows come back whole", rowsComeBack},
	{"a missing row is not found", missingRows},
	{"a row of another conversation is refused", foreignRows},
	{"nothing read is memory of the store", nothingShared},
	{"bytes that are not text keep the indexes in step", invalidText},
	{"the journal grows at its end only", journalGrows},
	{"calls come in call order, inputs as they were opened", orderWithinRun},
	{"a failed closure leaves no trace", failedClosure},
	{"closures that fail do not disturb others", isolation},
	{"a panic reaches its own caller only", panics},
	{"updates of one conversation keep their order", keepsOrder},
	{"a message is seen once", seenOnce},
	{"the queue is first in, first out", queueOrder},
	{"one holder at a time", oneHolder},
	{"a claim that was given back is fenced", fenced},
	{"a claim left to its time to live", timeToLive},
	{"the conversation due longest comes first", dueLongest},
	{"due at the very moment", dueExactly},
	{"no wake-up is lost while held", wakeWhileHeld},
	{"the earlier of two wake-ups counts", earlierWake},
	{"a hint follows a wake-up", hints},
	{"claim and release in one transaction", claimAndRelease},
	{"inputs are found by each of their names", inputFilters},
	{"a settled input leaves the lists of what waits", settledLeaves},
	{"pages are complete while inputs come and go", pagesUnderChange},
	{"inputs of one moment are paged by id", pagesOfOneMoment},
	{"overdue at the very deadline", overdueExactly},
	{"the deadlines are an index", deadlines},
	{"a prompt's message finds its input", prompted},
	{"the outbox shows the oldest row of each conversation", outboxHeads},
	{"a row that must wait holds back those behind it", outboxWaits},
	{"an outbox keeps to its channel", outboxChannels},
	{"events have one order", events},
	{"prune removes what ended, and all of it", pruneEnded},
	{"prune never removes what waits", pruneKeeps},
	{"a child goes with its root", pruneTree},
	{"a history ends where its tail was removed", pruneChain},
	{"random claims, releases, wake-ups and clock jumps", claimModel},
}

// bubbles are the cases whose clock is synctest's: they tell when an update waits, and for how long.
var bubbles = []struct {
	name string
	f    func(*env)
}{
	{"a lazy update comes before a later one", lazyOrder},
	{"a lazy update ends by itself", lazyAlone},
	{"an update whose context ended is dropped", cancelled},
	{"close writes what is queued", closeDrains},
}

// Run runs the conformance suite.
func Run(t *testing.T, open Open) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.f(newEnv(t, open))
		})
	}
	for _, c := range bubbles {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := newEnv(t, open)
				c.f(e)
				if err := e.s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// env is one test's store, its clock and short ways to use both.
type env struct {
	*testing.T
	open  Open
	clock *Clock
	s     turn.Store
	ctx   context.Context
}

func newEnv(t *testing.T, open Open) *env {
	clock := NewClock()
	return &env{T: t, open: open, clock: clock, s: open(t, clock), ctx: t.Context()}
}

func (e *env) now() time.Time { return e.clock.Now() }

// do runs f in an update without a claim and demands that it succeeds.
func (e *env) do(conv core.ConversationID, f func(turn.Tx) error) {
	e.Helper()
	if err := e.s.Update(e.ctx, turn.Scope{Conversation: conv}, f); err != nil {
		e.Fatalf("update %s: %v", conv, err)
	}
}

// under runs f under a claim and returns the error.
func (e *env) under(c *turn.Claim, f func(turn.Tx) error) error {
	return e.s.Update(e.ctx, turn.Scope{Conversation: c.Conversation, Claim: c}, f)
}

func (e *env) look(conv core.ConversationID, f func(turn.Reader) error) {
	e.Helper()
	if err := e.s.View(e.ctx, conv, f); err != nil {
		e.Fatalf("view %s: %v", conv, err)
	}
}

// put stores the rows of a run.
func (e *env) put(r Rows) {
	e.Helper()
	e.do(r.Run.Conversation, func(tx turn.Tx) error { return Put(tx, r) })
}

// Put writes the rows that make up a run: conversation, run, steps, call and input.
func Put(tx turn.Tx, r Rows) error {
	return errors.Join(
		tx.PutConversation(r.Conversation),
		tx.PutRun(r.Run),
		tx.Append(r.Run.ID, 0, r.Steps...),
		tx.PutCall(r.Call),
		tx.PutInput(r.Input))
}

func (e *env) claim() *turn.Claim {
	e.Helper()
	c, err := e.s.Claim(e.ctx, time.Minute)
	if err != nil {
		e.Fatalf("claim: %v", err)
	}
	return c
}

// claimOf demands that the next claim is on conv.
func (e *env) claimOf(conv core.ConversationID) *turn.Claim {
	e.Helper()
	c := e.claim()
	if c == nil || c.Conversation != conv {
		e.Fatalf("claimed %+v, want %s", c, conv)
	}
	return c
}

func (e *env) noClaim(why string) {
	e.Helper()
	if c := e.claim(); c != nil {
		e.Fatalf("claimed %+v: %s", c, why)
	}
}

func (e *env) wake(conv core.ConversationID, at time.Time) {
	e.Helper()
	e.do(conv, func(tx turn.Tx) error { return tx.WakeAt(at) })
}

func (e *env) release(c *turn.Claim, due time.Time) {
	e.Helper()
	if err := e.under(c, func(tx turn.Tx) error { return tx.Release(due) }); err != nil {
		e.Fatalf("release: %v", err)
	}
}

// same demands equality, with a diff of what is not.
func (e *env) same(what string, got, want any) {
	e.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		e.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (e *env) is(what string, err, want error) {
	e.Helper()
	if !errors.Is(err, want) {
		e.Errorf("%s: %v, want %v", what, err, want)
	}
}

func (e *env) inputs(f turn.InputFilter) []core.InputID {
	e.Helper()
	page, _, err := e.s.Inputs(e.ctx, f)
	if err != nil {
		e.Fatalf("inputs %+v: %v", f, err)
	}
	return ids(page)
}

func ids(page []core.Input) []core.InputID {
	out := []core.InputID{}
	for _, in := range page {
		out = append(out, in.ID)
	}
	return out
}
