package turn_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/core/model"
	"parley/core/turn"
)

func TestYesTwiceDoesNotApproveTheNext(t *testing.T) { // CC-02
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {"n":1}`), calls("", `db__drop {"n":2}`))
		w.start()
		w.say(ana, "go")
		first, second := w.message(ana, "yes"), w.message(ana, "yes")
		w.send(first)
		w.idle()
		w.wantLines("ask approval drop #0", "edit approval accepted", "ask approval drop #0")
		if got := w.send(second); got.Did != core.DoDrop {
			t.Errorf("a yes sent before the second prompt did %q", got.Did)
		}
		w.idle()
		w.wantLines("note too_early")
		if n := w.tools["db__drop"].ran(); n != 1 {
			t.Errorf("ran %d times", n)
		}
	})
}

func TestSecondYesWhileRunningIsToldHowItEnded(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		slow(w.tools["db__drop"], time.Minute)
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		first, second, other := w.message(ana, "yes"), w.message(ana, "yes"), w.message(ana, "no")
		w.mu.Lock()
		w.hold = true // the edit is not delivered yet
		w.mu.Unlock()
		w.send(first)
		for _, m := range []core.Message{second, other} { // the same again says nothing, another is told
			if got := w.send(m); got.Did != core.DoNote {
				t.Errorf("%s did %q", m.Text, got.Did)
			}
		}
		w.mu.Lock()
		w.hold = false
		w.mu.Unlock()
		w.pass(2 * time.Hour)
		w.idle()
		w.wantLines("ask approval drop #0", "note already", "edit approval accepted", "say end")
	})
}

func TestAnswerIsHeldUntilThePromptIsKnownToStand(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.hold = true
		w.send(w.message(ana, "go"))
		synctest.Wait()
		early := w.message(ana, "yes")
		if got := w.send(early); got.Did != core.DoHold {
			t.Errorf("did %q", got.Did)
		}
		// The prompt turns out to stand before a second yes and after the first.
		rows, _, err := w.e.Outbox(t.Context(), home, 10)
		if err != nil || len(rows) != 1 {
			t.Fatalf("outbox %v, %v", rows, err)
		}
		late := w.message(ana, "no")
		if got := w.send(late); got.Did != core.DoHold {
			t.Errorf("did %q", got.Did)
		}
		if err := w.e.Sent(t.Context(), rows[0], core.Receipt{Messages: []string{"p"}, Order: early.Order + 5, At: time.Now(), Prompted: true}); err != nil {
			t.Fatal(err)
		}
		w.mu.Lock()
		w.hold = false
		w.mu.Unlock()
		w.pass(2 * time.Hour)
		w.idle()
		w.wantLines("note too_early", "edit approval declined", "say end")
	})
}

func TestRepliesToPrompts(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {"n":1}`), calls("", `db__drop {"n":2}`))
		w.start()
		w.say(ana, "go")
		prompt := w.waiting()[0].Prompts[0].Messages[0]
		m := w.message(ana, "yes")
		m.ReplyTo = "999"
		if got := w.send(m); got.Did != core.DoUnclear {
			t.Errorf("a yes that replies to something else did %q", got.Did)
		}
		m = w.message(ana, "yes")
		m.Files = []core.File{{Name: "a.png"}}
		if got := w.send(m); got.Did != core.DoUnclear {
			t.Errorf("a yes with a file did %q", got.Did)
		}
		m = w.message(ana, "yes")
		m.ReplyTo = prompt
		if got := w.send(m); got.Did != core.DoAnswer {
			t.Errorf("a yes that replies to the prompt did %q", got.Did)
		}
		w.idle()
		m = w.message(ana, "no")
		m.ReplyTo = prompt // the second approval is live now
		if got := w.send(m); got.Did != core.DoNote {
			t.Errorf("a no that replies to the ended prompt did %q", got.Did)
		}
		w.idle()
		if in := w.waiting(); len(in) != 1 {
			t.Errorf("waiting %v", in)
		}
	})
}

func TestMessagesWithoutTextNeverAnswer(t *testing.T) { // FM-03, CF-02
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		for _, m := range []core.Message{{}, {Text: "  "}, {Files: []core.File{{Name: "sticker"}}}} {
			full := w.message(ana, m.Text)
			full.Files = m.Files
			w.send(full)
		}
		w.idle()
		w.wantLines("ask approval drop #0", "note queued")
		if in := w.waiting(); len(in) != 1 {
			t.Errorf("waiting %v", in)
		}
	})
}

