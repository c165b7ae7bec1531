package rest_test

import (
	"testing"
)

// TestToolCallRoutes settle the call's one pending input, as a verdict or as answers.
func TestToolCallRoutes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const ask = `call ask {"questions":[{"prompt":"When?","options":[{"label":"Monday"},{"label":"Tuesday"}],"defaults":["Monday"]}]}`
	for _, tt := range []struct {
		name, text, word string
		answers          any
		status           int
		code, state      string
	}{
		{"approve", drop, "approve", nil, 202, "", "accepted"},
		{"reject", drop, "reject", nil, 202, "", "declined"},
		{"answers to an approval", drop, "answer", map[string]string{"q1": "Monday"}, 409, "reply_mismatch", "pending"},
		{"true as answers to an approval", drop, "answer", true, 409, "reply_mismatch", "pending"},
		{"a skipped approval", drop, "skip", nil, 409, "reply_mismatch", "pending"},
		{"approve with answers", drop, "approve", true, 400, "invalid", "pending"},
		{"answer without any", ask, "answer", nil, 400, "invalid", "pending"},
		{"a verdict takes the defaults", ask, "approve", nil, 202, "", "accepted"},
		{"a rejected set is skipped", ask, "reject", nil, 202, "", "skipped"},
		{"a set answered", ask, "answer", map[string]string{"q1": "Tuesday"}, 202, "", "accepted"},
		{"a set answered badly", ask, "answer", map[string]string{"q1": "Friday"}, 400, "invalid", "pending"},
		{"a set skipped", ask, "skip", nil, 202, "", "skipped"},
		{"a set without defaults approved", set, "approve", nil, 400, "invalid", "pending"},
		{"a form declined", wipe, "reject", nil, 202, "", "declined"},
		{"a form answered", wipe, "answer", map[string]bool{"wipe": true}, 202, "", "accepted"},
		{"a form approved without its fields", wipe, "approve", nil, 400, "invalid", "pending"},
		{"a confirmation", "call team__sure {}", "approve", nil, 202, "", "accepted"},
		{"a step on a page", "call cal__connect {}", "approve", nil, 202, "", "accepted"},
	} {
		in := w.begin(tt.text).Inputs[0]
		body := map[string]any{"runId": in.RunID, "toolCallId": in.CallID, "from": ana}
		if tt.answers != nil {
			body["answers"] = tt.answers
		}
		a := w.do("gate", "POST", "/agent/tool-call/"+tt.word, body)
		if got := w.input(in.ID); a.status != tt.status || a.Code != tt.code || got.State != tt.state {
			t.Errorf("%s: %d %s, then %s: %s", tt.name, a.status, a.Code, got.State, a.body)
		}
		if tt.status == 202 { // once more: the same
			w.want(w.do("gate", "POST", "/agent/tool-call/"+tt.word, body), 200)
		}
	}
	in := w.begin(drop).Inputs[0]
	for name, tt := range map[string]struct {
		token, run, call string
		from             any
		status           int
	}{
		"no such run": {"gate", "r0", in.CallID, ana, 404}, "no such call": {"gate", in.RunID, "c9_9", ana, 404}, "another agent": {"far", in.RunID, in.CallID, ana, 404},
		"no from": {"gate", in.RunID, in.CallID, nil, 400}, "may not": {"gate", in.RunID, in.CallID, cleo, 403},
	} {
		body := map[string]any{"runId": tt.run, "toolCallId": tt.call}
		if tt.from != nil {
			body["from"] = tt.from
		}
		if a := w.do(tt.token, "POST", "/agent/tool-call/approve", body); a.status != tt.status {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
}

// TestSeveralAnswersAllOrNone, in one conversation and across.
func TestSeveralAnswersAllOrNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	two := w.begin(drop + "\n" + `call db__drop {"name":"two"}`)
	other := w.begin(drop)
	third := w.begin(drop).Inputs[0]
	w.want(w.answer("gate", third, act("decline", ana)), 202)
	all := []input{two.Inputs[0], two.Inputs[1], other.Inputs[0]}
	entry := func(in input, action string, more ...any) map[string]any {
		m := map[string]any{"input": in.ID, "action": action}
		for i := 0; i < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return m
	}
	post := func(from any, entries ...map[string]any) answer {
		body := map[string]any{"answers": entries}
		if from != nil {
			body["from"] = from
		}
		return w.do("gate", "POST", "/v1/agents/ops/inputs", body)
	}
	for _, tt := range []struct {
		name    string
		from    any
		entries []map[string]any
		status  int
		at      int
	}{
		{"none", ana, []map[string]any{}, 400, -1},
		{"twice", ana, []map[string]any{entry(all[0], "accept"), entry(all[0], "decline")}, 400, 1},
		{"the second does not fit", ana, []map[string]any{entry(all[0], "accept"), entry(all[1], "accept", "content", "x")}, 409, 1},
		{"the second may not", ana, []map[string]any{entry(all[0], "accept"), entry(all[1], "accept", "from", cleo)}, 403, 1},
		{"one unknown", ana, []map[string]any{entry(all[0], "accept"), entry(input{ID: "i0"}, "accept")}, 404, 1},
		{"one settled otherwise, elsewhere", ana, []map[string]any{entry(all[0], "accept"), entry(all[2], "accept"), entry(third, "accept")}, 409, 2},
		{"nobody", nil, []map[string]any{entry(all[0], "accept")}, 400, 0},
		{"a key too many", ana, []map[string]any{entry(all[0], "accept", "x", 1)}, 400, 0},
	} {
		a := post(tt.from, tt.entries...)
		if a.status != tt.status || (tt.at >= 0) != (a.Answer != nil) || a.Answer != nil && *a.Answer != tt.at {
			t.Errorf("%s: %d: %s", tt.name, a.status, a.body)
		}
		for _, in := range all {
			if got := w.input(in.ID); got.State != "pending" {
				t.Fatalf("%s: %s", tt.name, got.State)
			}
		}
	}
	var out struct{ Answers []settled }
	w.want(post(ana, entry(all[0], "accept"), entry(all[2], "decline", "reason", "no"), entry(all[1], "decline", "from", ben)), 202).into(t, &out)
	if len(out.Answers) != 3 || out.Answers[0].Request == nil || out.Answers[1].Request == nil || out.Answers[2].Input.Settled.By != ben || out.Answers[1].Input.Settled.Reason != "no" {
		t.Errorf("%+v", out)
	}
	w.want(post(ana, entry(all[0], "accept"), entry(all[1], "decline", "from", ben)), 200)
	w.run(two.ID)
	w.run(other.ID)
	if got := w.effects(); len(got) != 1 {
		t.Errorf("effects %q", got)
	}
}

