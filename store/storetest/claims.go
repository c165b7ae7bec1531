package storetest

import (
	"errors"
	"fmt"
	"time"

	"parley/core"
	"parley/core/turn"
)

func (e *env) held(conv core.ConversationID) (held bool) {
	e.Helper()
	e.look(conv, func(rd turn.Reader) (err error) {
		held, err = rd.Held()
		return err
	})
	return held
}

func oneHolder(e *env) {
	e.noClaim("nothing is due in an empty store")
	e.wake(Conv(1), e.now())
	if e.held(Conv(1)) {
		e.Error("held before it was claimed")
	}
	c := e.claimOf(Conv(1))
	if c.Token == "" || c.Epoch == 0 {
		e.Errorf("claim %+v", c)
	}
	if !e.held(Conv(1)) || e.held(Conv(2)) {
		e.Error("held is not who holds it")
	}
	e.noClaim("it is held")
	e.do(Conv(1), func(tx turn.Tx) error {
		again, err := tx.TakeClaim(time.Minute)
		if again != nil {
			e.Errorf("taken from its holder: %+v", again)
		}
		return err
	})
	if err := e.s.Renew(e.ctx, c, time.Minute); err != nil {
		e.Errorf("renew: %v", err)
	}
	e.release(c, time.Time{})
	if e.held(Conv(1)) {
		e.Error("held after it was given back")
	}
	e.noClaim("it was given back until woken")
}

// fenced tries every write under claims that are not current. A store that did not check the fence would
// let each of them through.
func fenced(e *env) {
	r := Waiting(1, e.now())
	e.put(r)
	e.wake(Conv(1), e.now())
	old := e.claimOf(Conv(1))
	e.release(old, e.now())
	cur := e.claimOf(Conv(1))
	if cur.Token == old.Token || cur.Epoch <= old.Epoch {
		e.Errorf("claim %+v after %+v: want a new token and a greater epoch", cur, old)
	}
	stale := map[string]*turn.Claim{
		"given back":        old,
		"of an older epoch": {Conversation: Conv(1), Token: cur.Token, Epoch: old.Epoch},
		"of another token":  {Conversation: Conv(1), Token: old.Token, Epoch: cur.Epoch},
		"without a token":   {Conversation: Conv(1), Epoch: cur.Epoch},
		"of a free one":     {Conversation: Conv(2), Token: cur.Token, Epoch: cur.Epoch},
	}
	for why, c := range stale {
		ran := false
		for what, f := range map[string]func(turn.Tx) error{
			"nothing":  func(turn.Tx) error { return nil },
			"a step":   appendStep("zombie", "x"),
			"a wake":   func(tx turn.Tx) error { return tx.WakeAt(e.now()) },
			"an event": func(tx turn.Tx) error { return tx.AddEvent(core.Event{Type: core.EventText, At: e.now()}) },
			"seen":     func(tx turn.Tx) error { return tx.MarkSeen("zombie") },
			"release":  func(tx turn.Tx) error { return tx.Release(time.Time{}) },
		} {
			err := e.under(c, func(tx turn.Tx) error { ran = true; return f(tx) })
			e.is(fmt.Sprintf("%s under a claim %s", what, why), err, turn.ErrFenced)
		}
		if ran {
			e.Errorf("a closure ran under a claim %s", why)
		}
		e.is("renew "+why, e.s.Renew(e.ctx, c, time.Minute), turn.ErrFenced)
	}
	if log, err := e.s.Events(e.ctx, "", 0, 0); len(log) > 0 || err != nil {
		e.Errorf("fenced writes left events %v, %v", log, err)
	}
	if err := e.under(cur, func(tx turn.Tx) error { return tx.PutRun(r.Run) }); err != nil {
		e.Errorf("the holder: %v", err)
	}
	e.is("release twice", e.under(cur, func(tx turn.Tx) error {
		return errors.Join(tx.Release(time.Time{}), tx.Release(time.Time{}))
	}), turn.ErrFenced)
	if !e.held(Conv(1)) {
		e.Error("a release that failed took effect")
	}
}

// timeToLive accepts both kinds of store: one whose claims end with their time to live, and one that knows
// its holder alive.
func timeToLive(e *env) {
	e.wake(Conv(1), e.now())
	old := e.claimOf(Conv(1))
	e.clock.Advance(50 * time.Second)
	if err := e.s.Renew(e.ctx, old, time.Minute); err != nil {
		e.Fatalf("renew in time: %v", err)
	}
	e.clock.Advance(50 * time.Second)
	e.noClaim("it was renewed")
	e.clock.Advance(time.Hour)
	taken := e.claim()
	if taken == nil {
		if !e.held(Conv(1)) {
			e.Error("neither held nor free")
		}
		e.release(old, time.Time{})
		return
	}
	if taken.Epoch <= old.Epoch || taken.Token == old.Token {
		e.Errorf("taken over as %+v from %+v", taken, old)
	}
	e.is("the holder that was late", e.under(old, appendStep("r", "x")), turn.ErrFenced)
}

