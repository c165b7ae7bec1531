package turn_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"parley/core"
	"parley/core/turn"
	"parley/parse"
)

// inAddressed is inBubble with the real reader and a model that asks for three approvals at once.
func inAddressed(t *testing.T, f func(t *testing.T, w *world, codes []string)) {
	t.Helper()
	inBubble(t, func(t *testing.T, w *world) {
		w.read = func(in core.Input, m core.Message, _ core.HumanInput) core.Reading {
			return parse.Read(parse.Prompt{Input: in, Listing: true}, m.Text)
		}
		w.tools["db__drop"].spec.Schema = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","maxLength":8},"n":{"type":"integer"}},"additionalProperties":false}`)
		w.model = script(calls("", `db__drop {"name":"a","n":1}`, `db__drop {"name":"b","n":2}`, `db__drop {"name":"c","n":3}`))
		w.start()
		w.say(ana, "go")
		w.wantLines("ask approval drop #0")
		var codes []string
		for i, in := range w.waiting() {
			if in.Code == "" || !strings.HasSuffix(in.Code, fmt.Sprint(i+1)) || in.Nth != i+1 || in.Of != 3 {
				t.Fatalf("input %d has the code %q and is %d of %d", i, in.Code, in.Nth, in.Of)
			}
			codes = append(codes, in.Code)
		}
		if len(codes) != 3 {
			t.Fatalf("%d wait", len(codes))
		}
		f(t, w, codes)
	})
}

// ranWith are the arguments that the tool really ran with, in order.
func (f *fakeTool) ranWith() (out []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		_, args, _ := strings.Cut(c, " ")
		out = append(out, args)
	}
	return out
}

// did sends a message and checks what became of it and what it showed.
func (w *world) did(who core.PersonID, text string, want core.Doing, lines ...string) {
	w.t.Helper()
	if got := w.say(who, text); got.Did != want {
		w.t.Errorf("%q did %q, want %q", text, got.Did, want)
	}
	w.wantLines(lines...)
}

func TestOneOfSeveralIsAnsweredByItsCode(t *testing.T) {
	inAddressed(t, func(t *testing.T, w *world, c []string) {
		w.did(ana, "pending", core.DoNote, "note pending")
		m := w.message(ana, "/pending")
		m.Command = "pending"
		w.send(m)
		w.idle()
		w.wantLines("note pending")
		w.did(ana, c[2]+" yes", core.DoShow, "ask approval drop #0") // not shown yet
		w.did(ana, "show "+strings.ToLower(c[2]), core.DoShow, "ask approval drop #0")
		w.did(ana, c[2], core.DoShow, "ask approval drop #0")
		w.did(ana, "yes", core.DoDrop, "note which") // two prompts stand
		w.did(ana, "no, because it is late", core.DoDrop, "note which")
		w.did(ana, strings.ToLower(c[2])+": no, because it is late", core.DoAnswer)
		if ins := w.waiting(); len(ins) != 2 || ins[0].Code != c[0] || ins[1].Code != c[1] {
			t.Fatalf("waiting %+v", ins)
		}
		w.did(cleo, c[0]+" yes", core.DoDrop, "note not_allowed")
		w.did(ana, "yes", core.DoAnswer, "edit approval accepted", "edit approval declined", "ask approval drop #0")
		w.say(ana, c[1]+" yes")
		if got := w.tools["db__drop"].ranWith(); len(got) != 2 || got[0] != `{"name":"a","n":1}` || got[1] != `{"name":"b","n":2}` {
			t.Errorf("ran with %q", got)
		}
		if res := w.results(); len(res) != 3 || !strings.Contains(res[2], "it is late") || !strings.Contains(res[2], `"declined"`) {
			t.Errorf("results %q", res)
		}
		if got := w.say(ana, c[0]+" yes"); got.Did != core.DoStart { // the codes of a run that ended name nothing
			t.Errorf("a code of an earlier run did %q", got.Did)
		}
	})
}

