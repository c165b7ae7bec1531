package storetest

import (
	"errors"
	"fmt"
	"time"

	"parley/core"
	"parley/core/turn"
)

// send adds an outbox row and returns it.
func (e *env) send(conv core.ConversationID, text string, next time.Time) (row core.Out) {
	e.Helper()
	e.do(conv, func(tx turn.Tx) (err error) {
		row, err = tx.AddOut(core.Out{Conversation: conv, Kind: core.OutNote, Error: text, CreatedAt: e.now(), NextAt: next})
		return err
	})
	return row
}

func (e *env) outbox(channel string, limit int) (texts []string, next time.Time) {
	e.Helper()
	rows, next, err := e.s.Outbox(e.ctx, channel, limit)
	if err != nil {
		e.Fatal(err)
	}
	for _, o := range rows {
		texts = append(texts, o.Error)
	}
	return texts, next
}

func (e *env) drop(o core.Out) {
	e.Helper()
	e.do(o.Conversation, func(tx turn.Tx) error { return tx.DropOut(o.Seq) })
}

func outboxHeads(e *env) {
	a1 := e.send(Conv(1), "a1", time.Time{})
	b1 := e.send(Conv(2), "b1", time.Time{})
	a2 := e.send(Conv(1), "a2", time.Time{})
	if a2.Seq <= a1.Seq {
		e.Errorf("numbers %d, %d", a1.Seq, a2.Seq)
	}
	got, next := e.outbox("tg", 10)
	e.same("outbox", got, []string{"a1", "b1"})
	e.same("next", next, time.Time{})
	e.look(Conv(1), func(rd turn.Reader) error {
		rows, err := rd.Out()
		e.same("unsent", rows, []core.Out{a1, a2})
		return err
	})
	got, _ = e.outbox("tg", 1)
	e.same("one of the outbox", got, []string{"a1"})
	e.drop(a1)
	got, _ = e.outbox("tg", 10)
	e.same("once the first was sent", got, []string{"b1", "a2"})
	e.drop(b1)
	e.drop(a2)
	got, _ = e.outbox("tg", 10)
	e.same("once all were sent", got, []string(nil))
	// Dropped out of order, the ones before keep their place.
	c1 := e.send(Conv(3), "c1", time.Time{})
	c2 := e.send(Conv(3), "c2", time.Time{})
	e.drop(c2)
	got, _ = e.outbox("tg", 10)
	e.same("once the second was dropped", got, []string{c1.Error})
}

func outboxWaits(e *env) {
	base := e.now()
	a1 := e.send(Conv(1), "a1", time.Time{})
	e.send(Conv(1), "a2", time.Time{})
	e.send(Conv(2), "b1", base.Add(time.Minute))
	a1.NextAt, a1.Tries = base.Add(30*time.Second), 1
	e.do(Conv(1), func(tx turn.Tx) error { return tx.PutOut(a1) })
	got, next := e.outbox("tg", 10)
	e.same("while the first waits", got, []string(nil))
	if !next.Equal(base.Add(30 * time.Second)) {
		e.Errorf("next is %v", next)
	}
	e.clock.Advance(30 * time.Second)
	got, next = e.outbox("tg", 10)
	e.same("at its very moment", got, []string{"a1"})
	if !next.Equal(base.Add(time.Minute)) {
		e.Errorf("next is %v", next)
	}
	e.clock.Advance(30 * time.Second)
	got, next = e.outbox("tg", 1)
	e.same("one of those", got, []string{"a1"})
	if !next.IsZero() {
		e.Errorf("next is %v, but all have come", next)
	}
	e.drop(a1)
	got, _ = e.outbox("tg", 10)
	e.same("once it was sent", got, []string{"a2", "b1"})
}

func outboxChannels(e *env) {
	place := func(channel string) core.ConversationID { return core.NewConversation("ops", channel, "1") }
	for _, ch := range []string{"tg", "tg2", "t", "work"} {
		e.send(place(ch), "to "+ch, time.Time{})
	}
	for _, ch := range []string{"tg", "t", "work"} {
		got, _ := e.outbox(ch, 10)
		e.same(ch, got, []string{"to " + ch})
	}
	got, _ := e.outbox("slow", 10)
	e.same("a channel without rows", got, []string(nil))
}

func events(e *env) {
	for i := range 12 {
		conv, run := Conv(i%2), core.RunID([]string{"r", "r1", ""}[i%3])
		e.do(conv, func(tx turn.Tx) error {
			return tx.AddEvent(core.Event{Type: core.EventText, At: e.now(), Run: run, Via: fmt.Sprint(i)})
		})
	}
	read := func(run core.RunID, limit int) (via string) {
		after := uint64(0)
		for {
			log, err := e.s.Events(e.ctx, run, after, limit)
			if err != nil || len(log) > limit {
				e.Fatal(len(log), err)
			}
			if len(log) == 0 {
				return via
			}
			for _, ev := range log {
				if ev.Seq <= after {
					e.Fatalf("event %d after %d", ev.Seq, after)
				}
				after = ev.Seq
				via += ev.Via + " "
			}
		}
	}
	e.same("log", read("", 5), "0 1 2 3 4 5 6 7 8 9 10 11 ")
	e.same("log of r", read("r", 3), "0 3 6 9 ")
	e.same("log of r1", read("r1", 1), "1 4 7 10 ")
	log, err := e.s.Events(e.ctx, "r", ^uint64(0), 5)
	if len(log) > 0 || err != nil {
		e.Error(log, err)
	}
	e.do(Conv(1), func(tx turn.Tx) error { return tx.AddEvent(core.Event{Type: core.EventText}) })
	log, err = e.s.Events(e.ctx, "", 12, 5)
	if err != nil || len(log) != 1 || log[0].Conversation != Conv(1) {
		e.Errorf("an event takes the conversation of its scope: %+v, %v", log, errors.Join(err))
	}
}
