package bolt

import (
	"bytes"
	"fmt"

	"parley/core"
)

// forward checks that every row has its index entries.
func (c *checker) forward() error {
	err := c.tx.derived(func(b *bucket, k []byte, entries []entry) error {
		for _, e := range entries {
			found := c.tx.get(e.b, e.k)
			switch {
			case found == nil:
				c.find("index", b, k, "it is missing from %s", e.b)
			case e.b != bPrompt && !bytes.Equal(found, e.v):
				c.find("index", b, k, "its entry in %s says %q", e.b, found)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return each(c.tx, bInput, func(k []byte, in core.Input) error {
		n := 0
		err := c.tx.scan(bInputRun, key(nil).str(string(in.Run)), nil, func(_, id []byte) (bool, error) {
			if bytes.Equal(id, k) {
				n++
			}
			return true, nil
		})
		if n != 1 {
			c.find("index", bInput, k, "its run lists it %d times", n)
		}
		return err
	})
}

// backward checks that every index entry follows from a row.
func (c *checker) backward() error {
	for _, b := range buckets {
		if b.rows {
			continue
		}
		err := c.tx.scan(b, nil, nil, func(k, v []byte) (bool, error) {
			entries, err := c.source(b, k, v)
			switch {
			case err != nil:
				c.find("index", b, k, "%v", err)
			case !(entry{b, k, v}).in(entries):
				c.find("index", b, k, "the row it points to does not say so")
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// source finds the row behind an index entry and returns the entries that the row has.
func (c *checker) source(b *bucket, k, v []byte) ([]entry, error) {
	p := parts{b: bytes.Clone(k)}
	switch b {
	case bEnded:
		p.nano()
		r, err := named[core.Run](c, bRun, &p)
		return runEntries(r), err
	case bInputRun:
		run := p.str()
		in, err := load[core.Input](c.tx, bInput, v)
		if err == nil && string(in.Run) != run {
			err = fmt.Errorf("input %q is of run %q", v, in.Run)
		}
		return []entry{{b, k, v}}, err
	case bInputState, bInputAgent, bInputWho, bInputConv, bInputDue, bPrompt:
		in, err := c.indexed(b, &p, v)
		return inputEntries(in), err
	case bEventRun:
		p.str()
		e, err := load[core.Event](c.tx, bEvent, key(nil).seq(p.seq()))
		return eventEntries(e), err
	case bSeenAge:
		at := key(nil).nano(p.nano())
		if !bytes.Equal(c.tx.get(bSeen, p.b), at) {
			return nil, fmt.Errorf("there is no such key of that time")
		}
		return seenEntries(p.b, at), nil
	case bDue, bHeld:
		if b == bHeld {
			p.str()
		}
		p.nano()
		conv := core.ConversationID(p.b)
		row, err := named[claimRow](c, bClaim, &p)
		return claimEntries(conv, row), err
	case bOutHead:
		c.tx.conv = core.ConversationID(v)
		return c.tx.head()
	}
	return nil, fmt.Errorf("bucket %s has no owner", b)
}

// indexed finds the input behind an entry of one of the inputs' indexes.
func (c *checker) indexed(b *bucket, p *parts, v []byte) (core.Input, error) {
	switch b {
	case bPrompt:
		return load[core.Input](c.tx, bInput, v)
	case bInputAgent, bInputWho, bInputConv:
		p.str()
	}
	if b != bInputDue {
		p.byte()
	}
	p.nano()
	return named[core.Input](c, bInput, p)
}

// named loads the row whose id is the rest of a key.
func named[T any](c *checker, b *bucket, p *parts) (T, error) {
	id := p.id()
	if p.err != nil {
		var none T
		return none, p.err
	}
	return load[T](c.tx, b, []byte(id))
}
