package storetest

import (
	"errors"
	"fmt"

	"github.com/google/go-cmp/cmp"

	"parley/core"
	"parley/core/turn"
)

func rowsComeBack(e *env) {
	r := Sample(1)
	e.put(r)
	var out core.Out
	e.do(r.Run.Conversation, func(tx turn.Tx) (err error) {
		if _, err := tx.Enqueue(r.Message); err != nil {
			return err
		}
		if err := tx.AddEvent(r.Event); err != nil {
			return err
		}
		out, err = tx.AddOut(r.Out)
		return err
	})
	check := func(rd turn.Reader) error {
		conv, err := rd.Conversation()
		run, err2 := rd.Run(r.Run.ID)
		steps, err3 := rd.Journal(r.Run.ID)
		calls, err4 := rd.Calls(r.Run.ID)
		inputs, err5 := rd.RunInputs(r.Run.ID)
		in, err6 := rd.Input(r.Input.ID)
		queue, err7 := rd.Queue(0)
		outs, err8 := rd.Out()
		e.same("conversation", conv, r.Conversation)
		e.same("run", run, r.Run)
		e.same("journal", steps, r.Steps)
		e.same("calls", calls, []core.Call{r.Call})
		e.same("inputs of the run", inputs, []core.Input{r.Input})
		e.same("input", in, r.Input)
		e.same("outbox", outs, []core.Out{out})
		if len(queue) != 1 || !cmp.Equal(queue[0].Message, r.Message) {
			e.Errorf("queue: %+v", queue)
		}
		return errors.Join(err, err2, err3, err4, err5, err6, err7, err8)
	}
	e.look(r.Run.Conversation, check)
	e.do(r.Run.Conversation, func(tx turn.Tx) error { return check(tx) })
	in, err := e.s.Input(e.ctx, r.Input.ID)
	run, err2 := e.s.Run(e.ctx, r.Run.ID)
	log, err3 := e.s.Events(e.ctx, r.Run.ID, 0, 0)
	if err := errors.Join(err, err2, err3); err != nil || len(log) != 1 {
		e.Fatal(log, err)
	}
	r.Event.Seq = log[0].Seq
	e.same("event", log[0], r.Event)
	e.same("input by id", in, r.Input)
	e.same("run by id", run, r.Run)
	want := r.Out
	want.Seq = out.Seq
	e.same("outbox row as added", out, want)
}

func missingRows(e *env) {
	e.look(Conv(1), func(rd turn.Reader) error {
		conv, err := rd.Conversation()
		e.same("conversation", conv, core.Conversation{ID: Conv(1)})
		if err != nil {
			return err
		}
		_, err = rd.Run("r")
		e.is("run", err, turn.ErrNotFound)
		_, err = rd.Input("i")
		e.is("input", err, turn.ErrNotFound)
		id, err := rd.Prompted("m")
		if id != "" || err != nil {
			e.Errorf("prompted: %q, %v", id, err)
		}
		steps, err := rd.Journal("r")
		calls, err2 := rd.Calls("r")
		inputs, err3 := rd.RunInputs("r")
		queue, err4 := rd.Queue(0)
		out, err5 := rd.Out()
		held, err6 := rd.Held()
		if n := len(steps) + len(calls) + len(inputs) + len(queue) + len(out); n > 0 || held {
			e.Errorf("%d rows in an empty store, held %t", n, held)
		}
		return errors.Join(err, err2, err3, err4, err5, err6)
	})
	_, err := e.s.Input(e.ctx, "i")
	e.is("input by id", err, turn.ErrNotFound)
	_, err = e.s.Run(e.ctx, "r")
	e.is("run by id", err, turn.ErrNotFound)
	for what, f := range map[string]func(turn.Tx) error{
		"dequeue":    func(tx turn.Tx) error { return tx.Dequeue(7) },
		"put queued": func(tx turn.Tx) error { return tx.PutQueued(core.Queued{Seq: 7, Message: Sample(1).Message}) },
		"drop out":   func(tx turn.Tx) error { return tx.DropOut(7) },
		"put out":    func(tx turn.Tx) error { return tx.PutOut(core.Out{Seq: 7, Conversation: Conv(1)}) },
	} {
		e.is(what, e.s.Update(e.ctx, turn.Scope{Conversation: Conv(1)}, f), turn.ErrNotFound)
	}
}

