package turn_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/core/model"
	"parley/core/tool"
	"parley/core/turn"
)

// took tells how long each call of a run took, "-" where that is not known.
func took(t *testing.T, w *world, run core.RunID) map[core.CallID]string {
	t.Helper()
	tr, err := w.e.Trace(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	out := map[core.CallID]string{}
	for _, c := range tr.Calls {
		out[c.ID] = "-"
		if d, ok := c.Took(); ok {
			out[c.ID] = d.String()
		} else if !c.StartedAt.IsZero() {
			out[c.ID] = "started"
		}
	}
	return out
}

func wantTook(t *testing.T, w *world, run core.RunID, want map[core.CallID]string) {
	t.Helper()
	got := took(t, w, run)
	for id, d := range want {
		if got[id] != d {
			t.Errorf("call %s took %q, want %q", id, got[id], d)
		}
	}
	if len(got) != len(want) {
		t.Errorf("took %v, want %v", got, want)
	}
}

func TestHowLongCallsTook(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		slow(w.tools["db__read"], 3*time.Second)
		slow(w.tools["log__write"], 20*time.Second)
		slow(w.tools["db__drop"], 5*time.Second)
		w.add("web__read", core.ToolRead, nil) // beside the other, and done at once
		w.model = script(calls("", `db__read {}`, `web__read {}`, `log__write {}`, `db__drop {"n":1}`, `db__drop {"n":2}`, `no__such {}`))
		w.start()
		run := w.say(ana, "go").Run
		wantTook(t, w, run, map[core.CallID]string{"c1_1": "3s", "c1_2": "0s", "c1_3": "20s", "c1_4": "-", "c1_5": "-", "c1_6": "-"})
		w.restart()
		w.pass(40 * time.Hour) // a person's time is nobody's work
		w.say(ana, "yes")
		w.say(ana, "no")
		wantTook(t, w, run, map[core.CallID]string{"c1_1": "3s", "c1_2": "0s", "c1_3": "20s", "c1_4": "5s", "c1_5": "-", "c1_6": "-"})
	})
}

// A tool that asks is called again with the answer: what counts is the attempt that came to the end.
func TestHowLongAnAskingCallTook(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.tools["log__write"].run = func(ctx *tool.Context, _ json.RawMessage) (string, error) {
			<-time.After(2 * time.Second)
			if _, err := ctx.Confirm("Sure?"); err != nil {
				return "", err
			}
			<-time.After(4 * time.Second)
			return "done", nil
		}
		w.model = script(calls("", `log__write {}`))
		w.start()
		run := w.say(ana, "go").Run
		wantTook(t, w, run, map[core.CallID]string{"c1_1": "2s"})
		w.pass(time.Hour)
		w.say(ana, "yes")
		wantTook(t, w, run, map[core.CallID]string{"c1_1": "6s"})
	})
}

func TestHowLongACutCallTookIsNotKnown(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		slow(w.tools["db__drop"], time.Hour)
		w.model = script(calls("", `db__drop {}`))
		w.start()
		run := w.say(ana, "go").Run
		w.send(w.message(ana, "yes"))
		synctest.Wait()
		w.restart()
		w.idle()
		wantTook(t, w, run, map[core.CallID]string{"c1_1": "started"})
		slow(w.tools["db__drop"], time.Minute)
		w.say(ana, "3")
		wantTook(t, w, run, map[core.CallID]string{"c1_1": "1m0s"})
	})
}

func TestHowLongADelegatedCallTook(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		withResearcher(w)
		w.model = script(calls("", `agent__researcher {"message":"x"}`))
		w.start()
		run := w.say(ana, "go").Run
		if len(w.waiting()) != 1 {
			t.Fatalf("waiting %v", w.waiting())
		}
		wantTook(t, w, run, map[core.CallID]string{"c1_1": "started"})
		w.pass(time.Minute)
		w.say(ana, "cancel")
		wantTook(t, w, run, map[core.CallID]string{"c1_1": "1m0s"})
	})
}

func TestHowLongTheModelTook(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		replies := script(calls("", `db__drop {}`))
		w.model = func(r model.Request) (model.Response, error) {
			<-time.After(7 * time.Second)
			resp, err := replies(r)
			resp.Usage = core.Usage{Input: 10, Output: 3}
			return resp, err
		}
		w.start()
		began := time.Now()
		run := w.say(ana, "go").Run
		w.restart()
		w.say(ana, "yes")
		tr, err := w.e.Trace(t.Context(), run)
		if err != nil || len(tr.Replies) != 2 {
			t.Fatalf("replies %+v, %v", tr.Replies, err)
		}
		for i, r := range tr.Replies {
			if r.Step != i+1 || r.Took != 7*time.Second || r.Usage.Output != 3 {
				t.Errorf("reply %+v", r)
			}
		}
		if at := tr.Replies[0].At; !at.Equal(began) {
			t.Errorf("the first began at %v, want %v", at, began)
		}
	})
}

// recorded is a run that waits, as a build of before recorded it.
type recorded struct {
	Conversation core.Conversation
	Run          core.Run
	Steps        []core.Step
	Calls        []core.Call
	Inputs       []core.Input
}

func (r recorded) put(tx turn.Tx) error {
	for _, c := range r.Calls {
		if err := tx.PutCall(c); err != nil {
			return err
		}
	}
	for _, in := range r.Inputs {
		if err := tx.PutInput(in); err != nil {
			return err
		}
	}
	if err := tx.Append(r.Run.ID, 0, r.Steps...); err != nil {
		return err
	}
	if err := tx.PutRun(r.Run); err != nil {
		return err
	}
	return tx.PutConversation(r.Conversation)
}

// TestRecordedJournalsReplay goes on with waiting runs of every build so far: the fixtures are never written
// anew. Each waits for an approval of db__drop, after calls that ran and a question that was answered.
func TestRecordedJournalsReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/journals/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded journals: %v", err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var rec recorded
			if err := json.Unmarshal(raw, &rec); err != nil {
				t.Fatal(err)
			}
			inBubble(t, func(t *testing.T, w *world) { goOn(t, w, rec) })
		})
	}
}

func goOn(t *testing.T, w *world, rec recorded) {
	w.model = func(r model.Request) (model.Response, error) {
		return model.Response{Text: "end", Stop: model.StopEnd}, nil
	}
	w.start()
	err := w.store.Update(t.Context(), turn.Scope{Conversation: rec.Conversation.ID}, rec.put)
	if err != nil {
		t.Fatal(err)
	}
	in := w.waiting()
	if len(in) != 1 {
		t.Fatalf("waiting %+v", in)
	}
	if _, err := w.e.Settle(t.Context(), settlement(in[0], ana, core.ActionAccept)); err != nil {
		t.Fatal(err)
	}
	w.idle()
	run, err := w.e.RunByID(t.Context(), rec.Run.ID)
	if err != nil || run.Status != core.RunCompleted || run.SetAside != "" {
		t.Fatalf("run %+v, %v", run, err)
	}
	if w.tools["db__drop"].ran() != 1 || w.tools["db__read"].ran() != 0 || w.tools["log__write"].ran() != 0 {
		t.Error("calls that had run ran again, or the approved one did not")
	}
	tr, err := w.e.Trace(t.Context(), rec.Run.ID)
	if err != nil || len(tr.Replies) != 3 || tr.Replies[0].Took != 0 || !tr.Replies[0].At.IsZero() || tr.Replies[2].At.IsZero() {
		t.Errorf("replies %+v, %v", tr.Replies, err)
	}
}
