package storetest

import (
	"errors"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"parley/core"
	"parley/core/turn"
)

// machine holds what must be true of claims, beside the store: who holds a conversation, and when it is
// due. The zero due is none.
type machine struct {
	*env
	held  map[core.ConversationID]*turn.Claim
	woken map[core.ConversationID]time.Time // while held
	due   map[core.ConversationID]time.Time
	old   []*turn.Claim
	steps map[core.ConversationID]int
	epoch uint64
}

// claimModel drives a store at random and compares it with the machine.
func claimModel(e *env) {
	rapid.Check(e.T, func(t *rapid.T) {
		clock := NewClock()
		m := &machine{
			env:  &env{T: e.T, open: e.open, clock: clock, s: e.open(e.T, clock), ctx: e.ctx},
			held: map[core.ConversationID]*turn.Claim{}, woken: map[core.ConversationID]time.Time{},
			due: map[core.ConversationID]time.Time{}, steps: map[core.ConversationID]int{},
		}
		defer func() {
			if err := m.s.Close(); err != nil {
				t.Fatal(err)
			}
		}()
		t.Repeat(map[string]func(*rapid.T){
			"wake": m.wakeSome, "claim": m.claimNext, "take": m.takeSome, "release": m.releaseSome,
			"write": m.write, "zombie": m.zombie, "renew": m.renew,
			"clock": func(t *rapid.T) { clock.Advance(time.Duration(rapid.IntRange(0, 90).Draw(t, "s")) * time.Second) },
			"":      m.agree,
		})
	})
}

func (m *machine) pick(t *rapid.T) core.ConversationID {
	return Conv(rapid.IntRange(0, 3).Draw(t, "conversation"))
}

func (m *machine) moment(t *rapid.T) time.Time {
	return m.now().Add(time.Duration(rapid.IntRange(-60, 60).Draw(t, "seconds")) * time.Second)
}

func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func (m *machine) wakeSome(t *rapid.T) {
	conv, at := m.pick(t), m.moment(t)
	if err := m.s.Update(m.ctx, turn.Scope{Conversation: conv}, func(tx turn.Tx) error { return tx.WakeAt(at) }); err != nil {
		t.Fatal(err)
	}
	if m.held[conv] != nil {
		m.woken[conv] = sooner(m.woken[conv], at)
	} else {
		m.due[conv] = sooner(m.due[conv], at)
	}
}

// got records a claim that the store gave out.
func (m *machine) got(t *rapid.T, c *turn.Claim) {
	if m.held[c.Conversation] != nil {
		t.Fatalf("two holders of %s", c.Conversation)
	}
	if c.Epoch <= m.epoch {
		t.Fatalf("epoch %d after %d", c.Epoch, m.epoch)
	}
	m.epoch, m.held[c.Conversation] = c.Epoch, c
	delete(m.due, c.Conversation)
	delete(m.woken, c.Conversation)
}

func (m *machine) claimNext(t *rapid.T) {
	var best time.Time
	for _, at := range m.due {
		if !at.After(m.now()) {
			best = sooner(best, at)
		}
	}
	c, err := m.s.Claim(m.ctx, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if (c == nil) != best.IsZero() {
		t.Fatalf("claimed %+v, due %v at %v", c, m.due, m.now())
	}
	if c == nil {
		return
	}
	if at := m.due[c.Conversation]; !at.Equal(best) {
		t.Fatalf("claimed %s, due at %v, before another, due at %v", c.Conversation, at, best)
	}
	m.got(t, c)
}

func (m *machine) takeSome(t *rapid.T) {
	conv := m.pick(t)
	var c *turn.Claim
	err := m.s.Update(m.ctx, turn.Scope{Conversation: conv}, func(tx turn.Tx) (err error) {
		c, err = tx.TakeClaim(time.Minute)
		return err
	})
	if err != nil || (c == nil) != (m.held[conv] != nil) {
		t.Fatalf("took %+v of %s, %v", c, conv, err)
	}
	if c != nil {
		m.got(t, c)
	}
}

// some picks a held conversation.
func (m *machine) some(t *rapid.T) *turn.Claim {
	var all []*turn.Claim
	for n := range 4 {
		if c := m.held[Conv(n)]; c != nil {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		t.Skip("nobody holds any")
	}
	return rapid.SampledFrom(all).Draw(t, "held")
}

func (m *machine) releaseSome(t *rapid.T) {
	c := m.some(t)
	due := time.Time{}
	if rapid.Bool().Draw(t, "due again") {
		due = m.moment(t)
	}
	if err := m.under(c, func(tx turn.Tx) error { return tx.Release(due) }); err != nil {
		t.Fatal(err)
	}
	delete(m.held, c.Conversation)
	if at := sooner(due, m.woken[c.Conversation]); !at.IsZero() {
		m.due[c.Conversation] = at
	}
	delete(m.woken, c.Conversation)
	m.old = append(m.old, c)
}

func (m *machine) write(t *rapid.T) {
	c := m.some(t)
	n := m.steps[c.Conversation]
	err := m.under(c, func(tx turn.Tx) error {
		return tx.Append(core.RunID(c.Conversation), n, core.Step{Name: fmt.Sprint(n)})
	})
	if err != nil {
		t.Fatal(err)
	}
	m.steps[c.Conversation]++
}

func (m *machine) zombie(t *rapid.T) {
	if len(m.old) == 0 {
		t.Skip("no claim was given back")
	}
	c := rapid.SampledFrom(m.old).Draw(t, "zombie")
	if err := m.under(c, appendStep(core.RunID(c.Conversation), "zombie")); !errors.Is(err, turn.ErrFenced) {
		t.Fatalf("a zombie wrote: %v", err)
	}
	if err := m.s.Renew(m.ctx, c, time.Minute); !errors.Is(err, turn.ErrFenced) {
		t.Fatalf("a zombie renewed: %v", err)
	}
}

func (m *machine) renew(t *rapid.T) {
	for _, c := range m.held {
		if err := m.s.Renew(m.ctx, c, 2*time.Minute); err != nil {
			t.Fatal(err)
		}
	}
}

// agree compares what can be read without changing anything. Claims are renewed with each look, so that a
// store whose claims end with their time to live agrees too.
func (m *machine) agree(t *rapid.T) {
	m.renew(t)
	for n := range 4 {
		conv := Conv(n)
		err := m.s.View(m.ctx, conv, func(rd turn.Reader) error {
			held, err := rd.Held()
			if held != (m.held[conv] != nil) {
				t.Fatalf("%s is held: %t", conv, held)
			}
			steps, err2 := rd.Journal(core.RunID(conv))
			if len(steps) != m.steps[conv] {
				t.Fatalf("%s has %d steps of %d", conv, len(steps), m.steps[conv])
			}
			return errors.Join(err, err2)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
