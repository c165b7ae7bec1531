package turn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/core/model"
	"parley/core/turn"
	"parley/store/storetest"
)

// family gives the world a tree of agents: ops asks a researcher and a writer at once, the researcher asks a
// digger before it drops a database of its own. What each drops is the name of its agent.
func family(w *world) {
	drops := func(id core.AgentID, below ...core.AgentID) {
		a := &turn.Agent{ID: id, Name: string(id), Tools: toolbox{w}, Human: core.DefaultHumanInput(), Agents: below}
		own := fmt.Sprintf(`db__drop {"by":%q}`, id)
		first := calls("", `db__read {}`, `log__write {"by":"`+string(id)+`"}`, own)
		if len(below) > 0 {
			first = calls("", `agent__`+string(below[0])+` {"message":"dig"}`, own)
		}
		a.Model = modelFunc(func(r model.Request) (model.Response, error) {
			resp, err := script(first)(r)
			if resp.Text == "end" {
				resp.Text = "did " + string(id)
			}
			return resp, err
		})
		w.agents[id] = a
	}
	drops("digger")
	drops("researcher", "digger")
	drops("writer")
	w.agent.Agents = []core.AgentID{"researcher", "writer"}
	w.model = echoing(calls("", `agent__researcher {"message":"x"}`, `agent__writer {"message":"y"}`))
}

// dropped are the arguments of the drops that ran, in order.
func dropped(w *world) (out []string) {
	f := w.tools["db__drop"]
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		out = append(out, c[strings.Index(c, " ")+1:])
	}
	return out
}

// by is the input of the agent that waits.
func by(t *testing.T, w *world, id core.AgentID) core.Input {
	t.Helper()
	for _, in := range w.waiting() {
		if in.Agent == id {
			return in
		}
	}
	t.Fatalf("nothing of %s waits: %+v", id, w.waiting())
	return core.Input{}
}

func settleAs(t *testing.T, w *world, in core.Input, who core.PersonID, action core.Action) {
	t.Helper()
	if _, err := w.e.Settle(t.Context(), settlement(in, who, action)); err != nil {
		t.Fatalf("settle %s of %s: %v", in.ID, in.Agent, err)
	}
	w.idle()
}

func clean(t *testing.T, w *world) {
	t.Helper()
	if in := w.waiting(); len(in) != 0 {
		t.Errorf("still waiting: %+v", in)
	}
	toldInOrder(t, w)
	if report, err := w.check(); err != nil || report != "" {
		t.Errorf("check: %v %s", err, report)
	}
}

// TestSA06AnyOrderOfAFamily: three agents of three depths wait at once and are answered in every order, over a
// restart before each answer. Each drops once, nobody is asked again.
func TestSA06AnyOrderOfAFamily(t *testing.T) {
	all := []core.AgentID{"digger", "researcher", "writer"}
	for i := range 6 {
		order := slices.Clone(all)
		order[0], order[i/2] = order[i/2], order[0]
		if i%2 == 1 {
			order[1], order[2] = order[2], order[1]
		}
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				family(w)
				w.start()
				w.say(ana, "go")
				if n := len(w.waiting()); n != 3 {
					t.Fatalf("%d wait, want 3", n)
				}
				for _, id := range order {
					w.restart()
					settleAs(t, w, by(t, w, id), ana, core.ActionAccept)
				}
				got := dropped(w)
				slices.Sort(got)
				if want := []string{`{"by":"digger"}`, `{"by":"researcher"}`, `{"by":"writer"}`}; !slices.Equal(got, want) {
					t.Errorf("dropped %q", got)
				}
				if n := w.tools["log__write"].ran(); n != 2 {
					t.Errorf("what needed nobody ran %d times, want once each", n)
				}
				asked := 0
				for _, line := range w.lines() {
					if strings.Contains(line, "ask ") {
						asked++
					}
				}
				if res := w.results(); asked > 3 || len(res) != 2 || res[0] != "did researcher" || res[1] != "did writer" {
					t.Errorf("asked %d times, results %q", asked, res)
				}
				clean(t, w)
			})
		})
	}
}

// TestSA01TheFamilyEndsInTheMiddle: one of three was answered, then the turn ends from outside. What had been
// approved does not run, and each call of each run has its result.
func TestSA01TheFamilyEndsInTheMiddle(t *testing.T) {
	ends := map[string]func(w *world){
		"superseded": func(w *world) { w.say(ana, "something else") },
		"cancelled":  func(w *world) { w.say(ana, "cancel") },
		"aborted": func(w *world) {
			if found, err := w.e.Abort(w.t.Context(), conv(), ana, "rest"); err != nil || !found {
				w.t.Errorf("abort: %v, %v", found, err)
			}
			w.idle()
		},
		"cancelled by name": func(w *world) {
			_, err := w.e.Settle(w.t.Context(), settlement(w.waiting()[1], ana, core.ActionCancel))
			if err != nil {
				w.t.Error(err)
			}
			w.idle()
		},
	}
	for name, end := range ends {
		for _, first := range []core.AgentID{"digger", "researcher", "writer"} {
			t.Run(name+" after "+string(first), func(t *testing.T) {
				inBubble(t, func(t *testing.T, w *world) {
					family(w)
					w.start()
					w.say(ana, "go")
					settleAs(t, w, by(t, w, first), ana, core.ActionAccept)
					w.restart()
					end(w)
					w.restart()
					w.say(ana, "yes") // to nothing
					if n := len(dropped(w)); n != 0 {
						t.Errorf("%d drops ran", n)
					}
					if res := w.results(); len(res) != 2 {
						t.Errorf("results %q", res)
					}
					wantResults(t, w)
					clean(t, w)
				})
			})
		}
	}
}

