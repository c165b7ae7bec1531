package turn

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/core"
	"parley/core/journal"
	"parley/core/tool"
)

// waited is what the step of a wait records: how its input ended.
type waited struct {
	Input   core.InputID    `json:"input"`
	State   core.InputState `json:"state"`
	Settled core.Settled    `json:"settled"`
	Created time.Time       `json:"created"`
}

// await waits on every call of the batch that wants something. It returns errSuspended until all of the
// inputs have ended.
func (b *batch) await() error {
	var wanting []*state
	for _, s := range b.calls {
		if s.want != nil {
			wanting = append(wanting, s)
		}
	}
	return b.awaitAll(wanting)
}

func (b *batch) awaitAll(wanting []*state) error {
	if len(wanting) == 0 {
		return nil
	}
	for _, s := range wanting {
		s.waits++
		if s.want.wait == "" {
			s.want.wait = numbered(fmt.Sprintf("tool:%s:%s", b.d.run.ID, s.row.ID), s.waits)
		}
		if s.want.mark != "" {
			if err := journal.Mark(b.d.j, s.want.mark); err != nil {
				return err
			}
		}
	}
	if !b.d.j.Replaying() {
		if err := b.d.ended(wanting); err != nil {
			return err
		}
	}
	for _, s := range wanting {
		live := !b.d.j.Replaying()
		w, err := journal.Do(b.d.j, s.want.wait, func() (waited, error) { return b.d.outcome(s) })
		if err != nil {
			return err
		}
		if err := b.settled(s, w, live); err != nil {
			return err
		}
	}
	return nil
}

// opened is the input of a call's present wait, nil if it was not opened.
func (d *driver) opened(s *state) *core.Input {
	for _, in := range d.inputs {
		if in.Call == s.row.ID && in.Wait == s.waits {
			return &in
		}
	}
	return nil
}

// ended returns nil where every input has ended; else it opens those that are not open, in one commit
// with the claim's release, and returns errSuspended.
func (d *driver) ended(wanting []*state) error {
	open, pending := 0, false
	for _, s := range wanting {
		in := d.opened(s)
		if in == nil {
			open++
			continue
		}
		pending = pending || in.Pending()
	}
	switch {
	case open > 0 && open < len(wanting):
		return fmt.Errorf("run %s has %d of its %d inputs: %w", d.run.ID, len(wanting)-open, len(wanting), ErrDamaged)
	case open == 0 && !pending:
		return nil
	case open == 0:
		return fmt.Errorf("run %s is running with an input that waits: %w", d.run.ID, ErrDamaged)
	}
	return d.suspend(wanting)
}

// suspend opens the inputs and gives the claim back, in one transaction: nothing of the run is left here.
func (d *driver) suspend(wanting []*state) error {
	d.run.Inputs += len(wanting)
	for _, s := range wanting {
		row := *s.row
		row.Status, row.Waits, row.Claim = core.CallPending, s.waits, s.row.Claim
		if s.want.purpose == core.PurposeUnknown {
			row.Status = core.CallExecuting // it may have run
		}
		s.row = &row
		d.put(s.row)
	}
	err := d.commit(abortableThen(func(a *act) error {
		var errs []error
		var first core.InputID
		for i, s := range wanting {
			in := d.input(a, s, i+1, len(wanting))
			if first == "" {
				first = in.ID
			}
			errs = append(errs, a.tx.PutInput(in), a.event(core.Event{Type: frame(in), Run: in.Run, Call: in.Call, Input: in.ID}))
			if len(s.want.key) > 0 {
				row := *s.row
				row.Asks = append(slices.Clip(row.Asks), core.Ask{Key: s.want.key, Input: in.ID})
				errs = append(errs, a.tx.PutCall(row))
			}
			if in.Purpose == core.PurposeIntake {
				a.conv.Asked = true
				errs = append(errs, a.tx.PutConversation(a.conv))
			}
		}
		run := *a.run
		run.Status = core.RunInputRequired
		errs = append(errs,
			a.tx.PutRun(run),
			a.event(core.Event{Type: core.EventInputRequired, Run: run.ID, Input: first}),
			a.outStop(core.Out{Kind: core.OutReply, Run: run.ID, Input: first, ReplyTo: run.Message.ID}),
			a.release(time.Time{}),
		)
		return errors.Join(errs...)
	}))
	if err != nil {
		return err
	}
	nudge(d.e.sweep)
	return errSuspended
}

