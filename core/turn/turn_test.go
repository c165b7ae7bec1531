package turn_test

import (
	"strings"
	"testing"
	"time"

	"parley/core"
	"parley/core/model"
)

const ana, ben, cleo core.PersonID = "local:ana", "local:ben", "local:cleo"

func TestApprovalRunsOnce(t *testing.T) { // DU-01
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {"name":"staging"}`))
		w.start()
		w.say(ana, "delete the staging database")
		w.wantLines("ask approval drop #0")
		w.restart()
		w.pass(50 * time.Hour)
		if got := w.say(ana, "yes"); got.Did != core.DoAnswer {
			t.Errorf("yes did %q", got.Did)
		}
		w.wantLines("edit approval accepted", "say end")
		drop := w.tools["db__drop"]
		if drop.ran() != 1 || !strings.HasSuffix(drop.calls[0], ` {"name":"staging"}`) {
			t.Errorf("ran %q", drop.calls)
		}
		if got := drop.ids[0]; got.Actor != ana || got.Approval == nil || got.Approval.By != ana {
			t.Errorf("identity %+v", got)
		}
		want := `{"outcome":"ok","answeredBy":"local:ana","role":"asker","waited":180000,"content":"done"}`
		if got := w.results(); len(got) != 1 || got[0] != want {
			t.Errorf("result %q, want %q", got, want)
		}
	})
}

func TestDeclineRunsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {"name":"staging"}`), calls("", `db__drop {"name": "staging"}`))
		w.start()
		w.say(ana, "delete it")
		w.say(ana, "no")
		w.wantLines("ask approval drop #0", "edit approval declined", "say end")
		if n := w.tools["db__drop"].ran(); n != 0 {
			t.Errorf("ran %d times", n)
		}
		got := w.results()
		if len(got) != 2 || !strings.Contains(got[0], `"declined"`) || !strings.Contains(got[1], "declined this same call before") {
			t.Errorf("results %q", got)
		}
	})
}

func TestNewMessageSupersedes(t *testing.T) { // SU-01
	inBubble(t, func(t *testing.T, w *world) {
		w.model = func(r model.Request) (model.Response, error) {
			last := r.Messages[len(r.Messages)-1]
			if last.Role == model.RoleUser && last.Text == "delete it" {
				return calls("", `db__drop {"name":"staging"}`, `db__drop {"name":"two"}`), nil
			}
			return model.Response{Text: "re: " + last.Text, Stop: model.StopEnd}, nil
		}
		w.start()
		w.say(ana, "delete it")
		w.say(ana, "what does this do exactly?")
		w.wantLines("ask approval drop #0", "edit approval superseded", "say re: what does this do exactly?")
		got := w.results()
		if len(got) != 2 || got[0] != core.SupersededText || got[1] != core.SupersededText {
			t.Errorf("results %q", got)
		}
		if got := w.say(ana, "yes"); got.Did != core.DoStart {
			t.Errorf("a later yes did %q", got.Did)
		}
		if n := w.tools["db__drop"].ran(); n != 0 {
			t.Errorf("ran %d times", n)
		}
		if in := w.waiting(); len(in) != 0 {
			t.Errorf("still waiting: %v", in)
		}
	})
}

func TestBatchWaitsTogetherAndRunsInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("let me see", `db__drop {"n":1}`, `db__read {}`, `log__write {}`, `db__drop {"n":2}`, `ask_user {"questions":[{"prompt":"Which?","options":[{"label":"a"},{"label":"b"}]}]}`))
		w.start()
		w.say(ana, "go")
		w.wantLines("say let me see | ask approval drop #0")
		if w.tools["db__read"].ran() != 1 || w.tools["log__write"].ran() != 1 || w.tools["db__drop"].ran() != 0 {
			t.Error("the calls that need nobody did not run first")
		}
		if in := w.waiting(); len(in) != 3 || in[0].Nth != 1 || in[0].Of != 3 {
			t.Fatalf("waiting %+v", in)
		}
		w.say(ana, "yes")
		w.wantLines("edit approval accepted", "ask approval drop #0")
		if w.tools["db__drop"].ran() != 0 {
			t.Error("an approved call ran before the batch was answered")
		}
		w.say(ana, "yes")
		w.wantLines("edit approval accepted", "ask question ask_user #0")
		w.restart()
		w.say(ana, "2")
		w.wantLines("edit approval accepted", "edit approval accepted", "edit question accepted", "say end")
		got := w.tools["db__drop"].calls
		if len(got) != 2 || !strings.HasSuffix(got[0], `{"n":1}`) || !strings.HasSuffix(got[1], `{"n":2}`) {
			t.Errorf("ran %q", got)
		}
		if res := w.results(); len(res) != 5 || !strings.Contains(res[4], "b") {
			t.Errorf("results %q", res)
		}
		if len(w.requests) != 2 {
			t.Errorf("%d model requests, want 2", len(w.requests))
		}
	})
}

