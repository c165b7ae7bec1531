package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"parley/core"
	"parley/core/journal"
	"parley/core/tool"
)

// ran is what a result step records: how one run of a call ended, or what the tool asks the person.
type ran struct {
	Result *core.Result `json:"result,omitempty"`
	Ask    *tool.Asked  `json:"ask,omitempty"`
	Failed bool         `json:"failed,omitempty"`
}

// errUnsure says that a call may or may not have run.
var errUnsure = errors.New("the call may or may not have run")

// reads runs the reads that need nobody, in parallel. Their results are recorded in call order.
func (b *batch) reads() error {
	var reads []*state
	for _, s := range b.calls {
		if s.dec.Kind == core.CallAuto && s.dec.Type == core.ToolRead && !s.done {
			reads = append(reads, s)
		}
	}
	if len(reads) == 0 {
		return nil
	}
	results := make([]ran, len(reads))
	errs := make([]error, len(reads))
	if !b.d.j.Replaying() {
		if err := b.begin(reads...); err != nil {
			return err
		}
		var all sync.WaitGroup
		for i, s := range reads {
			all.Go(func() { results[i], errs[i] = b.d.attend(s) })
		}
		all.Wait()
	}
	for i, s := range reads {
		if err := b.record(s, func() (ran, error) { return results[i], errs[i] }); err != nil {
			return err
		}
	}
	return nil
}

// begin marks calls as started under the present claim, in one commit. Where the run is to be aborted they
// have not started.
func (b *batch) begin(calls ...*state) error {
	before := make([]*core.Call, len(calls))
	for i, s := range calls {
		before[i] = s.row
		row := *s.row
		row.Status, row.Claim, row.Approval, row.Attempt = core.CallExecuting, b.d.claim.Token, s.approval, s.waits
		row.StartedAt, row.EndedAt = b.d.e.store.Now(), time.Time{}
		s.row = &row
		b.d.put(s.row)
	}
	err := b.d.record()
	if errors.Is(err, errAborted) {
		for i, s := range calls {
			s.row = before[i]
			b.d.put(s.row)
		}
	}
	return err
}

// runCall runs a call that needs nobody, or nobody any more. Afterwards it is done or wants something.
func (b *batch) runCall(s *state) error {
	unknown := numbered("unknown:"+string(s.row.ID), s.waits+1)
	changed := numbered("changed:"+string(s.row.ID), s.waits+1)
	switch next := b.d.j.Next(); {
	case s.dec.Type == core.ToolAgent && next != "" && next != numbered("result:"+string(s.row.ID), s.runs+1):
		s.below = waitedBefore // the run below waited here, and the journal goes on with another call
		return errSuspended
	case next == unknown:
		s.want = wantUnknown(s, unknown)
		return nil
	case next == changed:
		s.want = b.wantAgain(s, changed)
		return nil
	case next == "" && s.dec.Type != core.ToolAgent:
		if w, err := b.start(s, unknown, changed); w != nil || err != nil {
			s.want = w
			return err
		}
	}
	err := b.record(s, func() (ran, error) { return b.d.attend(s) })
	switch {
	case errors.Is(err, errUnsure):
		s.want = wantUnknown(s, unknown)
		return nil
	case errors.Is(err, errSuspended):
		s.below = waitsNow
	}
	return err
}

// start writes executing before a call runs. It returns what is wanted instead where the call must not run.
func (b *batch) start(s *state, unknown, changed string) (*want, error) {
	row := s.row
	if row.Status == core.CallExecuting {
		if b.d.begun != nil && b.d.begun.ID == row.ID {
			b.d.begun = nil
			return nil, nil // executing was written with the answer, and nothing ran since
		}
		if !s.rerun() {
			return wantUnknown(s, unknown), nil
		}
	}
	if b.d.soft.Err() != nil {
		return nil, errStopping
	}
	if err := b.d.awaitTool(s); err != nil {
		return nil, err
	}
	if (s.approval != nil || len(s.asks) > 0) && b.d.e.changed(b.d.agent, *row) {
		return b.wantAgain(s, changed), nil // what a person answered was about another tool
	}
	return nil, b.begin(s)
}

// safe reports whether running the call twice with one key does no harm.
func (s *state) safe() bool { return s.dec.Type == core.ToolRead || s.dec.Idempotent }

// rerun reports whether a call that was started before may run again with the same key: a person's word
// to do so covers the attempts before it only.
func (s *state) rerun() bool { return s.safe() || s.again && s.row.Attempt < s.waits }