// wantResults checks that every call of every run of the conversation has a result, and no run is open.
func wantResults(t *testing.T, w *world) {
	t.Helper()
	err := w.store.View(t.Context(), conv(), func(r turn.Reader) error {
		c, err := r.Conversation()
		for id := c.Last; id != "" && err == nil; {
			var run core.Run
			if run, err = r.Run(id); err != nil {
				return err
			}
			for _, one := range append([]core.RunID{id}, run.Children...) {
				below, err := r.Run(one)
				if err != nil {
					return err
				}
				if below.Status.Open() {
					t.Errorf("run %s of %s is %s", one, below.Agent, below.Status)
				}
				calls, err := r.Calls(one)
				if err != nil {
					return err
				}
				for _, c := range calls {
					if !c.Done() {
						t.Errorf("call %s of %s has no result: %s", c.Tool, below.Agent, c.Status)
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
}

// TestSA07OneOfTheFamilyExpires: the others' answers count, whichever came first, and the run goes on with what
// the expired agent's parent is told.
func TestSA07OneOfTheFamilyExpires(t *testing.T) {
	for _, c := range []struct {
		late  core.AgentID
		drops int
		tells string
	}{
		{"digger", 2, "did researcher"}, // told by its result, the researcher goes on
		{"researcher", 1, "nobody answered in time"},
		{"writer", 2, "nobody answered in time"},
	} {
		for _, down := range []bool{false, true} {
			t.Run(fmt.Sprint(c.late, " down ", down), func(t *testing.T) {
				inBubble(t, func(t *testing.T, w *world) {
					family(w)
					w.agents[c.late].Human.Expires = time.Hour
					w.start()
					w.say(ana, "go")
					for _, id := range []core.AgentID{"digger", "researcher", "writer"} {
						if id != c.late {
							settleAs(t, w, by(t, w, id), ana, core.ActionAccept)
						}
					}
					late := by(t, w, c.late)
					if down {
						w.close()
					}
					w.pass(2 * time.Hour)
					if down {
						w.start()
					}
					if _, err := w.e.Settle(t.Context(), settlement(late, ana, core.ActionAccept)); err == nil {
						t.Error("an expired input was answered")
					}
					w.idle()
					if n := len(dropped(w)); n != c.drops {
						t.Errorf("%d drops ran, want %d: %q", n, c.drops, dropped(w))
					}
					if res := w.results(); !strings.Contains(strings.Join(res, "|"), c.tells) {
						t.Errorf("results %q", res)
					}
					wantResults(t, w)
					clean(t, w)
				})
			})
		}
	}
}

// TestSA07KillAtEveryCommitOfAFamily stops the process before and after every commit of a turn in which agents
// of three depths wait, and goes on in another. Nothing runs twice unasked, nothing is lost.
func TestSA07KillAtEveryCommitOfAFamily(t *testing.T) {
	commits := 0
	synctest.Test(t, func(t *testing.T) {
		j := newJourney(t)
		defer j.close()
		family(j.world)
		j.begin(0, storetest.Before)
		j.travel()
		commits = j.faulty.Commits()
	})
	if commits < 15 {
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
						family(j.world)
						j.unknown = choice
						j.begin(n, when)
						j.travel()
						for name, times := range j.effects() {
							if times > 1 && !strings.HasPrefix(name, "db__read") && (j.asked == 0 || choice != "3") {
								t.Errorf("%s ran %d times unasked", name, times)
							}
						}
						if got := len(j.effects()); got < 6 && (j.asked == 0 || choice == "3") {
							t.Errorf("not all ran: %v", j.effects())
						}
						wantResults(t, j.world)
						clean(t, j.world)
					})
				})
			}
		}
	}
}

// TestSA05EachOfTheFamilyHasItsOwnPeople: one "yes" in the chat settles only what it stands for, a name only its own.
func TestSA05EachOfTheFamilyHasItsOwnPeople(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		family(w)
		w.agents["digger"].Human.Approvers = []core.PersonID{ben}
		w.agents["digger"].Human.ApproversOnly = true
		w.agent.Human.Approvers = []core.PersonID{cleo}
		w.start()
		w.say(ana, "go")
		dig := by(t, w, "digger")
		for _, who := range []core.PersonID{ana, cleo} {
			if _, err := w.e.Settle(t.Context(), settlement(dig, who, core.ActionAccept)); err == nil {
				t.Errorf("%s approved the digger's call", who)
			}
		}
		if _, err := w.e.Settle(t.Context(), settlement(by(t, w, "writer"), ben, core.ActionAccept)); err == nil {
			t.Error("ben approved the writer's call")
		}
		if n := len(w.waiting()); n != 3 {
			t.Fatalf("%d wait, want 3", n)
		}
		settleAs(t, w, by(t, w, "researcher"), ana, core.ActionDecline)
		settleAs(t, w, by(t, w, "writer"), ana, core.ActionAccept)
		settleAs(t, w, dig, ben, core.ActionAccept)
		ids := w.tools["db__drop"].ids
		if len(ids) != 2 || ids[0].Approval.By != ben || ids[0].Actor != ana || ids[1].Approval.By != ana {
			t.Errorf("ran for %+v", ids)
		}
		clean(t, w)
	})
}
