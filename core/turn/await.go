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

// ended returns nil where every input has ended; else it has those opened that are not open, and returns
// errSuspended.
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
		return d.discard(wanting)
	case open == 0:
		return errSuspended // another run of the tree goes on
	}
	return d.want(wanting)
}

// opening is an input to be opened for a call of a run of the tree.
type opening struct {
	d  *driver
	s  *state
	at []int // where its call stands among the calls of the tree
}

// want makes what was recorded durable and leaves the inputs to be opened when the whole tree stops.
func (d *driver) want(wanting []*state) error {
	d.run.Inputs += len(wanting)
	for _, s := range wanting {
		row := *s.row
		row.Status, row.Waits = core.CallPending, s.waits
		if s.want.purpose == core.PurposeUnknown {
			row.Status = core.CallExecuting // it may have run
		}
		s.row = &row
		d.put(s.row)
		d.root.opens = append(d.root.opens, opening{d, s, append(slices.Clip(d.at), row.Step, row.Index)})
	}
	if d != d.root {
		d.run.Status = core.RunInputRequired
		if err := d.record(); err != nil {
			return err
		}
	}
	return errSuspended
}

// suspend opens the inputs of the whole tree and gives the claim back, in one transaction: nothing of the
// run is left here. Where everything was answered meanwhile, the run goes on at once.
func (d *driver) suspend() (again bool, err error) {
	slices.SortStableFunc(d.opens, func(x, y opening) int { return slices.Compare(x.at, y.at) })
	err = d.commit(abortableThen(func(a *act) error {
		if err := d.flushBelow(a); err != nil {
			return err
		}
		opened, err := d.openAll(a)
		if err != nil {
			return err
		}
		discarded, err := d.discardAll(a)
		if err != nil {
			return err
		}
		live := core.Live(a.inputs)
		if again = live == nil; again {
			return nil
		}
		run := *a.run
		run.Status = core.RunInputRequired
		o := core.Out{Kind: core.OutReply, Run: run.ID, Text: run.Text, Input: live.ID, Step: live.Draft.Step, ReplyTo: run.Message.ID}
		if !opened { // woken for nothing: its prompt stands already
			err := errors.Join(a.tx.PutRun(run), a.release(time.Time{}))
			if discarded {
				err = errors.Join(err, a.prompt(*live))
			}
			return err
		}
		return errors.Join(
			a.tx.PutRun(run),
			a.event(core.Event{Type: core.EventInputRequired, Run: run.ID, Input: live.ID}),
			a.outStop(o), a.relayPrompts(*live),
			a.release(time.Time{}),
		)
	}))
	if errors.Is(err, errAborted) {
		return d.cancelled()
	}
	if err == nil && !again {
		d.left = core.RunInputRequired
	}
	nudge(d.e.sweep) // a new deadline
	return again, err
}

// openAll writes the inputs that are to be opened.
func (d *driver) openAll(a *act) (opened bool, err error) {
	place := 0
	for _, in := range a.inputs {
		place = max(place, in.Place)
	}
	for i, o := range d.opens {
		in := o.d.input(a, o.s, i+1, len(d.opens))
		in.Place = place + i + 1
		in.Code = core.Code(d.run.ID, in.Place)
		errs := []error{a.putInput(in), a.event(core.Event{Type: frame(in), Run: in.Run, Call: in.Call, Input: in.ID})}
		if o.s.want.key != "" {
			row := *o.s.row
			row.Asks = append(slices.Clip(row.Asks), core.Ask{Key: o.s.want.key, Input: in.ID})
			errs = append(errs, a.tx.PutCall(row))
		}
		if in.Purpose == core.PurposeIntake {
			a.conv.Asked = true
			errs = append(errs, a.tx.PutConversation(a.conv))
		}
		if err := errors.Join(errs...); err != nil {
			return false, err
		}
	}
	return len(d.opens) > 0, nil
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
		ID: core.InputID(d.e.id("i", a.now)), Conversation: a.conv.ID, Run: d.run.ID, Agent: d.agent.ID, Call: s.row.ID, Wait: s.waits,
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
		spec := t.Spec()
		in.Redact = append(in.Redact, core.SecretNames(spec.Schema)...)
		in.Spec, in.Target, in.Digest = specDigest(spec), spec.Target, core.Digest(string(spec.Schema))
		if in.Purpose == core.PurposeChanged {
			in.Hash = core.CallHash(s.row.Tool, s.row.Arguments, in.Spec)
		}
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
			b.adopt(s, b.d.inputs[w.Input])
		}
	case want.kind == core.KindApproval:
		if live {
			b.d.run.Denied = append(b.d.run.Denied, core.DeniedDigest(s.row.Tool, s.row.Arguments))
		}
		b.finish(s, live, core.CallRejected, core.ResultDeclined(in))
	case want.kind == core.KindQuestion:
		b.answered(s, in, live)
	default:
		s.asks = append(s.asks, tool.Answered{Key: want.key, Answer: *w.Settled.Answer, By: w.Settled.By, State: want.state})
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
