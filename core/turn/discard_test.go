package turn_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/core/turn"
)

// byHand writes an end of an input past the engine, and makes its run go on, as somebody who mends a store might.
func byHand(t *testing.T, w *world, in core.Input, state core.InputState, s *core.Settled) {
	t.Helper()
	err := w.store.Update(t.Context(), turn.Scope{Conversation: in.Conversation}, func(tx turn.Tx) error {
		in.State, in.Settled = state, s
		if err := tx.PutInput(in); err != nil {
			return err
		}
		c, err := tx.Conversation()
		if err != nil {
			return err
		}
		run, err := tx.Run(c.Open)
		if err != nil {
			return err
		}
		run.Status = core.RunRunning
		if err := tx.PutRun(run); err != nil {
			return err
		}
		return tx.WakeAt(tx.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	w.pass(time.Minute)
	w.idle()
}

func yesBy(who core.PersonID, a core.Answer) *core.Settled {
	return &core.Settled{By: who, Via: "hand", At: time.Now(), Answer: &a}
}

// discarded are the events of what was taken back.
func discarded(t *testing.T, w *world, run core.RunID) (out []core.Event) {
	t.Helper()
	all, err := w.e.Events(t.Context(), run, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range all {
		if ev.Type == core.EventDiscarded {
			out = append(out, ev)
		}
	}
	return out
}

// TestAHandDeliveredAnswerOfTheWrongShape is recorded and discarded, and the run stays parked: nothing runs,
// and the person can still answer.
func TestAHandDeliveredAnswerOfTheWrongShape(t *testing.T) {
	for name, tc := range map[string]struct {
		state   core.InputState
		settled func() *core.Settled
		why     string
	}{
		"nothing": {core.InputAccepted, func() *core.Settled { return nil }, "no answer"},
		"answers": {core.InputAccepted, func() *core.Settled {
			return yesBy(ana, core.Answer{Action: core.ActionAccept, Choices: []core.Choice{{Question: "q1", Values: []string{"yes"}}}})
		}, "another kind"},
		"a skip":        {core.InputSkipped, func() *core.Settled { return yesBy(ana, core.Answer{Action: core.ActionSkip}) }, "only a question"},
		"by a stranger": {core.InputAccepted, func() *core.Settled { return yesBy(cleo, core.Answer{Action: core.ActionAccept}) }, "nobody who may"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.model = script(calls("", `db__drop {}`))
				w.start()
				run := w.say(ana, "go").Run
				w.wantLines("ask approval drop #0")
				byHand(t, w, w.waiting()[0], tc.state, tc.settled())
				if in := w.waiting(); len(in) != 1 || w.tools["db__drop"].ran() != 0 {
					t.Fatalf("waiting %+v, ran %d", in, w.tools["db__drop"].ran())
				}
				evs := discarded(t, w, run)
				if len(evs) != 1 || !strings.Contains(string(evs[0].Data), tc.why) {
					t.Errorf("events %+v", evs)
				}
				w.wantLines("ask approval drop #0") // shown again
				w.restart()
				w.say(ana, "yes")
				w.wantLines("edit approval accepted", "say end")
				if n := w.tools["db__drop"].ran(); n != 1 {
					t.Errorf("ran %d times", n)
				}
			})
		})
	}
}

// Of several that wait, the one that was written by hand does not run with the answer to the other.
func TestAHandDeliveredAnswerBesideAnother(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {"n":1}`, `db__drop {"n":2}`))
		w.start()
		run := w.say(ana, "go").Run
		first := w.waiting()[0]
		err := w.store.Update(t.Context(), turn.Scope{Conversation: conv()}, func(tx turn.Tx) error {
			first.State = core.InputAccepted
			return tx.PutInput(first)
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.e.Settle(t.Context(), settlement(w.waiting()[0], ana, core.ActionAccept)); err != nil {
			t.Fatal(err)
		}
		w.idle()
		in := w.waiting()
		if len(in) != 1 || in[0].ID != first.ID || w.tools["db__drop"].ran() != 0 || len(discarded(t, w, run)) != 1 {
			t.Fatalf("waiting %+v, ran %d", in, w.tools["db__drop"].ran())
		}
		w.say(ana, "yes")
		if n := w.tools["db__drop"].ran(); n != 2 {
			t.Errorf("ran %d times", n)
		}
	})
}

func TestAHandDeliveredAnswerToAChild(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		withResearcher(w)
		w.model = script(calls("", `agent__researcher {"message":"x"}`))
		w.start()
		w.say(ana, "go")
		in := w.waiting()[0]
		byHand(t, w, in, core.InputAccepted, nil)
		if left := w.waiting(); len(left) != 1 || w.tools["db__drop"].ran() != 0 || len(discarded(t, w, in.Run)) != 1 {
			t.Fatalf("waiting %+v, ran %d", left, w.tools["db__drop"].ran())
		}
		w.say(ana, "yes")
		if n := w.tools["db__drop"].ran(); n != 1 {
			t.Errorf("ran %d times", n)
		}
		report, err := w.check()
		if err != nil || report != "" {
			t.Errorf("check: %v %s", err, report)
		}
	})
}

func TestADiscardedAnswerCanBeAborted(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		byHand(t, w, w.waiting()[0], core.InputAccepted, nil)
		w.shown = nil
		w.say(ana, "cancel")
		synctest.Wait()
		w.wantLines("edit approval cancelled", "note aborted")
	})
}
