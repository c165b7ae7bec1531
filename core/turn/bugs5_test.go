package turn_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/core"
	"parley/core/model"
	"parley/core/tool"
	"parley/core/turn"
)

// The names of these tests begin with the bug in another program that they, or their neighbours, hold off.

// toldInOrder checks that each request of the test kept the rule of every provider: one result a call, in order.
func toldInOrder(t *testing.T, w *world) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, r := range w.requests {
		if err := model.Valid(r.Messages); err != nil {
			t.Errorf("request %d: %v", i+1, err)
		}
	}
}

func reply(stop model.Stop, text string, calls ...model.Call) model.Response {
	return model.Response{Text: text, Stop: stop, Calls: calls}
}

func call(id, name, args string) model.Call {
	return model.Call{ID: id, Name: name, Arguments: json.RawMessage(args)}
}

// TestPR07WhateverIdsTheModelGives: empty ones, doubled ones, those of a reply before.
func TestPR07WhateverIdsTheModelGives(t *testing.T) {
	for name, ids := range map[string][3]string{
		"doubled in a reply": {"x", "x", "y"},
		"empty":              {"", "", ""},
		"the same again":     {"x", "y", "x"},
		"one of ours":        {"c1_2", "", "c1_1"},
		"spaces":             {" ", " ", " "},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.model = script(
					reply(model.StopTools, "", call(ids[0], "db__drop", `{"n":1}`), call(ids[1], "db__read", `{"n":2}`)),
					reply(model.StopTools, "", call(ids[2], "db__drop", `{"n":3}`)),
				)
				w.start()
				w.say(ana, "go")
				w.say(ana, "yes")
				w.restart()
				w.say(ana, "no")
				w.say(ana, "thanks")
				toldInOrder(t, w)
				res := w.results()
				if len(res) != 3 || !strings.Contains(res[0], `"ok"`) || res[1] != "done" || !strings.Contains(res[2], `"declined"`) {
					t.Errorf("results %q", res)
				}
				if lines := w.lines(); lines[len(lines)-1] != "say end" && !strings.HasPrefix(lines[len(lines)-1], "ask") {
					t.Errorf("shown %q", lines)
				}
			})
		})
	}
}

// TestPR04EveryEndOfAReply: an empty one, a refused one, a cut one; what is cut or malformed never runs, and the
// turn ends with words.
func TestPR04EveryEndOfAReply(t *testing.T) {
	for name, c := range map[string]struct {
		first model.Response
		says  string
		tells string // the model, about the call
	}{
		"empty":           {reply(model.StopEnd, " \n"), "(The agent ended without a word.)", ""},
		"no stop":         {reply("", "hello"), "hello", ""},
		"tools, no calls": {reply(model.StopTools, "hello"), "hello", ""},
		"refused":         {reply(model.StopRefuse, ""), "(The model refused to answer this.)", ""},
		"cut":             {reply(model.StopLength, "Hel"), "Hel\n\n(The model's answer was cut at its length limit.)", ""},
		"cut empty":       {reply(model.StopLength, ""), "(The model's answer was cut at its length limit.)", ""},
		"cut in a call":   {reply(model.StopLength, "", call("a", "log__write", `{"line":`)), "end", "nothing ran"},
		"two objects":     {reply(model.StopTools, "", call("a", "log__write", `{}{}`)), "end", "nothing ran"},
		"a list":          {reply(model.StopTools, "", call("a", "log__write", `[]`)), "end", "nothing ran"},
		"null":            {reply(model.StopTools, "", call("a", "log__write", `null`)), "end", "nothing ran"},
		"false":           {reply(model.StopTools, "", call("a", "log__write", `false`)), "end", "nothing ran"},
		"doubled keys":    {reply(model.StopTools, "", call("a", "log__write", `{"a":1,"a":2}`)), "end", "nothing ran"},
		"no tool":         {reply(model.StopTools, "", call("a", "", `{}`)), "end", "no tool"},
		"another tool":    {reply(model.StopTools, "", call("a", "log__writ", `{}`)), "end", "no tool"},
		"other case":      {reply(model.StopTools, "", call("a", "LOG__WRITE", `{}`)), "end", "no tool"},
		"an agent":        {reply(model.StopTools, "", call("a", "agent__ops", `{"message":"x"}`)), "end", "no tool"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.model = script(c.first)
				w.start()
				w.say(ana, "go")
				w.wantLines("say " + c.says)
				if res := w.results(); c.tells != "" && (len(res) != 1 || !strings.Contains(res[0], c.tells)) {
					t.Errorf("results %q", res)
				}
				if n := w.tools["log__write"].ran(); n != 0 {
					t.Errorf("ran %d times", n)
				}
				w.model = script()
				w.say(ana, "and now?")
				w.wantLines("say end")
				toldInOrder(t, w)
			})
		})
	}
}

// TestPR11NeverUnasked: the same arguments to a tool that needs an approval, and a policy that fails.
func TestPR11NeverUnasked(t *testing.T) {
	for name, p := range map[string]tool.Policy{
		"panics": func(json.RawMessage) (tool.Verdict, error) { panic("no") },
		"fails":  func(json.RawMessage) (tool.Verdict, error) { return tool.Verdict{}, context.DeadlineExceeded },
		"always": need(),
	} {
		for _, args := range []string{`{}`, ``, `null`, `[]`, `""`, `0`, `{"a":`, `{"approved":true}`} {
			t.Run(name+" "+args, func(t *testing.T) {
				inBubble(t, func(t *testing.T, w *world) {
					drop := w.add("db__drop", core.ToolAction, p)
					w.model = script(reply(model.StopTools, "", call("a", "db__drop", args)))
					w.start()
					w.say(ana, "go")
					if len(w.waiting()) == 0 {
						if res := w.results(); len(res) != 1 || !strings.Contains(res[0], "nothing ran") {
							t.Errorf("results %q", res)
						}
					}
					w.restart()
					w.idle()
					if n := drop.ran(); n != 0 {
						t.Errorf("ran %d times unasked", n)
					}
				})
			})
		}
	}
}

