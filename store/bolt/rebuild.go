package bolt

import (
	"slices"

	"parley/core"
)

// rebuild makes the entries of index buckets again, from the rows.
func (t *tx) rebuild(missing []*bucket) error {
	if !slices.ContainsFunc(missing, func(b *bucket) bool { return !b.rows }) {
		return nil
	}
	put := func(entries []entry) error {
		for _, e := range entries {
			if slices.Contains(missing, e.b) {
				if err := t.put(e.b, e.k, e.v); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if slices.Contains(missing, bInputRun) {
		err := each(t, bInput, func(k []byte, in core.Input) error { return t.joinRun(in.Run, key(nil).raw(k)) })
		if err != nil {
			return err
		}
	}
	return t.derived(func(_ *bucket, _ []byte, entries []entry) error { return put(entries) })
}

// each decodes every row of a bucket in key order. A row that cannot be read ends it, unless t.bad takes it.
func each[T any](t *tx, b *bucket, f func(k []byte, v T) error) error {
	return t.scan(b, nil, nil, func(k, raw []byte) (bool, error) {
		var v T
		if err := decode(raw, &v); err != nil {
			if t.bad == nil {
				return false, damaged(b, k, err)
			}
			t.bad(b, k, err)
			return true, nil
		}
		return true, f(k, v)
	})
}

// derived calls f for each row that has index entries, with these. The order in which inputs joined
// their run does not follow from a row and is left out.
func (t *tx) derived(f func(b *bucket, k []byte, entries []entry) error) error {
	err := each(t, bRun, func(k []byte, r core.Run) error { return f(bRun, k, runEntries(r)) })
	if err == nil {
		err = each(t, bInput, func(k []byte, in core.Input) error { return f(bInput, k, inputEntries(in)) })
	}
	if err == nil {
		err = each(t, bEvent, func(k []byte, e core.Event) error { return f(bEvent, k, eventEntries(e)) })
	}
	if err == nil {
		err = each(t, bClaim, func(k []byte, row claimRow) error {
			return f(bClaim, k, claimEntries(core.ConversationID(k), row))
		})
	}
	if err == nil {
		err = t.scan(bSeen, nil, nil, func(k, at []byte) (bool, error) { return true, f(bSeen, k, seenEntries(k, at)) })
	}
	var last core.ConversationID
	if err == nil {
		err = each(t, bOut, func(k []byte, o core.Out) error {
			if o.Conversation == last {
				return nil
			}
			last = o.Conversation
			return f(bOut, k, headEntries(o))
		})
	}
	return err
}