func TestExpiryClosesWithoutModel(t *testing.T) { // EX-02
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		w.pass(7*24*time.Hour + time.Minute)
		w.idle()
		w.wantLines("ask approval drop #0", "edit approval expired", "note expired")
		if len(w.requests) != 1 {
			t.Errorf("%d model requests, want 1", len(w.requests))
		}
	})
}

func TestExpiryWhileDownIsJudgedFirst(t *testing.T) { // EX-03
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		w.close()
		w.pass(8 * 24 * time.Hour)
		w.start()
		w.say(ana, "yes")
		if n := w.tools["db__drop"].ran(); n != 0 {
			t.Errorf("an expired call ran %d times", n)
		}
	})
}

func TestExpiryResumes(t *testing.T) { // EX-01
	inBubble(t, func(t *testing.T, w *world) {
		w.agent.Human.ResumeOnExpire = true
		end := script(calls("", `db__drop {}`))
		w.model = func(r model.Request) (model.Response, error) {
			w.pass(time.Second) // longer than a receipt may wait
			return end(r)
		}
		w.start()
		w.say(ana, "go")
		w.pass(8 * 24 * time.Hour)
		w.idle()
		w.wantLines("ask approval drop #0", "edit approval expired", "note expired", "say end")
		if got := w.results(); len(got) != 1 || got[0] != "Not answered: nobody answered in time" {
			t.Errorf("results %q", got)
		}
	})
}

func TestAbort(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		w.say(ana, "cancel")
		w.wantLines("ask approval drop #0", "edit approval cancelled", "note aborted")
		w.say(ana, "cancel") // the bare word with nothing open is a message
		w.wantLines("ask approval drop #0")
		w.say(ana, "no")
		m := w.message(ana, "/cancel")
		m.Command = "cancel"
		w.send(m)
		w.idle()
		w.wantLines("edit approval declined", "say end", "note nothing_open")
	})
}

func TestStrangerChangesNothing(t *testing.T) { // SU-09, AU-01, TR-11
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		w.wantLines("ask approval drop #0")
		for _, text := range []string{"yes", "no", "ok", "cancel"} {
			w.say(cleo, text)
		}
		w.wantLines("note not_allowed")
		if got := w.say(cleo, "what's going on?"); got.Did != core.DoQueue {
			t.Errorf("did %q", got.Did)
		}
		w.wantLines()
		w.say(ana, "no")
		w.wantLines("edit approval declined", "say end", "ask approval drop #0") // then Cleo's turn
		if in := w.waiting(); len(in) != 1 || in[0].Responders.Asker != cleo {
			t.Errorf("waiting %+v", in)
		}
	})
}

func TestRetentionTakesWhatEndedAndLeavesWhatWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.agent.Human.Expires = 0
		w.model = script(calls("", `db__drop {}`))
		w.keep = 24 * time.Hour
		w.start()
		w.say(ana, "go")
		w.say(ana, "no")
		w.say(ana, "go")
		w.pass(72 * time.Hour)
		w.say(ana, "yes")
		if n := w.tools["db__drop"].ran(); n != 1 {
			t.Errorf("ran %d times", n)
		}
		if got := outline(w.requests[len(w.requests)-1]); strings.Count(got, "user go") != 1 {
			t.Errorf("the run that ended is still there:\n%s", got)
		}
	})
}