func frame(in core.Input) core.EventType {
	if in.Kind == core.KindApproval {
		return core.EventApproval
	}
	return core.EventElicitation
}

// input is the row of a wait as it opens: the audience and the deadline are frozen now.
func (d *driver) input(a *act, s *state, nth, of int) core.Input {
	human := d.agent.Human
	human.ApproversOnly = human.ApproversOnly || s.dec.Asker
	in := core.Input{
		ID: core.InputID(d.e.id("i", a.now)), Conversation: a.conv.ID, Run: d.run.ID, Call: s.row.ID, Wait: s.waits,
		Kind: s.want.kind, State: core.InputPending, Purpose: s.want.purpose, Message: s.want.message,
		Questions: s.want.questions, Schema: s.want.schema, URL: s.want.url,
		Responders: core.Responders{Audience: human.Audience(d.run.Asker()), Asker: d.run.Asker()},
		CreatedAt:  a.now,
	}
	if human.Expires > 0 {
		in.ExpiresAt = a.now.Add(human.Expires)
	}
	if of > 1 {
		in.Nth, in.Of = nth, of
	}
	if s.dec.Kind == core.CallAsk {
		return in // a question set speaks for itself
	}
	in.Tool, in.Source, in.Arguments, in.Hash, in.Rule = toolName(*s.row), s.row.Source, s.row.Arguments, s.row.Hash, s.row.Rule
	in.Redact = slices.Clone(d.agent.Redact)
	if t, ok := d.agent.lookup(s.row.Tool); ok {
		in.Redact = append(in.Redact, core.SecretNames(t.Spec().Schema)...)
	}
	return in
}

// toolName is the tool without its source.
func toolName(c core.Call) string {
	if c.Source == "" {
		return c.Tool
	}
	return c.Tool[len(c.Source)+2:]
}

// outcome reads how a wait's input ended, for its step.
func (d *driver) outcome(s *state) (waited, error) {
	in := d.opened(s)
	if in == nil || in.Settled == nil {
		return waited{}, fmt.Errorf("wait %s of run %s has no ended input: %w", s.want.wait, d.run.ID, ErrDamaged)
	}
	w := waited{Input: in.ID, State: in.State, Settled: *in.Settled, Created: in.CreatedAt}
	w.Settled.Raw = "" // the audit has it
	return w, nil
}

// settled takes a call on after its wait ended.
func (b *batch) settled(s *state, w waited, live bool) error {
	in := core.Input{
		ID: w.Input, Kind: s.want.kind, Purpose: s.want.purpose, Message: s.want.message, Questions: s.want.questions,
		State: w.State, Settled: &w.Settled, CreatedAt: w.Created,
	}
	want := s.want
	s.want = nil
	switch {
	case want.purpose == core.PurposeUnknown:
		return b.afterUnknown(s, in, live)
	case w.State == core.InputExpired:
		b.finish(s, live, core.CallExpired, core.ResultClosed(*s.row, core.OutcomeExpired, core.Closing{At: w.Settled.At}))
	case want.kind == core.KindApproval && w.State == core.InputAccepted:
		s.approval = &core.Approval{Input: w.Input, By: w.Settled.By, At: w.Settled.At}
		if want.purpose == core.PurposeChanged && live {
			b.adopt(s)
		}
	case want.kind == core.KindApproval:
		if live {
			b.d.run.Denied = append(b.d.run.Denied, core.DeniedDigest(s.row.Tool, s.row.Arguments))
		}
		b.finish(s, live, core.CallRejected, core.ResultDeclined(in))
	case want.kind == core.KindQuestion:
		b.answered(s, in, live)
	default:
		s.asks = append(s.asks, tool.Answered{Key: want.key, Answer: *w.Settled.Answer, By: w.Settled.By})
	}
	return nil
}

// answered ends a call of an asking tool: it has no handler.
func (b *batch) answered(s *state, in core.Input, live bool) {
	switch in.State {
	case core.InputAccepted:
		b.finish(s, live, core.CallExecuted, core.ResultAnswered(in))
	case core.InputSkipped:
		b.finish(s, live, core.CallRejected, core.ResultSkipped(in))
	default:
		b.finish(s, live, core.CallRejected, core.ResultDeclined(in))
	}
}
