package turn_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/core/tool"
	"parley/core/turn"
	"parley/store/storetest"
)

// middle gives the world three agents in a row; the one in the middle also writes a line itself, unasked, after
// the one below has begun to wait.
func middle(w *world) {
	family(w)
	m := w.agents["researcher"]
	m.Model = modelFunc(script(calls("", `agent__digger {"message":"dig"}`, `log__write {"by":"researcher"}`)))
	w.agents["digger"].Model = modelFunc(script(calls("", `db__drop {"by":"digger"}`)))
	w.model = echoing(calls("", `agent__researcher {"message":"x"}`))
}

// runsOf are the runs of the conversation's last turn by agent.
func runsOf(t *testing.T, w *world) map[core.AgentID]core.Run {
	t.Helper()
	out := map[core.AgentID]core.Run{}
	err := w.store.View(t.Context(), conv(), func(r turn.Reader) error {
		c, err := r.Conversation()
		if err != nil {
			return err
		}
		root, err := r.Run(c.Last)
		if err != nil {
			return err
		}
		out[root.Agent] = root
		for _, id := range root.Children {
			run, err := r.Run(id)
			if err != nil {
				return err
			}
			out[run.Agent] = run
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// told is the result of the last call of a tool in any run of the conversation.
func told(t *testing.T, w *world, name string) (content string) {
	t.Helper()
	err := w.store.View(t.Context(), conv(), func(r turn.Reader) error {
		c, err := r.Conversation()
		for id := c.Last; id != "" && content == "" && err == nil; {
			var run core.Run
			if run, err = r.Run(id); err != nil {
				return err
			}
			for _, one := range append([]core.RunID{id}, run.Children...) {
				calls, err := r.Calls(one)
				if err != nil {
					return err
				}
				for _, call := range calls {
					if call.Tool == name && call.Done() {
						content = call.Result.Content
					}
				}
			}
			id = run.Before
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestSA07WhatTheMiddleDidIsKept: an agent that waits only below it keeps what it did itself, and says that it
// waits.
func TestSA07WhatTheMiddleDidIsKept(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		middle(w)
		w.start()
		w.say(ana, "go")
		for id, run := range runsOf(t, w) {
			if run.Status != core.RunInputRequired {
				t.Errorf("the run of %s is %s while a run below it waits", id, run.Status)
			}
		}
		w.restart()
		w.say(ana, "yes")
		if in := w.waiting(); len(in) != 0 {
			t.Errorf("waiting %s %q", in[0].Purpose, in[0].Message)
		}
		if n := w.tools["log__write"].ran(); n != 1 {
			t.Errorf("wrote %d times", n)
		}
		w.wantLines("ask approval drop #0", "edit approval accepted", "say end")
		wantResults(t, w)
		clean(t, w)
	})
}

// TestSA01TheMiddleEnds: by a new message its one call that ran keeps its result, the other is closed.
func TestSA01TheMiddleEnds(t *testing.T) {
	for _, restart := range []bool{false, true} {
		inside := func(t *testing.T, w *world) {
			middle(w)
			w.start()
			w.say(ana, "go")
			if restart {
				w.restart()
			}
			w.say(ana, "something else")
			for name, want := range map[string]string{"log__write": "done", "db__drop": core.SupersededText} {
				if got := told(t, w, name); got != want {
					t.Errorf("%s is told %q, want %q", name, got, want)
				}
			}
			clean(t, w)
		}
		t.Run(map[bool]string{false: "at once", true: "restarted"}[restart], func(t *testing.T) { inBubble(t, inside) })
	}
}

// TestSA07AChildIsAbortedWhileItsToolRuns: the tool's result is kept, nothing after it begins.
func TestSA07AChildIsAbortedWhileItsToolRuns(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		middle(w)
		slow(w.tools["db__drop"], 30*time.Second)
		w.start()
		w.say(ana, "go")
		w.send(w.message(ana, "yes"))
		w.pass(5 * time.Second)
		w.send(w.message(ana, "cancel"))
		w.pass(time.Minute)
		w.idle()
		w.wantLines("ask approval drop #0", "note aborting", "edit approval accepted", "note aborted")
		if got := told(t, w, "db__drop"); !strings.Contains(got, "slow work done") {
			t.Errorf("its call is told %q", got)
		}
		w.say(ana, "so?")
		if n := w.tools["db__drop"].ran(); n != 1 {
			t.Errorf("ran %d times", n)
		}
		wantResults(t, w)
		clean(t, w)
	})
}

// TestSA06AChildAsksInEveryWay: a form two below and a page one below, answered in either order.
func TestSA06AChildAsksInEveryWay(t *testing.T) {
	for _, order := range [][]core.Kind{{core.KindForm, core.KindURL}, {core.KindURL, core.KindForm}} {
		t.Run(string(order[0])+" first", func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				family(w)
				form, page := w.add("app__form", core.ToolAction, nil), w.add("cal__connect", core.ToolAction, nil)
				form.run = func(ctx *tool.Context, _ json.RawMessage) (string, error) {
					ok, err := ctx.Confirm("Sure?")
					if err != nil || !ok {
						return "not confirmed", err
					}
					return "confirmed", nil
				}
				page.run = func(ctx *tool.Context, _ json.RawMessage) (string, error) {
					return "connected", ctx.RequireURL("https://accounts.example.com/x", "Connect")
				}
				w.agents["digger"].Model = modelFunc(script(calls("", `app__form {}`)))
				w.agents["researcher"].Model = modelFunc(script(calls("", `agent__digger {"message":"dig"}`)))
				w.agents["writer"].Model = modelFunc(script(calls("", `cal__connect {}`)))
				w.start()
				w.say(ana, "go")
				for _, kind := range order {
					w.restart()
					i := slices.IndexFunc(w.waiting(), func(in core.Input) bool { return in.Kind == kind })
					if i < 0 {
						t.Fatalf("no %s waits", kind)
					}
					settleAs(t, w, w.waiting()[i], ana, core.ActionAccept)
				}
				if form.ran() != 2 || page.ran() != 2 {
					t.Errorf("called %d and %d times, want twice each", form.ran(), page.ran())
				}
				if res := strings.Join(w.results(), "|"); res != "end|end" {
					t.Errorf("results %q", res)
				}
				wantResults(t, w)
				clean(t, w)
			})
		})
	}
}

// TestDU04AStopInTheMiddleOfACall keeps the result of a call that ended within the grace, at any depth: nobody is
// asked about it.
func TestDU04AStopInTheMiddleOfACall(t *testing.T) {
	for _, child := range []bool{false, true} {
		t.Run(map[bool]string{false: "own", true: "child"}[child], func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				slow(w.tools["log__write"], 5*time.Second)
				two := script(calls("", `log__write {"n":1}`, `log__write {"n":2}`))
				w.model = two
				if child {
					withResearcher(w).Model = modelFunc(two)
					w.model = script(calls("", `agent__researcher {"message":"x"}`))
				}
				w.start()
				w.send(w.message(ana, "go"))
				w.pass(time.Second)
				w.restart()
				w.pass(time.Minute)
				w.idle()
				if in := w.waiting(); len(in) != 0 {
					t.Errorf("asked: %q", in[0].Message)
				}
				if n := w.tools["log__write"].ran(); n != 2 {
					t.Errorf("ran %d times, want 2", n)
				}
				wantResults(t, w)
			})
		})
	}
}

