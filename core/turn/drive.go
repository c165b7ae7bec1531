package turn

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"parley/core"
	"parley/core/journal"
	"parley/core/model"
)

// Errors that end a driver's pass over a run.
var (
	errSuspended = errors.New("suspended: waits for a person")
	errAborted   = errors.New("aborted")
	errStopping  = errors.New("stopping")
	errClosed    = errors.New("the run was closed from outside") // while a call of it waited for a person
)

// failedError ends a run as failed, with the sentence that the chat is told.
type failedError struct{ sentence string }

func (e *failedError) Error() string { return e.sentence }

// driver advances the runs of one claimed conversation. Everything in it is lost without harm.
type driver struct {
	e     *Engine
	claim *Claim
	soft  context.Context // no step begins after it
	hard  context.Context // running tool calls are cut after it
	begun *core.Call      // executing was written for it in the commit that took the claim

	// ctx is hard with the span of this stretch; span is nil where nothing is traced. left is how it ended.
	ctx  context.Context
	span trace.Span
	left core.RunStatus

	// root is the driver of the open run, the driver itself but below it; at is its place among the calls.
	root *driver
	at   []int
	// below are the drivers of runs below that this pass advances, of the root only.
	below []*driver
	// opens are the inputs that are to be opened when the whole tree stops, of the root only.
	opens []opening
	// discards are inputs whose end is taken back then, of the root only.
	discards []core.InputID
	// shared says that other people read in the conversation, of the root only.
	shared bool

	agent   *Agent
	run     core.Run
	j       *journal.Journal
	calls   map[core.CallID]*core.Call
	inputs  map[core.InputID]core.Input
	sorted  []core.InputID  // of inputs, as they were opened
	earlier []model.Message // of the conversation before this run; nil: not read yet
	first   *model.Message  // what the run is about; nil: not made yet
	album   album           // pictures of both; nil where the model sees none
	msgs    []model.Message // of this run
	dirty   []*core.Call    // rows to be written with the next commit
	waiting sync.Mutex      // one input at a time is opened by calls that go on
}

// drive advances a claimed conversation until it waits, has nothing to do, or the engine stops.
func (e *Engine) drive(soft, hard context.Context, c *Claim, begun *core.Call) {
	hard, lost := context.WithCancelCause(hard)
	defer lost(nil)
	go e.renew(hard, c, func(err error) { lost(err) })
	for {
		again, err := e.pass(soft, hard, c, begun)
		begun = nil
		switch {
		case err == nil && again:
			continue
		case err == nil, errors.Is(err, ErrFenced), errors.Is(err, errStopping), hard.Err() != nil:
			if err != nil && !errors.Is(err, errStopping) {
				e.log.Warn("leave a conversation", "conversation", c.Conversation, "err", err)
			}
			e.news.tell(c.Conversation)
			return
		}
		e.log.Error("advance a conversation", "conversation", c.Conversation, "err", err)
		e.setBack(hard, c, err)
		return
	}
}

// pass advances the open run once: to its end, to its next wait, or to an error. again: there is more.
func (e *Engine) pass(soft, hard context.Context, c *Claim, begun *core.Call) (again bool, err error) {
	d := &driver{e: e, claim: c, soft: soft, hard: hard, begun: begun}
	d.root = d
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		d.untraced(d.left, err)
	}()
	open, err := d.load()
	if err != nil {
		return false, err
	}
	if !open {
		return d.pickUp()
	}
	d.traced(hard)
	err = d.advance()
	var failed *failedError
	var stopped *stoppedError
	switch {
	case err == nil:
		return d.finish(core.RunCompleted, "")
	case errors.Is(err, errSuspended):
		return d.suspend()
	case errors.Is(err, errAborted):
		return d.cancelled()
	case errors.Is(err, errParked):
		return d.park()
	case errors.Is(err, errStopping):
		return false, errors.Join(err, d.save())
	case errors.Is(err, errClosed):
		d.left = d.nowIs()
		return d.pickUp()
	case errors.As(err, &stopped):
		return d.stop(stopped.by)
	case errors.As(err, &failed):
		return d.finish(core.RunFailed, failed.sentence)
	}
	return false, err
}

// load reads the open run; open is false where nothing is to be advanced.
func (d *driver) load() (open bool, err error) {
	var conv core.Conversation
	err = d.e.store.View(d.hard, d.claim.Conversation, func(r Reader) error {
		conv, err = r.Conversation()
		return err
	})
	if err != nil || conv.Open == "" {
		return false, err
	}
	if err := d.read(conv.Open); err != nil {
		return false, err
	}
	agent, ok := d.e.agents(d.claim.Conversation.Agent())
	d.agent, d.shared = agent, conv.Shared || d.run.Message.Shared
	return ok && d.run.Status == core.RunRunning && d.run.SetAside == "", nil
}