func foreignRows(e *env) {
	r := Sample(1)
	for what, f := range map[string]func(turn.Tx) error{
		"conversation": func(tx turn.Tx) error { return tx.PutConversation(r.Conversation) },
		"run":          func(tx turn.Tx) error { return tx.PutRun(r.Run) },
		"input":        func(tx turn.Tx) error { return tx.PutInput(r.Input) },
		"message":      func(tx turn.Tx) error { _, err := tx.Enqueue(r.Message); return err },
		"out":          func(tx turn.Tx) error { _, err := tx.AddOut(r.Out); return err },
	} {
		if err := e.s.Update(e.ctx, turn.Scope{Conversation: Conv(2)}, f); err == nil {
			e.Errorf("a %s of another conversation was written", what)
		}
	}
	e.do(Conv(2), func(tx turn.Tx) error { return tx.WakeAt(e.now()) })
	c := e.claimOf(Conv(2))
	err := e.s.Update(e.ctx, turn.Scope{Conversation: Conv(1), Claim: c}, func(turn.Tx) error { return nil })
	if err == nil {
		e.Error("a claim on another conversation let a write through")
	}
}

func nothingShared(e *env) {
	r := Sample(1)
	e.put(r)
	var steps []core.Step
	var in core.Input
	read := func(rd turn.Reader) (err error) {
		if steps, err = rd.Journal(r.Run.ID); err != nil {
			return err
		}
		in, err = rd.Input(r.Input.ID)
		return err
	}
	e.look(r.Run.Conversation, read)
	for i := range steps[0].Data {
		steps[0].Data[i] = 'x'
	}
	in.Responders.Audience[0], in.Arguments[0] = "local:eve", 'x'
	e.look(r.Run.Conversation, read)
	e.same("journal", steps, r.Steps)
	e.same("input", in, r.Input)
}

func invalidText(e *env) {
	r := Waiting(1, e.now())
	r.Input.Responders.Audience = []core.PersonID{"api:\xff\xfe", "api:a\x00b\x01c"}
	r.Input.Prompts[0].Messages = []string{"m\xff", "n\x00"}
	e.put(r)
	for _, p := range r.Input.Responders.Audience {
		e.same(fmt.Sprintf("for %q", p), len(e.inputs(turn.InputFilter{Responder: p})), 1)
	}
	r.Input.State = core.InputCancelled
	e.do(Conv(1), func(tx turn.Tx) error { return tx.PutInput(r.Input) })
	for _, p := range r.Input.Responders.Audience {
		e.same(fmt.Sprintf("for %q once cancelled", p), len(e.inputs(turn.InputFilter{Responder: p})), 0)
	}
	e.look(Conv(1), func(rd turn.Reader) error {
		id, err := rd.Prompted("m\xff")
		e.same("prompted", id, r.Input.ID)
		return err
	})
}

func journalGrows(e *env) {
	step := func(n int) core.Step { return core.Step{Name: fmt.Sprint("step ", n)} }
	add := func(at int, steps ...core.Step) error {
		return e.s.Update(e.ctx, turn.Scope{Conversation: Conv(1)}, func(tx turn.Tx) error { return tx.Append("r1", at, steps...) })
	}
	if err := errors.Join(add(0, step(0), step(1)), add(2, step(2))); err != nil {
		e.Fatal(err)
	}
	for _, at := range []int{-1, 0, 2, 4} {
		if err := add(at, step(9)); err == nil {
			e.Errorf("appended at %d of 3", at)
		}
	}
	e.do(Conv(1), func(tx turn.Tx) error {
		err := errors.Join(tx.Append("r", 0, step(7)), tx.Append("r10", 0, step(8)))
		steps, err2 := tx.Journal("r1")
		e.same("journal", steps, []core.Step{step(0), step(1), step(2)})
		return errors.Join(err, err2)
	})
}