// record spends the call's result step and takes the call on.
func (b *batch) record(s *state, f func() (ran, error)) error {
	live := !b.d.j.Replaying()
	r, err := journal.Do(b.d.j, numbered("result:"+string(s.row.ID), s.runs+1), f)
	if err != nil {
		return err
	}
	s.runs++
	if live {
		b.came(s)
	}
	if r.Ask != nil {
		s.want = &want{kind: r.Ask.Kind, message: r.Ask.Message, schema: r.Ask.Schema, url: r.Ask.URL, key: r.Ask.Key, state: r.Ask.State}
		return nil
	}
	if r.Result == nil {
		return fmt.Errorf("result of call %s of run %s is empty: %w", s.row.ID, b.d.run.ID, ErrDamaged)
	}
	status := core.CallExecuted
	switch {
	case r.Failed:
		status = core.CallFailed
	case s.waits == 0:
		status = core.CallAutoExecuted
	}
	b.finish(s, live, status, *r.Result)
	return nil
}

// attend runs a call and notes when it came back.
func (d *driver) attend(s *state) (ran, error) {
	ctx, span := d.toolSpan(s)
	r, err := d.call(ctx, s)
	endTool(span, r, err)
	s.back = d.e.store.Now()
	return r, err
}

// came puts when a call came back into its row, for the commit that writes how.
func (b *batch) came(s *state) {
	if s.row.StartedAt.IsZero() {
		return
	}
	row := *s.row
	row.EndedAt = s.back
	s.row = &row
}

// call runs the tool once on the frozen arguments.
func (d *driver) call(ctx context.Context, s *state) (r ran, err error) {
	if s.dec.Type == core.ToolAgent {
		return d.delegate(ctx, s)
	}
	if err := d.awaitTool(s); err != nil {
		return ran{}, err
	}
	t, ok := d.agent.lookup(s.row.Tool)
	if !ok {
		return failed("The tool is gone: the call did not run."), nil
	}
	if (s.approval != nil || len(s.asks) > 0) && differs(t, *s.row) {
		return failed("The tool was replaced just now by another of its name: the call did not run."), nil
	}
	id := tool.Identity{Actor: d.run.Asker(), Approval: s.approval}
	out, err := d.attempt(ctx, t, s, id)
	var ask *tool.AskError
	var declined *tool.ErrDeclined
	switch {
	case d.hard.Err() != nil:
		return ran{}, errStopping // cut: whether it ran is asked at the next start
	case d.madeAgain(s):
		return ran{}, errStopping
	case errors.As(err, &ask):
		return d.asked(ask.Asked), nil
	case errors.Is(err, tool.ErrUnknownOutcome) && !s.safe():
		return ran{}, fmt.Errorf("%w: %w", errUnsure, err)
	case errors.As(err, &declined):
		return ran{Failed: true, Result: d.answered(s, core.OutcomeDeclined, declined.Error())}, nil
	case err != nil:
		return ran{Failed: true, Result: d.answered(s, core.OutcomeError, err.Error())}, nil
	}
	return ran{Result: d.answered(s, core.OutcomeOK, out)}, nil
}

// attempt calls the tool, and again where the failure proves that nothing ran or running twice does no harm.
func (d *driver) attempt(ctx context.Context, t tool.Tool, s *state, id tool.Identity) (out string, err error) {
	const tries = 3
	wait := 500 * time.Millisecond
	for n := 1; ; n++ {
		out, err = safely(t, tool.NewContext(ctx, s.row.Key(), id, s.asks, d.waiter(s)), s.row.Arguments)
		retry := errors.Is(err, tool.ErrNotStarted) || s.safe() && errors.Is(err, tool.ErrUnknownOutcome)
		if !retry || n == tries {
			return out, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-d.soft.Done():
			timer.Stop()
			return out, err
		case <-timer.C:
		}
		wait *= 4
	}
}

// safely turns a tool's panic into an error.
func safely(t tool.Tool, ctx *tool.Context, arguments json.RawMessage) (out string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the tool crashed and may have done part of its work: %v", p)
		}
	}()
	return t.Call(ctx, arguments)
}

func failed(content string) ran {
	return ran{Failed: true, Result: &core.Result{Outcome: core.OutcomeError, Content: content}}
}

// answered is the result of a call that ran, with who was waited for.
func (d *driver) answered(s *state, o core.Outcome, content string) *core.Result {
	r := core.Result{Outcome: o, Content: core.BoundResult(content)}
	var own []core.Input
	d.waiting.Lock()
	defer d.waiting.Unlock()
	for _, in := range d.sorted {
		if got := d.inputs[in]; got.Call == s.row.ID {
			own = append(own, got)
		}
	}
	r = r.After(own...)
	if s.row.Changed {
		r.RanWith = s.row.Arguments
	}
	return &r
}
