package bolt

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"parley/core"
	"parley/core/turn"
)

// pruneKeys is how many deduplication keys and how many events without a run one transaction removes.
const pruneKeys = 1000

// Prune removes what ended before the given time: up to limit runs (0: 50) with the runs below them, their steps, calls, inputs
// and events, then deduplication keys and events of no run. A conversation that has nothing left, and
// nothing to remember, goes with its last run. Open runs, pending inputs, queued messages and whatever an
// unsent row names stay. It returns how many runs went.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	for {
		runs, keys := 0, 0
		err := s.submit(ctx, turn.Scope{}, func(t *tx) (err error) {
			if runs, err = t.pruneRuns(before, limitOr(limit)); err != nil {
				return err
			}
			seen, err := t.pruneSeen(before)
			if err != nil {
				return err
			}
			events, err := t.pruneEvents(before)
			keys = max(seen, events)
			return err
		})
		if err != nil {
			return 0, fmt.Errorf("store: prune: %w", err)
		}
		// The caller stops at no runs: then nothing else may be left over either.
		if runs > 0 || keys < pruneKeys {
			return runs, nil
		}
	}
}

func (t *tx) pruneRuns(before time.Time, limit int) (n int, err error) {
	var gone []core.Run
	var stale [][]byte
	err = t.scan(bEnded, nil, nil, func(k, _ []byte) (bool, error) {
		p := parts{b: k}
		at := p.nano()
		if p.err != nil {
			return false, damaged(bEnded, k, p.err)
		}
		if at >= nanos(before) || len(gone) == limit {
			return false, nil
		}
		run, ok, err := lookup[core.Run](t, bRun, []byte(p.id()))
		if !ok && err == nil {
			stale = append(stale, bytes.Clone(k))
			return true, nil
		}
		if err == nil {
			ok, err = t.mayGo(run)
		}
		if err == nil && ok {
			gone = append(gone, run)
		}
		return true, err
	})
	if err != nil {
		return 0, err
	}
	for _, k := range stale {
		if err := t.del(bEnded, k); err != nil {
			return 0, err
		}
	}
	for _, run := range gone {
		if err := t.dropTree(run); err != nil {
			return 0, err
		}
	}
	return len(gone), nil
}

// tree is a root run with the runs below it, as far as they are there.
func (t *tx) tree(root core.Run) ([]core.Run, error) {
	runs := []core.Run{root}
	for _, id := range root.Children {
		child, ok, err := lookup[core.Run](t, bRun, key(nil).id(string(id)))
		if err != nil {
			return nil, err
		}
		if ok {
			runs = append(runs, child)
		}
	}
	return runs, nil
}

// mayGo reports whether nothing that waits belongs to an ended run or to those below it.
func (t *tx) mayGo(root core.Run) (bool, error) {
	t.conv = root.Conversation
	c, err := t.Conversation()
	if err != nil || c.Open == root.ID {
		return false, err
	}
	runs, err := t.tree(root)
	if err != nil {
		return false, err
	}
	mine, asked := map[core.RunID]bool{}, map[core.InputID]bool{}
	for _, run := range runs {
		inputs, err := t.runInputsLeft(run.ID)
		if err != nil || run.Status.Open() {
			return false, err
		}
		mine[run.ID] = true
		for _, in := range inputs {
			if in.Pending() {
				return false, nil
			}
			asked[in.ID] = true
		}
	}
	rows, err := t.Out()
	for _, o := range rows {
		if mine[o.Run] || asked[o.Input] || slices.ContainsFunc(o.Edits, func(id core.InputID) bool { return asked[id] }) {
			return false, err
		}
	}
	return true, err
}

// runInputsLeft are a run's inputs as far as they are there: a file may have lost some.
func (t *tx) runInputsLeft(run core.RunID) (out []core.Input, err error) {
	err = t.scan(bInputRun, key(nil).str(string(run)), nil, func(_, id []byte) (bool, error) {
		in, ok, err := lookup[core.Input](t, bInput, id)
		if ok {
			out = append(out, in)
		}
		return true, err
	})
	return out, err
}

