package turn_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/core"
	"parley/core/model"
	"parley/core/turn"
)

// withResearcher gives the world a second agent that the first may delegate to. It drops a database for
// every task.
func withResearcher(w *world) *turn.Agent {
	child := &turn.Agent{ID: "researcher", Name: "Researcher", Tools: toolbox{w}, Human: core.DefaultHumanInput(), AskUser: true}
	child.Model = modelFunc(func(r model.Request) (model.Response, error) {
		task := r.Messages[0].Text
		resp, err := script(calls("", fmt.Sprintf(`db__drop {"task":%q}`, task)))(r)
		if resp.Text == "end" {
			resp.Text = "did " + task
		}
		return resp, err
	})
	w.agents["researcher"] = child
	w.agent.Agents = []core.AgentID{"researcher"}
	return child
}

func TestChildAsksWhereThePersonIs(t *testing.T) { // SA-02
	inBubble(t, func(t *testing.T, w *world) {
		withResearcher(w)
		w.model = script(calls("", `agent__researcher {"message":"x"}`))
		w.start()
		w.say(ana, "go")
		w.wantLines("ask approval drop #0")
		in := w.waiting()[0]
		if in.Agent != "researcher" || in.Tool != "drop" || string(in.Arguments) != `{"task":"x"}` || in.Responders.Asker != ana {
			t.Errorf("input %+v", in)
		}
		w.restart()
		w.say(ana, "yes")
		w.wantLines("edit approval accepted", "say end")
		if res := w.results(); len(res) != 1 || res[0] != "did x" {
			t.Errorf("results %q", res)
		}
		if w.tools["db__drop"].ran() != 1 {
			t.Errorf("ran %q", w.tools["db__drop"].calls)
		}
	})
}

func TestTwoChildrenWait(t *testing.T) { // SA-06, SA-07
	inBubble(t, func(t *testing.T, w *world) {
		withResearcher(w)
		w.model = script(calls("", `agent__researcher {"message":"x"}`, `db__drop {"own":1}`, `agent__researcher {"message":"y"}`))
		w.start()
		w.say(ana, "go")
		if in := w.waiting(); len(in) != 3 || string(in[0].Arguments) != `{"task":"x"}` || string(in[1].Arguments) != `{"own":1}` || in[2].Nth != 3 {
			t.Fatalf("waiting %+v", in)
		}
		for range 3 {
			w.say(ana, "yes")
			w.restart()
		}
		w.idle()
		if res := w.results(); len(res) != 3 || res[0] != "did x" || res[2] != "did y" {
			t.Errorf("results %q", res)
		}
		if n := w.tools["db__drop"].ran(); n != 3 {
			t.Errorf("ran %d times", n)
		}
	})
}

func TestChildThatAsksAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		child := withResearcher(w)
		child.Model = modelFunc(script(calls("", `db__drop {"n":1}`), calls("", `db__drop {"n":2}`)))
		w.model = script(calls("", `agent__researcher {"message":"x"}`, `db__drop {"own":1}`))
		w.start()
		w.say(ana, "go")
		for i := range 3 {
			if n := len(w.waiting()); n == 0 {
				t.Fatalf("nothing waits after %d answers", i)
			}
			w.say(ana, "yes")
			w.restart()
			w.idle()
		}
		if n := w.tools["db__drop"].ran(); n != 3 || len(w.waiting()) != 0 {
			t.Errorf("ran %d times, waiting %d", n, len(w.waiting()))
		}
		if got := w.lines(); got[len(got)-1] != "say end" {
			t.Errorf("shown %q", got)
		}
	})
}

func TestSupersedeReachesTheChild(t *testing.T) { // SA-01
	inBubble(t, func(t *testing.T, w *world) {
		withResearcher(w)
		w.model = func(r model.Request) (model.Response, error) {
			if last := r.Messages[len(r.Messages)-1]; last.Role == model.RoleUser && last.Text != "go" {
				return model.Response{Text: "re: " + last.Text, Stop: model.StopEnd}, nil
			}
			return calls("", `agent__researcher {"message":"x"}`), nil
		}
		w.start()
		w.say(ana, "go")
		w.say(ana, "something else")
		w.wantLines("ask approval drop #0", "edit approval superseded", "say re: something else")
		if res := w.results(); len(res) != 1 || res[0] != core.SupersededText {
			t.Errorf("results %q", res)
		}
		if in := w.waiting(); len(in) != 0 {
			t.Errorf("waiting %v", in)
		}
		if report, err := w.check(); err != nil || report != "" {
			t.Errorf("check: %v %s", err, report)
		}
	})
}

func TestChildsApproversAnswer(t *testing.T) { // SA-05
	inBubble(t, func(t *testing.T, w *world) {
		child := withResearcher(w)
		child.Human.Approvers = []core.PersonID{ben}
		w.agent.Human.Approvers = []core.PersonID{cleo}
		w.model = script(calls("", `agent__researcher {"message":"x"}`))
		w.start()
		w.say(ana, "go")
		w.say(cleo, "yes")
		w.wantLines("ask approval drop #0", "note not_allowed")
		w.say(ben, "yes")
		if id := w.tools["db__drop"].ids[0]; id.Actor != ana || id.Approval.By != ben {
			t.Errorf("identity %+v", id)
		}
	})
}

func TestExpiryOfAChildIsAResult(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		child := withResearcher(w)
		child.Human.Expires = time.Hour
		w.model = script(calls("", `agent__researcher {"message":"x"}`))
		w.start()
		w.say(ana, "go")
		w.pass(2 * time.Hour)
		w.idle()
		if got := w.lines(); got[len(got)-1] != "say end" {
			t.Errorf("shown %q", got)
		}
		if res := w.results(); len(res) != 1 || !strings.Contains(res[0], "nobody answered in time") {
			t.Errorf("results %q", res)
		}
		if report, err := w.check(); err != nil || report != "" {
			t.Errorf("check: %v %s", err, report)
		}
	})
}
