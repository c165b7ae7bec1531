package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"parley/core"
)

func start(text, conversation string, from core.PersonID) map[string]any {
	m := map[string]any{"text": text, "from": from}
	if conversation != "" {
		m["conversation"] = conversation
	}
	return m
}

// TestAMessageIsNeverAnAnswer: "yes" by REST supersedes what waits; answers name their input.
func TestAMessageIsNeverAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.begin(drop, "x")
	second := w.begin("yes", "x")
	if second.ID == first.ID || second.Status != "completed" {
		t.Errorf("second %+v", second)
	}
	if got := w.run(first.ID); got.Status != "superseded" || len(got.Inputs) != 0 {
		t.Errorf("first %+v", got)
	}
	if got := w.input(first.Inputs[0].ID); got.State != "superseded" || len(w.effects()) != 0 {
		t.Errorf("input %+v, effects %q", got, w.effects())
	}
}

// TestConversations: a token's own by name, as shown, and those of a channel it names; others are not there.
func TestConversations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, tt := range []struct {
		token, name, shown string
		status             int
	}{
		{"gate", "", "api:gate/default", 202},
		{"gate", "a1", "api:gate/a1", 202},
		{"gate", "api:a1", "api:gate/a1", 202},
		{"gate", "api:gate/a1", "api:gate/a1", 202},
		{"gate", "api:one/a1", "", 404},
		{"root", "api:one/a1", "api:one/a1", 202},
		{"gate", "chat:-100/7", "chat:-100/7", 202},
		{"one", "chat:-100/7", "", 404},
		{"root", "chat:-100/7", "", 404},
		{"gate", "no/slash", "", 404},
		{"gate", "chat:a b", "", 400},
		{"gate", strings.Repeat("n", 200), "", 400},
	} {
		a := w.do(tt.token, "POST", "/v1/agents/ops/runs", start("hello", tt.name, ana))
		if a.status != tt.status {
			t.Errorf("%s %q: %d %s", tt.token, tt.name, a.status, a.body)
			continue
		}
		if a.status == 202 {
			var r run
			if a.into(t, &r); r.Conversation != tt.shown || a.header.Get("Location") != "/v1/runs/"+r.ID {
				t.Errorf("%s %q: %s", tt.token, tt.name, a.body)
			}
			w.run(r.ID)
		}
	}
}

// TestAMessageWhileARunRuns is queued, handled after it, and handed in once.
func TestAMessageWhileARunRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.begin("call slow__go {}", "q")
	w.want(w.answer("gate", r.Inputs[0], accept(ana, true)), 202)
	<-w.started
	post := func() (out run) {
		w.want(w.do("gate", "POST", "/v1/agents/ops/runs", start("next", "q", ana), "Idempotency-Key", "k1"), 202).into(t, &out)
		return out
	}
	if got := post(); got.Status != "queued" || got.ID != "" {
		t.Errorf("queued %+v", got)
	}
	post()
	var still run
	w.want(w.do("gate", "GET", "/v1/runs/"+r.ID+"?wait=1", nil), 200).into(t, &still)
	if still.Status != "running" {
		t.Errorf("it runs: %+v", still)
	}
	close(w.release)
	w.run(r.ID)
	got := post()
	for got.ID == "" {
		got = post()
	}
	if got = w.run(got.ID); got.Status != "completed" || got.Text != "Done: " {
		t.Errorf("next %+v", got)
	}
}

func TestAbort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.begin(drop, "x")
	path := "/v1/agents/ops/abort"
	body := func(from core.PersonID) map[string]any { return map[string]any{"conversation": "x", "from": from} }
	w.want(w.do("gate", "POST", path, body(cleo)), 403)
	w.want(w.do("gate", "POST", path, map[string]any{"conversation": "x"}), 400)
	w.want(w.do("gate", "POST", path, body(ben)), 202)
	w.want(w.do("gate", "POST", path, body(ben)), 200)
	if r = w.run(r.ID); r.Status != "cancelled" || w.input(w.lastInput(r)).State != "cancelled" {
		t.Errorf("%+v", r)
	}
}

// lastInput finds an input of a run that has ended.
func (w *world) lastInput(r run) string {
	w.t.Helper()
	for _, state := range []string{"accepted", "declined", "cancelled", "superseded", "expired"} {
		var page struct{ Inputs []input }
		w.want(w.do("root", "GET", "/v1/inputs?state="+state, nil), 200).into(w.t, &page)
		for _, in := range page.Inputs {
			if in.RunID == r.ID {
				return in.ID
			}
		}
	}
	w.t.Fatalf("run %s has no ended input", r.ID)
	return ""
}