// TestPR09EveryEndingSaysWhetherTheCallRan, in a batch whose first call was answered before the end came.
func TestPR09EveryEndingSaysWhetherTheCallRan(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(w *world)
		says string // of the call that was approved
		asks string // of the one that waited
	}{
		"superseded": {func(w *world) { w.say(ana, "something else") }, "approved by local:ana, not run: the user sent a new message instead", core.SupersededText},
		"cancelled":  {func(w *world) { w.say(ana, "cancel") }, "approved by local:ana, not run: the turn was cancelled", "Not answered: cancelled by local:ana"},
		"expired":    {func(w *world) { w.pass(8 * 24 * time.Hour); w.idle() }, "approved by local:ana, not run: nobody answered in time", "Not answered: nobody answered in time"},
		"by name": {func(w *world) {
			_, _ = w.e.Settle(w.t.Context(), settlement(w.waiting()[0], ana, core.ActionCancel))
			w.idle()
		}, "approved by local:ana, not run: the turn was cancelled", "Not answered: cancelled by local:ana"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.model = echoing(calls("", `db__drop {"n":1}`, `db__drop {"n":2}`, `log__write {}`))
				w.start()
				w.say(ana, "go")
				w.say(ana, "yes")
				c.end(w)
				w.restart()
				w.say(ana, "so?")
				toldInOrder(t, w)
				res := w.results()
				if len(res) != 3 || !strings.Contains(res[0], c.says) || res[1] != c.asks || res[2] != "done" {
					t.Errorf("results %q", res)
				}
				if n := w.tools["db__drop"].ran(); n != 0 || len(w.waiting()) != 0 {
					t.Errorf("ran %d times, %d wait", n, len(w.waiting()))
				}
				if report, err := w.check(); err != nil || report != "" {
					t.Errorf("check: %v %s", err, report)
				}
			})
		})
	}
}

// echoing makes the calls where a message says go, and answers every other one with its text.
func echoing(first model.Response) func(model.Request) (model.Response, error) {
	return func(r model.Request) (model.Response, error) {
		switch last := r.Messages[len(r.Messages)-1]; {
		case last.Text == "go":
			return first, nil
		case last.Result != nil:
			return model.Response{Text: "end", Stop: model.StopEnd}, nil
		default:
			return model.Response{Text: "re: " + last.Text, Stop: model.StopEnd}, nil
		}
	}
}

// windowed runs a hook inside the transaction that writes an input that waits, before it commits.
type windowed struct {
	turn.Store
	hook func(core.Input)
}

func (s *windowed) Update(ctx context.Context, at turn.Scope, f func(turn.Tx) error) error {
	return s.Store.Update(ctx, at, func(tx turn.Tx) error { return f(windowTx{tx, s}) })
}

type windowTx struct {
	turn.Tx
	s *windowed
}

func (tx windowTx) PutInput(in core.Input) error {
	err := tx.Tx.PutInput(in)
	if hook := tx.s.hook; hook != nil && in.Pending() {
		tx.s.hook = nil
		hook(in)
	}
	return err
}

// TestCC06AnAnswerWhileTheTurnSuspends: the answer comes after the input was written and before the commit that
// suspends the turn. It is refused and the input waits, or it is taken and the run goes on.
func TestCC06AnAnswerWhileTheTurnSuspends(t *testing.T) {
	for _, door := range []string{"name", "chat"} {
		for _, child := range []bool{false, true} {
			t.Run(map[bool]string{false: "own", true: "child"}[child]+" "+door, func(t *testing.T) {
				inBubble(t, func(t *testing.T, w *world) {
					w.model = script(calls("", `db__drop {"task":"x"}`))
					if child {
						withResearcher(w)
						w.model = script(calls("", `agent__researcher {"message":"x"}`))
					}
					w.start()
					w.stop()
					s := &windowed{Store: w.store}
					w.run(s)
					var all sync.WaitGroup
					var refused error
					s.hook = func(in core.Input) {
						looked := make(chan struct{})
						all.Go(func() {
							if door == "chat" {
								close(looked)
								w.send(w.message(ana, "yes"))
								return
							}
							_, refused = w.e.Settle(t.Context(), settlement(in, ana, core.ActionAccept))
							close(looked)
						})
						<-looked
					}
					w.say(ana, "go")
					all.Wait()
					w.idle()
					drop := w.tools["db__drop"]
					switch waits := len(w.waiting()); {
					case door == "name" && (refused == nil || waits != 1 || drop.ran() != 0):
						t.Errorf("refused: %v, %d wait, ran %d times", refused, waits, drop.ran())
					case waits == 0 && drop.ran() != 1:
						t.Errorf("settled without a resume: %q", w.lines())
					case waits == 1:
						w.say(ana, "yes")
					}
					if lines := w.lines(); drop.ran() != 1 || lines[len(lines)-1] != "say end" {
						t.Errorf("ran %d times, shown %q", drop.ran(), lines)
					}
				})
			})
		}
	}
}