func dueLongest(e *env) {
	base := e.now()
	for i, after := range []time.Duration{3, 1, 4, 2, 30} {
		e.wake(Conv(i), base.Add(after*time.Second))
	}
	e.clock.Advance(10 * time.Second)
	for _, n := range []int{1, 3, 0, 2} {
		e.claimOf(Conv(n))
	}
	e.noClaim("the last is not due yet")
}

func dueExactly(e *env) {
	at := e.now().Add(time.Minute)
	e.wake(Conv(1), at)
	e.clock.Advance(time.Minute - time.Nanosecond)
	e.noClaim("a nanosecond early")
	e.clock.Advance(time.Nanosecond)
	c := e.claimOf(Conv(1))
	e.release(c, e.now().Add(time.Minute))
	e.noClaim("released until later")
	e.clock.Advance(time.Minute)
	e.release(e.claimOf(Conv(1)), e.now())
	e.release(e.claimOf(Conv(1)), e.now().Add(-time.Hour))
	e.claimOf(Conv(1))
}

func wakeWhileHeld(e *env) {
	later := e.now().Add(time.Hour)
	for what, due := range map[string]time.Time{"until woken": {}, "until later": later} {
		e.wake(Conv(1), e.now())
		c := e.claimOf(Conv(1))
		e.wake(Conv(1), e.now())
		e.noClaim("it is held")
		e.release(c, due)
		c = e.claim()
		if c == nil {
			e.Fatalf("the wake-up was lost by a release %s", what)
		}
		e.release(c, time.Time{})
		e.noClaim("a wake-up counts once")
	}
	e.wake(Conv(1), e.now())
	c := e.claimOf(Conv(1))
	if err := e.under(c, func(tx turn.Tx) error { return errors.Join(tx.WakeAt(later), tx.Release(time.Time{})) }); err != nil {
		e.Fatal(err)
	}
	e.noClaim("the holder wanted it later")
	e.clock.Advance(time.Hour)
	e.claimOf(Conv(1))
}

func earlierWake(e *env) {
	base := e.now()
	at := func(s int) time.Time { return base.Add(time.Duration(s) * time.Second) }
	e.wake(Conv(1), at(50))
	e.wake(Conv(1), at(20))
	e.wake(Conv(1), at(80))
	e.clock.Advance(20 * time.Second)
	c := e.claimOf(Conv(1))
	e.wake(Conv(1), at(90))
	e.wake(Conv(1), at(60))
	e.release(c, at(70))
	e.clock.Advance(39 * time.Second)
	e.noClaim("not before the earliest")
	e.clock.Advance(time.Second)
	e.release(e.claimOf(Conv(1)), time.Time{})
	e.wake(Conv(1), time.Time{})
	e.claimOf(Conv(1))
}

func hints(e *env) {
	drain := func() (n int) {
		for {
			select {
			case <-e.s.Wake():
				n++
			default:
				return n
			}
		}
	}
	drain()
	e.wake(Conv(1), e.now())
	if drain() == 0 {
		e.Error("no hint after a wake-up")
	}
	c := e.claimOf(Conv(1))
	e.wake(Conv(1), e.now())
	drain()
	e.release(c, time.Time{})
	if drain() == 0 {
		e.Error("no hint after a release that left it due")
	}
}

func claimAndRelease(e *env) {
	var c *turn.Claim
	e.do(Conv(1), func(tx turn.Tx) (err error) {
		c, err = tx.TakeClaim(time.Minute)
		return err
	})
	if c == nil || c.Conversation != Conv(1) || !e.held(Conv(1)) {
		e.Fatalf("took %+v", c)
	}
	if err := e.under(c, appendStep("r", "x")); err != nil {
		e.Errorf("under a claim that was taken: %v", err)
	}
	e.is("an update that fails", e.under(c, func(tx turn.Tx) error { return errors.Join(tx.Release(e.now()), errBad) }), errBad)
	if !e.held(Conv(1)) {
		e.Error("an update that failed released the claim")
	}
	e.release(c, time.Time{})
	err := e.s.Update(e.ctx, turn.Scope{Conversation: Conv(1)}, func(tx turn.Tx) error { return tx.Release(time.Time{}) })
	if err == nil {
		e.Error("released without a claim")
	}
	e.do(Conv(1), func(tx turn.Tx) error {
		taken, err := tx.TakeClaim(time.Minute)
		if taken == nil || taken.Epoch <= c.Epoch {
			e.Errorf("taken %+v after %+v", taken, c)
		}
		return errors.Join(err, tx.Release(e.now()))
	})
	e.claimOf(Conv(1))
}
