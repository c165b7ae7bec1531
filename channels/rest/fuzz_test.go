package rest_test

import (
	"encoding/json"
	"slices"
	"testing"
)

// FuzzBodies: no body makes any route fail, every answer fits the document, and only an accept of somebody
// who may approves.
func FuzzBodies(f *testing.F) {
	for _, body := range []string{
		``, `{}`, `null`, `{"action":"accept","from":"test:ana"}`, `{"action":"accept","content":true,"from":"test:cleo"}`, `{"action":"skip","from":"test:ben"}`,
		`{"text":"yes","from":"test:ana","conversation":"api:x"}`, `{"answers":[{"input":"i1","action":"accept","from":"test:ana"}]}`, `{"conversation":"chat:1","from":"test:ana"}`,
		`{"runId":"r1","toolCallId":"c1_1","answers":{"q":1}}`, `{"action":"accept","content":{"a":1,"a":2}}`, "{\"action\":\"\xff\"}", `{"action":"accept","from":"test:ana","content":"true"}`,
	} {
		for route := range byte(8) {
			f.Add(route, body)
		}
	}
	w := newWorld(f)
	in := w.begin(drop).Inputs[0]
	f.Fuzz(func(t *testing.T, route byte, body string) {
		w.t = t // one at a time
		defer func() { w.t = f }()
		paths := []string{
			"/v1/agents/ops/inputs/" + in.ID, "/v1/agents/ops/inputs", "/v1/agents/other/runs", "/v1/agents/other/abort",
			"/agent/tool-call/answer", "/agent/tool-call/approve", "/agent/tool-call/reject", "/agent/tool-call/skip",
		}
		a := w.do("gate", "POST", paths[int(route)%len(paths)], body)
		if a.status >= 500 || a.status == 401 {
			t.Errorf("status %d: %s", a.status, a.body)
		}
		state := w.input(in.ID).State
		if state == "pending" {
			return
		}
		var b struct {
			Action, From string
			Content      json.RawMessage
		}
		if err := json.Unmarshal([]byte(body), &b); err != nil || int(route)%len(paths) != 0 {
			t.Fatalf("%s by %q: %v", state, body, err)
		}
		yes := b.Action == "accept" && slices.Contains([]string{"", "true", "null"}, string(b.Content))
		if (state == "accepted") != yes || !slices.Contains([]string{"test:ana", "test:ben"}, b.From) {
			t.Fatalf("%s by %q", state, body)
		}
		in = w.begin(drop).Inputs[0]
	})
}
