package turn_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"parley/core"
	"parley/core/tool"
)

// TestPR13AToolThatChangesTwice: what was shown is what runs, also when the tool changes again while the
// changed call waits, and over a restart.
func TestPR13AToolThatChangesTwice(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {"name":"staging"}`))
		drop := w.tools["db__drop"]
		w.start()
		w.say(ana, "go")
		for _, target := range []string{"https://two", "https://three", "https://two"} {
			drop.spec.Target = target
			w.restart()
			w.say(ana, "yes")
			if drop.ran() != 0 {
				t.Fatalf("ran at %s unshown", target)
			}
			if in := w.waiting(); len(in) != 1 || in[0].Purpose != core.PurposeChanged || in[0].Target != target {
				t.Fatalf("waiting %+v", in)
			}
		}
		w.say(ana, "yes")
		if n := drop.ran(); n != 1 {
			t.Errorf("ran %d times", n)
		}
	})
}

// TestAnAnswerToAToolIsForThatTool: an ask that was answered for one target does not run at another.
func TestAnAnswerToAToolIsForThatTool(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		f := w.add("site__wipe", core.ToolAction, nil)
		done := 0
		f.run = func(ctx *tool.Context, _ json.RawMessage) (string, error) {
			ok, err := ctx.Confirm("Wipe " + f.spec.Target + "?")
			if err == nil && ok {
				done++
			}
			return "wiped", err
		}
		f.spec.Target = "https://one"
		w.model = script(calls("", `site__wipe {}`))
		w.start()
		w.say(ana, "go")
		f.spec.Target = "https://two"
		w.say(ana, "yes")
		if in := w.waiting(); done != 0 || len(in) != 1 {
			t.Errorf("wiped %d times, waiting %v", done, in)
		}
	})
}

// TestEachInputHasItsOwnPeople: with inputs of two agents in one chat, a code and a reply are judged by the
// people of the input they address, and as they are today.
func TestEachInputHasItsOwnPeople(t *testing.T) {
	for name, aim := range map[string]func(m *core.Message, in core.Input){
		"code":  func(m *core.Message, in core.Input) { m.Text = in.Code + " yes" },
		"reply": func(m *core.Message, in core.Input) { m.ReplyTo = in.Prompts[0].Messages[0] },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				child := withResearcher(w)
				child.Human.Approvers = []core.PersonID{ben}
				w.agent.Human.Approvers = []core.PersonID{ben}
				w.model = script(calls("", `db__drop {"own":1}`, `agent__researcher {"message":"x"}`))
				w.start()
				w.say(ana, "go")
				in := w.waiting()[1]
				w.say(ana, "show "+in.Code)
				child.Human.Approvers = []core.PersonID{cleo}
				m := w.message(ben, "yes")
				aim(&m, w.waiting()[1])
				w.send(m)
				w.idle()
				if got := w.waiting(); len(got) != 2 {
					t.Errorf("%d wait: somebody who may no longer answer did", len(got))
				}
			})
		})
	}
}

// TestASourceForApproversOnlyHoldsAtOnce: a source that leaves the asker out since the input opened does so.
func TestASourceForApproversOnlyHoldsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.agent.Human.Approvers = []core.PersonID{ben}
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		w.tools["db__drop"].spec.ApproversOnly = true
		w.say(ana, "yes")
		if n := w.tools["db__drop"].ran(); n != 0 {
			t.Errorf("ran %d times", n)
		}
		w.say(ben, "yes")
		if n := w.tools["db__drop"].ran(); n != 1 {
			t.Errorf("ran %d times", n)
		}
	})
}

// TestFrozenSourceResponders: a source that leaves the asker out is so in the input's own audience.
func TestFrozenSourceResponders(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.agent.Human.Approvers = []core.PersonID{ben}
		w.tools["db__drop"].spec.ApproversOnly = true
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		if in := w.waiting()[0]; len(in.Responders.Audience) != 1 || in.Responders.Audience[0] != ben {
			t.Errorf("audience %v", in.Responders.Audience)
		}
	})
}

// TestBoundDemandsAReplyOrMention in shared conversations, for plain answers and codes.
func TestBoundDemandsAReplyOrMention(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.agent.Human.Bound = true
		w.model = script(calls("", `db__drop {"n":1}`, `db__drop {"n":2}`))
		w.start()
		w.say(ana, "go")
		in := w.waiting()[0]
		for _, text := range []string{"yes", in.Code + " yes"} {
			for _, thread := range []bool{false, true} {
				m := w.message(ana, text)
				m.Shared, m.Addressed, m.Thread = true, false, thread
				if got := w.send(m); got.Did != core.DoDrop {
					t.Errorf("%q (thread %v) did %q", text, thread, got.Did)
				}
			}
		}
		m := w.message(ana, "yes")
		m.Shared, m.Addressed, m.ReplyTo = true, true, in.Prompts[0].Messages[0]
		if got := w.send(m); got.Did != core.DoAnswer {
			t.Errorf("a reply did %q", got.Did)
		}
		w.idle()
	})
}

// TestSharedIsOfTheConversation: a secret is not asked where others have spoken, whoever began the turn.
func TestSharedIsOfTheConversation(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		f := w.add("x__login", core.ToolAction, nil)
		f.run = func(ctx *tool.Context, _ json.RawMessage) (string, error) {
			var v map[string]any
			return "in", ctx.Ask("Log in", json.RawMessage(`{"type":"object","properties":{"pw":{"type":"string","format":"password"}}}`), &v)
		}
		w.model = echo(`x__login {}`)
		w.start()
		m := w.message(ben, "hello all")
		m.Shared = true
		w.send(m)
		w.idle()
		w.say(ana, "go")
		if in := w.waiting(); len(in) != 0 {
			t.Errorf("asked %+v", in)
		}
	})
}

// TestExpiryOfTheUnknownClosesOnlyItsCall with onExpire resume: nobody stopped the turn.
func TestExpiryOfTheUnknownClosesOnlyItsCall(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.agent.Human.ResumeOnExpire = true
		w.tools["log__write"].run = func(*tool.Context, json.RawMessage) (string, error) { return "", tool.ErrUnknownOutcome }
		w.model = script(calls("", `log__write {}`))
		w.start()
		run := w.say(ana, "go").Run
		w.pass(8 * 24 * 3600e9)
		w.idle()
		got, err := w.store.Run(t.Context(), run)
		if err != nil || got.Status != core.RunCompleted {
			t.Errorf("the run is %s (%v), shown %q", got.Status, err, w.lines())
		}
	})
}

// TestAPartIsRecordedAsRead: the log keeps of each reply to a set or form what was typed and what it was taken for.
func TestAPartIsRecordedAsRead(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.agent.AskUser = true
		w.model = script(calls("", `ask_user {"questions":[{"prompt":"Which?","options":[{"label":"Red"},{"label":"Blue"}]},{"prompt":"How?","options":[{"label":"Fast"},{"label":"Slow"}]},{"prompt":"Why?","freeText":true}]}`))
		w.start()
		run := w.say(ana, "go").Run
		w.say(ana, "2")
		w.say(ana, "skip")
		var got []string
		evs, err := w.e.Events(t.Context(), run, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range evs {
			if e.Type == core.EventAnswered {
				got = append(got, string(e.Data))
			}
		}
		if len(got) != 2 || !strings.Contains(got[0], `"raw":"2","choices":[{"question":"q1","values":["Blue"]`) ||
			!strings.Contains(got[1], `"raw":"skip","choices":[{"question":"q2"`) || !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, `"skipped":true`) }) {
			t.Errorf("recorded %q", got)
		}
	})
}
