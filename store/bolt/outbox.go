package bolt

import (
	"context"
	"time"

	"parley/core"
)

func (t *tx) AddOut(o core.Out) (core.Out, error) {
	if o.Conversation == "" {
		o.Conversation = t.conv
	}
	if err := t.own("outbox row", o.Conversation); err != nil {
		return o, err
	}
	n, err := t.next(bOut)
	if err != nil {
		return o, err
	}
	o.Seq = n
	return o, t.changeOut(func() error { return store(t, bOut, t.seqKey(n), o) })
}

func (t *tx) PutOut(o core.Out) error {
	if err := t.own("outbox row", o.Conversation); err != nil {
		return err
	}
	if err := t.present(bOut, "replace outbox row", o.Seq); err != nil {
		return err
	}
	return t.changeOut(func() error { return store(t, bOut, t.seqKey(o.Seq), o) })
}

func (t *tx) DropOut(seq uint64) error {
	if err := t.present(bOut, "drop outbox row", seq); err != nil {
		return err
	}
	return t.changeOut(func() error { return t.del(bOut, t.seqKey(seq)) })
}

// changeOut makes a change and brings the index of the oldest row up to date.
func (t *tx) changeOut(change func() error) error {
	before, err := t.head()
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	after, err := t.head()
	if err != nil {
		return err
	}
	return t.reindex(before, after)
}

func (t *tx) head() ([]entry, error) {
	rows, err := list[core.Out](t, bOut, key(nil).str(string(t.conv)), 1)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return headEntries(rows[0]), nil
}

// Outbox lists what is to be sent on a channel; a limit of 0 is 50.
func (s *Store) Outbox(ctx context.Context, channel string, limit int) (rows []core.Out, next time.Time, err error) {
	limit = limitOr(limit)
	err = s.read(ctx, "", func(t *tx) error {
		rows, next = nil, time.Time{}
		prefix := key(nil).str(channel)
		now := nanos(t.now)
		err := t.scan(bOutHead, prefix, nil, func(k, conv []byte) (bool, error) {
			p := parts{b: k[len(prefix):]}
			at, seq := p.nano(), p.seq()
			if err := p.end(); err != nil {
				return false, damaged(bOutHead, k, err)
			}
			if at > now || len(rows) == limit {
				return false, nil
			}
			row, err := load[core.Out](t, bOut, key(nil).str(string(conv)).seq(seq))
			rows = append(rows, row)
			return true, err
		})
		if err != nil || now == 1<<63-1 {
			return err
		}
		return t.scan(bOutHead, prefix, key(nil).raw(prefix).nano(now+1), func(k, _ []byte) (bool, error) {
			p := parts{b: k[len(prefix):]}
			next = time.Unix(0, p.nano())
			return false, p.err
		})
	})
	return rows, next, err
}
