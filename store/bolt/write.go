package bolt

import (
	"bytes"
	"fmt"

	"parley/core"
	"parley/core/turn"
)

func (t *tx) PutConversation(c core.Conversation) error {
	if err := t.own("conversation row", c.ID); err != nil {
		return err
	}
	return store(t, bConversation, key(nil).id(string(c.ID)), c)
}

func (t *tx) PutRun(r core.Run) error {
	if err := t.own("run "+string(r.ID), r.Conversation); err != nil {
		return err
	}
	k := key(nil).id(string(r.ID))
	old, err := glance[core.Run](t, bRun, k)
	if err != nil {
		return err
	}
	var before []entry
	if old != nil {
		before = runEntries(*old)
	}
	if err := t.reindex(before, runEntries(r)); err != nil {
		return err
	}
	return store(t, bRun, k, r)
}

func (t *tx) Append(run core.RunID, at int, steps ...core.Step) error {
	prefix := key(nil).str(string(run))
	n, ok := t.lastSeq(bJournal, prefix)
	if ok {
		n++
	}
	if at < 0 || n != uint64(at) {
		return fmt.Errorf("store: append to the journal of run %s: it holds %d steps, not %d: load it again", run, n, at)
	}
	for i, step := range steps {
		k := key(nil).raw(prefix).seq(n + uint64(i))
		if err := store(t, bJournal, k, step); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) PutCall(c core.Call) error {
	return store(t, bCall, callKey(c.Run, c.ID), c)
}

func (t *tx) PutInput(in core.Input) error {
	if err := t.own("input "+string(in.ID), in.Conversation); err != nil {
		return err
	}
	if _, ok := stateCodes[in.State]; !ok {
		return fmt.Errorf("store: input %s has the unknown state %q", in.ID, in.State)
	}
	k := key(nil).id(string(in.ID))
	old, err := glance[core.Input](t, bInput, k)
	if err != nil {
		return err
	}
	if old != nil && old.Run != in.Run {
		return fmt.Errorf("store: input %s belongs to run %s and cannot move to %s", in.ID, old.Run, in.Run)
	}
	var before []entry
	if old != nil {
		before = inputEntries(*old)
	} else if err := t.joinRun(in.Run, k); err != nil {
		return err
	}
	if err := t.reindex(before, inputEntries(in)); err != nil {
		return err
	}
	return store(t, bInput, k, in)
}

// joinRun puts a new input behind the others of its run.
func (t *tx) joinRun(run core.RunID, id []byte) error {
	prefix := key(nil).str(string(run))
	n, _ := t.lastSeq(bInputRun, prefix)
	return t.put(bInputRun, prefix.seq(n+1), id)
}

// reindex replaces the index entries of one row by others.
func (t *tx) reindex(before, after []entry) error {
	for _, e := range before {
		// A prompt's message may show another input by now.
		if !e.in(after) && (e.b != bPrompt || bytes.Equal(t.get(e.b, e.k), e.v)) {
			if err := t.del(e.b, e.k); err != nil {
				return err
			}
		}
	}
	for _, e := range after {
		if !e.in(before) {
			if err := t.put(e.b, e.k, e.v); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tx) MarkSeen(messageID string) error {
	k := seenKey(t.conv, messageID)
	if t.get(bSeen, k) != nil {
		return nil
	}
	at := key(nil).time(t.now)
	if err := t.put(bSeen, k, at); err != nil {
		return err
	}
	return t.reindex(nil, seenEntries(k, at))
}

func (t *tx) Enqueue(m core.Message) (core.Queued, error) {
	if err := t.own("message "+m.ID, m.Conversation); err != nil {
		return core.Queued{}, err
	}
	n, err := t.next(bQueue)
	if err != nil {
		return core.Queued{}, err
	}
	q := core.Queued{Seq: n, Message: m}
	return q, store(t, bQueue, t.seqKey(n), q)
}

func (t *tx) PutQueued(q core.Queued) error {
	if err := t.own("message "+q.Message.ID, q.Message.Conversation); err != nil {
		return err
	}
	if err := t.present(bQueue, "replace queued message", q.Seq); err != nil {
		return err
	}
	return store(t, bQueue, t.seqKey(q.Seq), q)
}

func (t *tx) Dequeue(seq uint64) error {
	if err := t.present(bQueue, "dequeue message", seq); err != nil {
		return err
	}
	return t.del(bQueue, t.seqKey(seq))
}

func (t *tx) seqKey(seq uint64) []byte { return key(nil).str(string(t.conv)).seq(seq) }

func (t *tx) present(b *bucket, what string, seq uint64) error {
	if t.get(b, t.seqKey(seq)) == nil {
		return fmt.Errorf("store: %s %d of %q: %w", what, seq, t.conv, turn.ErrNotFound)
	}
	return nil
}

func (t *tx) AddEvent(e core.Event) error {
	n, err := t.next(bEvent)
	if err != nil {
		return err
	}
	if e.Seq = n; e.Conversation == "" {
		e.Conversation = t.conv
	}
	if err := t.reindex(nil, eventEntries(e)); err != nil {
		return err
	}
	return store(t, bEvent, key(nil).seq(n), e)
}