// TestSA07AChildsCallGoesOnPastTheDeadline: its ask expires, the child's run ends once, and its parent is told.
func TestSA07AChildsCallGoesOnPastTheDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		live := w.add("mcp__live", core.ToolAction, nil)
		live.run = func(ctx *tool.Context, _ json.RawMessage) (string, error) {
			_, err := ctx.Wait(tool.Asked{Kind: core.KindForm, Message: "Sure?"})
			return "went on", err
		}
		child := withResearcher(w)
		child.Human.Expires = time.Hour
		child.Model = modelFunc(script(calls("", `mcp__live {}`)))
		w.model = script(calls("", `agent__researcher {"message":"x"}`))
		w.start()
		run := w.send(w.message(ana, "go")).Run
		w.pass(2 * time.Hour)
		w.idle()
		if res := w.results(); len(res) != 1 || !strings.Contains(res[0], "nobody answered in time") {
			t.Errorf("results %q", res)
		}
		if lines := w.lines(); lines[len(lines)-1] != "say end" || live.ran() != 1 {
			t.Errorf("ran %d times, shown %q", live.ran(), lines)
		}
		ended := 0
		events, err := w.e.Events(t.Context(), run, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			if ev.Type == core.EventRunFinished {
				ended++
			}
		}
		if ended > 2 {
			t.Errorf("%d runs ended, there were two", ended)
		}
		wantResults(t, w)
		clean(t, w)
	})
}

