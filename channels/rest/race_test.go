package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/channels/rest"
	"parley/core"
	"parley/core/turn"
)

// TestRacingAnswers: 100 answers to one input at once, by REST, by name and by buttons as typed: one effect,
// and all the others are told how it was settled.
func TestRacingAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.begin(drop)
	in := r.Inputs[0]
	var mu sync.Mutex
	won, told, other := 0, 0, []string(nil)
	note := func(first, again bool, what string) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case first:
			won++
		case again:
			told++
		default:
			other = append(other, what)
		}
	}
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			from := []core.PersonID{ana, ben}[i/2%2]
			yes := i%2 == 0
			s := turn.Settlement{Input: core.InputID(in.ID), From: from, Via: "go", Step: -1, Submission: core.Submission{Action: core.ActionAccept, Content: json.RawMessage(map[bool]string{true: "true", false: "false"}[yes])}}
			if i%3 == 0 {
				a := w.answer("gate", in, accept(from, yes))
				note(a.status == 202, a.status == 200 || a.status == 409 && a.Code == "conflict" && a.By != "", string(a.body))
				return
			}
			if i%3 == 1 {
				s.Via, s.Typed = "button", map[bool]string{true: "approve", false: "deny"}[yes]
			}
			done, err := w.engine.SettleAll(context.Background(), []turn.Settlement{s})
			var no *core.AnswerError
			if errors.As(err, &no) {
				note(false, no.Code == core.AnswerConflict && no.Current.Settled.By != "", no.Error())
				return
			}
			note(done[0].Now, done[0].Input.Settled != nil, "settled")
		})
	}
	all.Wait()
	if won != 1 || told != 99 || len(other) > 0 {
		t.Errorf("%d won, %d were told, others: %q", won, told, other)
	}
	w.run(r.ID)
	if got, want := len(w.effects()), map[string]int{"accepted": 1, "declined": 0}[w.input(in.ID).State]; got != want {
		t.Errorf("%d effects of an input that was %s", got, w.input(in.ID).State)
	}
}

// TestCC03AcceptAgainstDecline: one winner in every round, the loser is told, the tool runs only where accept won.
func TestCC03AcceptAgainstDecline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	accepted := 0
	for range 200 {
		r := w.begin(drop)
		var out [2]answer
		var both sync.WaitGroup
		both.Go(func() { out[0] = w.answer("gate", r.Inputs[0], act("accept", ana)) })
		both.Go(func() { out[1] = w.answer("gate", r.Inputs[0], act("decline", ben)) })
		both.Wait()
		if s := []int{out[0].status, out[1].status}; !slices.Contains(s, 202) || !slices.Contains(s, 409) {
			t.Fatalf("%v", s)
		}
		loser, state := out[1], core.InputAccepted
		if out[1].status == 202 {
			loser, state = out[0], core.InputDeclined
		} else {
			accepted++
		}
		if loser.State != state {
			t.Errorf("the loser is told %q", loser.State)
		}
		w.run(r.ID)
	}
	if got := len(w.effects()); got != accepted {
		t.Errorf("%d effects, accept won %d times", got, accepted)
	}
}

// TestCC05ThreeApprovalsAtOnce: one resume after the last, three results, two tool runs.
func TestCC05ThreeApprovalsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 20 {
		before := len(w.effects())
		r := w.begin(`call db__drop {"n":1}` + "\n" + `call db__drop {"n":2}` + "\n" + `call db__drop {"n":3}`)
		var mu sync.Mutex
		resumed := 0
		var all sync.WaitGroup
		for i, in := range r.Inputs {
			all.Go(func() {
				var s settled
				w.want(w.answer("gate", in, accept(ana, i != 1)), 202).into(t, &s)
				mu.Lock()
				defer mu.Unlock()
				if s.Request != nil {
					resumed++
				}
			})
		}
		all.Wait()
		got := w.run(r.ID)
		if resumed != 1 || strings.Count(got.Text, "|") != 2 || len(w.effects())-before != 2 {
			t.Fatalf("%d resumes, %q, effects %q", resumed, got.Text, w.effects()[before:])
		}
	}
}

