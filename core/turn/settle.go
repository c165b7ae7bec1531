package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/core"
)

// Settle ends one input by name. The error of an answer that was not taken is a *core.AnswerError, and
// then nothing changed. The same answer again returns the input as it was settled.
func (e *Engine) Settle(ctx context.Context, s Settlement) (core.Input, error) {
	in, err := e.store.Input(ctx, s.Input)
	if errors.Is(err, ErrNotFound) {
		return core.Input{}, core.ErrNoInput(s.Input)
	}
	if err != nil {
		return core.Input{}, fmt.Errorf("settle input %s: %w", s.Input, err)
	}
	var refused error
	err = e.act(ctx, in.Conversation, false, func(a *act) error {
		refused = nil
		err := a.expireDue()
		if err == nil {
			in, refused, err = a.settleNamed(s)
		}
		return err
	})
	if err != nil {
		return core.Input{}, fmt.Errorf("settle input %s: %w", s.Input, err)
	}
	return in, refused
}

// settleNamed checks and applies a settlement. refused tells why it was not taken.
func (a *act) settleNamed(s Settlement) (in core.Input, refused, err error) {
	in, err = a.tx.Input(s.Input)
	if err != nil {
		return in, nil, err
	}
	may := core.MayAnswer(in, a.humanFor(&in), s.From)
	switch {
	case s.From == "":
		return in, core.ErrFromRequired(in.ID), nil
	case s.Submission.Action == core.ActionCancel && in.Pending() && (may || a.run != nil && core.MayAbort(*a.run, a.human, s.From)):
		return in, nil, a.abort(core.Closing{By: s.From, Via: s.Via, At: a.now}, "")
	case s.Submission.Action == core.ActionCancel && !in.Pending() && (may || s.From == in.Responders.Asker):
		if in.State == core.InputCancelled { // the same again
			return in, nil, nil
		}
		return in, core.ErrConflict(in), nil
	case !may:
		return in, core.ErrForbidden(in, s.From), a.event(core.Event{Type: core.EventRefused, Run: in.Run, Input: in.ID, By: s.From, Via: s.Via})
	case s.Hash != "" && s.Hash != in.Hash && in.Pending():
		return in, core.ErrChanged(in), nil
	case s.Typed != "":
		return a.settleTyped(in, s)
	}
	ans, err := core.Resolve(in, s.Submission)
	if err != nil {
		return in, err, nil
	}
	if !in.Pending() {
		if in.Settled != nil && in.Settled.Answer != nil && core.SameAnswer(*in.Settled.Answer, ans) {
			return in, nil, nil
		}
		return in, core.ErrConflict(in), nil
	}
	if s.Hash == "" && in.Kind == core.KindApproval && in.Draft.Step > 0 && ans.Action == core.ActionAccept {
		return in, core.ErrChanged(in), nil // edited: only who says which version was seen may approve it
	}
	in, err = a.settle(in, ans, s.From, s.Via, "")
	return in, nil, err
}

// settleTyped applies a reply that was given to a prompt as text: a button does what typing does.
func (a *act) settleTyped(in core.Input, s Settlement) (core.Input, error, error) {
	m := core.Message{Conversation: a.conv.ID, From: s.From, Text: s.Typed, SentAt: a.now}
	r := a.e.deps.Read(in, m, a.human)
	if !in.Pending() && r.Kind == core.ReadAnswer && sameAnswer(in, r, m) {
		return in, nil, nil
	}
	if !in.Pending() || s.Step >= 0 && s.Step != in.Draft.Step {
		return in, core.ErrConflict(in), nil
	}
	switch r.Kind {
	case core.ReadAnswer, core.ReadCommand:
		err := a.applyVia(in, r, m, s.Via)
		if err == nil {
			in, err = a.tx.Input(in.ID)
		}
		return in, nil, err
	case core.ReadCancel:
		return in, nil, a.abort(core.Closing{By: s.From, Via: s.Via, At: a.now}, "")
	}
	return in, &core.AnswerError{Code: core.AnswerInvalid, Input: in.ID, Reason: "this is not one of the replies that count"}, nil
}

// apply acts on the live input with a typed reading.
func (a *act) apply(in core.Input, r core.Reading, m core.Message) error {
	return a.applyVia(in, r, m, "chat")
}

