package bolt

import (
	"slices"

	"parley/core"
)

// has reports whether a row is there, readable or not.
func (c *checker) has(b *bucket, id string) bool { return c.tx.get(b, key(nil).id(id)) != nil }

func (c *checker) conversations() error {
	return each(c.tx, bConversation, func(k []byte, v core.Conversation) error {
		if string(k) != valid(string(v.ID)) {
			c.find("row", bConversation, k, "the row names itself %q", v.ID)
		}
		if v.Open == "" {
			return nil
		}
		run, ok, err := c.run(v.Open)
		switch {
		case err != nil: // found as a row
		case !ok:
			c.find("reference", bConversation, k, "its open run %q is not there", v.Open)
		case run.Conversation != v.ID:
			c.find("I1", bConversation, k, "its open run %q belongs to %q", v.Open, run.Conversation)
		case !run.Status.Open():
			c.find("I1", bConversation, k, "its open run %q has ended as %s", v.Open, run.Status)
		}
		return nil
	})
}

func (c *checker) runs() error {
	return each(c.tx, bRun, func(k []byte, r core.Run) error {
		if string(k) != valid(string(r.ID)) {
			c.find("row", bRun, k, "the row names itself %q", r.ID)
		}
		if err := c.place(k, r); err != nil {
			return err
		}
		if before, ok, _ := c.run(r.Before); r.Before != "" && ok && before.Conversation != r.Conversation {
			c.find("reference", bRun, k, "the run before it, %q, belongs to %q", r.Before, before.Conversation)
		}
		for _, id := range r.Children {
			if child, ok, err := c.run(id); err == nil && (!ok || child.Parent == "") {
				c.find("reference", bRun, k, "its child %q is not there", id)
			}
		}
		if err := c.pending(k, r); err != nil {
			return err
		}
		return c.journal(k, r)
	})
}

// run reads a run; one that cannot be read was found as a row.
func (c *checker) run(id core.RunID) (core.Run, bool, error) {
	return lookup[core.Run](c.tx, bRun, key(nil).id(string(id)))
}

// place checks that an open run is its conversation's one open run, or one of those below that (I1).
func (c *checker) place(k []byte, r core.Run) error {
	parent, ok, err := c.run(r.Parent)
	switch {
	case r.Parent == "" || err != nil:
	case !ok:
		c.find("reference", bRun, k, "its parent %q is not there", r.Parent)
	case parent.Conversation != r.Conversation:
		c.find("reference", bRun, k, "its parent %q belongs to %q", r.Parent, parent.Conversation)
	}
	if !r.Status.Open() {
		return nil
	}
	conv, ok, err := lookup[core.Conversation](c.tx, bConversation, key(nil).id(string(r.Conversation)))
	switch {
	case err != nil:
		return nil
	case !ok:
		c.find("reference", bRun, k, "its conversation %q is not there", r.Conversation)
		return nil
	}
	below := false
	if open, ok, err := c.run(conv.Open); r.Parent != "" && ok && err == nil {
		below = slices.Contains(open.Children, r.ID)
	}
	if conv.Open != r.ID && !below {
		c.find("I1", bRun, k, "it is %s, but the open run of %q is %q", r.Status, conv.ID, conv.Open)
	}
	return nil
}

// pending checks I2 and that every input in the run's list is there. A child goes on with its root: it may
// still be marked as waiting once the last answer has come.
func (c *checker) pending(k []byte, r core.Run) error {
	waits, err := c.waits(k, r.ID)
	for _, child := range r.Children {
		if err != nil || waits {
			break
		}
		waits, err = c.waits(k, child)
	}
	switch {
	case waits && r.Status != core.RunInputRequired && (r.Parent == "" || !r.Status.Open()):
		c.find("I2", bRun, k, "it is %s and has a pending input", r.Status)
	case !waits && r.Status == core.RunInputRequired && r.Parent == "":
		c.find("I2", bRun, k, "it is %s and has no pending input", r.Status)
	}
	return err
}

// waits reports whether a run has a pending input of its own.
func (c *checker) waits(k []byte, run core.RunID) (waits bool, err error) {
	err = c.tx.scan(bInputRun, key(nil).str(string(run)), nil, func(_, id []byte) (bool, error) {
		in, ok, err := lookup[core.Input](c.tx, bInput, id)
		if err == nil && !ok {
			c.find("reference", bRun, k, "its input %q is not there", id)
		}
		waits = waits || ok && in.Pending()
		return true, nil
	})
	return waits, err
}

// journal checks that steps follow each other and that no name occurs twice (I7).
func (c *checker) journal(k []byte, r core.Run) error {
	prefix := key(nil).str(string(r.ID))
	want, names := uint64(0), map[string]bool{}
	return c.tx.scan(bJournal, prefix, nil, func(at, raw []byte) (bool, error) {
		p := parts{b: at[len(prefix):]}
		if n := p.seq(); p.end() != nil || n != want {
			c.find("I7", bRun, k, "its journal has no step %d", want)
			want = n
		}
		want++
		var step core.Step
		if err := decode(raw, &step); err != nil {
			c.find("row", bJournal, at, "%v", err)
			return true, nil
		}
		if names[step.Name] {
			c.find("I7", bRun, k, "its journal has step %q twice", step.Name)
		}
		names[step.Name] = true
		return true, nil
	})
}