// TestAP01SamePostThreeTimes, the second while the first is still running: one state, one resume, one effect.
func TestAP01SamePostThreeTimes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.begin("call slow__go {}")
	w.want(w.answer("gate", r.Inputs[0], accept(ana, true)), 202)
	<-w.started
	w.want(w.answer("gate", r.Inputs[0], accept(ana, true)), 200)
	close(w.release)
	w.run(r.ID)
	w.want(w.answer("gate", r.Inputs[0], accept(ana, true)), 200)
	if got := w.effects(); len(got) != 1 || len(w.started) != 0 {
		t.Errorf("effects %q", got)
	}
}

// TestAP05OneRunForOneKey: retried while the first is under way, and after a restart.
func TestAP05OneRunForOneKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	post := func(key, text string) answer {
		return w.do("gate", "POST", "/v1/agents/ops/runs", start(text, "k", ana), "Idempotency-Key", key)
	}
	var mu sync.Mutex
	ids := map[string]bool{}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			var r run
			w.want(post("one", drop), 202).into(t, &r)
			mu.Lock()
			defer mu.Unlock()
			ids[r.ID] = true
		})
	}
	all.Wait()
	w.restart()
	var r run
	first := w.want(post("one", drop), 202)
	first.into(t, &r)
	if ids[r.ID] = true; len(ids) != 1 {
		t.Errorf("runs %v", ids)
	}
	if again := post("one", drop); string(again.body) != string(first.body) || again.header.Get("Location") != "/v1/runs/"+r.ID {
		t.Errorf("first %s\nagain %s", first.body, again.body)
	}
	if a := post("one", drop+" "); a.status != 422 || a.Code != "key_reused" {
		t.Errorf("another body: %d %s", a.status, a.body)
	}
	if got := w.run(r.ID); got.Status != "input_required" || len(got.Inputs) != 1 {
		t.Errorf("%+v", got)
	}
	// The same key is another token's own, and another route's.
	w.want(w.do("one", "POST", "/v1/agents/ops/runs", start("x", "k", ana), "Idempotency-Key", "one"), 202)
	w.want(w.do("gate", "POST", "/v1/agents/ops/abort", map[string]any{"conversation": "k", "from": ana}, "Idempotency-Key", "one"), 202)
	w.want(w.do("gate", "POST", "/v1/agents/ops/abort", map[string]any{"conversation": "k", "from": ana}, "Idempotency-Key", "one"), 202)
	w.want(post(strings.Repeat("k", 300), drop), 400)
	w.advance(25 * 60 * 60 * 1e9)
	w.want(post("one", drop+" "), 202)
}

// TestCrashBetweenWorkAndMemory: the answer to a request with a key was not remembered, but its work was done.
func TestCrashBetweenWorkAndMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.begin(drop)
	path := "/v1/agents/ops/inputs/" + r.Inputs[0].ID
	w.want(w.answer("gate", r.Inputs[0], accept(ana, true)), 202) // as if its memory had been lost
	w.want(w.do("gate", "POST", path, accept(ana, true), "Idempotency-Key", "k"), 200)
	w.run(r.ID)
	if got := w.effects(); len(got) != 1 {
		t.Errorf("effects %q", got)
	}
}

