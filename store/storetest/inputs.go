package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/core"
	"parley/core/turn"
)

// fill stores n waiting runs, a second apart; of each fifth the agent is another, and
// each seventh is asked by an agent that was delegated to.
func (e *env) fill(n int) (rows []Rows) {
	for i := range n {
		r := Waiting(i, e.now().Add(time.Duration(i)*time.Second))
		if i%5 == 0 {
			conv := core.NewConversation("dev", "tg", core.Place(fmt.Sprint(i)))
			r.Conversation.ID, r.Run.Conversation, r.Input.Conversation = conv, conv, conv
			r.Input.Prompts = nil
		}
		if i%7 == 0 {
			r.Input.Agent = "helper"
		}
		r.Input.Responders.Audience = []core.PersonID{core.PersonID(fmt.Sprint("telegram:", i%3)), "telegram:9", "telegram:9"}
		e.put(r)
		rows = append(rows, r)
	}
	return rows
}

func inputFilters(e *env) {
	rows := e.fill(23)
	rows[3].Input.State, rows[4].Input.State = core.InputAccepted, core.InputExpired
	for _, r := range rows[3:5] {
		e.do(r.Run.Conversation, func(tx turn.Tx) error { return tx.PutInput(r.Input) })
	}
	for _, f := range []turn.InputFilter{
		{}, {Agent: "dev"}, {Agent: "op"}, {Agent: "helper"}, {Agent: "helper", Responder: "telegram:1"}, {Responder: "telegram:1"}, {Responder: "telegram:9"}, {Responder: "telegram:"},
		{Run: rows[7].Run.ID}, {Conversation: Conv(7)}, {Conversation: Conv(99)}, {State: core.InputAccepted},
		{State: core.InputExpired, Run: rows[4].Run.ID}, {State: core.InputExpired, Agent: "ops"}, {State: core.InputDeclined},
		{Agent: "dev", Responder: "telegram:1"}, {Agent: "ops", Conversation: Conv(7), Responder: "telegram:0"},
		{State: core.InputAccepted, Responder: "telegram:0"}, {Agent: "dev", Run: rows[7].Run.ID},
	} {
		want := []core.InputID{}
		for _, r := range rows {
			if selected(f, r.Input) {
				want = append(want, r.Input.ID)
			}
		}
		f.Limit = 100
		e.same(fmt.Sprintf("%+v", f), e.inputs(f), want)
		f.Limit = 2
		e.same(fmt.Sprintf("pages of %+v", f), e.pages(e.ctx, f, nil), want)
	}
	for what, f := range map[string]turn.InputFilter{"state": {State: "lost"}, "position": {After: "zz"}, "short": {After: "00"}} {
		if _, _, err := e.s.Inputs(e.ctx, f); err == nil {
			e.Errorf("a filter with a bad %s was taken", what)
		}
	}
}

func selected(f turn.InputFilter, in core.Input) bool {
	return (f.State == in.State || f.State == "" && in.Pending()) && (f.Agent == "" || in.Conversation.Agent() == f.Agent || in.Agent == f.Agent) &&
		(f.Run == "" || f.Run == in.Run) && (f.Conversation == "" || f.Conversation == in.Conversation) &&
		(f.Responder == "" || slices.Contains(in.Responders.Audience, f.Responder))
}

// pages reads all pages, calling between after each with the last id of it.
func (e *env) pages(ctx context.Context, f turn.InputFilter, between func(core.InputID)) []core.InputID {
	e.Helper()
	got := []core.InputID{}
	for {
		page, next, err := e.s.Inputs(ctx, f)
		if err != nil {
			e.Fatalf("inputs %+v: %v", f, err)
		}
		got = append(got, ids(page)...)
		if next == "" {
			return got
		}
		if len(page) != f.Limit {
			e.Fatalf("a page of %d that is not the last", len(page))
		}
		f.After = next
		if between != nil {
			between(page[len(page)-1].ID)
		}
	}
}

func settledLeaves(e *env) {
	r := e.fill(2)[1]
	r.Input.State = core.InputDeclined
	e.do(r.Run.Conversation, func(tx turn.Tx) error { return tx.PutInput(r.Input) })
	for _, f := range []turn.InputFilter{{Agent: "ops"}, {Responder: "telegram:1"}, {Run: r.Run.ID}, {Conversation: r.Run.Conversation}} {
		e.same(fmt.Sprintf("%+v", f), e.inputs(f), []core.InputID{})
	}
	e.clock.Advance(2 * time.Hour)
	late, err := e.s.Overdue(e.ctx, 0)
	e.same("overdue", len(late), 1)
	// The audience, the deadline and the prompts of a pending input may change too.
	r.Input.State, r.Input.Responders.Audience = core.InputPending, []core.PersonID{"telegram:7"}
	r.Input.ExpiresAt = time.Time{}
	e.do(r.Run.Conversation, func(tx turn.Tx) error { return tx.PutInput(r.Input) })
	e.same("for its old audience", e.inputs(turn.InputFilter{Responder: "telegram:1"}), []core.InputID{})
	e.same("for its new audience", e.inputs(turn.InputFilter{Responder: "telegram:7"}), []core.InputID{r.Input.ID})
	late, err2 := e.s.Overdue(e.ctx, 0)
	e.same("overdue without a deadline", len(late), 1)
	if err := errors.Join(err, err2); err != nil {
		e.Fatal(err)
	}
}

