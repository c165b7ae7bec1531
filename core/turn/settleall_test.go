package turn_test

import (
	"encoding/json"
	"errors"
	"testing"

	"parley/core"
	"parley/core/turn"
)

const setOfTwo = `ask {"questions":[{"prompt":"Which?","options":[{"label":"a"},{"label":"b"}],"defaults":["b"]},{"prompt":"How?","options":[{"label":"fast"},{"label":"slow"}],"defaults":["slow"]}]}`

// inThree runs f where two approvals and a question set wait together.
func inThree(t *testing.T, f func(t *testing.T, w *world, in []core.Input)) {
	t.Helper()
	inBubble(t, func(t *testing.T, w *world) {
		w.agent.Human.Approvers = []core.PersonID{ben}
		w.model = script(calls("", `db__drop {"n":1}`, `db__drop {"n":2}`, setOfTwo))
		w.start()
		w.say(ana, "go")
		in := w.waiting()
		if len(in) != 3 {
			t.Fatalf("waiting %+v", in)
		}
		f(t, w, in)
	})
}

func TestSettleAllOfMixedPersons(t *testing.T) {
	inThree(t, func(t *testing.T, w *world, in []core.Input) {
		set := settlement(in[2], ana, core.ActionAccept)
		set.Submission.Content = json.RawMessage(`{"Which?":"a"}`)
		done, err := w.e.SettleAll(t.Context(), []turn.Settlement{set, settlement(in[1], ben, core.ActionDecline), settlement(in[0], ana, core.ActionAccept)})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []struct {
			id    core.InputID
			state core.InputState
			by    core.PersonID
			role  string
		}{{in[2].ID, core.InputAccepted, ana, "asker"}, {in[1].ID, core.InputDeclined, ben, "approver"}, {in[0].ID, core.InputAccepted, ana, "asker"}} {
			got := done[i]
			if got.Input.ID != want.id || got.Input.State != want.state || got.Input.Settled.By != want.by || got.Input.Settled.Role != want.role || !got.Now || got.Resumed != in[0].Run || got.Run.ID != got.Resumed || got.Run.Status != core.RunRunning {
				t.Errorf("settling %d is %+v", i, got)
			}
		}
		choices := done[0].Input.Settled.Answer.Choices
		if len(choices) != 2 || choices[0].Values[0] != "a" || choices[0].Defaulted || choices[1].Values[0] != "slow" || !choices[1].Defaulted {
			t.Errorf("choices %+v: a question left out takes its own defaults", choices)
		}
		w.idle()
		if n := w.tools["db__drop"].ran(); n != 1 {
			t.Errorf("ran %d times", n)
		}
	})
}

