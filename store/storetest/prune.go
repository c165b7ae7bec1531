package storetest

import (
	"errors"
	"fmt"
	"time"

	"parley/core"
	"parley/core/turn"
)

// prune calls Prune until it returns 0 and returns how many runs went.
func (e *env) prune(before time.Time, limit int) (total int) {
	e.Helper()
	for {
		n, err := e.s.Prune(e.ctx, before, limit)
		if err != nil {
			e.Fatal(err)
		}
		if n == 0 {
			return total
		}
		if n > limit {
			e.Fatalf("%d went at a limit of %d", n, limit)
		}
		total += n
	}
}

// ended stores a run with all that belongs to it, which ended at the given time.
func (e *env) ended(n int, at time.Time) Rows {
	r := Sample(n)
	r.Conversation.Asked, r.Run.EndedAt, r.Event.At = false, at, at
	e.put(r)
	e.do(r.Run.Conversation, func(tx turn.Tx) error { return tx.AddEvent(r.Event) })
	return r
}

func (e *env) gone(r Rows) bool {
	_, err := e.s.Run(e.ctx, r.Run.ID)
	return errors.Is(err, turn.ErrNotFound)
}

func pruneEnded(e *env) {
	before := e.now()
	var old []Rows
	for i := range 7 {
		old = append(old, e.ended(i, before.Add(-time.Nanosecond*time.Duration(1+i))))
	}
	kept := e.ended(10, before)
	e.do(Conv(20), func(tx turn.Tx) error {
		return errors.Join(tx.MarkSeen("old"), tx.AddEvent(core.Event{Type: core.EventText, At: e.now()}))
	})
	e.clock.Advance(time.Nanosecond)
	e.same("pruned", e.prune(before, 3), 7)
	for _, r := range old {
		if !e.gone(r) {
			e.Errorf("run %s is still there", r.Run.ID)
		}
		_, err := e.s.Input(e.ctx, r.Input.ID)
		e.is("input", err, turn.ErrNotFound)
		e.look(r.Run.Conversation, func(rd turn.Reader) error {
			steps, err := rd.Journal(r.Run.ID)
			calls, err2 := rd.Calls(r.Run.ID)
			inputs, err3 := rd.RunInputs(r.Run.ID)
			shown, err4 := rd.Prompted(r.Input.Prompts[0].Messages[0])
			if len(steps)+len(calls)+len(inputs) > 0 || shown != "" {
				e.Errorf("left of %s: %d steps, %d calls, %d inputs, prompt %q", r.Run.ID, len(steps), len(calls), len(inputs), shown)
			}
			return errors.Join(err, err2, err3, err4)
		})
	}
	if e.gone(kept) {
		e.Error("a run that ended at the very time went: it is not older")
	}
	e.same("accepted inputs", e.inputs(turn.InputFilter{State: core.InputAccepted}), []core.InputID{kept.Input.ID})
	e.same("events left", len(e.log()), 2)
	e.same("pruned later", e.prune(e.now(), 10), 1)
	e.same("events left in the end", len(e.log()), 0)
	e.look(Conv(20), func(rd turn.Reader) error {
		seen, err := rd.Seen("old")
		if seen {
			e.Error("an old deduplication key is still there")
		}
		return err
	})
}

func (e *env) log() []core.Event {
	log, err := e.s.Events(e.ctx, "", 0, 1000)
	if err != nil {
		e.Fatal(err)
	}
	return log
}