// pagesUnderChange settles what was read, and what comes next, between the pages: nothing that stays
// is missed and nothing is shown twice.
func pagesUnderChange(e *env) {
	rows := e.fill(30)
	missed := map[core.InputID]bool{}
	settle := func(i int) {
		r := rows[min(i, len(rows)-1)]
		r.Input.State = core.InputAccepted
		e.do(r.Run.Conversation, func(tx turn.Tx) error { return tx.PutInput(r.Input) })
	}
	got := e.pages(e.ctx, turn.InputFilter{Limit: 4}, func(last core.InputID) {
		at := slices.IndexFunc(rows, func(r Rows) bool { return r.Input.ID == last })
		settle(at) // where the next page begins
		if at+2 < len(rows) {
			settle(at + 2)
			missed[rows[at+2].Input.ID] = true
		}
		e.put(Waiting(100+at, e.now().Add(-time.Hour))) // before all pages: not seen any more
	})
	want := []core.InputID{}
	for _, r := range rows {
		if !missed[r.Input.ID] {
			want = append(want, r.Input.ID)
		}
	}
	e.same("pages", got, want)
}

func pagesOfOneMoment(e *env) {
	at := e.now()
	want := []core.InputID{}
	for i := range 9 {
		e.put(Waiting(8-i, at))
		want = append(want, Waiting(i, at).Input.ID)
	}
	e.same("pages", e.pages(e.ctx, turn.InputFilter{Limit: 2}, nil), want)
	e.same("pages by agent", e.pages(e.ctx, turn.InputFilter{Limit: 3, Agent: "ops"}, nil), want)
}

func overdueExactly(e *env) {
	r := Waiting(1, e.now())
	e.put(r)
	e.clock.Advance(time.Hour - time.Nanosecond)
	if late, err := e.s.Overdue(e.ctx, 10); len(late) > 0 || err != nil {
		e.Errorf("a nanosecond early: %v, %v", late, err)
	}
	e.clock.Advance(time.Nanosecond)
	late, err := e.s.Overdue(e.ctx, 10)
	if err != nil {
		e.Fatal(err)
	}
	e.same("overdue", late, []core.Input{r.Input})
}

func deadlines(e *env) {
	if next, err := e.s.NextDeadline(e.ctx); !next.IsZero() || err != nil {
		e.Errorf("a deadline in an empty store: %v, %v", next, err)
	}
	base := e.now()
	for i, after := range []time.Duration{5, 2, 9, 2, 0} {
		r := Waiting(i, base)
		if r.Input.ExpiresAt = base.Add(after * time.Minute); after == 0 {
			r.Input.ExpiresAt = time.Time{}
		}
		e.put(r)
	}
	next, err := e.s.NextDeadline(e.ctx)
	if err != nil || !next.Equal(base.Add(2*time.Minute)) {
		e.Errorf("next deadline %v, %v", next, err)
	}
	e.clock.Advance(5 * time.Minute)
	late, err := e.s.Overdue(e.ctx, 10)
	e.same("overdue", ids(late), []core.InputID{"i00000001", "i00000003", "i00000000"})
	few, err2 := e.s.Overdue(e.ctx, 2)
	e.same("two of them", ids(few), ids(late)[:2])
	if err := errors.Join(err, err2); err != nil {
		e.Fatal(err)
	}
}

func prompted(e *env) {
	r := Waiting(1, e.now())
	r.Input.Prompts[0].Messages = []string{"10", "11"}
	r.Input.Prompts = append(r.Input.Prompts, core.Prompt{Conversation: Conv(2), Messages: []string{"10"}})
	e.put(r)
	find := func(conv core.ConversationID, id string) (got core.InputID) {
		e.Helper()
		e.look(conv, func(rd turn.Reader) (err error) {
			got, err = rd.Prompted(id)
			return err
		})
		return got
	}
	for i, c := range []struct {
		conv core.ConversationID
		id   string
		want core.InputID
	}{{Conv(1), "10", r.Input.ID}, {Conv(1), "11", r.Input.ID}, {Conv(2), "10", r.Input.ID}, {Conv(2), "11", ""}, {Conv(1), "1", ""}} {
		e.same(fmt.Sprint("prompt ", i), find(c.conv, c.id), c.want)
	}
	r.Input.State = core.InputSuperseded
	r.Input.Prompts[0].Messages = []string{"11", "12"}
	e.do(Conv(1), func(tx turn.Tx) error { return tx.PutInput(r.Input) })
	e.same("a message that went", find(Conv(1), "10"), core.InputID(""))
	e.same("a message that came", find(Conv(1), "12"), r.Input.ID)
	e.same("a message of a closed input", find(Conv(1), "11"), r.Input.ID)
	// A message that shows another input by now stays with that one.
	second := Waiting(3, e.now())
	second.Run.Conversation, second.Input.Conversation, second.Conversation.ID = Conv(1), Conv(1), Conv(1)
	second.Input.Prompts[0] = core.Prompt{Conversation: Conv(1), Messages: []string{"12"}}
	e.put(second)
	r.Input.Prompts = nil
	e.do(Conv(1), func(tx turn.Tx) error { return tx.PutInput(r.Input) })
	e.same("a message that moved on", find(Conv(1), "12"), second.Input.ID)
	e.same("a message of no input any more", find(Conv(1), "11"), core.InputID(""))
}
