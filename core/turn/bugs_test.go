package turn_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/core"
	"parley/core/model"
	"parley/core/tool"
	"parley/core/turn"
)

// echo answers every message with its text and proposes a drop where the message says go.
func echo(spec string) func(model.Request) (model.Response, error) {
	return func(r model.Request) (model.Response, error) {
		last := r.Messages[len(r.Messages)-1]
		switch {
		case last.Result != nil:
			return model.Response{Text: "end", Stop: model.StopEnd}, nil
		case last.Text == "go":
			return calls("", spec), nil
		}
		return model.Response{Text: "re: " + last.Text, Stop: model.StopEnd}, nil
	}
}

const whichDatabase = `ask_user {"questions":[{"prompt":"Which database?","options":[{"label":"Postgres"},{"label":"SQLite"}]}]}`

func TestFM11ProseToAnOptionsOnlyQuestionIsANewMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = echo(whichDatabase)
		w.start()
		w.say(ana, "go")
		w.say(ana, "whichever is cheaper")
		w.say(ana, "hello?")
		w.wantLines("ask question ask_user #0", "edit question superseded", "say re: whichever is cheaper", "say re: hello?")
	})
}

func TestFM05TheResultNamesTheQuestionAndWhoAnswered(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = echo(whichDatabase)
		w.start()
		w.say(ana, "go")
		w.pass(42 * time.Second)
		w.say(ana, "1")
		got := w.results()[0]
		for _, want := range []string{"Which database?", "Postgres", `"answeredBy":"local:ana"`, `"waited":42`} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not in %s", want, got)
			}
		}
		if strings.Contains(got, "q1") {
			t.Errorf("an internal id is in %s", got)
		}
	})
}

func TestRP07YesWithNothingPendingIsAMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = echo("")
		w.start()
		w.say(ana, "shall we?")
		w.say(ana, "yes")
		w.wantLines("say re: shall we?", "say re: yes")
	})
}

func TestAU04TheAskersNoIsOnRecord(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = echo(`db__drop {}`)
		w.start()
		w.say(ana, "go")
		in := w.waiting()[0]
		w.say(cleo, "yes")
		w.say(ana, "no")
		got, err := w.store.Input(t.Context(), in.ID)
		if err != nil || got.State != core.InputDeclined || got.Settled.By != ana {
			t.Errorf("%+v, %v", got.Settled, err)
		}
	})
}

func TestAU16EachAnswerIsOfItsOwnPersonAndDoor(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.agent.Human.Approvers = []core.PersonID{ben}
		w.model = script(calls("", `db__drop {"n":1}`, `db__drop {"n":2}`))
		w.start()
		w.say(ana, "go")
		ins := w.waiting()
		if _, err := w.e.Settle(t.Context(), settlement(ins[1], ben, core.ActionAccept)); err != nil {
			t.Fatal(err)
		}
		w.say(ana, "yes")
		res := w.results()
		if !strings.Contains(res[0], `"answeredBy":"local:ana","role":"asker"`) || !strings.Contains(res[1], `"answeredBy":"local:ben","role":"approver"`) {
			t.Errorf("results %q", res)
		}
		for i, want := range []string{"chat", "rest"} {
			if in, err := w.store.Input(t.Context(), ins[i].ID); err != nil || in.Settled.Via != want {
				t.Errorf("input %d came by %q, want %q (%v)", i, in.Settled.Via, want, err)
			}
		}
	})
}

func TestCC01TheSameDeclineByTwoPaths(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = echo(`db__drop {}`)
		w.start()
		w.say(ana, "go")
		in := w.waiting()[0]
		m := w.message(ana, "no")
		var both sync.WaitGroup
		both.Go(func() { w.send(m) })
		both.Go(func() {
			got, err := w.e.Settle(t.Context(), settlement(in, ana, core.ActionDecline))
			if err != nil || got.State != core.InputDeclined {
				t.Errorf("%s, %v", got.State, err)
			}
		})
		both.Wait()
		w.idle()
		if n := len(w.requests); n != 2 {
			t.Errorf("%d model requests, want one resume", n)
		}
	})
}

func TestCC11AnswersAroundTheDeadline(t *testing.T) {
	for _, c := range []struct {
		at  time.Duration
		ran int
	}{{-time.Millisecond, 1}, {0, 0}, {time.Millisecond, 0}} {
		t.Run(c.at.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.agent.Human.Expires = time.Hour
				w.model = echo(`db__drop {}`)
				w.start()
				w.say(ana, "go")
				in := w.waiting()[0]
				w.pass(time.Until(in.ExpiresAt.Add(c.at)))
				_, err := w.e.Settle(t.Context(), settlement(in, ana, core.ActionAccept))
				w.idle()
				if n := w.tools["db__drop"].ran(); n != c.ran || (err == nil) != (c.ran == 1) {
					t.Errorf("ran %d times, want %d (%v)", n, c.ran, err)
				}
			})
		})
	}
}

func TestDU06WhatNeededNobodyRanOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `log__write {}`, `db__drop {}`))
		w.start()
		w.say(ana, "go")
		w.restart()
		w.say(ana, "yes")
		if n := w.tools["log__write"].ran(); n != 1 {
			t.Errorf("ran %d times", n)
		}
	})
}

func TestDU22RestartsPostNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {"n":1}`, `db__drop {"n":2}`))
		w.start()
		w.say(ana, "go")
		w.say(ana, "yes")
		w.wantLines("ask approval drop #0", "edit approval accepted", "ask approval drop #0")
		for range 3 {
			w.restart()
			w.idle()
		}
		w.wantLines()
	})
}

func TestEX04FourDistinguishableRefusals(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.agent.Human.Expires = time.Hour
		w.model = echo(`db__drop {}`)
		w.start()
		w.say(ana, "go")
		expired := w.waiting()[0]
		w.pass(2 * time.Hour)
		w.say(ana, "go")
		settled := w.waiting()[0]
		w.say(ana, "no")
		w.say(ana, "go")
		open := w.waiting()[0]
		for _, c := range []struct {
			id    core.InputID
			who   core.PersonID
			code  core.AnswerCode
			state core.InputState
		}{
			{"unknown", ana, core.AnswerNotFound, ""}, {expired.ID, ana, core.AnswerConflict, core.InputExpired},
			{settled.ID, ana, core.AnswerConflict, core.InputDeclined}, {open.ID, cleo, core.AnswerForbidden, ""},
		} {
			_, err := w.e.Settle(t.Context(), settlement(core.Input{ID: c.id}, c.who, core.ActionAccept))
			var no *core.AnswerError
			if !errors.As(err, &no) || no.Code != c.code || (c.state != "" && no.Current.State != c.state) {
				t.Errorf("%s: %v, want %s %s", c.id, err, c.code, c.state)
			}
		}
	})
}

func TestEX07AYesAfterExpiryIsAMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = echo(`db__drop {}`)
		w.start()
		w.say(ana, "go")
		w.pass(8 * 24 * time.Hour)
		w.idle()
		w.say(ana, "yes")
		if got := w.lines(); got[len(got)-1] != "say re: yes" || w.tools["db__drop"].ran() != 0 {
			t.Errorf("shown %q, ran %d", got, w.tools["db__drop"].ran())
		}
	})
}

func TestEX10OneLineEachForAHundred(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = echo(`db__drop {}`)
		w.start()
		for i := range 100 {
			m := w.message(ana, "go")
			m.Conversation = place(i)
			w.send(m)
		}
		w.pass(7*24*time.Hour + 10*time.Minute)
		notes := 0
		for _, line := range w.lines() {
			if line == "note expired" {
				notes++
			}
		}
		if notes != 100 {
			t.Errorf("%d lines, want one each", notes)
		}
	})
}

func TestSU02AllCloseAtOnceWithOneEventEach(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {"n":1}`, `db__drop {"n":2}`, whichDatabase))
		w.start()
		run := w.say(ana, "go").Run
		w.model = echo("")
		w.say(ana, "something else")
		events, err := w.e.Events(t.Context(), run, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		resolved := map[core.InputID]int{}
		for _, ev := range events {
			if ev.Type == core.EventInputResolved {
				resolved[ev.Input]++
			}
		}
		if len(resolved) != 3 {
			t.Errorf("resolved %v, want three inputs", resolved)
		}
		for id, n := range resolved {
			if n != 1 {
				t.Errorf("%s has %d events", id, n)
			}
		}
	})
}

func TestSU04AfterAbortANumberIsAMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = echo(whichDatabase)
		w.start()
		w.say(ana, "go")
		if found, err := w.e.Abort(t.Context(), conv(), ana, "rest"); err != nil || !found {
			t.Fatalf("abort: %v, %v", found, err)
		}
		w.idle()
		w.say(ana, "2")
		if got := w.lines(); got[len(got)-1] != "say re: 2" {
			t.Errorf("shown %q", got)
		}
	})
}

func TestSU05NothingOfAnEndedRunIsListed(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = echo(`db__drop {}`)
		w.start()
		for _, end := range []string{"something else", "cancel", "no"} {
			w.say(ana, "go")
			w.say(ana, end)
			page, _, err := w.e.Inputs(t.Context(), turn.InputFilter{})
			if err != nil || len(page) != 0 {
				t.Errorf("after %q: %d inputs are listed (%v)", end, len(page), err)
			}
		}
	})
}

func TestSU07NothingIsRememberedAsApproved(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = echo(`db__drop {}`)
		w.start()
		w.say(ana, "go")
		w.say(ana, "wait, what is it?")
		w.say(ana, "go")
		if in := w.waiting(); len(in) != 1 || w.tools["db__drop"].ran() != 0 {
			t.Errorf("waiting %d, ran %d", len(in), w.tools["db__drop"].ran())
		}
		if got := outline(w.requests[len(w.requests)-1]); !strings.Contains(got, core.SupersededText) {
			t.Errorf("the model was told:\n%s", got)
		}
	})
}

