package rest_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/core"
)

// family is a message whose agent asks two children at once, of which the first asks one of its own.
func family(w *world) string {
	w.agents["child"].Agents = []core.AgentID{"other"}
	inner, _ := json.Marshal(map[string]string{"message": `call db__drop {"by":"grandchild"}`})
	middle, _ := json.Marshal(map[string]string{"message": "call agent__other " + string(inner) + "\n" + `call log__write {"by":"child"}`})
	second, _ := json.Marshal(map[string]string{"message": `call db__drop {"by":"second"}`})
	return "call agent__child " + string(middle) + "\ncall agent__child " + string(second)
}

// TestSA06AFamilyByItsDoors: each run shows what it and those below it wait on; an answer settles what it names
// and nothing else; of several all or none count.
func TestSA06AFamilyByItsDoors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.begin(family(w))
	if len(r.Inputs) != 2 || r.Inputs[0].Agent != "other" || r.Inputs[1].Agent != "child" {
		t.Fatalf("waiting %+v", r.Inputs)
	}
	grand, second := r.Inputs[0], r.Inputs[1]
	var deep run
	w.want(w.do("root", "GET", "/v1/runs/"+grand.RunID, nil), 200).into(t, &deep)
	for id, want := range map[string]input{grand.RunID: grand, second.RunID: second, deep.Parent: grand} {
		var child run
		w.want(w.do("root", "GET", "/v1/runs/"+id+"?wait=60", nil), 200).into(t, &child)
		if child.Status != "input_required" || len(child.Inputs) != 1 || child.Inputs[0].ID != want.ID {
			t.Errorf("run %s of %s is %s with %+v", id, child.Agent, child.Status, child.Inputs)
		}
	}
	body := map[string]any{"runId": r.ID, "toolCallId": grand.CallID, "from": ana} // the root's call of that name asked nothing
	w.want(w.do("gate", "POST", "/agent/tool-call/approve", body), 404)
	w.want(w.do("gate", "POST", "/v1/agents/child/inputs/"+grand.ID, accept(ana, true)), 404) // not that agent's
	w.want(w.do("far", "POST", "/v1/agents/ops/inputs/"+grand.ID, accept(ana, true)), 404)    // not that token's
	several := map[string]any{"from": ana, "answers": []any{
		map[string]any{"input": grand.ID, "action": "accept"}, map[string]any{"input": second.ID, "action": "skip"},
	}}
	w.want(w.do("gate", "POST", "/v1/agents/ops/inputs", several), 409)
	for _, in := range []input{grand, second} {
		if got := w.input(in.ID); got.State != "pending" {
			t.Errorf("it is %s", got.State)
		}
	}
	var one settled
	w.want(w.do("far", "POST", "/v1/agents/other/inputs/"+grand.ID, accept(ana, true)), 202).into(t, &one)
	if one.Request != nil || w.input(second.ID).State != "pending" || len(w.effects()) != 1 { // what the child wrote unasked: all wait together
		t.Errorf("resumed %+v, effects %q", one.Request, w.effects())
	}
	w.restart()
	w.want(w.do("gate", "POST", "/agent/tool-call/reject", map[string]any{"runId": second.RunID, "toolCallId": second.CallID, "from": ana}), 202)
	if got := w.run(r.ID); got.Status != "completed" {
		t.Errorf("%+v", got)
	}
	if got := w.effects(); len(got) != 2 || !strings.Contains(got[1], "grandchild") {
		t.Errorf("effects %q", got)
	}
}