func TestUnaddressedMessagesCountOnlyAsExactAnswers(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		for text, want := range map[string]core.Doing{"ok": core.DoDrop, "lunch?": core.DoDrop, "cancel": core.DoDrop} {
			m := w.message(ana, text)
			m.Addressed, m.Shared = false, true
			if got := w.send(m); got.Did != want {
				t.Errorf("%q did %q", text, got.Did)
			}
		}
		m := w.message(cleo, "yes")
		m.Addressed, m.Shared = false, true
		if got := w.send(m); got.Did != core.DoDrop {
			t.Errorf("a stranger's yes did %q", got.Did)
		}
		m = w.message(ana, "yes")
		m.Addressed, m.Shared = false, true
		if got := w.send(m); got.Did != core.DoAnswer {
			t.Errorf("yes did %q", got.Did)
		}
		w.idle()
	})
}

func TestUnclearHelpsSparingly(t *testing.T) { // SU-15
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		w.say(ana, "ok")
		w.say(ana, "ok")
		w.say(ana, "ok")
		w.pass(time.Minute)
		w.say(ana, "ok")
		w.wantLines("ask approval drop #0", "note unclear", "ask approval drop #0", "note unclear")
		w.say(ana, "yes")
		w.wantLines("edit approval accepted", "say end")
	})
}

func settlement(in core.Input, from core.PersonID, action core.Action) turn.Settlement {
	return turn.Settlement{Input: in.ID, From: from, Via: "rest", Submission: core.Submission{Action: action}, Step: -1}
}

func TestSettleByName(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.agent.Human.Approvers = []core.PersonID{ben}
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		in := w.waiting()[0]
		for _, tc := range []struct {
			s    turn.Settlement
			code core.AnswerCode
		}{
			{settlement(in, "", core.ActionAccept), core.AnswerFromRequired},
			{settlement(in, cleo, core.ActionAccept), core.AnswerForbidden},
			{settlement(in, ana, core.ActionSkip), core.AnswerMismatch},
			{turn.Settlement{Input: in.ID, From: ana, Submission: core.Submission{Action: core.ActionAccept, Content: json.RawMessage(`{"answers":{"a":"b"}}`)}}, core.AnswerMismatch},
			{turn.Settlement{Input: "nope", From: ana}, core.AnswerNotFound},
		} {
			_, err := w.e.Settle(t.Context(), tc.s)
			var no *core.AnswerError
			if !errors.As(err, &no) || no.Code != tc.code {
				t.Errorf("%+v: %v, want %s", tc.s, err, tc.code)
			}
		}
		got, err := w.e.Settle(t.Context(), settlement(in, ben, core.ActionAccept))
		if err != nil || got.State != core.InputAccepted || got.Settled.Role != "approver" {
			t.Fatalf("settled %+v, %v", got, err)
		}
		if _, err := w.e.Settle(t.Context(), settlement(in, ana, core.ActionAccept)); err != nil {
			t.Errorf("the same answer again: %v", err)
		}
		_, err = w.e.Settle(t.Context(), settlement(in, ana, core.ActionDecline))
		var no *core.AnswerError
		if !errors.As(err, &no) || no.Code != core.AnswerConflict || no.Current.Settled.By != ben {
			t.Errorf("another answer: %v", err)
		}
		w.idle()
		if n := w.tools["db__drop"].ran(); n != 1 {
			t.Errorf("ran %d times", n)
		}
		if id := w.tools["db__drop"].ids[0]; id.Actor != ana || id.Approval.By != ben {
			t.Errorf("identity %+v", id)
		}
	})
}

func TestAudienceShrinksButNeverGrows(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.agent.Human.Approvers = []core.PersonID{ben}
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		in := w.waiting()[0]
		w.agent.Human.Approvers = []core.PersonID{cleo}
		for _, who := range []core.PersonID{ben, cleo} {
			if _, err := w.e.Settle(t.Context(), settlement(in, who, core.ActionAccept)); err == nil {
				t.Errorf("%s may answer", who)
			}
		}
		w.say(ana, "yes")
		if n := w.tools["db__drop"].ran(); n != 1 {
			t.Errorf("ran %d times", n)
		}
	})
}

func TestOnlyApprovers(t *testing.T) { // AU-13
	inBubble(t, func(t *testing.T, w *world) {
		w.agent.Human.Approvers, w.agent.Human.ApproversOnly = []core.PersonID{ben}, true
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		w.say(ana, "yes")
		w.wantLines("ask approval drop #0", "note not_allowed")
		w.say(ben, "yes")
		w.wantLines("edit approval accepted", "say end")
	})
}