func TestSU13CommandsAreCommandsWhileAQuestionWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = echo(whichDatabase)
		w.start()
		w.say(ana, "go")
		for _, command := range []string{"help", "status", "inbox"} {
			m := w.message(ana, "/"+command)
			m.Command = command
			if got := w.send(m); got.Did != core.DoNote {
				t.Errorf("/%s did %q", command, got.Did)
			}
		}
		w.idle()
		w.wantLines("ask question ask_user #0", "note help", "note status", "note inbox")
		if in := w.waiting(); len(in) != 1 {
			t.Errorf("waiting %d", len(in))
		}
	})
}

func TestSU14WaitingDoesNothingToTheInput(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = echo(`db__drop {}`)
		w.start()
		w.say(ana, "go")
		w.pass(10 * time.Minute)
		if got := w.say(ana, "yes"); got.Did != core.DoAnswer {
			t.Errorf("yes did %q", got.Did)
		}
	})
}

func TestPR04TheGapIsClosedAsInterrupted(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		slow(w.tools["db__drop"], time.Hour)
		w.model = echo(`db__drop {}`)
		w.start()
		w.say(ana, "go")
		w.send(w.message(ana, "yes"))
		w.pass(time.Second)
		w.restart()
		w.idle()
		w.say(ana, "what happened?")
		if res := w.results(); len(res) != 1 || !strings.Contains(res[0], "may or may not have run") {
			t.Errorf("results %q", res)
		}
	})
}

func TestPR09NoModelRequestWhileItWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = echo(`db__drop {}`)
		w.start()
		w.say(ana, "go")
		w.pass(6 * 24 * time.Hour)
		if n := len(w.requests); n != 1 {
			t.Errorf("%d model requests", n)
		}
	})
}

func TestPR15TheServerIsUnreachable(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.tools["db__drop"].run = func(*tool.Context, json.RawMessage) (string, error) {
			return "", fmt.Errorf("no route: %w", tool.ErrNotStarted)
		}
		w.model = echo(`db__drop {}`)
		w.start()
		for answer, want := range map[string]string{"no": "Declined", "yes": "no route", "something else": core.SupersededText} {
			w.say(ana, "go")
			w.say(ana, answer)
			res := w.results()
			if got := res[len(res)-1]; !strings.Contains(got, want) {
				t.Errorf("%s: the model was told %q, want %q", answer, got, want)
			}
		}
	})
}

func TestUR05DoneIsAStatementAndTheToolChecks(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		checks := 0
		f := w.add("cal__connect", core.ToolAction, nil)
		f.run = func(ctx *tool.Context, _ json.RawMessage) (string, error) {
			if err := ctx.RequireURL("https://accounts.example.com/x", "Connect"); err != nil {
				return "", err
			}
			checks++
			return "not connected yet", nil
		}
		w.model = script(calls("", `cal__connect {}`), calls("", `cal__connect {}`))
		w.start()
		w.say(ana, "go")
		w.say(ana, "done")
		if in := w.waiting(); checks != 1 || len(in) != 1 {
			t.Errorf("checked %d times, %d wait: the agent asks again", checks, len(in))
		}
	})
}

func TestUR07AnsweredOnceThePromptIsNotPostedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = echo(`db__drop {}`)
		w.start()
		w.say(ana, "go")
		w.say(ana, "yes")
		w.restart()
		w.idle()
		w.wantLines("ask approval drop #0", "edit approval accepted", "say end")
	})
}

func TestRT10FourApprovalsInARow(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {"n":1}`, `db__drop {"n":2}`), calls("", `db__drop {"n":3}`), calls("", `db__drop {"n":4}`))
		w.start()
		w.say(ana, "go")
		for range 4 {
			w.say(ana, "yes")
		}
		asked := 0
		for _, line := range w.lines() {
			if strings.HasPrefix(line, "ask ") {
				asked++
			}
		}
		if n := w.tools["db__drop"].ran(); asked != 4 || n != 4 {
			t.Errorf("asked %d times, ran %d", asked, n)
		}
	})
}

func TestRT18APromptStaysInItsOwnConversation(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = echo(`db__drop {}`)
		w.start()
		w.say(ana, "hello")
		theirs := core.NewConversation("ops", home, "ben")
		m := w.message(ben, "go")
		m.Conversation = theirs
		w.send(m)
		if err := w.e.Idle(t.Context(), theirs); err != nil {
			t.Fatal(err)
		}
		if got := w.say(ana, "yes"); got.Did != core.DoStart {
			t.Errorf("a yes elsewhere did %q", got.Did)
		}
		waiting, err := w.e.Waiting(t.Context(), theirs)
		if err != nil || len(waiting) != 1 || waiting[0].Prompts[0].Conversation != theirs {
			t.Errorf("waiting %+v, %v", waiting, err)
		}
	})
}
