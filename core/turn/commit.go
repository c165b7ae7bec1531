package turn

import (
	"errors"
	"time"

	"parley/core"
)

// update runs f in one transaction under the driver's claim. A store that fails for a while is tried
// again, since what was done outside must be recorded.
func (d *driver) update(f func(*act) error) error { return d.updateWith(d.e.newAct, f) }

func (d *driver) updateWith(load func(Tx) (*act, error), f func(*act) error) error {
	const first, longest = 50 * time.Millisecond, 5 * time.Second
	for wait := first; ; wait = min(2*wait, longest) {
		var a *act
		err := d.e.store.Update(d.hard, Scope{Conversation: d.claim.Conversation, Claim: d.claim}, func(tx Tx) error {
			var err error
			if a, err = load(tx); err != nil {
				return err
			}
			a.holder, a.ctx = true, d.ctx
			return f(a)
		})
		if err == nil {
			a.committed()
			d.e.lookAt(a.now, a.due)
		}
		if err == nil || errors.Is(err, ErrFenced) || errors.Is(err, errAborted) || errors.Is(err, errClosed) || errors.Is(err, ErrDamaged) || d.hard.Err() != nil {
			d.e.news.tell(d.claim.Conversation)
			return err
		}
		d.e.log.Error("store a step, will try again", "conversation", d.claim.Conversation, "run", d.run.ID, "err", err)
		timer := time.NewTimer(wait)
		select {
		case <-d.hard.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}

// commit writes the steps and calls that are not durable, with what f adds, in one transaction.
func (d *driver) commit(f func(*act) error) error { return d.commitWith(d.e.newAct, f) }

// record commits the steps and calls alone, unless the run is to be aborted.
func (d *driver) record() error { return d.commitWith(d.e.bareAct, abortable) }

func (d *driver) commitWith(load func(Tx) (*act, error), f func(*act) error) error {
	err := d.updateWith(load, func(a *act) error {
		if a.run == nil || a.run.ID != d.root.run.ID {
			return errClosed
		}
		if d != d.root { // its input may have expired while its call went on
			if stored, err := a.tx.Run(d.run.ID); err != nil || !stored.Status.Open() {
				return errors.Join(err, errClosed)
			}
		}
		at, steps := d.j.Pending()
		if err := errors.Join(a.tx.Append(d.run.ID, at, steps...), a.said(d.run.ID, steps)); err != nil {
			return err
		}
		for _, c := range d.dirty {
			if err := a.tx.PutCall(*c); err != nil {
				return err
			}
		}
		run := d.run
		if run.Stuck = 0; d == d.root {
			run.Abort, run.Children = a.run.Abort, a.run.Children // written by others
			a.run = &run
		}
		if err := a.tx.PutRun(run); err != nil {
			return err
		}
		return f(a)
	})
	if err == nil {
		d.j.Committed()
		d.dirty = nil
	}
	return err
}

// abortable fails with errAborted where somebody wanted the run to stop; nothing is written then.
func abortable(a *act) error {
	if a.run.Abort != nil {
		return errAborted
	}
	return nil
}

// put keeps a call's row for the next commit.
func (d *driver) put(c *core.Call) {
	d.calls[c.ID] = c
	for i := range d.dirty {
		if d.dirty[i].ID == c.ID {
			d.dirty[i] = c
			return
		}
	}
	d.dirty = append(d.dirty, c)
}

// unsaved reports whether something was recorded that is not durable.
func (d *driver) unsaved() bool {
	_, steps := d.j.Pending()
	return len(steps) > 0 || len(d.dirty) > 0
}

// flush writes the steps and calls that were recorded: results of calls that ran are kept however the run ends.
func (d *driver) flush(a *act) error {
	at, steps := d.j.Pending()
	if err := errors.Join(a.tx.Append(d.run.ID, at, steps...), a.said(d.run.ID, steps)); err != nil {
		return err
	}
	for _, c := range d.dirty {
		if err := a.tx.PutCall(*c); err != nil {
			return err
		}
	}
	return nil
}

// flushBelow writes what was recorded of the runs below that this pass advanced.
func (d *driver) flushBelow(a *act) error {
	for _, b := range d.below {
		stored, err := a.tx.Run(b.run.ID)
		if err != nil {
			return err
		}
		if !stored.Status.Open() || stored.Status == b.run.Status && !b.unsaved() {
			continue
		}
		if err := errors.Join(b.flush(a), a.tx.PutRun(b.run)); err != nil {
			return err
		}
	}
	return nil
}
