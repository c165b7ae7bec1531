package turn

import (
	"errors"
	"fmt"
	"slices"

	"parley/core"
)

// ending is how a run that still goes on or waits is ended from outside.
type ending struct {
	run     core.RunStatus
	input   core.InputState
	call    core.CallStatus
	outcome core.Outcome
	by      core.Closing
	// reason is the plain sentence kept with the run.
	reason string
}

// closeRun ends the open run: every input that waits is closed, every call gets its result. What had
// been approved does not run. The row that tells of it edits the prompts.
func (a *act) closeRun(end ending) error {
	for _, id := range a.run.Children {
		child, err := a.tx.Run(id)
		if err != nil {
			return err
		}
		if err := a.closeChild(child, end); err != nil {
			return err
		}
	}
	if err := a.closeCalls(a.run.ID, end); err != nil {
		return err
	}
	for _, in := range a.inputs {
		if !in.Pending() {
			continue
		}
		if err := a.closeInput(in, end); err != nil {
			return err
		}
	}
	return a.endRun(end.run, "", end.reason)
}

// closeChild ends a run below the open one.
func (a *act) closeChild(child core.Run, end ending) error {
	if !child.Status.Open() {
		return nil
	}
	child.Status, child.Reason, child.EndedAt = end.run, end.reason, a.now
	return errors.Join(a.closeCalls(child.ID, end), a.tx.PutRun(child), a.event(core.Event{
		Type: core.EventRunFinished, Run: child.ID, Data: data(map[string]core.RunStatus{"status": end.run}),
	}))
}

func (a *act) closeCalls(run core.RunID, end ending) error {
	calls, err := a.tx.Calls(run)
	if err != nil {
		return err
	}
	for _, c := range calls {
		if c.Done() {
			continue
		}
		if err := a.closeCall(c, end); err != nil {
			return err
		}
	}
	return nil
}

// closeCall gives a call that will not go on its one result.
func (a *act) closeCall(c core.Call, end ending) error {
	in := newest(a.inputs, c)
	var res core.Result
	switch {
	case c.Status == core.CallExecuting && c.Type != core.ToolAgent:
		res = core.ResultInterrupted(c)
	case in != nil && in.State.Settled():
		res = core.ResultNotRun(c, *in, end.outcome)
	case c.Child != "":
		asked := c
		asked.Kind = core.CallAsk // the run below asked for it
		res = core.ResultClosed(asked, end.outcome, end.by)
	default:
		res = core.ResultClosed(c, end.outcome, end.by)
	}
	c.Status, c.Result = end.call, &res
	if c.Type == core.ToolAgent && !c.StartedAt.IsZero() {
		c.EndedAt = a.now // with its run
	}
	return a.tx.PutCall(c)
}

// endRun closes the open run's row and the conversation's hold on it.
func (a *act) endRun(status core.RunStatus, text, reason string) error {
	run := *a.run
	run.Status, run.Text, run.Reason, run.EndedAt = status, text, reason, a.now
	a.conv.Open = ""
	a.run, a.inputs = nil, nil
	return errors.Join(
		a.tx.PutRun(run), a.tx.PutConversation(a.conv),
		a.event(core.Event{Type: core.EventRunFinished, Run: run.ID, Data: data(map[string]core.RunStatus{"status": status})}),
	)
}

// unsure is the call of the open run that may or may not have run and is being asked about.
func (a *act) unsure() *core.Input {
	for i := range a.inputs {
		if a.inputs[i].Pending() && a.inputs[i].Purpose == core.PurposeUnknown {
			return &a.inputs[i]
		}
	}
	return nil
}

// supersede closes what waits and lets the message have its turn, after those that came before it.
func (a *act) supersede(m core.Message) error {
	if in := a.unsure(); in != nil {
		if err := a.out(core.Out{Kind: core.OutNote, Note: core.NoteMayHaveRun, Run: in.Run, Input: in.ID, Person: m.From, ReplyTo: m.ID}); err != nil {
			return err
		}
	}
	run := a.run.ID
	err := a.closeRun(ending{
		run: core.RunSuperseded, input: core.InputSuperseded, call: core.CallSuperseded, outcome: core.OutcomeSuperseded,
		by: core.Closing{By: m.From, Via: "chat", At: a.now},
	})
	if err := errors.Join(err, a.outStop(core.Out{Kind: core.OutEdit, Run: run})); err != nil {
		return err
	}
	queue, err := a.tx.Queue(1)
	switch {
	case err != nil:
		return err
	case len(queue) == 0 && !m.NotBefore.After(a.now):
		return a.start(m)
	}
	if _, err := a.tx.Enqueue(m); err != nil {
		return err
	}
	_, err = a.next()
	return err
}