func orderWithinRun(e *env) {
	r := Sample(1)
	at := []struct {
		id    core.CallID
		step  int
		index int
	}{{"c10", 2, 1}, {"c2", 1, 0}, {"c9", 2, 0}, {"a", 10, 0}, {"c1", 1, 1}}
	opened := []core.InputID{"i5", "i2", "i9", "i1"}
	e.do(Conv(1), func(tx turn.Tx) error {
		for _, c := range at {
			r.Call.ID, r.Call.Step, r.Call.Index = c.id, c.step, c.index
			if err := tx.PutCall(r.Call); err != nil {
				return err
			}
		}
		for _, id := range opened {
			r.Input.ID = id
			if err := tx.PutInput(r.Input); err != nil {
				return err
			}
		}
		r.Input.ID, r.Input.State = "i5", core.InputSkipped
		return tx.PutInput(r.Input)
	})
	e.look(Conv(1), func(rd turn.Reader) error {
		calls, err := rd.Calls(r.Run.ID)
		inputs, err2 := rd.RunInputs(r.Run.ID)
		var got []core.CallID
		for _, c := range calls {
			got = append(got, c.ID)
		}
		e.same("calls", got, []core.CallID{"c2", "c1", "c9", "c10", "a"})
		e.same("inputs", ids(inputs), opened)
		return errors.Join(err, err2)
	})
}

func seenOnce(e *env) {
	seen := func(conv core.ConversationID, id string) (got bool) {
		e.look(conv, func(rd turn.Reader) (err error) {
			got, err = rd.Seen(id)
			return err
		})
		return got
	}
	if seen(Conv(1), "7") {
		e.Error("seen before it came")
	}
	e.do(Conv(1), func(tx turn.Tx) error { return errors.Join(tx.MarkSeen("7"), tx.MarkSeen("7")) })
	e.do(Conv(1), func(tx turn.Tx) error { return tx.MarkSeen("7") })
	if !seen(Conv(1), "7") || seen(Conv(1), "77") || seen(Conv(2), "7") {
		e.Error("a message id is known in its own conversation, and whole")
	}
}

func queueOrder(e *env) {
	msg := func(conv core.ConversationID, id string) core.Message {
		return core.Message{ID: id, Conversation: conv, From: "local:a", Text: id, SentAt: e.now()}
	}
	for _, id := range []string{"c", "a", "b"} {
		e.do(Conv(1), func(tx turn.Tx) error { _, err := tx.Enqueue(msg(Conv(1), id)); return err })
		e.do(Conv(2), func(tx turn.Tx) error { _, err := tx.Enqueue(msg(Conv(2), id+"!")); return err })
	}
	queue := func(limit int) (got []string, rows []core.Queued) {
		e.look(Conv(1), func(rd turn.Reader) (err error) {
			rows, err = rd.Queue(limit)
			return err
		})
		for _, q := range rows {
			got = append(got, q.Message.Text)
		}
		return got, rows
	}
	got, rows := queue(0)
	e.same("queue", got, []string{"c", "a", "b"})
	got, _ = queue(2)
	e.same("two of the queue", got, []string{"c", "a"})
	e.do(Conv(1), func(tx turn.Tx) error {
		rows[1].Held, rows[1].Message.Text = true, "held"
		return errors.Join(tx.PutQueued(rows[1]), tx.Dequeue(rows[0].Seq))
	})
	got, left := queue(0)
	e.same("queue once the first went", got, []string{"held", "b"})
	if !left[0].Held {
		e.Error("the replaced row lost its mark")
	}
	e.do(Conv(1), func(tx turn.Tx) error {
		q, err := tx.Enqueue(msg(Conv(1), "d"))
		if q.Seq <= rows[2].Seq {
			e.Errorf("number %d after %d", q.Seq, rows[2].Seq)
		}
		return err
	})
}
