package turn_test

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"parley/core"
	"parley/core/model"
	"parley/core/tool"
	"parley/core/turn"
	"parley/store/storetest"
)

// asking gives the journey an agent with an intake, whose one tool confirms, sends to a page and only then acts.
func asking(j *journey) *atomic.Int64 {
	var acted atomic.Int64
	j.agent.Intake = &turn.Intake{EveryTurn: true, Questions: intakeQuestions()}
	j.add("app__deploy", core.ToolAction, nil).run = func(ctx *tool.Context, _ json.RawMessage) (string, error) {
		if ok, err := ctx.Confirm("Sure?"); err != nil || !ok {
			return "no", err
		}
		if err := ctx.RequireURL("https://accounts.example.com/x", "Sign in"); err != nil {
			return "", err
		}
		acted.Add(1)
		return "deployed", nil
	}
	// The intake is an exchange too: the model's own replies are counted from it on.
	j.model = func(r model.Request) (model.Response, error) {
		for _, m := range r.Messages {
			for _, c := range m.Calls {
				if c.Name == "app__deploy" {
					return model.Response{Text: "end", Stop: model.StopEnd}, nil
				}
			}
		}
		return calls("", `app__deploy {}`, `log__write {"line":1}`), nil
	}
	return &acted
}

// answerAll answers whatever waits until the turn ends.
func (j *journey) answerAll() {
	j.t.Helper()
	j.tell("go")
	for range 20 {
		j.rest()
		ins := j.waiting()
		if len(ins) == 0 {
			return
		}
		switch in := ins[0]; {
		case in.Purpose == core.PurposeUnknown:
			j.asked++
			j.tell(j.unknown)
		case in.Kind == core.KindURL:
			j.tell("done")
		case in.Kind == core.KindQuestion:
			j.tell("2")
		default:
			j.tell("yes")
		}
	}
	j.t.Fatal("the turn does not end")
}

// TestDU04KillAtEveryCommitOfATurnThatAsks by an intake, a confirmation and a page.
func TestDU04KillAtEveryCommitOfATurnThatAsks(t *testing.T) {
	commits := 0
	synctest.Test(t, func(t *testing.T) {
		j := newJourney(t)
		defer j.close()
		acted := asking(j)
		j.begin(0, storetest.Before)
		j.answerAll()
		if commits = j.faulty.Commits(); acted.Load() != 1 {
			t.Errorf("acted %d times", acted.Load())
		}
	})
	if commits < 10 {
		t.Fatalf("the scenario has %d commits only", commits)
	}
	for n := 1; n <= commits; n++ {
		for _, when := range []storetest.When{storetest.Before, storetest.After} {
			for _, choice := range []string{"2", "3"} {
				t.Run(fmt.Sprintf("%s_%d/%s", when, n, choice), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						j := newJourney(t)
						defer j.close()
						acted := asking(j)
						j.unknown = choice
						j.begin(n, when)
						j.answerAll()
						if got := acted.Load(); got > 1 && (j.asked == 0 || choice != "3") || got == 0 && (j.asked == 0 || choice == "3") {
							t.Errorf("acted %d times, asked about it %d times", got, j.asked)
						}
						if wrote := j.tools["log__write"].ran(); wrote != 1 && j.asked == 0 {
							t.Errorf("wrote %d times", wrote)
						}
						toldInOrder(t, j.world)
						wantResults(t, j.world)
						clean(t, j.world)
					})
				})
			}
		}
	}
}

// TestDU04KillAtEveryCommitOfASupersede stops the process around every commit while a new message closes what two
// agents wait on: nothing runs, nothing stays pending, the message is handled once.
func TestDU04KillAtEveryCommitOfASupersede(t *testing.T) {
	scene := func(j *journey) {
		family(j.world)
		j.tell("go")
		j.rest()
		if len(j.waiting()) > 0 {
			j.tell("yes")
		}
		j.rest()
		j.tell("something else")
		j.rest()
	}
	commits := 0
	synctest.Test(t, func(t *testing.T) {
		j := newJourney(t)
		defer j.close()
		j.begin(0, storetest.Before)
		scene(j)
		commits = j.faulty.Commits()
	})
	for n := 1; n <= commits; n++ {
		for _, when := range []storetest.When{storetest.Before, storetest.After} {
			t.Run(fmt.Sprintf("%s_%d", when, n), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					j := newJourney(t)
					defer j.close()
					j.begin(n, when)
					scene(j)
					if n := len(dropped(j.world)); n != 0 {
						t.Errorf("%d drops ran", n)
					}
					said := 0
					for _, line := range j.lines() {
						if line == "say re: something else" {
							said++
						}
					}
					if said == 0 || said > 2 { // a receipt that was lost shows it once more
						t.Errorf("the message was answered %d times: %q", said, j.lines())
					}
					toldInOrder(t, j.world)
					wantResults(t, j.world)
					clean(t, j.world)
				})
			})
		}
	}
}
