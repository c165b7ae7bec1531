package rest_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"parley/core"
	"parley/core/turn"
)

// edited is an approval that ana edited in a chat, as it was before.
func (w *world) edited() (before input, now string) {
	w.t.Helper()
	before = w.begin(drop).Inputs[0]
	s := turn.Settlement{Input: core.InputID(before.ID), From: ana, Via: "chat", Typed: "edit name=production", Step: -1}
	if _, err := w.engine.Settle(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	after := w.input(before.ID)
	if after.Hash == before.Hash || string(after.Arguments) != `{"name":"production"}` {
		w.t.Fatalf("edited to %+v", after)
	}
	return before, after.Hash
}

// TestAnEditedCallIsNotApprovedUnseen: at each route, no hash and that of before approve nothing, that of now does.
func TestAnEditedCallIsNotApprovedUnseen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, post := range map[string]func(in input, hash any) answer{
		"one": func(in input, hash any) answer {
			body := accept(ana, true)
			if hash != nil {
				body["hash"] = hash
			}
			return w.answer("gate", in, body)
		},
		"several": func(in input, hash any) answer {
			body := maps.Clone(accept(ana, true))
			body["input"] = in.ID
			if hash != nil {
				body["hash"] = hash
			}
			return w.do("gate", "POST", "/v1/agents/ops/inputs", map[string]any{"answers": []any{body}})
		},
		"tool call": func(in input, hash any) answer {
			body := map[string]any{"runId": in.RunID, "toolCallId": in.CallID, "from": ana}
			if hash != nil {
				body["hash"] = hash
			}
			return w.do("gate", "POST", "/agent/tool-call/approve", body)
		},
	} {
		in, now := w.edited()
		ran := len(w.effects())
		for _, hash := range []any{nil, "", in.Hash, "unseen"} {
			a := w.want(post(in, hash), 409)
			var p struct{ Hash string }
			a.into(t, &p)
			if a.Code != "conflict" || a.State != core.InputPending || p.Hash != now || !strings.Contains(a.Detail, `"hash"`) {
				t.Errorf("%s, hash %v: %s", name, hash, a.body)
			}
		}
		if got := w.input(in.ID); got.State != "pending" || len(w.effects()) != ran {
			t.Errorf("%s: it is %s", name, got.State)
		}
		w.want(post(in, now), 202)
		if r := w.run(in.RunID); r.Status != "completed" || !strings.Contains(r.Text, "production") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	in, _ := w.edited()
	w.want(w.answer("gate", in, act("decline", ana)), 202) // no is safe whatever was seen
}

// TestSecretsAreNotAskedInAChannel: nobody knows who reads where a token writes.
func TestSecretsAreNotAskedInAChannel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"pin": map[string]any{"type": "string", "format": "password"}}})
	if err != nil {
		t.Fatal(err)
	}
	text := "call team__form " + string(schema)
	if r := w.begin(text, "chat:1"); r.Status != "completed" || !strings.Contains(r.Text, "never asked in a shared chat") {
		t.Errorf("in a channel: %+v", r)
	}
	if r := w.begin(text); r.Status != "input_required" {
		t.Errorf("in its own: %+v", r)
	}
}