func TestRacingAnswersHaveOneWinner(t *testing.T) { // CC-03
	inBubble(t, func(t *testing.T, w *world) {
		w.agent.Human.Approvers = []core.PersonID{ben}
		w.model = script(calls("", `db__drop {}`))
		w.start()
		accepted := 0
		for range 50 {
			w.send(w.message(ana, "go"))
			w.idle()
			in := w.waiting()[0]
			var both sync.WaitGroup
			errs := make([]error, 2)
			both.Go(func() { _, errs[0] = w.e.Settle(t.Context(), settlement(in, ana, core.ActionAccept)) })
			both.Go(func() { _, errs[1] = w.e.Settle(t.Context(), settlement(in, ben, core.ActionDecline)) })
			both.Wait()
			if (errs[0] == nil) == (errs[1] == nil) {
				t.Fatalf("winners: %v, %v", errs[0], errs[1])
			}
			if errs[0] == nil {
				accepted++
			}
			w.idle()
		}
		if n := w.tools["db__drop"].ran(); n != accepted {
			t.Errorf("ran %d times in %d rounds that the yes won", n, accepted)
		}
	})
}

func TestThreeApprovalsOneResume(t *testing.T) { // CC-05
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {"n":1}`, `db__drop {"n":2}`, `db__drop {"n":3}`))
		w.start()
		w.say(ana, "go")
		var all sync.WaitGroup
		for i, in := range w.waiting() {
			action := core.ActionAccept
			if i == 1 {
				action = core.ActionDecline
			}
			all.Go(func() {
				if _, err := w.e.Settle(t.Context(), settlement(in, ana, action)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		w.idle()
		if len(w.requests) != 2 || w.tools["db__drop"].ran() != 2 || len(w.results()) != 3 {
			t.Errorf("%d requests, %d runs, results %q", len(w.requests), w.tools["db__drop"].ran(), w.results())
		}
	})
}

// TestStepNames pins the steps of three turns that use neither an intake nor an asking tool (I14), and of
// one that does.
func TestStepNames(t *testing.T) {
	for name, tc := range map[string]struct {
		replies []model.Response
		answers []string
		want    []string
	}{
		"no call":  {nil, nil, []string{"model:1"}},
		"a read":   {[]model.Response{calls("", `db__read {}`)}, nil, []string{"model:1", "persist:toolcall:c1_1", "result:c1_1", "model:2"}},
		"approval": {[]model.Response{calls("", `db__drop {}`)}, []string{"yes"}, []string{"model:1", "persist:toolcall:c1_1", "tool:RUN:c1_1", "result:c1_1", "model:2"}},
		"ask":      {[]model.Response{calls("", `ask_user {"questions":[{"prompt":"Which?","options":[{"label":"a"},{"label":"b"}]}]}`)}, []string{"1"}, []string{"model:1", "persist:toolcall:c1_1", "stream:elicitation:c1_1", "tool:RUN:c1_1", "model:2"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.model = script(tc.replies...)
				w.start()
				w.say(ana, "go")
				for _, a := range tc.answers {
					w.say(ana, a)
				}
				if got := stepNames(t, w); fmt.Sprint(got) != fmt.Sprint(tc.want) {
					t.Errorf("steps %q, want %q", got, tc.want)
				}
			})
		})
	}
}

func TestRT13AnUndeliverablePromptIsTriedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.hold = true
		run := w.send(w.message(ana, "go")).Run
		synctest.Wait()
		rows, _, err := w.e.Outbox(t.Context(), home, 10)
		if err != nil || len(rows) != 1 {
			t.Fatalf("outbox %v, %v", rows, err)
		}
		if err := w.e.Failed(t.Context(), rows[0], turn.Failure{Permanent: true, Err: "not_in_channel"}); err != nil {
			t.Fatal(err)
		}
		if in := w.waiting(); len(in) != 1 {
			t.Fatalf("waiting %v: a prompt that is not delivered is never a decline", in)
		}
		events, err := w.e.Events(t.Context(), run, 0, 100)
		if err != nil || events[len(events)-1].Type != core.EventUndeliverable {
			t.Errorf("the run's history does not tell: %v, %v", events, err)
		}
		w.mu.Lock()
		w.hold = false
		w.mu.Unlock()
		w.pass(20 * time.Minute)
		w.idle()
		w.wantLines("ask approval drop #0")
		w.say(ana, "yes")
		if n := w.tools["db__drop"].ran(); n != 1 {
			t.Errorf("ran %d times", n)
		}
	})
}
