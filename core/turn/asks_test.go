package turn_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/core/model"
	"parley/core/tool"
	"parley/core/turn"
)

func TestToolAsksConfirmAndForm(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		f := w.add("app__delete", core.ToolAction, nil)
		var got struct {
			Why  string `json:"why"`
			Days int    `json:"days"`
		}
		f.run = func(ctx *tool.Context, _ json.RawMessage) (string, error) {
			ok, err := ctx.Confirm("Delete app? Its URL stops working.")
			if err != nil || !ok {
				return fmt.Sprint("cancelled ", ok), err
			}
			err = ctx.Ask("Tell me more", json.RawMessage(`{"type":"object","properties":{"why":{"type":"string"},"days":{"type":"integer"}},"required":["why","days"]}`), &got)
			return fmt.Sprintf("%s for %d days", got.Why, got.Days), err
		}
		w.model = script(calls("", `app__delete {"app":"x"}`))
		w.start()
		w.say(ana, "delete app x")
		w.wantLines("ask form delete #0")
		w.restart()
		w.say(ana, "yes")
		w.wantLines("edit form accepted", "ask form delete #0")
		w.say(ana, `"spam"`)
		w.restart()
		w.say(ana, `3`)
		w.wantLines("ask form delete #1", "ask form delete #2") // the second field, the last look
		w.say(ana, "yes")
		w.wantLines("edit form accepted", "say end")
		if res := w.results(); len(res) != 1 || !strings.Contains(res[0], "spam for 3 days") || !strings.Contains(res[0], `"answeredBy":"local:ana"`) {
			t.Errorf("results %q", res)
		}
		if f.ran() != 3 {
			t.Errorf("called %d times, want 3", f.ran())
		}
		for _, c := range f.calls {
			if c != f.calls[0] {
				t.Errorf("key or arguments changed between attempts: %q", f.calls)
			}
		}
	})
}

func TestDeclinedConfirmIsFalse(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		f := w.add("app__delete", core.ToolAction, nil)
		f.run = func(ctx *tool.Context, _ json.RawMessage) (string, error) {
			ok, err := ctx.Confirm("Sure?")
			return fmt.Sprint("confirmed ", ok), err
		}
		w.model = script(calls("", `app__delete {}`))
		w.start()
		w.say(ana, "go")
		w.say(ana, "no")
		if res := w.results(); len(res) != 1 || !strings.Contains(res[0], "confirmed false") {
			t.Errorf("results %q", res)
		}
	})
}

func TestRequireURL(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		f := w.add("cal__connect", core.ToolAction, nil)
		f.run = func(ctx *tool.Context, _ json.RawMessage) (string, error) {
			return "connected", ctx.RequireURL("https://accounts.example.com/x", "Connect")
		}
		bad := w.add("cal__bad", core.ToolAction, nil)
		bad.run = func(ctx *tool.Context, _ json.RawMessage) (string, error) {
			return "", ctx.RequireURL("http://accounts.example.com/x", "Connect")
		}
		w.model = script(calls("", `cal__connect {}`, `cal__bad {}`))
		w.start()
		w.say(ana, "go")
		w.wantLines("ask url connect #0")
		w.say(ana, "no")
		res := w.results()
		if len(res) != 2 || !strings.Contains(res[0], "declined by local:ana") || !strings.Contains(res[1], "no https address") {
			t.Errorf("results %q", res)
		}
	})
}

func TestSecretIsNotAskedInSharedChat(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		f := w.add("x__login", core.ToolAction, nil)
		f.run = func(ctx *tool.Context, _ json.RawMessage) (string, error) {
			var v map[string]any
			return "in", ctx.Ask("Log in", json.RawMessage(`{"type":"object","properties":{"pw":{"type":"string","format":"password"}}}`), &v)
		}
		w.model = script(calls("", `x__login {}`))
		w.start()
		m := w.message(ana, "log me in")
		m.Shared = true
		w.send(m)
		w.idle()
		if res := w.results(); len(res) != 1 || !strings.Contains(res[0], "never asked in a shared chat") {
			t.Errorf("results %q", res)
		}
		w.wantLines("say end")
	})
}

