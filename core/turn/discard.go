package turn

import (
	"errors"

	"parley/core"
)

// discard looks at inputs that have ended, as the loop is about to go by them. One that did not end as settling
// or closing ends it (its row was written by another hand) is no answer: it is taken back when the whole tree
// stops, and the run stays parked.
func (d *driver) discard(wanting []*state) error {
	found := false
	for _, s := range wanting {
		if in := d.opened(s); in.Misfit() != "" {
			found = true
			d.root.discards = append(d.root.discards, in.ID)
		}
	}
	switch {
	case !found:
		return nil
	case d != d.root:
		d.run.Status = core.RunInputRequired
		if err := d.record(); err != nil {
			return err
		}
	}
	return errSuspended
}

// discardAll has the inputs wait again whose end was none. The audit keeps what stood there.
func (d *driver) discardAll(a *act) (any bool, err error) {
	for _, id := range d.discards {
		in, err := a.tx.Input(id)
		if err != nil {
			return any, err
		}
		why := in.Misfit()
		if why == "" {
			continue
		}
		ev := core.Event{Type: core.EventDiscarded, Run: in.Run, Call: in.Call, Input: in.ID, Data: data(struct {
			Why     string          `json:"why"`
			State   core.InputState `json:"state"`
			Settled *core.Settled   `json:"settled,omitempty"`
		}{why, in.State, in.Settled})}
		if in.Settled != nil {
			ev.By, ev.Via = in.Settled.By, in.Settled.Via
		}
		in.State, in.Settled = core.InputPending, nil
		in.Draft = core.Draft{Step: in.Draft.Step}
		if err := errors.Join(a.event(ev), a.putInput(in)); err != nil {
			return any, err
		}
		any = true
	}
	return any, nil
}