// read loads one run with all that was recorded of it.
func (d *driver) read(id core.RunID) error {
	var steps []core.Step
	var calls []core.Call
	var inputs []core.Input
	err := d.e.store.View(d.hard, d.claim.Conversation, func(r Reader) (err error) {
		if d.run, err = r.Run(id); err != nil {
			return err
		}
		if steps, err = r.Journal(d.run.ID); err != nil {
			return err
		}
		if calls, err = r.Calls(d.run.ID); err != nil {
			return err
		}
		inputs, err = r.RunInputs(d.run.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("load run %s of %s: %w", id, d.claim.Conversation, err)
	}
	d.j = journal.New(steps)
	d.calls, d.inputs = map[core.CallID]*core.Call{}, map[core.InputID]core.Input{}
	for i := range calls {
		d.calls[calls[i].ID] = &calls[i]
	}
	for _, in := range inputs {
		d.inputs[in.ID] = in
		d.sorted = append(d.sorted, in.ID)
	}
	return nil
}

// pickUp handles a claimed conversation without a run to advance: it starts the next message, or routes
// again what waits beside a prompt, and gives the claim back.
func (d *driver) pickUp() (again bool, err error) {
	err = d.update(func(a *act) error {
		again = false
		if err := a.expireDue(); err != nil {
			return err
		}
		switch {
		case a.agent == nil:
			return a.release(a.now.Add(time.Minute)) // it may come back
		case a.run == nil:
			if _, err := a.next(); err != nil {
				return err
			}
		default:
			if err := errors.Join(a.endDead(), a.reroute(), a.showAgain()); err != nil {
				return err
			}
		}
		if again = a.run != nil && a.run.Status == core.RunRunning && a.run.SetAside == ""; again {
			return nil
		}
		return a.release(time.Time{})
	})
	return again, err
}

// finish ends the run; the next message that waits starts in the same commit.
func (d *driver) finish(status core.RunStatus, reason string) (again bool, err error) {
	d.left = status
	text := d.run.Text
	if status == core.RunFailed {
		text = ""
	}
	err = d.commit(func(a *act) error {
		again = false
		err := a.outStop(core.Out{Kind: core.OutReply, Run: d.run.ID, Text: text, ReplyTo: d.run.Message.ID})
		if status == core.RunFailed { // what was approved cannot go on
			err = errors.Join(err, a.closeRun(ending{run: status, input: core.InputCancelled, call: core.CallFailed, outcome: core.OutcomeCancelled, by: core.Closing{At: a.now}, reason: reason}))
		} else {
			err = errors.Join(err, a.endRun(status, text, reason))
		}
		if err != nil {
			return err
		}
		return d.after(a, &again)
	})
	return again, err
}

// cancelled ends the run because somebody wanted it to stop.
func (d *driver) cancelled() (again bool, err error) {
	d.left = core.RunCancelled
	err = d.update(func(a *act) error {
		again = false
		if a.run == nil || a.run.Abort == nil {
			return errClosed
		}
		if err := errors.Join(d.flush(a), d.flushBelow(a)); err != nil {
			return err
		}
		if err := a.cancelled(*a.run.Abort, ""); err != nil {
			return err
		}
		return d.after(a, &again)
	})
	return again, err
}

// stop ends the run because a person said so about a call that may have run.
func (d *driver) stop(by core.Closing) (again bool, err error) {
	d.left = core.RunCancelled
	err = d.commit(func(a *act) error {
		again = false
		if err := errors.Join(d.flushBelow(a), a.cancelled(by, "")); err != nil {
			return err
		}
		return d.after(a, &again)
	})
	return again, err
}

// after starts the next message, or gives the claim back.
func (d *driver) after(a *act, again *bool) error {
	started, err := a.next()
	if err != nil {
		return err
	}
	if *again = started; started {
		return nil
	}
	return a.release(time.Time{})
}

// A run that fails at one place is tried again with a growing pause, then set aside.
const (
	maxStuck  = 5
	stuckWait = time.Second
)

// setBack counts a failed attempt and gives the claim back until the next.
func (e *Engine) setBack(ctx context.Context, c *Claim, cause error) {
	var diverged *journal.DivergedError
	aside := errors.As(cause, &diverged)
	var a *act
	err := e.store.Update(ctx, Scope{Conversation: c.Conversation, Claim: c}, func(tx Tx) error {
		var err error
		if a, err = e.newAct(tx); err != nil {
			return err
		}
		if a.run == nil {
			return a.release(a.now.Add(stuckWait))
		}
		a.run.Stuck++
		if !aside && a.run.Stuck < maxStuck {
			return errors.Join(a.tx.PutRun(*a.run), a.release(a.now.Add(stuckWait<<a.run.Stuck)))
		}
		cause := strings.SplitN(cause.Error(), "\n", 2)[0]
		a.run.SetAside = cause
		return errors.Join(
			a.tx.PutRun(*a.run),
			a.event(core.Event{Type: core.EventSetAside, Run: a.run.ID, Data: data(map[string]string{"cause": cause})}),
			a.out(core.Out{Kind: core.OutNote, Note: core.NoteSetAside, Run: a.run.ID}),
			a.release(time.Time{}),
		)
	})
	if err != nil {
		e.log.Error("set a run back", "conversation", c.Conversation, "err", err)
		return
	}
	e.lookAt(a.now, a.due)
	e.news.tell(c.Conversation)
}