// TestSettleAllOrNone: whichever of them is refused, nothing of the others stays.
func TestSettleAllOrNone(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(w *world, all []turn.Settlement)
		code  core.AnswerCode
		left  int
	}{
		"a person who may not": {func(_ *world, all []turn.Settlement) { all[1].From = cleo }, core.AnswerForbidden, 3},
		"nobody":               {func(_ *world, all []turn.Settlement) { all[1].From = "" }, core.AnswerFromRequired, 3},
		"the wrong shape": {func(_ *world, all []turn.Settlement) {
			all[1].Submission.Content = json.RawMessage(`{"answers":{"a":"b"}}`)
		}, core.AnswerMismatch, 3},
		"no such option": {func(_ *world, all []turn.Settlement) {
			all[2].Submission.Content = json.RawMessage(`{"Which?":"c"}`)
		}, core.AnswerInvalid, 3},
		"no such input": {func(_ *world, all []turn.Settlement) { all[1].Input = "i000" }, core.AnswerNotFound, 3},
		"one ended otherwise": {func(w *world, all []turn.Settlement) {
			one := all[1]
			one.Submission.Action = core.ActionDecline
			if _, err := w.e.Settle(w.t.Context(), one); err != nil {
				w.t.Fatal(err)
			}
		}, core.AnswerConflict, 2},
		"two answers to one": {func(_ *world, all []turn.Settlement) {
			all[1].Input, all[1].Submission.Action = all[0].Input, core.ActionDecline
		}, core.AnswerConflict, 3},
	} {
		t.Run(name, func(t *testing.T) {
			inThree(t, func(t *testing.T, w *world, in []core.Input) {
				var all []turn.Settlement
				for _, one := range in {
					all = append(all, settlement(one, ana, core.ActionAccept))
				}
				tc.spoil(w, all)
				done, err := w.e.SettleAll(t.Context(), all)
				var no *turn.Unsettled
				if !errors.As(err, &no) || no.Err.Code != tc.code || done != nil || len(no.Done) != 0 {
					t.Fatalf("settled %+v, %v", done, err)
				}
				if no.At != 1 && tc.code != core.AnswerInvalid {
					t.Errorf("the refusal is of answer %d", no.At)
				}
				w.idle()
				if left := w.waiting(); len(left) != tc.left || w.tools["db__drop"].ran() != 0 {
					t.Errorf("%d wait, want %d; ran %d", len(left), tc.left, w.tools["db__drop"].ran())
				}
				refused := 0
				events, err := w.e.Events(t.Context(), in[0].Run, 0, 100)
				for _, ev := range events {
					if ev.Type == core.EventRefused {
						refused++
					}
				}
				if want := map[core.AnswerCode]int{core.AnswerForbidden: 1}[tc.code]; refused != want || err != nil {
					t.Errorf("%d refusals in the audit, want %d, %v", refused, want, err)
				}
			})
		})
	}
}

// The same answers again change nothing and say so.
func TestSettleAllAgain(t *testing.T) {
	inThree(t, func(t *testing.T, w *world, in []core.Input) {
		all := []turn.Settlement{settlement(in[0], ana, core.ActionAccept), settlement(in[1], ben, core.ActionAccept)}
		first, err := w.e.SettleAll(t.Context(), all)
		if err != nil || !first[0].Now || first[0].Resumed != "" {
			t.Fatalf("settled %+v, %v: the set still waits", first, err)
		}
		again, err := w.e.SettleAll(t.Context(), append(all, settlement(in[2], ana, core.ActionAccept)))
		if err != nil || again[0].Now || again[1].Now || !again[2].Now || again[2].Resumed == "" {
			t.Errorf("settled again %+v, %v", again, err)
		}
		w.idle()
		if n := w.tools["db__drop"].ran(); n != 2 {
			t.Errorf("ran %d times", n)
		}
	})
}

// Answers of several conversations are all checked before the first is settled.
func TestSettleAllOfTwoConversations(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		other := core.NewConversation("ops", home, "2")
		m := w.message(ben, "go")
		m.Conversation = other
		w.send(m)
		if err := w.e.Idle(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		theirs, err := w.e.Waiting(t.Context(), other)
		if err != nil || len(theirs) != 1 {
			t.Fatalf("waiting %v, %v", theirs, err)
		}
		all := []turn.Settlement{settlement(w.waiting()[0], ana, core.ActionAccept), settlement(theirs[0], ana, core.ActionAccept)}
		var no *turn.Unsettled
		if _, err := w.e.SettleAll(t.Context(), all); !errors.As(err, &no) || no.At != 1 || no.Err.Code != core.AnswerForbidden {
			t.Fatalf("settled: %v", err)
		}
		if len(w.waiting()) != 1 {
			t.Error("the first was settled though the second is refused")
		}
		all[1].From = ben
		done, err := w.e.SettleAll(t.Context(), all)
		if err != nil || len(done) != 2 || done[0].Resumed == "" || done[1].Resumed == "" {
			t.Fatalf("settled %+v, %v", done, err)
		}
		w.idle()
		if err := w.e.Idle(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		if n := w.tools["db__drop"].ran(); n != 2 {
			t.Errorf("ran %d times", n)
		}
	})
}