func TestSeveralAreAnsweredAtOnceOnceAllWereShown(t *testing.T) {
	inAddressed(t, func(t *testing.T, w *world, c []string) {
		all := strings.Join(c, " ")
		if got := w.say(ana, all+" yes"); got.Did != core.DoShow {
			t.Errorf("three that were not all shown: %q", got.Did)
		}
		if lines := w.lines(); len(lines) != 4 || lines[0] != "note not_shown" || len(w.waiting()) != 3 {
			t.Fatalf("shown %q, waiting %d", lines, len(w.waiting()))
		}
		w.wantLines(w.lines()...)
		w.did(ana, "yes", core.DoDrop, "note which")
		w.did(ana, all+" sure", core.DoUnclear, "note unclear")
		w.say(ana, c[0]+" "+c[2]+" yes")
		if ins := w.waiting(); len(ins) != 1 || ins[0].Code != c[1] || w.tools["db__drop"].ran() != 0 {
			t.Fatalf("waiting %+v", ins)
		}
		w.say(ana, "deny: not this one")
		if got := w.tools["db__drop"].ranWith(); len(got) != 2 || got[0] != `{"name":"a","n":1}` || got[1] != `{"name":"c","n":3}` {
			t.Errorf("ran with %q", got)
		}
	})
}

func TestASentenceThatBeginsWithACodeIsANewMessage(t *testing.T) {
	inAddressed(t, func(t *testing.T, w *world, c []string) {
		if got := w.say(ana, c[1]+" drops the wrong table, what is it for"); got.Did != core.DoSupersede {
			t.Errorf("did %q", got.Did)
		}
		if w.tools["db__drop"].ran() != 0 || len(w.lines()) == 0 {
			t.Errorf("ran %d, shown %q", w.tools["db__drop"].ran(), w.lines())
		}
	})
}

func TestAChangedCallIsAskedAgainAndRunsAsChanged(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.read = func(in core.Input, m core.Message, _ core.HumanInput) core.Reading {
			return parse.Read(parse.Prompt{Input: in}, m.Text)
		}
		w.tools["db__drop"].spec.Schema = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","maxLength":8},"n":{"type":"integer"}},"additionalProperties":false}`)
		w.model = script(calls("", `db__drop {"name":"a","n":1}`))
		w.start()
		w.say(ana, "go")
		before := w.waiting()[0]
		w.wantLines("ask approval drop #0")
		for _, bad := range []string{"yes with n=many", "edit nope=1", `edit name="far too long"`, "edit name=a"} {
			w.did(ana, bad, core.DoCommand, "note change_refused")
		}
		if in := w.waiting()[0]; in.Hash != before.Hash || in.Draft.Step != 0 {
			t.Fatalf("a refused change left %+v", in)
		}
		w.did(cleo, "yes with name=x", core.DoDrop, "note not_allowed")
		w.did(ana, "yes with name=x, n=2", core.DoCommand, "ask approval drop #1")
		w.restart()
		in := w.waiting()[0]
		if in.Draft.Step != 1 || in.Hash == before.Hash || string(in.Arguments) != `{"name":"x","n":2}` {
			t.Fatalf("changed to %s, step %d", in.Arguments, in.Draft.Step)
		}
		stale := turn.Settlement{Input: in.ID, From: ana, Via: "button", Typed: "approve", Step: 0}
		if _, err := w.e.Settle(t.Context(), stale); err == nil || w.tools["db__drop"].ran() != 0 {
			t.Errorf("a button of the call as it was: %v", err)
		}
		reply := w.message(ana, "yes")
		reply.ReplyTo = before.Prompts[0].Messages[0]
		if got := w.send(reply); got.Did == core.DoAnswer {
			t.Error("a reply to the call as it was approved the changed one")
		}
		w.idle()
		if w.tools["db__drop"].ran() != 0 || len(w.waiting()) != 1 {
			t.Fatalf("ran %d, waiting %d", w.tools["db__drop"].ran(), len(w.waiting()))
		}
		run := in.Run
		w.say(ana, "yes")
		if got := w.tools["db__drop"].ranWith(); len(got) != 1 || got[0] != `{"name":"x","n":2}` {
			t.Errorf("ran with %q", got)
		}
		if res := w.results(); len(res) != 1 || !strings.Contains(res[0], `"ranWith":{"name":"x","n":2}`) {
			t.Errorf("the model was told %q", res)
		}
		events, err := w.e.Events(t.Context(), run, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		audited := 0
		for _, ev := range events {
			if ev.Type == core.EventChanged && ev.By == ana && strings.Contains(string(ev.Data), `{"name":"a","n":1}`) && strings.Contains(string(ev.Data), `{"name":"x","n":2}`) {
				audited++
			}
		}
		if audited != 1 {
			t.Errorf("%d events hold both versions, in %+v", audited, events)
		}
	})
}
