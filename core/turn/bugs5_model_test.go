package turn_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/core"
	"parley/core/model"
)

// TestPR01EveryCallHasItsResultInOrder, however the calls of one reply end beside one another.
func TestPR01EveryCallHasItsResultInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {"n":1}`, `db__read {}`, `nope__x {}`, `db__drop {"n":2}`, whichDatabase, `log__write {`, `db__drop {"n":1}`))
		w.start()
		w.say(ana, "go")
		for _, answer := range []string{"no", "yes", "skip", "no"} {
			w.restart()
			w.say(ana, answer)
		}
		res := w.results()
		for i, want := range []string{`"declined"`, "done", "no tool", `"ok"`, "Declined", "nothing ran", `"declined"`} {
			if len(res) != 7 || !strings.Contains(res[i], want) {
				t.Fatalf("result %d of %q, want %s", i+1, res, want)
			}
		}
		if got := dropped(w); len(got) != 1 || got[0] != `{"n":2}` {
			t.Errorf("dropped %q", got)
		}
		toldInOrder(t, w)
		wantResults(t, w)
		clean(t, w)
	})
}

// TestDU05TheServiceFailsAtEachRequest, for good or for a while: no call runs again, its result is kept, nobody is
// asked again, and the chat stays usable.
func TestDU05TheServiceFailsAtEachRequest(t *testing.T) {
	for _, at := range []int{1, 2, 3} {
		for name, err := range map[string]error{
			"overloaded": &model.Error{Sentence: "The model's service is overloaded.", Retry: true, After: time.Second, Err: errors.New("529")},
			"refused":    &model.Error{Sentence: "The model's service refused this bot's key.", Err: errors.New("401")},
			"unknown":    errors.New("something else"),
		} {
			t.Run(fmt.Sprint(name, " ", at), func(t *testing.T) {
				inBubble(t, func(t *testing.T, w *world) {
					n := 0
					next := script(calls("", `db__drop {"n":1}`), calls("", `log__write {}`))
					w.model = func(r model.Request) (model.Response, error) {
						if n++; n == at {
							return model.Response{}, err
						}
						return next(r)
					}
					w.start()
					w.say(ana, "go")
					if at > 1 {
						w.say(ana, "yes")
					}
					var failed *model.Error
					lines := w.lines()
					if last := lines[len(lines)-1]; !strings.HasPrefix(last, "failed ") || errors.As(err, &failed) && !strings.Contains(last, failed.Sentence) {
						t.Errorf("shown %q", lines)
					}
					w.restart()
					w.idle()
					next = script() // the next turn
					w.say(ana, "and now?")
					w.restart()
					w.say(ana, "and then?")
					if n := w.tools["db__drop"].ran(); n != min(at-1, 1) {
						t.Errorf("ran %d times", n)
					}
					if n := w.tools["log__write"].ran(); n != max(at-2, 0) {
						t.Errorf("wrote %d times", n)
					}
					if res := w.results(); len(res) != at-1 {
						t.Errorf("results %q", res)
					}
					toldInOrder(t, w)
					wantResults(t, w)
					clean(t, w)
				})
			})
		}
	}
}

// TestPR09AModelThatAsksForEver is stopped by the limit of inputs and by that of steps, with a sentence and with a
// result for every call.
func TestPR09AModelThatAsksForEver(t *testing.T) {
	for name, c := range map[string]struct{ steps, inputs int }{"steps": {4, 20}, "inputs": {30, 3}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.agent.MaxSteps, w.agent.MaxInputs = c.steps, c.inputs
				n := 0
				w.model = func(model.Request) (model.Response, error) {
					n++
					return calls("", fmt.Sprintf(`db__drop {"n":%d}`, n)), nil
				}
				w.start()
				w.say(ana, "go")
				for range 10 {
					if len(w.waiting()) > 0 {
						w.say(ana, "yes")
					}
				}
				if lines := w.lines(); !strings.HasPrefix(lines[len(lines)-1], "failed I stopped") {
					t.Errorf("shown %q", lines)
				}
				if ran := w.tools["db__drop"].ran(); ran != min(c.steps, c.inputs) || n > 5 {
					t.Errorf("ran %d times, %d requests", ran, n)
				}
				w.model = script()
				w.say(ana, "so?")
				toldInOrder(t, w)
				wantResults(t, w)
				clean(t, w)
			})
		})
	}
}

// TestSA02AnAgentIsAskedForEver: agents that delegate to one another end at a depth, in words to the model.
func TestSA02AnAgentIsAskedForEver(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		loop := withResearcher(w)
		loop.Agents = []core.AgentID{"researcher"}
		loop.Model = modelFunc(script(calls("", `agent__researcher {"message":"you do it"}`)))
		w.model = script(calls("", `agent__researcher {"message":"x"}`))
		w.start()
		w.say(ana, "go")
		if lines := w.lines(); lines[len(lines)-1] != "say end" {
			t.Errorf("shown %q", lines)
		}
		wantResults(t, w)
		clean(t, w)
	})
}