func TestAskWhileTheCallGoesOn(t *testing.T) {
	for answer, want := range map[string]string{
		"yes":            "accept",
		"no":             "decline",
		"something else": "", // superseded: never a decline
	} {
		t.Run(answer, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				f := w.add("mcp__live", core.ToolAction, nil)
				var got string
				var failure error
				f.run = func(ctx *tool.Context, _ json.RawMessage) (string, error) {
					a, err := ctx.Wait(tool.Asked{Kind: core.KindForm, Message: "Sure?"})
					got, failure = string(a.Answer.Action), err
					return "went on", err
				}
				w.model = func(r model.Request) (model.Response, error) {
					if r.Messages[len(r.Messages)-1].Text == "something else" {
						return model.Response{Text: "hello", Stop: model.StopEnd}, nil
					}
					return script(calls("", `mcp__live {}`))(r)
				}
				w.start()
				w.send(w.message(ana, "go"))
				w.pass(24 * time.Hour)
				if in := w.waiting(); len(in) != 1 || in[0].Kind != core.KindForm {
					t.Fatalf("waiting %+v", in)
				}
				w.say(ana, answer)
				if got != want || (want == "") != errors.Is(failure, tool.ErrUnanswered) {
					t.Errorf("the tool got %q, %v", got, failure)
				}
				if n := f.ran(); n != 1 {
					t.Errorf("called %d times", n)
				}
				if lines := w.lines(); lines[len(lines)-1] == "" || len(w.waiting()) != 0 {
					t.Errorf("shown %q", lines)
				}
			})
		})
	}
}

func TestAskEndsWithWhatItIsAskedFor(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		f := w.add("mcp__live", core.ToolAction, nil)
		gone := make(chan struct{})
		f.run = func(ctx *tool.Context, _ json.RawMessage) (string, error) {
			_, err := ctx.Wait(tool.Asked{Kind: core.KindForm, Message: "Sure?", Until: gone})
			return "", err
		}
		w.model = script(calls("", `mcp__live {}`))
		w.start()
		w.send(w.message(ana, "go"))
		w.pass(time.Hour)
		in := w.waiting()
		if len(in) != 1 {
			t.Fatalf("waiting %+v", in)
		}
		close(gone)
		synctest.Wait()
		w.idle()
		if got, err := w.store.Input(t.Context(), in[0].ID); err != nil || got.State != core.InputExpired {
			t.Errorf("the input is %s, %v", got.State, err)
		}
		if res := w.results(); len(res) != 1 || !strings.Contains(res[0], tool.ErrUnanswered.Error()) || strings.Contains(res[0], "eclined") {
			t.Errorf("results %q", res)
		}
		if len(w.waiting()) != 0 || f.ran() != 1 {
			t.Errorf("waiting %d, called %d times", len(w.waiting()), f.ran())
		}
		w.wantLines("ask form live #0", "edit form expired", "say end")
	})
}

func TestMalformedSetParksNobody(t *testing.T) { // FM-01
	inBubble(t, func(t *testing.T, w *world) {
		q := `{"prompt":"Same?","options":[{"label":"a"},{"label":"b"}]}`
		w.model = script(calls("", `ask_user {"questions":[`+q+`,`+q+`]}`))
		w.start()
		w.say(ana, "go")
		w.wantLines("say end")
		if res := w.results(); len(res) != 1 || !strings.Contains(res[0], "Nobody was asked") {
			t.Errorf("results %q", res)
		}
	})
}

func TestChangedToolAsksAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {"name":"staging"}`))
		w.start()
		w.say(ana, "go")
		w.tools["db__drop"].spec.Target = "https://elsewhere.example"
		w.say(ana, "yes")
		w.wantLines("ask approval drop #0", "edit approval accepted", "ask approval changeddrop #0")
		if w.tools["db__drop"].ran() != 0 {
			t.Error("a changed call ran")
		}
		if in := w.waiting(); in[0].Message != `It went to "" and now goes to "https://elsewhere.example".` {
			t.Errorf("the difference is %q", in[0].Message)
		}
		w.restart()
		w.say(ana, "yes")
		w.wantLines("edit approval accepted", "edit approval accepted", "say end")
		if w.tools["db__drop"].ran() != 1 {
			t.Error("the call did not run after it was approved as it is")
		}
	})
}

func TestQuestionSetOneAtATime(t *testing.T) { // FM-06
	inBubble(t, func(t *testing.T, w *world) {
		q := func(name string) string {
			return `{"prompt":"` + name + `","options":[{"label":"` + name + `1"},{"label":"` + name + `2"}]}`
		}
		w.model = script(calls("", `ask_user {"questions":[`+q("a")+`,`+q("b")+`,`+q("c")+`]}`))
		w.start()
		w.say(ana, "go")
		w.say(ana, "2")
		w.restart()
		w.say(ana, "1")
		w.wantLines("ask question ask_user #0", "ask question ask_user #1", "ask question ask_user #2")
		w.model = script()
		w.say(ana, "let us talk about something else")
		w.wantLines("edit question superseded", "say end")
		if res := w.results(); len(res) != 1 || res[0] != core.SupersededText {
			t.Errorf("results %q", res)
		}
	})
}

func TestIntake(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.agent.Intake = &turn.Intake{Preamble: "First:", Questions: []core.Question{{ID: "scope", Prompt: "How wide?", Options: []core.Option{{Value: "m", Label: "Module"}, {Value: "r", Label: "Repo"}}, Defaults: []string{"m"}}}}
		w.model = script()
		w.start()
		w.say(ana, "refactor")
		w.wantLines("ask question intake #0")
		if len(w.requests) != 0 {
			t.Error("the intake cost a model request")
		}
		w.restart()
		w.say(ana, "2")
		w.wantLines("edit question accepted", "say end")
		if res := w.results(); len(res) != 1 || !strings.Contains(res[0], "Repo") {
			t.Errorf("results %q", res)
		}
		w.say(ana, "again")
		w.wantLines("say end") // asked once per conversation
		if got := outline(w.requests[1]); strings.Count(got, "[ask ") != 1 {
			t.Errorf("history:\n%s", got)
		}
	})
}

func TestIntakeCountsAsAskedWhenSuperseded(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.agent.Intake = &turn.Intake{Questions: []core.Question{{ID: "s", Prompt: "How?", Options: []core.Option{{Value: "m", Label: "M"}, {Value: "r", Label: "R"}}}}}
		w.model = script()
		w.start()
		w.say(ana, "refactor")
		w.say(ana, "never mind the questions, tell me the time")
		w.wantLines("ask question intake #0", "edit question superseded", "say end")
	})
}

func TestLimits(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.agent.MaxSteps, w.agent.MaxInputs = 4, 2
		loop := calls("", `db__drop {"n":1}`, `db__drop {"n":2}`, `db__drop {"n":3}`)
		w.model = func(model.Request) (model.Response, error) { return loop, nil }
		w.start()
		w.say(ana, "go")
		if n := len(w.waiting()); n != 2 {
			t.Fatalf("%d inputs wait, want 2", n)
		}
		w.say(ana, "yes")
		w.say(ana, "yes")
		got := strings.Join(w.lines(), "\n")
		if !strings.HasSuffix(got, "failed I stopped: this turn wanted to ask more than 2 times.") {
			t.Errorf("shown:\n%s", got)
		}
		w.model = func(model.Request) (model.Response, error) { return calls("", `log__write {}`), nil }
		w.say(ana, "go")
		if n := w.tools["log__write"].ran(); n != 4 {
			t.Errorf("%d calls, want 4", n)
		}
		if got := w.lines(); !strings.Contains(got[len(got)-1], "failed I stopped after 4 steps") {
			t.Errorf("shown %q", got)
		}
	})
}

func TestModelFailureEndsTheTurnAndTheNextMessageWorks(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = func(model.Request) (model.Response, error) {
			return model.Response{}, &model.Error{Sentence: "The model's key was refused.", Err: errors.New("401")}
		}
		w.start()
		w.say(ana, "go")
		w.wantLines("failed The model's key was refused.")
		w.model = script()
		w.say(ana, "again")
		w.wantLines("say end")
	})
}

func TestProviderFailureAfterTheCallKeepsItsResult(t *testing.T) { // DU-05
	inBubble(t, func(t *testing.T, w *world) {
		var fail atomic.Bool
		fail.Store(true)
		w.model = func(r model.Request) (model.Response, error) {
			if r.Messages[len(r.Messages)-1].Result != nil && fail.Load() {
				panic("the provider broke")
			}
			return script(calls("", `db__drop {}`))(r)
		}
		w.start()
		w.say(ana, "go")
		w.send(w.message(ana, "yes"))
		w.pass(time.Second)
		fail.Store(false)
		w.restart()
		w.idle()
		if n := w.tools["db__drop"].ran(); n != 1 {
			t.Errorf("ran %d times", n)
		}
		got := w.lines()
		if got[len(got)-1] != "say end" {
			t.Errorf("shown %q", got)
		}
	})
}