// TestAP08WhatIsNotThereAndWhatIsNotForYouLookTheSame, at every route that names something.
func TestAP08WhatIsNotThereAndWhatIsNotForYouLookTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin(drop).Inputs[0]
	yes, run := accept(ana, true), map[string]any{"runId": in.RunID, "toolCallId": in.CallID, "from": ana}
	noRun := map[string]any{"runId": "r0000000000", "toolCallId": in.CallID, "from": ana}
	for _, tt := range []struct {
		method, theirs, nobodys string
		body, nobody            any
	}{
		{"GET", "/v1/agents/ops", "/v1/agents/nope", nil, nil},
		{"GET", "/v1/agents/ops/inputs", "/v1/agents/nope/inputs", nil, nil},
		{"GET", "/v1/agents/ops/events", "/v1/agents/nope/events", nil, nil},
		{"GET", "/v1/runs/" + in.RunID, "/v1/runs/r0000000000", nil, nil},
		{"GET", "/v1/runs/" + in.RunID + "/events", "/v1/runs/r0000000000/events", nil, nil},
		{"GET", "/v1/inputs/" + in.ID, "/v1/inputs/i0000000000", nil, nil},
		{"GET", "/v1/agents/other/inputs/" + in.ID, "/v1/agents/other/inputs/i0000000000", nil, nil},
		{"POST", "/v1/agents/other/inputs/" + in.ID, "/v1/agents/other/inputs/i0000000000", yes, yes},
		{"POST", "/v1/agents/ops/inputs/" + in.ID, "/v1/agents/nope/inputs/i0000000000", yes, yes},
		{"POST", "/v1/agents/ops/runs", "/v1/agents/nope/runs", start("x", "", ana), start("x", "", ana)},
		{"POST", "/v1/agents/ops/abort", "/v1/agents/nope/abort", map[string]any{"from": ana}, map[string]any{"from": ana}},
		{"POST", "/agent/tool-call/approve", "/agent/tool-call/approve", run, noRun},
		{"POST", "/agent/tool-call/answer", "/agent/tool-call/answer", with(run, "answers", true), with(noRun, "answers", true)},
		{"POST", "/v1/agents/other/abort", "/v1/agents/other/abort", map[string]any{"from": ana, "conversation": "api:gate/x"}, map[string]any{"from": ana, "conversation": "api:nobody/x"}},
		{"POST", "/v1/agents/other/runs", "/v1/agents/other/runs", start("x", "chat:1", ana), start("x", "nochannel:1", ana)},
	} {
		a, b := w.do("far", tt.method, tt.theirs, tt.body), w.do("far", tt.method, tt.nobodys, tt.nobody)
		mine := strings.NewReplacer(in.ID, "ID", in.RunID, "ID", "i0000000000", "ID", "r0000000000", "ID", "agents/ops", "agents/nope", `"ops"`, `"nope"`)
		x, y := blind(t, a, mine), blind(t, b, mine)
		if a.status != 404 || b.status != 404 || x != y {
			t.Errorf("%s %s: %d %s\n%s: %d %s", tt.method, tt.theirs, a.status, x, tt.nobodys, b.status, y)
		}
	}
	if got := w.input(in.ID); got.State != "pending" {
		t.Errorf("it is %s", got.State)
	}
}

func with(m map[string]any, key string, v any) map[string]any {
	out := map[string]any{key: v}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// blind is an answer without what differs from one request to the next.
func blind(t *testing.T, a answer, same *strings.Replacer) string {
	t.Helper()
	var m map[string]any
	a.into(t, &m)
	delete(m, "requestId")
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return same.Replace(string(b))
}

// TestUR05AnswersToAStepOnAPage: only true is the statement, false and a decline are refusals, everything else
// leaves it waiting.
func TestUR05AnswersToAStepOnAPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const step = "call cal__connect {}"
	for _, tt := range []struct {
		body   map[string]any
		status int
		state  string
	}{
		{accept(ana, true), 202, "accepted"}, {accept(ana, nil), 202, "accepted"}, {accept(ana, false), 202, "declined"},
		{act("decline", ana), 202, "declined"}, {act("cancel", ana), 202, "cancelled"}, {act("skip", ana), 409, "pending"},
		{accept(ana, "done"), 400, "pending"}, {accept(ana, "true"), 400, "pending"}, {accept(ana, 1), 400, "pending"},
		{accept(ana, []bool{true}), 400, "pending"}, {accept(ana, map[string]any{}), 400, "pending"}, {accept(ana, map[string]any{"done": true}), 400, "pending"},
		{accept(cleo, true), 403, "pending"}, {act("", ana), 400, "pending"}, {act("ACCEPT", ana), 400, "pending"}, {act("done", ana), 400, "pending"},
	} {
		before := len(w.effects())
		in := w.begin(step).Inputs[0]
		if in.Kind != "url" || in.URL != "https://calendar.example.com/connect" {
			t.Fatalf("%+v", in)
		}
		a := w.answer("gate", in, tt.body)
		w.run(in.RunID)
		want := map[string]int{"accepted": 1}[tt.state]
		if got := w.input(in.ID); a.status != tt.status || got.State != tt.state || len(w.effects())-before != want {
			t.Errorf("%v: %d, then %s, %d effects: %s", tt.body, a.status, got.State, len(w.effects())-before, a.body)
		}
	}
}