// TestPages walk what waits of several agents in order, each input once.
func TestPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want := map[string]bool{}
	for i := range 7 {
		agent := []string{"ops", "child"}[i%2]
		var r run
		w.want(w.do("gate", "POST", "/v1/agents/"+agent+"/runs", start(drop+"\n"+drop, newID(), ana)), 202).into(t, &r)
		for _, in := range w.run(r.ID).Inputs {
			want[in.ID] = true
		}
	}
	below := w.begin(`call agent__child {"message":"call db__drop {}"}`)
	want[below.Inputs[0].ID] = true // of both agents
	for _, limit := range []string{"1", "3", "4", "200"} {
		for _, token := range []string{"gate", "root"} {
			seen, cursor := map[string]bool{}, ""
			for {
				var page struct {
					Inputs []input
					Next   string
				}
				w.want(w.do(token, "GET", "/v1/inputs?limit="+limit+"&cursor="+cursor, nil), 200).into(t, &page)
				for _, in := range page.Inputs {
					if seen[in.ID] {
						t.Errorf("%s, limit %s: %s comes twice", token, limit, in.ID)
					}
					seen[in.ID] = true
				}
				if cursor = page.Next; cursor == "" {
					break
				}
			}
			if len(seen) != len(want) {
				t.Errorf("%s, limit %s: %d inputs, want %d", token, limit, len(seen), len(want))
			}
		}
	}
	var page struct{ Inputs []input }
	w.want(w.do("far", "GET", "/v1/inputs", nil), 200).into(t, &page)
	w.want(w.do("gate", "GET", "/v1/agents/child/inputs", nil), 200).into(t, &page)
	if len(page.Inputs) != 7 {
		t.Errorf("%d inputs of the child, want 7", len(page.Inputs))
	}
}