// TestAddressesAndTokens: what is not there, not for this token, or not by this method.
func TestAddressesAndTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.begin(drop)
	for _, tt := range []struct {
		token, method, path string
		body                any
		status              int
	}{
		{"gate", "GET", "/v1/nowhere", nil, 404},
		{"", "GET", "/v1/inputs", nil, 401},
		{"who", "GET", "/v1/inputs", nil, 401},
		{"gate", "DELETE", "/v1/runs/x", nil, 405},
		{"gate", "GET", "/v1/agents/ops/runs", nil, 405},
		{"gate", "GET", "/agent/tool-call/approve", nil, 405},
		{"gate", "GET", "/v1/agents/ops", nil, 200},
		{"far", "GET", "/v1/agents/ops", nil, 404},
		{"root", "GET", "/v1/agents/nobody", nil, 404},
		{"mute", "GET", "/v1/agents/ops/inputs", nil, 200},
		{"mute", "GET", "/v1/runs/" + r.ID, nil, 200},
		{"far", "GET", "/v1/runs/" + r.ID, nil, 404},
		{"far", "GET", "/v1/runs/" + r.ID + "/events", nil, 404},
		{"far", "GET", "/v1/agents/ops/events", nil, 404},
		{"far", "GET", "/v1/inputs/" + r.Inputs[0].ID, nil, 404},
		{"far", "POST", "/v1/agents/ops/runs", start("x", "", ana), 404},
		{"far", "POST", "/v1/agents/ops/abort", map[string]any{"from": ana}, 404},
		{"gate", "GET", "/v1/runs/" + r.ID + "?wait=61", nil, 400},
		{"gate", "GET", "/v1/runs/" + r.ID + "?wait=1.5", nil, 400},
		{"gate", "GET", "/v1/inputs?state=open", nil, 400},
		{"gate", "GET", "/v1/inputs?limit=0", nil, 400},
		{"gate", "GET", "/v1/inputs?cursor=zz", nil, 400},
		{"gate", "GET", "/v1/inputs?agent=ops", nil, 400},
		{"gate", "PUT", "/v1/agents/ops", map[string]any{}, 403},
		{"far", "PUT", "/v1/agents/ops", map[string]any{}, 404},
		{"root", "PUT", "/v1/agents/ops", map[string]any{}, 409},
		{"root", "PUT", "/v1/agents/new", map[string]any{}, 404},
		{"", "GET", "/healthz", nil, 200},
		{"", "GET", "/readyz", nil, 200},
	} {
		if a := w.do(tt.token, tt.method, tt.path, tt.body); a.status != tt.status || a.header.Get("X-Request-Id") == "" {
			t.Errorf("%s %s as %q: %d, want %d: %s", tt.method, tt.path, tt.token, a.status, tt.status, a.body)
		}
	}
	if got := w.input(r.Inputs[0].ID); got.State != "pending" {
		t.Errorf("it is %s", got.State)
	}
}

// TestUR01LooksChangeNothing: GET, HEAD and OPTIONS by whoever change nothing.
func TestUR01LooksChangeNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin("call cal__connect {}").Inputs[0]
	for range 2 {
		for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
			for _, path := range []string{"/v1/inputs/" + in.ID, "/v1/agents/ops/inputs/" + in.ID, "/agent/tool-call/approve", in.URL} {
				path = strings.TrimPrefix(path, "https://calendar.example.com")
				req, err := http.NewRequest(method, w.server.URL+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer gate-secret")
				resp, err := w.server.Client().Do(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
			}
		}
	}
	if got := w.input(in.ID); got.State != "pending" {
		t.Errorf("it is %s", got.State)
	}
	w.want(w.answer("one", in, accept(ana, true)), 202)
}

// TestBodiesAreStrict: type, size, keys, values; nothing is taken for something else.
func TestBodiesAreStrict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin(drop).Inputs[0]
	path := "/v1/agents/ops/inputs/" + in.ID
	for _, tt := range []struct {
		body, kind string
		status     int
	}{
		{`{"action":"accept"}`, "text/plain", 415},
		{`{"action":"accept"}`, "", 415},
		{`{"action":"accept"} `, "application/json; charset=utf-8", 202},
		{strings.Repeat(" ", 2<<20) + `{}`, "application/json", 413},
		{``, "application/json", 400},
		{`null`, "application/json", 400},
		{`[]`, "application/json", 400},
		{`{"action":"accept"}{}`, "application/json", 400},
		{`{"action":"decline","action":"accept"}`, "application/json", 400},
		{`{"Action":"accept"}`, "application/json", 400},
		{`{"action":"accept","approved":true}`, "application/json", 400},
		{`{"action":true}`, "application/json", 400},
		{`{"action":"accept","from":7}`, "application/json", 400},
		{`{"action":"accept","from":""}`, "application/json", 400},
		{`{"action":"accept","content":{"a":1,"a":2}}`, "application/json", 400},
		{"{\"action\":\"acc\xffept\"}", "application/json", 400},
		{`{"action":"accept","content":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, "application/json", 400},
		{`{"action":"ACCEPT"}`, "application/json", 400},
	} {
		if tt.status == 202 {
			in = w.begin(drop).Inputs[0]
		}
		a := w.do("one", "POST", path, tt.body, "Content-Type", tt.kind)
		if a.status != tt.status {
			t.Errorf("%.60s as %q: %d, want %d: %s", tt.body, tt.kind, a.status, tt.status, a.body)
		}
		if tt.status == 202 {
			path = "/v1/agents/ops/inputs/" + in.ID
		}
	}
	if got := w.input(in.ID); got.State != "pending" {
		t.Errorf("it is %s", got.State)
	}
}