func (c *checker) steps() error {
	return c.tx.scan(bJournal, nil, nil, func(k, _ []byte) (bool, error) {
		p := parts{b: k}
		if run := p.str(); !c.has(bRun, run) {
			c.find("reference", bJournal, k, "run %q is not there", run)
		}
		return true, nil
	})
}

func (c *checker) calls() error {
	return each(c.tx, bCall, func(k []byte, call core.Call) error {
		if string(k) != string(callKey(call.Run, call.ID)) {
			c.find("row", bCall, k, "the row names itself %q of run %q", call.ID, call.Run)
		}
		run, ok, err := c.run(call.Run)
		switch {
		case err != nil:
		case !ok:
			c.find("reference", bCall, k, "run %q is not there", call.Run)
		case !run.Status.Open() && !call.Done():
			c.find("I4", bCall, k, "its run has ended as %s and it has no result", run.Status)
		}
		if call.Done() && (call.Status == core.CallPending || call.Status == core.CallExecuting) {
			c.find("I4", bCall, k, "it has a result and is %s", call.Status)
		}
		if call.Child != "" && !c.has(bRun, string(call.Child)) {
			c.find("reference", bCall, k, "run %q is not there", call.Child)
		}
		var named []core.InputID
		if call.Approval != nil {
			named = append(named, call.Approval.Input)
		}
		for _, a := range call.Asks {
			named = append(named, a.Input)
		}
		for _, id := range named {
			if !c.has(bInput, string(id)) {
				c.find("reference", bCall, k, "input %q is not there", id)
			}
		}
		return nil
	})
}

func (c *checker) inputs() error {
	return each(c.tx, bInput, func(k []byte, in core.Input) error {
		if string(k) != valid(string(in.ID)) {
			c.find("row", bInput, k, "the row names itself %q", in.ID)
		}
		run, ok, err := c.run(in.Run)
		switch {
		case err != nil:
		case !ok:
			c.find("reference", bInput, k, "run %q is not there", in.Run)
		case run.Conversation != in.Conversation:
			c.find("reference", bInput, k, "it is of %q and its run of %q", in.Conversation, run.Conversation)
		}
		if c.tx.get(bCall, callKey(in.Run, in.Call)) == nil {
			c.find("reference", bInput, k, "call %q of run %q is not there", in.Call, in.Run)
		}
		c.ending(k, in)
		return nil
	})
}

// ending checks that an input ended as its state says (I3) and that a person accepted what is accepted (I6).
func (c *checker) ending(k []byte, in core.Input) {
	switch {
	case in.Pending() != (in.Settled == nil):
		c.find("I3", bInput, k, "it is %s, and how it ended is recorded: %t", in.State, in.Settled != nil)
	case in.Settled == nil:
	case in.Settled.Answer != nil && in.Settled.Answer.State() != in.State:
		c.find("I3", bInput, k, "it is %s, and its answer says %s", in.State, in.Settled.Answer.State())
	case in.State == core.InputAccepted && in.Settled.By == "":
		c.find("I6", bInput, k, "it was accepted by nobody")
	}
}

func (c *checker) queued() error {
	return each(c.tx, bQueue, func(k []byte, q core.Queued) error {
		id := q.Message.Conversation
		if string(k) != string(key(nil).str(string(id)).seq(q.Seq)) {
			c.find("row", bQueue, k, "the row names itself %d of %q", q.Seq, id)
		}
		if !c.has(bConversation, string(id)) {
			c.find("reference", bQueue, k, "conversation %q is not there", id)
		}
		return nil
	})
}

func (c *checker) unsent() error {
	return each(c.tx, bOut, func(k []byte, o core.Out) error {
		if string(k) != string(key(nil).str(string(o.Conversation)).seq(o.Seq)) {
			c.find("row", bOut, k, "the row names itself %d of %q", o.Seq, o.Conversation)
		}
		if !c.has(bConversation, string(o.Conversation)) {
			c.find("reference", bOut, k, "conversation %q is not there", o.Conversation)
		}
		if o.Run != "" && !c.has(bRun, string(o.Run)) {
			c.find("reference", bOut, k, "run %q is not there", o.Run)
		}
		for _, id := range append([]core.InputID{o.Input}, o.Edits...) {
			if id != "" && !c.has(bInput, string(id)) {
				c.find("reference", bOut, k, "input %q is not there", id)
			}
		}
		return nil
	})
}

func (c *checker) log() error {
	return each(c.tx, bEvent, func(k []byte, e core.Event) error {
		if string(k) != string(key(nil).seq(e.Seq)) {
			c.find("row", bEvent, k, "the row names itself %d", e.Seq)
		}
		if e.Run != "" && !c.has(bRun, string(e.Run)) {
			c.find("reference", bEvent, k, "run %q is not there", e.Run)
		}
		return nil
	})
}