func (a *act) applyVia(in core.Input, r core.Reading, m core.Message, via string) error {
	if r.Kind == core.ReadCommand && r.Verb == core.VerbChange {
		return a.change(in, r, m, via)
	}
	applied, err := core.Apply(in, r, m.From, m.Text)
	if err != nil {
		return fmt.Errorf("apply a reply to input %s: %w", in.ID, err)
	}
	if applied.Answer != nil {
		in.Draft = applied.Draft
		_, err := a.settle(in, *applied.Answer, m.From, via, m.Text)
		return err
	}
	read := answeredBy(m.Text, in.Draft, applied.Draft)
	in.Draft = applied.Draft
	errs := []error{a.putInput(in)}
	if r.Kind == core.ReadAnswer || len(read.Choices)+len(read.Fields) > 0 {
		errs = append(errs, a.event(core.Event{Type: core.EventAnswered, Run: in.Run, Input: in.ID, By: m.From, Via: via, Data: data(read)}))
	}
	if applied.Note != "" {
		errs = append(errs, a.out(core.Out{Kind: core.OutNote, Note: applied.Note, Question: applied.Question, Run: in.Run, Input: in.ID, Step: in.Draft.Step, Person: m.From, ReplyTo: m.ID, Lang: m.Lang}))
	}
	if applied.Show {
		errs = append(errs, a.prompt(in))
	}
	return errors.Join(errs...)
}

// settle ends an input by a person. In one transaction: the input, its event, its prompts to be edited, and
// either the next prompt or the run made runnable.
func (a *act) settle(in core.Input, ans core.Answer, by core.PersonID, via, raw string) (core.Input, error) {
	in.State = ans.State()
	in.Settled = &core.Settled{By: by, Via: via, Role: core.Role(in.Responders.Asker, by), At: a.now, Answer: &ans, Raw: raw}
	in.Draft = core.Draft{Step: in.Draft.Step}
	if err := errors.Join(a.putInput(in), a.resolved(in)); err != nil {
		return in, err
	}
	a.glance = &in
	return in, a.proceed()
}

// resolved records that an input ended. Its prompts are edited by the next row of its run.
func (a *act) resolved(in core.Input) error {
	a.conv.Closed = in.ID
	ev := core.Event{Type: core.EventInputResolved, Run: in.Run, Call: in.Call, Input: in.ID}
	if s := in.Settled; s != nil {
		ev.By, ev.Via = s.By, s.Via
	}
	return errors.Join(a.tx.PutConversation(a.conv), a.event(ev), a.relayEdits(in), a.traceEnd(in))
}

// proceed follows the end of an input of an open run: it shows the next, or makes the run runnable.
func (a *act) proceed() error {
	if a.run == nil || a.run.Status != core.RunInputRequired {
		return nil
	}
	if next := core.Live(a.inputs); next != nil {
		if p, ok := core.HomePrompt(*next); ok && p.Step == next.Draft.Step {
			return nil
		}
		o := promptOf(*next)
		o.Run = a.run.ID
		return errors.Join(a.outStop(o), a.relayPrompts(*next))
	}
	a.run.Status = core.RunRunning
	if err := errors.Join(a.tx.PutRun(*a.run), a.wake()); err != nil {
		return err
	}
	return a.begin()
}

// begin writes executing for the first call that the last answer released, so that settling and executing
// share a commit. Whatever is not plain is left to the driver.
func (a *act) begin() error {
	if a.claim == nil || a.agent == nil {
		return nil
	}
	if slices.ContainsFunc(a.inputs, func(in core.Input) bool { return in.Misfit() != "" }) {
		return nil // the loop takes it back
	}
	calls, err := a.tx.Calls(a.run.ID)
	if err != nil {
		return err
	}
	for i := range calls {
		c := calls[i]
		if c.Done() {
			continue
		}
		in := newest(a.inputs, c)
		switch {
		case in == nil:
			return nil
		case c.Kind == core.CallAsk, in.Kind == core.KindApproval && in.State != core.InputAccepted:
			continue // its result comes from the answer alone
		case in.Kind != core.KindApproval, in.Purpose == core.PurposeChanged, len(c.Asks) > 0, a.e.changed(a.agent, c), a.agent.mayCome(c.Tool):
			return nil
		}
		c.Status, c.Claim, c.Approval, c.Attempt = core.CallExecuting, a.claim.Token, approvalOf(*in), c.Waits
		c.StartedAt, c.EndedAt = a.now, time.Time{}
		a.begun = &c
		return a.tx.PutCall(c)
	}
	return nil
}

func approvalOf(in core.Input) *core.Approval {
	return &core.Approval{Input: in.ID, By: in.Settled.By, At: in.Settled.At}
}

// newest is the last input that a call opened, nil for none.
func newest(inputs []core.Input, c core.Call) *core.Input {
	for i := len(inputs) - 1; i >= 0; i-- {
		if inputs[i].Call == c.ID && inputs[i].Run == c.Run {
			return &inputs[i]
		}
	}
	return nil
}
