package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"parley/core"
)

// act is the work of one transaction on one conversation. It is made anew each time the transaction runs.
type act struct {
	e    *Engine
	tx   Tx
	now  time.Time
	conv core.Conversation
	// agent is nil where today's configuration has none: nobody may answer, and messages queue.
	agent  *Agent
	human  core.HumanInput
	run    *core.Run    // the open run, nil for none
	inputs []core.Input // of the open run, in order

	// claim was taken in this transaction; begun is the call whose executing was written under it.
	claim *Claim
	begun *core.Call
	// holder says that the transaction runs under the driver's own claim.
	holder bool
	glance *core.Input // its prompt says "running" from now on
	due    time.Time   // when the conversation is to be claimed

	ctx   context.Context // of whoever acts
	spans []trace.Span    // of inputs that end here
}

func (e *Engine) newAct(tx Tx) (*act, error) {
	a, err := e.bareAct(tx)
	if err == nil && a.run != nil {
		a.inputs, err = a.treeInputs(*a.run)
	}
	return a, err
}

// bareAct is an act that has not read the inputs of the open run.
func (e *Engine) bareAct(tx Tx) (*act, error) {
	conv, err := tx.Conversation()
	if err != nil {
		return nil, err
	}
	a := &act{e: e, tx: tx, now: tx.Now(), conv: conv}
	if agent, ok := e.agents(conv.ID.Agent()); ok {
		a.agent, a.human = agent, agent.Human
	} else {
		a.human = core.HumanInput{ApproversOnly: true}
	}
	return a, a.load()
}

// load reads the open run.
func (a *act) load() error {
	if a.conv.Open == "" {
		return nil
	}
	run, err := a.tx.Run(a.conv.Open)
	if err != nil {
		return fmt.Errorf("open run of %s: %w", a.conv.ID, err)
	}
	a.run = &run
	return nil
}

// treeInputs are the inputs of a root run and of all runs below it, in the order of their places.
func (a *act) treeInputs(root core.Run) ([]core.Input, error) { return treeInputs(a.tx, root) }

func treeInputs(r Reader, root core.Run) ([]core.Input, error) {
	all, err := r.RunInputs(root.ID)
	for _, id := range root.Children {
		if err != nil {
			return nil, err
		}
		var more []core.Input
		more, err = r.RunInputs(id)
		all = append(all, more...)
	}
	slices.SortStableFunc(all, func(x, y core.Input) int { return x.Place - y.Place })
	return all, err
}

// humanFor is what today's configuration says about answering an input: who may is the word of its own agent,
// and of its tool's source.
func (a *act) humanFor(in *core.Input) core.HumanInput {
	if in == nil {
		return a.human
	}
	return a.e.humanFor(*in, a.human)
}

// humanFor takes the people of an input's own agent and source into what holds for its conversation.
func (e *Engine) humanFor(in core.Input, h core.HumanInput) core.HumanInput {
	id := in.Agent
	if id == "" {
		id = in.Conversation.Agent()
	}
	agent, ok := e.agents(id)
	if !ok {
		h.Approvers, h.ApproversOnly = nil, true
		return h
	}
	h.Approvers, h.ApproversOnly = agent.Human.Approvers, agent.Human.ApproversOnly
	if in.Tool == "" {
		return h
	}
	if t, ok := agent.lookup(fullName(in)); ok {
		h.ApproversOnly = h.ApproversOnly || t.Spec().ApproversOnly
	}
	return h
}

// fullName is the name of an input's tool as the model knows it.
func fullName(in core.Input) string {
	if in.Source == "" {
		return in.Tool
	}
	return in.Source + "__" + in.Tool
}

func (a *act) out(o core.Out) error {
	if a.e.silent(a.conv.ID.Channel()) && o.Kind != core.OutRelay {
		return nil
	}
	o.Conversation, o.CreatedAt = a.conv.ID, a.now
	if o.Lang == "" {
		o.Lang = a.lang()
	}
	_, err := a.tx.AddOut(o)
	return err
}

// outStop adds a row that shows where a run has come to. It brings the run's prompts up to date as well, so
// that they need no row and no receipt of their own.
func (a *act) outStop(o core.Out) error {
	inputs := a.inputs
	if a.run == nil || a.run.ID != o.Run {
		run, err := a.tx.Run(o.Run)
		if err != nil {
			return err
		}
		if inputs, err = a.treeInputs(run); err != nil {
			return err
		}
	}
	for _, in := range inputs {
		home, shown := core.HomePrompt(in)
		// How an approved call went is news; beside the next prompt it has not run yet.
		ran := o.Kind != core.OutPrompt && in.Kind == core.KindApproval && in.State == core.InputAccepted
		if shown && !in.Pending() && (home.ClosedAt.IsZero() || ran) {
			o.Edits = append(o.Edits, in.ID)
		}
	}
	if o.Kind == core.OutEdit && len(o.Edits) == 0 {
		return nil
	}
	return a.out(o)
}

func (a *act) lang() string {
	if a.agent != nil && a.agent.Lang != "" {
		return a.agent.Lang
	}
	return a.conv.Lang
}

func (a *act) event(ev core.Event) error {
	ev.Conversation, ev.At = a.conv.ID, a.now
	return a.tx.AddEvent(ev)
}

// data encodes an event's data; the values are our own and always encode.
func data(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("turn: encode event: %v", err))
	}
	return b
}

// putInput stores an input and keeps the loaded copy in step.
func (a *act) putInput(in core.Input) error {
	known := false
	for i := range a.inputs {
		if a.inputs[i].ID == in.ID {
			a.inputs[i], known = in, true
		}
	}
	if !known {
		a.inputs = append(a.inputs, in)
	}
	return a.tx.PutInput(in)
}