// TestAU03SameVerdictAtEveryDoor: by REST, by Go, by a button and as typed in the chat.
func TestAU03SameVerdictAtEveryDoor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agents["other"].Human = core.HumanInput{Approvers: []core.PersonID{ben}, ApproversOnly: true}
	inputs := map[string]struct {
		agent   core.AgentID
		text    string
		content string
		typed   string
	}{
		"asker or approver": {"ops", drop, "true", "yes"}, "approvers only": {"other", drop, "true", "yes"},
		"a question": {"ops", set, `{"when":"mon","what":["api"]}`, ""}, "a confirmation": {"ops", "call team__sure {}", "true", "yes"}, "a step": {"ops", "call cal__connect {}", "true", "done"},
		"a child's": {"ops", `call agent__child {"message":"call db__drop {}"}`, "true", "yes"},
	}
	doors := map[string]func(in core.Input, who core.PersonID, content, typed string) bool{
		"rest": func(in core.Input, who core.PersonID, content, _ string) bool {
			token := map[core.AgentID]string{"ops": "gate", "other": "far"}[in.Conversation.Agent()]
			a := w.do(token, "POST", "/v1/agents/"+string(in.Conversation.Agent())+"/inputs/"+string(in.ID), accept(who, json.RawMessage(content)))
			if a.status != http.StatusAccepted && a.status != http.StatusForbidden {
				t.Errorf("status %d: %s", a.status, a.body)
			}
			return a.status == http.StatusAccepted
		},
		"go": func(in core.Input, who core.PersonID, content, _ string) bool {
			_, err := w.engine.Settle(t.Context(), turn.Settlement{Input: in.ID, From: who, Via: "go", Step: -1, Submission: core.Submission{Action: core.ActionAccept, Content: json.RawMessage(content)}})
			return err == nil
		},
		"button": func(in core.Input, who core.PersonID, _, typed string) bool {
			_, err := w.engine.Settle(t.Context(), turn.Settlement{Input: in.ID, From: who, Via: "button", Step: -1, Typed: typed})
			return err == nil
		},
	}
	for name, tt := range inputs {
		for door, settle := range doors {
			if door == "button" && tt.typed == "" {
				continue
			}
			for _, who := range []core.PersonID{ana, ben, cleo, "test:bot", "ana", "other:ana"} {
				m := core.Message{ID: newID(), Conversation: core.NewConversation(tt.agent, rest.Channel, core.Place(newID())), From: ana, Text: tt.text, Addressed: true, Fresh: true}
				if _, err := w.engine.Accept(t.Context(), m); err != nil {
					t.Fatal(err)
				}
				r, err := w.engine.Started(t.Context(), m.Conversation, m.ID)
				if err == nil {
					r, err = w.engine.Stopped(t.Context(), r.ID)
				}
				if err != nil || r.Status != core.RunInputRequired {
					t.Fatalf("%s: %v %v", name, r.Status, err)
				}
				waiting, err := w.engine.Waiting(t.Context(), m.Conversation)
				if err != nil {
					t.Fatal(err)
				}
				want := who == ana && tt.agent != "other" || who == ben && name != "a child's"
				if who.Surface() != "test" && door == "rest" {
					continue // the token speaks for nobody there
				}
				if got := settle(waiting[0], who, tt.content, tt.typed); got != want {
					t.Errorf("%s by %s at the door %s: %v, want %v", name, who, door, got, want)
				}
				in, err := w.engine.Input(t.Context(), waiting[0].ID)
				if err != nil || in.Pending() == want {
					t.Errorf("%s by %s at the door %s: it is %s, %v", name, who, door, in.State, err)
				}
			}
		}
	}
}

// TestAU14AnAgentsTokenAnswersNothing: it may read, and settle nothing under any name.
func TestAU14AnAgentsTokenAnswersNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin(drop).Inputs[0]
	for _, from := range []core.PersonID{ana, ben, "api:mute", "agent:ops"} {
		w.want(w.answer("mute", in, accept(from, true)), 403)
		w.want(w.do("mute", "POST", "/agent/tool-call/approve", map[string]any{"runId": in.RunID, "toolCallId": in.CallID, "from": from}), 403)
		w.want(w.do("mute", "POST", "/v1/agents/ops/runs", start("yes", "", from)), 403)
		w.want(w.do("mute", "POST", "/v1/agents/ops/abort", map[string]any{"from": from}), 403)
	}
	w.want(w.answer("mute", in, act("accept", "")), 400)
	if got := w.input(in.ID); got.State != "pending" {
		t.Errorf("it is %s", got.State)
	}
}

// TestAP08TokenOfOneAgent: another agent's input is not there; who is named must be spoken for; nobody is 400.
func TestAP08TokenOfOneAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var r run
	w.want(w.do("far", "POST", "/v1/agents/other/runs", start(drop, "", ana)), 202).into(t, &r)
	in := w.begin(drop).Inputs[0]
	w.want(w.do("one", "POST", "/v1/agents/other/inputs/x", accept(ana, true)), 404)
	w.want(w.do("one", "POST", "/agent/tool-call/approve", map[string]any{"runId": r.ID, "toolCallId": "c1_1"}), 404)
	w.want(w.answer("one", in, accept(ben, true)), 403)
	w.want(w.answer("gate", in, map[string]any{"action": "accept"}), 400)
	w.want(w.answer("root", in, map[string]any{"action": "accept"}), 400)
	w.want(w.answer("gate", in, accept(ben, true)), 202)
	if got := w.input(in.ID); got.Settled.By != ben || got.Settled.Via != "rest" {
		t.Errorf("%+v", got.Settled)
	}
}
