package turn_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/core/model"
	"parley/core/tool"
)

// slow makes a tool take its time.
func slow(f *fakeTool, d time.Duration) {
	f.run = func(ctx *tool.Context, _ json.RawMessage) (string, error) {
		select {
		case <-time.After(d):
			return "slow work done", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

func TestMessagesQueueWhileRunning(t *testing.T) { // CC-07
	inBubble(t, func(t *testing.T, w *world) {
		slow(w.tools["db__drop"], 30*time.Second)
		w.model = func(r model.Request) (model.Response, error) {
			if last := r.Messages[len(r.Messages)-1]; last.Role == model.RoleUser && last.Text != "go" {
				return model.Response{Text: "re: " + last.Text, Stop: model.StopEnd}, nil
			}
			return script(calls("", `db__drop {}`))(r)
		}
		w.start()
		w.say(ana, "go")
		w.send(w.message(ana, "yes"))
		w.pass(5 * time.Second)
		for _, text := range []string{"also mail me the log", "and then", "stop there"} {
			if got := w.send(w.message(ana, text)); got.Did != core.DoQueue {
				t.Errorf("%q did %q", text, got.Did)
			}
		}
		w.idle()
		w.wantLines("ask approval drop #0", "edit approval accepted", "say end",
			"say re: also mail me the log", "say re: and then", "say re: stop there")
		if n := w.tools["db__drop"].ran(); n != 1 {
			t.Errorf("ran %d times", n)
		}
	})
}

func TestAbortWhileRunning(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		slow(w.tools["log__write"], 30*time.Second)
		w.model = script(calls("", `log__write {}`, `log__write {"n":2}`))
		w.start()
		w.send(w.message(ana, "go"))
		w.pass(5 * time.Second)
		if got := w.send(w.message(ana, "cancel")); got.Did != core.DoAbort {
			t.Errorf("cancel did %q", got.Did)
		}
		synctest.Wait()
		w.wantLines("note aborting") // at once
		w.send(w.message(ana, "cancel"))
		w.idle()
		w.wantLines("note aborted") // once the call has ended
		if n := w.tools["log__write"].ran(); n != 1 {
			t.Errorf("%d calls started, want 1: the second had not begun", n)
		}
		w.model = script()
		w.say(ana, "what happened?")
		res := w.results()
		if len(res) != 2 || res[0] != "slow work done" || res[1] != "Not run: cancelled by local:ana" {
			t.Errorf("results %q", res)
		}
	})
}

func TestAbortCutsTheModel(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.agent.Model = slowModel{}
		w.start()
		w.send(w.message(ana, "go"))
		w.pass(time.Second)
		w.send(w.message(ana, "cancel"))
		w.idle()
		w.wantLines("note aborted")
	})
}

// TestCutInTheMiddleAsks stops the process while an approved tool runs: nobody knows whether it ran.
func TestCutInTheMiddleAsks(t *testing.T) {
	for choice, want := range map[string]struct {
		ran  int
		last string
	}{
		"1":                  {1, "note aborted"},
		"2":                  {1, "say end"},
		"3":                  {2, "say end"},
		"something else now": {1, "say hello"},
	} {
		t.Run(choice, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				drop := w.tools["db__drop"]
				slow(drop, time.Hour)
				w.model = script(calls("", `db__drop {}`))
				w.start()
				w.say(ana, "go")
				w.send(w.message(ana, "yes"))
				synctest.Wait()
				w.restart()
				drop.run = nil
				w.idle()
				if in := w.waiting(); len(in) != 1 || in[0].Purpose != core.PurposeUnknown {
					t.Fatalf("waiting %+v", in)
				}
				if choice == "something else now" {
					w.model = script(model.Response{Text: "hello", Stop: model.StopEnd})
				}
				w.say(ana, choice)
				if drop.ran() != want.ran {
					t.Errorf("ran %d times, want %d", drop.ran(), want.ran)
				}
				if drop.ran() == 2 && drop.calls[0] != drop.calls[1] {
					t.Errorf("another key: %q", drop.calls)
				}
				got := w.lines()
				if got[len(got)-1] != want.last {
					t.Errorf("shown %q, want the last %q", got, want.last)
				}
				if mayHave := slices.Contains(got, "note may_have_run"); mayHave != (choice == "something else now") {
					t.Errorf("told that it may have run: %v, shown %q", mayHave, got)
				}
			})
		})
	}
}

func TestCutAgainAfterRunItAgainAsksAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		drop := w.tools["db__drop"]
		slow(drop, time.Hour)
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		w.send(w.message(ana, "yes"))
		synctest.Wait()
		w.restart()
		w.idle()
		w.send(w.message(ana, "3"))
		synctest.Wait()
		w.restart()
		w.idle()
		if in := w.waiting(); len(in) != 1 || in[0].Purpose != core.PurposeUnknown || in[0].Wait != 3 {
			t.Fatalf("waiting %+v: the word to run again covered only what came before it", in)
		}
		if drop.ran() != 2 {
			t.Errorf("ran %d times", drop.ran())
		}
	})
}

func TestReadAndIdempotentRunAgainWithTheSameKey(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		drop := w.tools["db__drop"]
		drop.spec.Idempotent = true
		slow(drop, time.Hour)
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		w.send(w.message(ana, "yes"))
		synctest.Wait()
		w.restart()
		synctest.Wait()
		drop.run = nil
		w.restart()
		w.idle()
		if drop.ran() != 3 || drop.calls[0] != drop.calls[1] || drop.calls[1] != drop.calls[2] {
			t.Errorf("ran %q", drop.calls)
		}
		if got := w.lines(); got[len(got)-1] != "say end" {
			t.Errorf("shown %q", got)
		}
	})
}

func TestUnknownOutcomeOfARemoteCall(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.tools["log__write"].run = func(*tool.Context, json.RawMessage) (string, error) {
			return "", fmt.Errorf("connection reset: %w", tool.ErrUnknownOutcome)
		}
		n := 0
		w.tools["db__drop"].spec.Policy = nil
		w.tools["db__drop"].run = func(*tool.Context, json.RawMessage) (string, error) {
			if n++; n < 3 {
				return "", fmt.Errorf("connection refused: %w", tool.ErrNotStarted)
			}
			return "done", nil
		}
		w.model = script(calls("", `db__drop {}`, `log__write {}`))
		w.start()
		w.say(ana, "go")
		w.wantLines("ask question unknownwrite #0")
		if n != 3 {
			t.Errorf("a call that did not start was tried %d times, want 3", n)
		}
		w.say(ana, "2")
		if res := w.results(); len(res) != 2 || res[0] != "done" || !strings.Contains(res[1], "assumed_done") {
			t.Errorf("results %q", res)
		}
	})
}

func TestGoneAgentParks(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		w.gone = true
		w.restart()
		w.send(w.message(ana, "yes"))
		w.pass(time.Hour)
		if in := w.waiting(); len(in) != 1 || w.tools["db__drop"].ran() != 0 {
			t.Fatalf("waiting %d, ran %d", len(in), w.tools["db__drop"].ran())
		}
		w.gone = false
		w.restart()
		w.pass(2 * time.Minute)
		w.idle()
		if n := w.tools["db__drop"].ran(); n != 1 {
			t.Errorf("ran %d times after the agent came back", n)
		}
	})
}

func TestDivergedRunIsSetAside(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		diverge(t, w)
		w.say(ana, "yes")
		w.wantLines("ask approval drop #0", "note set_aside")
		if n := w.tools["db__drop"].ran(); n != 0 {
			t.Errorf("ran %d times", n)
		}
		w.model = script()
		w.say(ana, "cancel")
		w.say(ana, "hello")
		w.wantLines("edit approval accepted", "note aborted", "say end")
	})
}