// live is the input whose prompt is live, nil for none.
func (a *act) live() *core.Input {
	if a.run == nil || a.run.Status != core.RunInputRequired {
		return nil
	}
	return core.Live(a.inputs)
}

// unsent reports whether a row of the outbox that shows in is not known to be sent.
func (a *act) unsent(in *core.Input) (bool, error) {
	rows, err := a.tx.Out()
	if err != nil {
		return false, err
	}
	for _, o := range rows {
		if o.Input == in.ID && (o.Kind == core.OutPrompt || o.Kind == core.OutReply) {
			return true, nil
		}
	}
	return false, nil
}

// scene is what a message meets now.
func (a *act) scene(m core.Message) (core.Scene, error) {
	s := core.Scene{Now: a.now, Human: a.humanFor(a.live()), Run: a.run, Live: a.live()}
	s.For = func(in core.Input) core.HumanInput { return a.humanFor(&in) }
	if s.Live != nil {
		for _, in := range a.inputs {
			if in.Pending() {
				s.Pending = append(s.Pending, in)
			}
		}
		var err error
		if s.Unsent, err = a.unsent(s.Live); err != nil {
			return s, err
		}
	}
	if m.ReplyTo != "" {
		id, err := a.tx.Prompted(m.ReplyTo)
		if err != nil {
			return s, err
		}
		if id != "" {
			in, err := a.tx.Input(id)
			if err != nil {
				return s, err
			}
			s.Target = &in
		} else if s.Target, err = a.unreceipted(m); err != nil {
			return s, err
		}
	}
	if a.conv.Closed != "" {
		in, err := a.tx.Input(a.conv.Closed)
		switch {
		case err == nil:
			s.Closed = &in
		case !errors.Is(err, ErrNotFound): // retention may have taken it
			return s, err
		}
	}
	queue, err := a.tx.Queue(1)
	s.Queued = len(queue) > 0
	return s, err
}

// unreceipted is the input of this conversation whose prompt the message replies to by the buttons that stand
// there, nil for none: no receipt of that copy was stored.
func (a *act) unreceipted(m core.Message) (*core.Input, error) {
	if m.ReplyInput == "" {
		return nil, nil
	}
	in, err := a.tx.Input(m.ReplyInput)
	if errors.Is(err, ErrNotFound) || err == nil && in.Conversation != a.conv.ID {
		return nil, nil
	}
	return &in, err
}

// wake makes the conversation's next work begin: at once in this process if it can, else when claimed.
func (a *act) wake() error {
	if a.holder {
		return nil // the driver goes on by itself
	}
	if a.claim == nil && a.e.running() {
		c, err := a.tx.TakeClaim(a.e.ttl)
		if err != nil {
			return err
		}
		a.claim = c
	}
	if a.claim == nil {
		return a.wakeAt(a.now)
	}
	return nil
}

// wakeAt makes the conversation due, and has this process look then.
func (a *act) wakeAt(due time.Time) error {
	a.due = due
	return a.tx.WakeAt(due)
}

// release gives the claim back; due is zero where nothing is to be done until it is woken.
func (a *act) release(due time.Time) error {
	if !due.IsZero() {
		a.due = due
	}
	return a.tx.Release(due)
}

// start begins a run of the message. The conversation has no open run.
func (a *act) start(m core.Message) error {
	run := core.Run{
		ID: core.RunID(a.e.id("r", a.now)), Conversation: a.conv.ID, Agent: a.conv.ID.Agent(), Before: a.conv.Last,
		Message: m, Status: core.RunRunning, CreatedAt: a.now,
	}
	a.conv.Open, a.conv.Last = run.ID, run.ID
	a.hear(m)
	a.run, a.inputs = &run, nil
	return errors.Join(
		a.tx.PutRun(run),
		a.tx.PutConversation(a.conv),
		a.event(core.Event{Type: core.EventRunStarted, Run: run.ID, By: m.From}),
		a.wake(),
	)
}

// hear keeps what a message tells about its conversation.
func (a *act) hear(m core.Message) {
	if m.Lang != "" {
		a.conv.Lang = m.Lang
	}
	a.conv.Shared = a.conv.Shared || m.Shared
}

// next routes the messages that wait until one starts a run; the conversation has no open run. It
// reports whether a run was started.
func (a *act) next() (bool, error) {
	for a.run == nil && a.agent != nil {
		queue, err := a.tx.Queue(1)
		if err != nil || len(queue) == 0 {
			return false, err
		}
		q := queue[0]
		if q.Message.NotBefore.After(a.now) {
			return false, a.wakeAt(q.Message.NotBefore)
		}
		if err := a.tx.Dequeue(q.Seq); err != nil {
			return false, err
		}
		s, err := a.scene(q.Message)
		if err != nil {
			return false, err
		}
		s.Queued = false // it is at the head
		if _, err := a.do(q.Message, core.Route(s, q.Message, a.reader(q.Message)), nil); err != nil {
			return false, err
		}
	}
	return a.run != nil, nil
}

// reroute routes the messages that wait beside an open run again: the place of its prompt is known now.
func (a *act) reroute() error {
	queue, err := a.tx.Queue(0)
	if err != nil {
		return err
	}
	for _, q := range queue {
		if a.live() == nil {
			return nil // the last one moved the run on
		}
		s, err := a.scene(q.Message)
		if err != nil {
			return err
		}
		d := core.Route(s, q.Message, a.reader(q.Message))
		if d.Do == core.DoQueue && !q.Held {
			continue
		}
		if _, err := a.do(q.Message, d, &q); err != nil {
			return err
		}
	}
	return nil
}

func (a *act) reader(m core.Message) func(core.Input, string) core.Reading {
	return func(in core.Input, text string) core.Reading {
		m.Text = text
		return a.e.deps.Read(in, m, a.human)
	}
}