// TestCC11AnswersAtTheVeryDeadline: 100 rounds a millisecond before, at and after it, from two doors at once. Each
// input ends in one state, and nothing runs once it expired.
func TestCC11AnswersAtTheVeryDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agents["ops"].Human.Expires = time.Hour
	for i := range 100 {
		before := len(w.effects())
		in := w.begin(drop).Inputs[0]
		w.mu.Lock()
		w.ahead += time.Until(in.ExpiresAt.Add(time.Duration(i%3-1)*time.Millisecond)) - w.ahead
		w.mu.Unlock()
		var out [2]answer
		var both sync.WaitGroup
		both.Go(func() { out[0] = w.answer("gate", in, act("accept", ana)) })
		both.Go(func() {
			out[1] = w.do("gate", "POST", "/agent/tool-call/reject", map[string]any{"runId": in.RunID, "toolCallId": in.CallID, "from": ben})
		})
		both.Wait()
		w.run(in.RunID)
		got := w.input(in.ID)
		ran := len(w.effects()) - before
		if want := map[string]int{"accepted": 1, "declined": 0, "expired": 0}; ran != want[got.State] || got.State == "pending" {
			t.Fatalf("round %d: %s, %d effects", i, got.State, ran)
		}
		if i%3 > 0 && got.State != "expired" {
			t.Errorf("round %d: at its end it became %s", i, got.State)
		}
		for _, a := range out {
			if a.status != 202 && (a.status != 409 || string(a.State) != got.State) {
				t.Errorf("round %d: %d %s, it is %s", i, a.status, a.body, got.State)
			}
		}
	}
}

// TestAP05OneKeyUsedOtherwise: with another route, another token, another input, and two bodies at once.
func TestAP05OneKeyUsedOtherwise(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	keyed := func(token, path string, body any) answer {
		return w.do(token, "POST", path, body, "Idempotency-Key", "k1")
	}
	a, b := w.begin(drop).Inputs[0], w.begin(drop).Inputs[0]
	first := w.want(keyed("gate", "/v1/agents/ops/inputs/"+a.ID, act("accept", ana)), 202)
	w.want(keyed("gate", "/v1/agents/ops/inputs/"+b.ID, act("decline", ana)), 202) // another route
	w.want(keyed("gate", "/v1/agents/ops/inputs/"+a.ID, act("decline", ana)), 422) // another body
	again := w.want(keyed("gate", "/v1/agents/ops/inputs/"+a.ID, act("accept", ana)), 202)
	if string(again.body) != string(first.body) {
		t.Errorf("first %s\nagain %s", first.body, again.body)
	}
	w.want(keyed("one", "/v1/agents/ops/inputs/"+a.ID, act("decline", ana)), 409) // another token's own key
	w.want(keyed("one", "/v1/agents/ops/inputs/"+a.ID, act("accept", ana)), 422)
	w.run(a.RunID)
	if got := len(w.effects()); got != 1 {
		t.Errorf("%d effects", got)
	}
	// A refusal is remembered with its key, and without the key the answer counts.
	c := w.begin(drop).Inputs[0]
	path := "/v1/agents/ops/inputs/" + c.ID
	for range 2 {
		w.want(w.do("gate", "POST", path, act("skip", ana), "Idempotency-Key", "k2"), 409)
	}
	w.want(w.answer("gate", c, act("accept", ana)), 202)
	// Two bodies race for one key: one of them works.
	d := w.begin(drop).Inputs[0]
	var out [2]answer
	var both sync.WaitGroup
	for i, word := range []string{"accept", "decline"} {
		both.Go(func() {
			out[i] = w.do("gate", "POST", "/v1/agents/ops/inputs/"+d.ID, act(word, ana), "Idempotency-Key", "k3")
		})
	}
	both.Wait()
	if s := []int{out[0].status, out[1].status}; !slices.Contains(s, 202) || !slices.Contains(s, 422) {
		t.Errorf("%v", s)
	}
	for _, bad := range []string{"", "a\tb", strings.Repeat("k", 256), "schlüssel"} {
		w.want(w.do("gate", "POST", path, act("accept", ana), "Idempotency-Key", bad), 400)
	}
}

