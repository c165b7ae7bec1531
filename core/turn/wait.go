package turn

import (
	"context"
	"errors"
	"fmt"

	"parley/core"
	"parley/core/tool"
)

// waiter lets a tool ask while its call goes on. The claim stays held, and the call with it; a source that
// can be called again asks by ending its call instead.
func (d *driver) waiter(s *state) func(tool.Asked) (tool.Answered, error) {
	return func(a tool.Asked) (tool.Answered, error) {
		if r := d.asked(a); r.Result != nil {
			return tool.Answered{}, errors.New(r.Result.Content)
		}
		if d.soft.Err() != nil {
			d.waiting.Lock()
			defer d.waiting.Unlock()
			s.dropped = true
			return tool.Answered{}, tool.ErrUnanswered
		}
		id, err := d.openHere(s, a)
		if err != nil {
			return tool.Answered{}, err
		}
		d.e.holds(d.claim.Conversation, id, true)
		in, err := d.follow(d.hard, id, a.Until)
		d.e.holds(d.claim.Conversation, id, false)
		d.waiting.Lock()
		defer d.waiting.Unlock()
		if err != nil {
			return tool.Answered{}, err
		}
		if in.Settled == nil || in.Settled.Answer == nil {
			s.dropped = s.dropped || d.soft.Err() != nil
			return tool.Answered{}, tool.ErrUnanswered
		}
		d.inputs[id] = in // the result says who answered
		d.sorted = append(d.sorted, id)
		return tool.Answered{Key: a.Key, Answer: *in.Settled.Answer, By: in.Settled.By}, nil
	}
}

// madeAgain reports whether a call is dropped because the engine stops, and is made again at the next start: it
// asks anew then. A call that does harm twice goes on unanswered instead, so that how it ends is known.
func (d *driver) madeAgain(s *state) bool {
	d.waiting.Lock()
	defer d.waiting.Unlock()
	return s.dropped && s.safe()
}

// liveWaits sets the waits of calls that go on apart from those that end a call.
const liveWaits = 1000

// Held reports whether an input was asked by a call that goes on meanwhile: it ends without an answer where
// the process that makes the call ends.
func Held(in core.Input) bool { return in.Wait >= liveWaits }

// holds notes that a call of this process waits for an input, or no longer does.
func (e *Engine) holds(c core.ConversationID, id core.InputID, waits bool) {
	e.mu.Lock()
	if waits {
		e.held[id] = true
	} else {
		delete(e.held, id)
	}
	e.mu.Unlock()
	e.news.tell(c)
}

// holding reports whether calls of this process wait for all of the inputs that calls wait for. any is false
// where there are none.
func (e *Engine) holding(inputs []core.Input) (all, any bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	all = true
	for _, in := range inputs {
		if in.Pending() && Held(in) {
			all, any = all && e.held[in.ID], true
		}
	}
	return all, any
}

// endDead ends the inputs of calls that went on in a process that is no more: their answers would reach nobody.
// The claim is held by one that runs none of them.
func (a *act) endDead() error {
	any := false
	for _, in := range a.inputs {
		if !in.Pending() || !Held(in) {
			continue
		}
		if err := a.closeInput(in, a.expired()); err != nil {
			return err
		}
		any = true
	}
	if !any {
		return nil
	}
	return a.proceed()
}

// openHere opens an input of a call that goes on: in one transaction with its prompt, the claim stays held.
func (d *driver) openHere(s *state, a tool.Asked) (id core.InputID, err error) {
	d.waiting.Lock()
	defer d.waiting.Unlock()
	d.e.unwritten(d.claim.Conversation) // what is said after the prompt stands below it
	err = d.update(func(ac *act) error {
		if ac.run == nil || ac.run.ID != d.root.run.ID {
			return errClosed
		}
		if ac.run.Abort != nil {
			return errAborted
		}
		place := 0
		for _, in := range ac.inputs {
			place = max(place, in.Place)
		}
		asking := *s
		asking.want = &want{kind: a.Kind, message: a.Message, schema: a.Schema, url: a.URL}
		asking.waits = place + liveWaits
		in := d.input(ac, &asking, 1, 1)
		in.Place, id = place+1, in.ID
		in.Code = core.Code(d.root.run.ID, in.Place)
		ac.run.Status = core.RunInputRequired
		ac.run.Inputs++
		return errors.Join(ac.putInput(in), ac.tx.PutRun(*ac.run),
			ac.event(core.Event{Type: frame(in), Run: in.Run, Call: in.Call, Input: in.ID}),
			ac.event(core.Event{Type: core.EventInputRequired, Run: ac.run.ID, Input: in.ID}),
			ac.prompt(in))
	})
	if err != nil {
		return "", fmt.Errorf("ask while %s goes on: %w", s.row.Tool, err)
	}
	d.run.Inputs++
	nudge(d.e.sweep)
	return id, nil
}

// follow waits until an input has ended, and ends it itself once until is closed or the engine is to stop: its
// answer would reach nobody.
func (d *driver) follow(ctx context.Context, id core.InputID, until <-chan struct{}) (core.Input, error) {
	stop := d.soft.Done()
	for {
		news := d.e.news.wait(string(d.claim.Conversation))
		in, err := d.e.store.Input(ctx, id)
		if err != nil || !in.Pending() {
			return in, err
		}
		select {
		case <-ctx.Done():
			return in, tool.ErrUnanswered
		case <-news:
			continue
		case <-until:
		case <-stop:
		}
		if err := d.closeHere(id); err != nil {
			return in, err
		}
		until, stop = nil, nil // it has ended now, by this or by an answer before it
	}
}

// closeHere ends an input whose call no longer waits for it. In one transaction: the input, and what waits
// behind it is shown or the run goes on.
func (d *driver) closeHere(id core.InputID) error {
	d.waiting.Lock()
	defer d.waiting.Unlock()
	err := d.update(func(ac *act) error {
		if ac.run == nil || ac.run.ID != d.root.run.ID {
			return nil // the run was closed, and the input with it
		}
		for _, in := range ac.inputs {
			if in.ID == id && in.Pending() {
				return errors.Join(ac.closeInput(in, ac.expired()), ac.proceed())
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("end input %s that nobody can answer any more: %w", id, err)
	}
	return nil
}