func pruneKeeps(e *env) {
	old := e.now().Add(-time.Hour)
	waiting := Waiting(1, old)
	e.put(waiting)
	e.do(Conv(1), func(tx turn.Tx) error { return tx.AddEvent(waiting.Event) })
	running := Waiting(2, old)
	running.Run.Status, running.Input.State = core.RunRunning, core.InputAccepted
	e.put(running)
	open := e.ended(9, old)
	open.Conversation.Open = open.Run.ID
	e.do(Conv(9), func(tx turn.Tx) error { return tx.PutConversation(open.Conversation) })
	unsent := e.ended(3, old)
	edit := e.ended(4, old)
	e.do(Conv(3), func(tx turn.Tx) error { _, err := tx.AddOut(core.Out{Run: unsent.Run.ID}); return err })
	e.do(Conv(4), func(tx turn.Tx) error { _, err := tx.AddOut(core.Out{Input: edit.Input.ID}); return err })
	queued := e.ended(5, old)
	e.do(Conv(5), func(tx turn.Tx) error {
		_, err := tx.Enqueue(queued.Message)
		return errors.Join(err, tx.MarkSeen("new"), tx.WakeAt(e.now()))
	})
	onlyQueued := e.ended(6, old)
	e.do(Conv(6), func(tx turn.Tx) error { _, err := tx.Enqueue(onlyQueued.Message); return err })
	otherRow := e.ended(7, old)
	e.do(Conv(7), func(tx turn.Tx) error { _, err := tx.AddOut(core.Out{Note: core.NoteHelp}); return err })
	e.ended(8, old)
	e.same("pruned", e.prune(e.now(), 1), 4)
	for _, r := range []Rows{onlyQueued, otherRow} {
		e.look(r.Run.Conversation, func(rd turn.Reader) error {
			conv, err := rd.Conversation()
			e.same("last run of a conversation in which something waits", conv.Last, r.Run.ID)
			return err
		})
	}
	for _, r := range []Rows{waiting, running, open, unsent, edit} {
		if e.gone(r) {
			e.Errorf("run %s went", r.Run.ID)
		}
	}
	e.same("pending", e.inputs(turn.InputFilter{}), []core.InputID{waiting.Input.ID})
	e.same("events of the waiting run", len(e.events(waiting.Run.ID)), 1)
	e.look(Conv(5), func(rd turn.Reader) error {
		q, err := rd.Queue(0)
		conv, err2 := rd.Conversation()
		seen, err3 := rd.Seen("new")
		if len(q) != 1 || conv.Last != queued.Run.ID || !seen {
			e.Errorf("of a conversation with a queued message: %d queued, %+v, seen %t", len(q), conv, seen)
		}
		return errors.Join(err, err2, err3)
	})
	e.claimOf(Conv(5))
	rows, _, err := e.s.Outbox(e.ctx, "tg", 0)
	if err != nil || len(rows) != 3 {
		e.Errorf("outbox: %v, %v", rows, err)
	}
	for _, o := range rows {
		e.drop(o)
	}
	e.same("pruned once they were sent", e.prune(e.now(), 10), 2)
}

func (e *env) events(run core.RunID) []core.Event {
	log, err := e.s.Events(e.ctx, run, 0, 0)
	if err != nil {
		e.Fatal(err)
	}
	return log
}

func pruneChain(e *env) {
	var before core.RunID
	for i := range 4 {
		r := Sample(i)
		conv := Conv(0)
		r.Conversation.ID, r.Run.Conversation, r.Input.Conversation = conv, conv, conv
		r.Run.Before, r.Run.EndedAt = before, e.now().Add(time.Duration(i)*time.Hour)
		before = r.Run.ID
		e.put(r)
	}
	e.same("pruned", e.prune(e.now().Add(2*time.Hour), 10), 2)
	var chain []string
	e.look(Conv(0), func(rd turn.Reader) error {
		conv, err := rd.Conversation()
		for id := conv.Last; err == nil && id != ""; {
			run, e := rd.Run(id)
			if errors.Is(e, turn.ErrNotFound) {
				break
			}
			chain, id, err = append(chain, string(run.ID)), run.Before, e
		}
		return err
	})
	e.same("chain", chain, []string{fmt.Sprintf("r%08d", 3), fmt.Sprintf("r%08d", 2)})
}

// pruneTree has a root run of which one child asked last.
func pruneTree(e *env) {
	old := e.now().Add(-time.Hour)
	root, child := Sample(1), Sample(2)
	root.Run.EndedAt, child.Run.EndedAt = old, old.Add(-time.Hour)
	root.Run.Children = []core.RunID{child.Run.ID}
	child.Run.Parent, child.Run.Conversation, child.Input.Conversation = root.Run.ID, Conv(1), Conv(1)
	child.Conversation = root.Conversation
	put := func(status core.RunStatus, state core.InputState) {
		e.do(Conv(1), func(tx turn.Tx) error {
			root.Run.Status, child.Input.State = status, state
			return errors.Join(tx.PutRun(root.Run), tx.PutInput(child.Input))
		})
	}
	e.put(child)
	e.put(root)
	put(core.RunInputRequired, core.InputAccepted)
	e.same("pruned while the root waits", e.prune(e.now(), 10), 0)
	put(core.RunCompleted, core.InputPending)
	e.same("pruned while the child asks", e.prune(e.now(), 10), 0)
	put(core.RunCompleted, core.InputAccepted)
	e.same("pruned before the root is old", e.prune(old, 10), 0)
	e.same("pruned in the end", e.prune(e.now(), 10), 1)
	if !e.gone(root) || !e.gone(child) {
		e.Error("a run of the tree is left")
	}
	e.same("accepted inputs", e.inputs(turn.InputFilter{State: core.InputAccepted}), []core.InputID{})
}