// dropTree removes a root run, those below it and all that belongs to them.
func (t *tx) dropTree(root core.Run) error {
	runs, err := t.tree(root)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if err := t.dropRun(run); err != nil {
			return err
		}
	}
	return t.dropConversation(root)
}

func (t *tx) dropRun(run core.Run) error {
	inputs, err := t.runInputsLeft(run.ID)
	if err != nil {
		return err
	}
	for _, in := range inputs {
		if err := t.reindex(inputEntries(in), nil); err != nil {
			return err
		}
		if err := t.del(bInput, key(nil).id(string(in.ID))); err != nil {
			return err
		}
	}
	prefix := key(nil).str(string(run.ID))
	if err := t.dropRunEvents(prefix); err != nil {
		return err
	}
	for _, b := range []*bucket{bInputRun, bJournal, bCall, bEventRun} {
		if err := t.dropPrefix(b, prefix); err != nil {
			return err
		}
	}
	if err := t.reindex(runEntries(run), nil); err != nil {
		return err
	}
	return t.del(bRun, key(nil).id(string(run.ID)))
}

// dropConversation removes the row of a conversation whose last run went and that remembers nothing.
func (t *tx) dropConversation(run core.Run) error {
	t.conv = run.Conversation
	c, err := t.Conversation()
	if err != nil || c.Last != run.ID || c.Open != "" || c.Asked {
		return err
	}
	prefix := key(nil).str(string(t.conv))
	busy := t.get(bClaim, key(nil).id(string(t.conv))) != nil
	for _, b := range []*bucket{bQueue, bOut} {
		_, some := t.lastSeq(b, prefix)
		busy = busy || some
	}
	if busy {
		return nil
	}
	return t.del(bConversation, key(nil).id(string(t.conv)))
}

// dropPrefix removes the entries below a prefix.
func (t *tx) dropPrefix(b *bucket, prefix []byte) error {
	var ks [][]byte
	err := t.scan(b, prefix, nil, func(k, _ []byte) (bool, error) {
		ks = append(ks, bytes.Clone(k))
		return true, nil
	})
	for _, k := range ks {
		if err == nil {
			err = t.del(b, k)
		}
	}
	return err
}

// dropRunEvents removes the events that are indexed below a prefix; the index is left.
func (t *tx) dropRunEvents(prefix []byte) error {
	var seqs [][]byte
	err := t.scan(bEventRun, prefix, nil, func(k, _ []byte) (bool, error) {
		seqs = append(seqs, bytes.Clone(k[len(prefix):]))
		return true, nil
	})
	for _, seq := range seqs {
		if err == nil {
			err = t.del(bEvent, seq)
		}
	}
	return err
}

func (t *tx) pruneSeen(before time.Time) (int, error) {
	var ks [][]byte
	err := t.scan(bSeenAge, nil, nil, func(k, _ []byte) (bool, error) {
		p := parts{b: k}
		if at := p.nano(); p.err != nil || at >= nanos(before) {
			return false, p.err
		}
		ks = append(ks, bytes.Clone(k))
		return len(ks) < pruneKeys, nil
	})
	for _, k := range ks {
		if err == nil {
			err = t.del(bSeen, k[8:])
		}
		if err == nil {
			err = t.del(bSeenAge, k)
		}
	}
	return len(ks), err
}

// pruneEvents removes old events of no run; those of a run go with it.
func (t *tx) pruneEvents(before time.Time) (int, error) {
	prefix := key(nil).str("")
	var seqs [][]byte
	err := t.scan(bEventRun, prefix, nil, func(k, _ []byte) (bool, error) {
		seq := bytes.Clone(k[len(prefix):])
		e, ok, err := lookup[core.Event](t, bEvent, seq)
		if err != nil || ok && !e.At.Before(before) {
			return false, err
		}
		seqs = append(seqs, seq)
		return len(seqs) < pruneKeys, nil
	})
	for _, seq := range seqs {
		if err == nil {
			err = t.del(bEvent, seq)
		}
		if err == nil {
			err = t.del(bEventRun, key(nil).raw(prefix).raw(seq))
		}
	}
	return len(seqs), err
}