// abort ends the open run: at once if it waits, at its next transaction if it is running.
func (a *act) abort(by core.Closing, replyTo string) error {
	if a.run.Status == core.RunRunning && a.run.SetAside == "" {
		return a.abortLater(by, replyTo)
	}
	if err := a.cancelled(by, replyTo); err != nil {
		return err
	}
	return a.goOn()
}

// abortLater has a running run end at its next transaction. Where a call runs that comes after the call, so it
// is acknowledged at once; the end is told when it is there.
func (a *act) abortLater(by core.Closing, replyTo string) error {
	if a.run.Abort == nil {
		a.run.Abort = &by
		calls, err := treeCalls(a.tx, *a.run)
		if err != nil {
			return err
		}
		running := func(c core.Call) bool { return c.Status == core.CallExecuting && c.Type != core.ToolAgent }
		if slices.ContainsFunc(calls, running) {
			if err := a.out(core.Out{Kind: core.OutNote, Note: core.NoteAborting, Run: a.run.ID, Person: by.By, ReplyTo: replyTo}); err != nil {
				return err
			}
		}
	}
	return errors.Join(a.tx.PutRun(*a.run), a.wakeAt(a.now))
}

// cancelled ends the open run because somebody wanted it to stop.
func (a *act) cancelled(by core.Closing, replyTo string) error {
	run := a.run.ID
	err := a.closeRun(ending{
		run: core.RunCancelled, input: core.InputCancelled, call: core.CallCancelled, outcome: core.OutcomeCancelled, by: by,
		reason: fmt.Sprintf("cancelled by %s", by.By),
	})
	return errors.Join(err, a.outStop(core.Out{Kind: core.OutNote, Note: core.NoteAborted, Run: run, Person: by.By, ReplyTo: replyTo}))
}

// goOn lets the queue have its turn after the open run ended.
func (a *act) goOn() error {
	_, err := a.next()
	return err
}

// expireDue closes the inputs of the open run that nobody answered in time.
func (a *act) expireDue() error {
	if a.run == nil || a.run.Status != core.RunInputRequired {
		return nil
	}
	var due []core.Input
	whole := false
	for _, in := range a.inputs {
		if in.Pending() && !in.ExpiresAt.IsZero() && !in.ExpiresAt.After(a.now) {
			due = append(due, in)
			whole = whole || in.Run == a.run.ID
		}
	}
	if len(due) == 0 {
		return nil
	}
	if whole && !a.human.ResumeOnExpire {
		run, in := a.run.ID, due[0].ID
		err := a.closeRun(a.expired())
		return errors.Join(err, a.outStop(core.Out{Kind: core.OutNote, Note: core.NoteExpired, Run: run, Input: in}), a.goOn())
	}
	for _, in := range due {
		if err := a.expireOne(in); err != nil {
			return err
		}
	}
	err := a.outStop(core.Out{Kind: core.OutNote, Note: core.NoteExpired, Run: a.run.ID, Input: due[0].ID})
	return errors.Join(err, a.proceed())
}

func (a *act) expired() ending {
	return ending{
		run: core.RunExpired, input: core.InputExpired, call: core.CallExpired, outcome: core.OutcomeExpired,
		by: core.Closing{At: a.now}, reason: "nobody answered in time",
	}
}

// expireOne closes one overdue input of a run that goes on. Of a run below the open one the whole run is
// closed, which is a result to its parent, unless its agent lets it go on.
func (a *act) expireOne(in core.Input) error {
	agent, ok := a.e.agents(in.Agent)
	if in.Run == a.run.ID || ok && agent.Human.ResumeOnExpire {
		return a.closeInput(in, a.expired())
	}
	runs, err := a.below(in.Run)
	if err != nil {
		return err
	}
	for _, run := range runs {
		for _, other := range a.inputs {
			if other.Run == run.ID && other.Pending() {
				if err := a.closeInput(other, a.expired()); err != nil {
					return err
				}
			}
		}
		if err := a.closeChild(run, a.expired()); err != nil {
			return err
		}
	}
	return nil
}

// below are a child run and all runs below it.
func (a *act) below(id core.RunID) ([]core.Run, error) {
	var runs []core.Run
	in := map[core.RunID]bool{id: true}
	for _, child := range a.run.Children { // a parent stands before its children
		run, err := a.tx.Run(child)
		if err != nil {
			return nil, err
		}
		if in[run.ID] || in[run.Parent] {
			in[run.ID] = true
			runs = append(runs, run)
		}
	}
	return runs, nil
}

// closeInput ends an input without an answer.
func (a *act) closeInput(in core.Input, end ending) error {
	in.State = end.input
	in.Settled = &core.Settled{By: end.by.By, Via: end.by.Via, At: end.by.At}
	return errors.Join(a.putInput(in), a.resolved(in))
}