// TestSA01StopHereInAChild: what is told about the call names who said so, and what ran before it is kept.
func TestSA01StopHereInAChild(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		withResearcher(w).Model = modelFunc(script(calls("", `db__drop {}`)))
		slow(w.tools["db__drop"], time.Hour)
		w.model = echoing(calls("", `agent__researcher {"message":"x"}`))
		w.start()
		w.say(ana, "go")
		w.send(w.message(ana, "yes"))
		w.pass(time.Second)
		w.restart()
		w.idle()
		w.say(ana, "1")
		lines := w.lines()
		if lines[len(lines)-1] != "note aborted" || w.tools["db__drop"].ran() != 1 {
			t.Errorf("ran %d times, shown %q", w.tools["db__drop"].ran(), lines)
		}
		w.say(ana, "so?")
		wantResults(t, w)
		clean(t, w)
	})
}

// asksInside is a conversation in which a call asked inside itself, and what it asked. The call is of the agent or
// of one below it.
func asksInside(t *testing.T, w *world, child, idempotent bool, start func()) core.Input {
	t.Helper()
	live := w.add("mcp__live", core.ToolAction, nil)
	live.spec.Idempotent = idempotent
	live.run = func(ctx *tool.Context, _ json.RawMessage) (string, error) {
		a, err := ctx.Wait(tool.Asked{Kind: core.KindForm, Message: "Sure?"})
		return "answered " + string(a.Answer.Action), err
	}
	once := script(calls("", `mcp__live {}`))
	w.model = once
	if child {
		withResearcher(w).Model = modelFunc(once)
		w.model = script(calls("", `agent__researcher {"message":"x"}`))
	}
	start()
	w.send(w.message(ana, "go"))
	w.pass(time.Minute)
	old := w.waiting()
	if len(old) != 1 || old[0].Message != "Sure?" || !turn.Held(old[0]) {
		t.Fatalf("waiting %+v", old)
	}
	w.idle() // nothing goes on until somebody answers
	return old[0]
}

// ends is the end of a scene of asksInside: what was asked ended unanswered, and the model was told what it should be.
func ends(t *testing.T, w *world, old core.Input, want string) {
	t.Helper()
	if was, err := w.store.Input(t.Context(), old.ID); err != nil || was.State != core.InputExpired {
		t.Errorf("what was asked is %s, %v", was.State, err)
	}
	if lines := w.lines(); lines[len(lines)-1] != "say end" {
		t.Errorf("shown %q", lines)
	}
	if got := told(t, w, "mcp__live"); !strings.Contains(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	wantResults(t, w)
	clean(t, w)
}

var insiders = map[string]struct{ child, idempotent bool }{"own": {false, false}, "child": {true, false}, "own, idempotent": {false, true}, "child, idempotent": {true, true}}

// TestDU04AKillWhileACallAsks: a call that asks while it goes on is gone with its process, and what it asked ends as
// unanswered. One that does no harm twice is made again and asks anew; of another the person is asked what to do.
func TestDU04AKillWhileACallAsks(t *testing.T) {
	for name, c := range insiders {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJourney(t)
				defer j.close()
				old := asksInside(t, j.world, c.child, c.idempotent, func() { j.begin(0, storetest.Before) })
				j.faulty.Stop()
				j.close()
				j.start()
				j.idle() // the prompt that stood there is not taken for one that waits
				in := j.waiting()
				if len(in) != 1 || in[0].ID == old.ID || (in[0].Purpose == core.PurposeUnknown) == c.idempotent {
					t.Fatalf("waiting %+v", in)
				}
				j.say(ana, map[bool]string{true: "yes", false: "2"}[c.idempotent])
				ends(t, j.world, old, map[bool]string{true: "answered accept", false: "Treated as done"}[c.idempotent])
			})
		})
	}
}

// TestAStopWhileACallAsks: it waits for nobody then. The call ends knowing that nobody answered; one that does no
// harm twice is made again and asks anew.
func TestAStopWhileACallAsks(t *testing.T) {
	for name, c := range insiders {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				old := asksInside(t, w, c.child, c.idempotent, w.start)
				began := time.Now()
				w.restart()
				if took := time.Since(began); took != 0 {
					t.Errorf("stopping took %v", took)
				}
				w.idle()
				if in := w.waiting(); c.idempotent && (len(in) != 1 || in[0].ID == old.ID || in[0].Message != "Sure?") || !c.idempotent && len(in) != 0 {
					t.Fatalf("waiting %+v", in)
				}
				if c.idempotent {
					w.say(ana, "yes")
				}
				ends(t, w, old, map[bool]string{true: "answered accept", false: tool.ErrUnanswered.Error()}[c.idempotent])
			})
		})
	}
}