// TestAP03OppositeOfEveryEnd: of expired and superseded ones too, by whoever may; a stranger learns nothing of it.
func TestAP03OppositeOfEveryEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for state, end := range map[core.InputState]func(in input, conversation string){
		core.InputSuperseded: func(_ input, conversation string) {
			w.want(w.do("gate", "POST", "/v1/agents/ops/runs", start("hello", conversation, ana)), 202)
		},
		core.InputExpired: func(input, string) { w.advance(8 * 24 * time.Hour) },
		core.InputCancelled: func(_ input, conversation string) {
			w.want(w.do("gate", "POST", "/v1/agents/ops/abort", map[string]any{"conversation": conversation, "from": ben}), 202)
		},
	} {
		conversation := "c" + newID()
		in := w.begin(drop, conversation).Inputs[0]
		end(in, conversation)
		for _, word := range []string{"accept", "decline"} {
			a := w.want(w.answer("gate", in, act(word, ana)), http.StatusConflict)
			if a.Code != "conflict" || a.State != state || a.At.IsZero() {
				t.Errorf("%s to %s: %+v", word, state, a.Problem)
			}
		}
		if a := w.want(w.answer("gate", in, act("accept", cleo)), 403); a.State != "" || a.By != "" {
			t.Errorf("a stranger is told %s", a.body)
		}
	}
	if got := w.effects(); len(got) != 0 {
		t.Errorf("effects %q", got)
	}
}

// TestAU13TheConfigurationChangesUnderAnInput: whoever is taken out may not answer any more, whoever is put in may
// not yet, at every door, over a restart.
func TestAU13TheConfigurationChangesUnderAnInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin(drop).Inputs[0]
	w.agents["ops"].Human.Approvers = []core.PersonID{cleo}
	w.restart()
	body := func(who core.PersonID) map[string]any {
		return map[string]any{"runId": in.RunID, "toolCallId": in.CallID, "from": who}
	}
	for _, who := range []core.PersonID{ben, cleo} {
		w.want(w.answer("gate", in, accept(who, true)), 403)
		w.want(w.do("gate", "POST", "/agent/tool-call/reject", body(who)), 403)
	}
	w.want(w.answer("gate", in, act("cancel", ben)), 403)
	w.agents["ops"].Human.ApproversOnly = true
	w.restart()
	w.want(w.answer("gate", in, accept(ana, true)), 403)
	w.agents["ops"].Human.ApproversOnly = false
	w.restart()
	w.want(w.answer("gate", in, accept(ana, true)), 202)
	if got := w.run(in.RunID); got.Status != "completed" || len(w.effects()) != 1 {
		t.Errorf("%+v, effects %q", got, w.effects())
	}
}
