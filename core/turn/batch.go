package turn

import (
	"errors"
	"fmt"
	"time"

	"parley/core"
	"parley/core/journal"
	"parley/core/model"
	"parley/core/tool"
)

// batch is the calls of one model reply. Those that need nobody run first, reads in parallel and others one
// by one; then the run waits on all the rest together; then what was approved runs, in call order. How far
// it is follows from the journal alone; the rows are written beside it, at the live end only.
type batch struct {
	d     *driver
	step  int
	resp  model.Response
	calls []*state
}

// state is where one call stands on the way through the journal.
type state struct {
	row   *core.Call
	dec   decision
	waits int             // waits opened
	runs  int             // result steps spent
	want  *want           // what it waits on, nil for nothing
	asks  []tool.Answered // answers to the tool's own asks
	done  bool
	// awaited says that its tool was waited for.
	awaited bool
	back    time.Time // when its last attempt came back
	// below says that the run it delegated to waits: since an earlier pass, or as this pass found.
	below belowState
	again bool // a person said to run it again although it may have run
	// dropped says that the engine stops while the call waits for a person; guarded by driver.waiting.
	dropped bool
	// approval is the consent it carries.
	approval *core.Approval
}

type belowState int

const (
	notBelow belowState = iota
	waitedBefore
	waitsNow
)

// want is an input that a call needs.
type want struct {
	kind      core.Kind
	purpose   core.Purpose
	message   string
	questions []core.Question
	schema    []byte
	url       string
	key       string // of the tool's ask
	state     []byte // the tool's own, kept beside it
	// mark is the step recorded before the wait, "" for none; wait the name of the wait's own step.
	mark, wait string
}

func (d *driver) batch(step int, resp model.Response) *batch {
	return &batch{d: d, step: step, resp: resp}
}

func callID(step, index int) core.CallID { return core.CallID(fmt.Sprintf("c%d_%d", step, index+1)) }

// numbered appends #n to a step name from the second on.
func numbered(name string, n int) string {
	if n < 2 {
		return name
	}
	return fmt.Sprintf("%s#%d", name, n)
}

// persist decides every call's kind and policy once. tooMany: some were refused over the limit of inputs.
func (b *batch) persist() (tooMany bool, err error) {
	inputs := b.d.run.Inputs
	for i, mc := range b.resp.Calls {
		id := callID(b.step, i)
		live := !b.d.j.Replaying()
		dec, err := journal.Do(b.d.j, "persist:toolcall:"+string(id), func() (decision, error) { return b.d.decide(mc, &inputs), nil })
		if err != nil {
			return false, err
		}
		s := &state{dec: dec, row: b.d.calls[id]}
		if live {
			s.row = b.row(id, i, mc, dec)
			b.d.put(s.row)
		}
		if s.row == nil {
			return false, fmt.Errorf("call %s of run %s has a step but no row: %w", id, b.d.run.ID, ErrDamaged)
		}
		s.done = dec.Kind == core.CallRefused
		s.want = s.first()
		tooMany = tooMany || dec.OverLimit
		b.calls = append(b.calls, s)
	}
	return tooMany, nil
}

func (b *batch) row(id core.CallID, index int, mc model.Call, dec decision) *core.Call {
	c := &core.Call{
		Run: b.d.run.ID, ID: id, Provider: mc.ID, Step: b.step, Index: index, Tool: mc.Name, Source: dec.Source,
		Type: dec.Type, Kind: dec.Kind, Status: core.CallPending, Arguments: dec.Arguments, Spec: dec.Spec,
		Target: dec.Target, Schema: dec.Schema,
		Rule: dec.Rule, Idempotent: dec.Idempotent, Result: dec.Refusal,
	}
	if c.Provider == "" {
		c.Provider = string(id)
	}
	c.Hash = core.CallHash(c.Tool, c.Arguments, c.Spec)
	if dec.Kind == core.CallRefused {
		c.Status = core.CallFailed
	}
	return c
}

// first is what a fresh call waits on.
func (s *state) first() *want {
	switch s.dec.Kind {
	case core.CallApproval:
		return &want{kind: core.KindApproval}
	case core.CallAsk:
		purpose := core.PurposeAskUser
		if s.row.Tool == "ask" {
			purpose = core.PurposeAsk
		}
		return &want{kind: core.KindQuestion, purpose: purpose, message: s.dec.Preamble, questions: s.dec.Set, mark: "stream:elicitation:" + string(s.row.ID)}
	}
	return nil
}

// run takes every call of the batch to its result.
func (b *batch) run() error {
	if err := b.reads(); err != nil {
		return err
	}
	for _, s := range b.calls {
		if s.dec.Kind != core.CallAuto || s.done || s.want != nil {
			continue
		}
		if err := b.runCall(s); err != nil && !errors.Is(err, errSuspended) {
			return err
		}
		if s.want != nil && s.want.purpose == core.PurposeUnknown {
			break // nothing more runs until a person has said what to do about it
		}
	}
	for {
		if err := b.await(); err != nil {
			return err
		}
		for _, s := range b.calls {
			if s.done {
				continue
			}
			if s.below == waitsNow {
				return errSuspended // its own inputs wait
			}
			err := b.runCall(s)
			if s.below == waitedBefore && errors.Is(err, errSuspended) {
				continue // the journal has more of the others
			}
			if err != nil {
				return err
			}
			if s.want != nil {
				break
			}
		}
		if b.finished() {
			b.d.msgs = append(b.d.msgs, b.transcript()...)
			return nil
		}
	}
}

func (b *batch) finished() bool {
	for _, s := range b.calls {
		if !s.done {
			return false
		}
	}
	return true
}

// transcript is the reply and its results as the model sees them from now on.
func (b *batch) transcript() []model.Message {
	rows := make([]core.Call, len(b.calls))
	for i, s := range b.calls {
		rows[i] = *s.row
	}
	return exchange(b.resp, rows)
}

// finish gives a call its result. The row is written at the live end only.
func (b *batch) finish(s *state, live bool, status core.CallStatus, r core.Result) {
	s.done, s.want = true, nil
	if !live {
		return
	}
	row := *s.row
	row.Status, row.Result = status, &r
	s.row = &row
	b.d.put(s.row)
}
