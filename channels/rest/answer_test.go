package rest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"parley/core"
)

// TestOneApproval walks the road: a message, its run, the input, the answer, the resumed run, its end.
func TestOneApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.begin(drop)
	if r.Status != "input_required" || len(r.Inputs) != 1 || r.Text != "Let me see." {
		t.Fatalf("run %+v", r)
	}
	in := r.Inputs[0]
	if in.Kind != "approval" || in.Tool != "drop" || in.Source != "db" || string(in.Arguments) != `{"name":"staging"}` || in.Hash == "" || in.RunID != r.ID ||
		!slices.Equal(in.Responders.Audience, []core.PersonID{ana, ben}) || in.ExpiresAt.IsZero() {
		t.Errorf("input %+v", in)
	}
	var s settled
	w.want(w.answer("gate", in, accept(ben, true)), 202).into(t, &s)
	if s.Request == nil || s.Request.ID != r.ID || s.Input.State != "accepted" || s.Input.Settled.By != ben || s.Input.Settled.Via != "rest" || s.Input.Settled.Role != "approver" {
		t.Errorf("settled %+v", s)
	}
	if r = w.run(r.ID); r.Status != "completed" || !strings.Contains(r.Text, "staging") {
		t.Errorf("run %+v", r)
	}
	if got := w.effects(); len(got) != 1 {
		t.Errorf("effects %q", got)
	}
}

// TestTableOfCases is section 4's table, row by row, where REST meets it.
func TestTableOfCases(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.begin(drop + "\n" + `call db__drop {"name":"two"}`)
	first, second := r.Inputs[0], r.Inputs[1]
	pending := func(what string, in input) {
		t.Helper()
		if got := w.input(in.ID); got.State != "pending" {
			t.Errorf("%s: the input is %s", what, got.State)
		}
	}
	steps := []struct {
		name, token string
		in          input
		body        any
		status      int
		code        string
	}{
		{"wrong shape", "gate", first, accept(ana, map[string]any{"q1": "x"}), 409, "reply_mismatch"},
		{"wrong shape, a word", "gate", first, accept(ana, "yes"), 409, "reply_mismatch"},
		{"a skip of an approval", "gate", first, act("skip", ana), 409, "reply_mismatch"},
		{"no from", "gate", first, map[string]any{"action": "accept"}, 400, "from_required"},
		{"a person who may not", "gate", first, accept(cleo, true), 403, "forbidden"},
		{"not spoken for", "one", first, accept(ben, true), 403, "not_spoken_for"},
		{"a token that speaks for nobody", "mute", first, accept(ana, true), 403, "not_spoken_for"},
		{"a token of another agent", "far", first, accept(ana, true), 404, "not_found"},
		{"no token", "", first, accept(ana, true), 401, "unauthorized"},
		{"an unknown token", "who", first, accept(ana, true), 401, "unauthorized"},
		{"an unknown id", "gate", input{ID: "i0"}, accept(ana, true), 404, "not_found"},
		{"no action", "gate", first, map[string]any{"content": true, "from": ana}, 400, "invalid"},
		{"from is no person", "gate", first, accept("@ana", true), 400, "invalid"},
	}
	for _, s := range steps {
		if a := w.answer(s.token, s.in, s.body); a.status != s.status || a.Code != s.code {
			t.Errorf("%s: %d %s, want %d %s: %s", s.name, a.status, a.Code, s.status, s.code, a.body)
		}
		pending(s.name, first)
	}
	var got settled
	w.want(w.answer("gate", first, accept(ana, true)), 202).into(t, &got)
	if got.Request != nil {
		t.Errorf("one of two is answered and the run goes on: %+v", got.Request)
	}
	w.want(w.answer("gate", first, accept(ben, true)), 200).into(t, &got)
	if got.Input.Settled.By != ana || got.Request != nil {
		t.Errorf("the first decider stays: %+v", got.Input.Settled)
	}
	a := w.want(w.answer("gate", first, act("decline", ben)), 409)
	if a.Code != "conflict" || a.State != "accepted" || a.By != ana || a.At.IsZero() {
		t.Errorf("conflict %+v", a.Problem)
	}
	if w.want(w.answer("one", second, map[string]any{"action": "decline", "reason": "no"}), 202).into(t, &got); got.Request == nil {
		t.Error("the last answer resumes the run")
	}
	if r = w.run(r.ID); r.Status != "completed" || len(w.effects()) != 1 {
		t.Errorf("%+v, effects %q", r, w.effects())
	}
}

// TestAP03OppositeOfSettled: approved, declined and cancelled inputs say how, when and by whom they ended.
func TestAP03OppositeOfSettled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, tt := range []struct {
		first, then string
		state       core.InputState
	}{{"accept", "decline", core.InputAccepted}, {"decline", "accept", core.InputDeclined}, {"cancel", "accept", core.InputCancelled}, {"accept", "cancel", core.InputAccepted}} {
		in := w.begin(drop).Inputs[0]
		w.want(w.answer("gate", in, act(tt.first, ana)), 202)
		a := w.want(w.answer("gate", in, act(tt.then, ben)), 409)
		if a.Code != "conflict" || a.State != tt.state || a.By != ana || a.At.IsZero() {
			t.Errorf("%s then %s: %+v", tt.first, tt.then, a.Problem)
		}
		w.want(w.answer("gate", in, act(tt.first, ana)), 200)
	}
}

// TestEX04FourResults: unknown, expired, settled and somebody else's are told apart, and the last tells nothing.
func TestEX04FourResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settledOne, others := w.begin(drop).Inputs[0], w.begin(drop).Inputs[0]
	w.want(w.answer("gate", settledOne, accept(ana, true)), 202)
	notMine := w.want(w.answer("gate", others, accept(cleo, true)), 403)
	if notMine.State != "" || notMine.By != "" || strings.Contains(string(notMine.body), "staging") {
		t.Errorf("a stranger is told %s", notMine.body)
	}
	unknown := w.want(w.answer("gate", input{ID: "ixyz"}, accept(ana, true)), 404)
	far := w.want(w.answer("far", others, accept(ana, true)), 404)
	if far.State != "" || unknown.Code != far.Code {
		t.Errorf("another agent's: %s", far.body)
	}
	w.advance(8 * 24 * 60 * 60 * 1e9)
	expired := w.want(w.answer("gate", others, accept(ana, true)), 409)
	done := w.want(w.answer("gate", settledOne, act("decline", ana)), 409)
	if expired.State != "expired" || expired.By != "" || done.State != "accepted" || done.By != ana {
		t.Errorf("expired %+v, settled %+v", expired.Problem, done.Problem)
	}
	if got := w.effects(); len(got) != 1 {
		t.Errorf("effects %q", got)
	}
}

const wipe = `call team__form {"type":"object","properties":{"wipe":{"type":"boolean"}},"required":["wipe"]}`

// TestFM07NoCoercion: nothing becomes true or false by itself.
func TestFM07NoCoercion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.begin(wipe)
	in := r.Inputs[0]
	for _, content := range []string{`{"wipe":"false"}`, `{"wipe":""}`, `{"wipe":0}`, `{}`, `{"wipe":null}`, `{"wipe":[true]}`, `true`, `{"Wipe":true}`} {
		a := w.want(w.answer("one", in, `{"action":"accept","content":`+content+`}`), 400)
		if content != "true" && !slices.ContainsFunc(a.Fields, func(f core.FieldError) bool { return f.Field == "wipe" }) {
			t.Errorf("%s: fields %+v", content, a.Fields)
		}
		if got := w.input(in.ID); got.State != "pending" {
			t.Fatalf("%s: it is %s", content, got.State)
		}
	}
	w.want(w.answer("one", in, `{"action":"accept","content":{"wipe":false}}`), 202)
	w.run(r.ID)
	if got := w.effects(); !slices.Equal(got, []string{`form {"wipe":false}`}) {
		t.Errorf("effects %q", got)
	}
}

// TestFM09BadFieldThenCorrected: every bad field is named, the others are not, and a corrected answer settles.
func TestFM09BadFieldThenCorrected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin(`call team__form {"type":"object","properties":{"email":{"type":"string","format":"email"},"days":{"type":"integer","minimum":1},"role":{"type":"string","enum":["dev","ops"]}},"required":["email","days","role"]}`).Inputs[0]
	a := w.want(w.answer("one", in, `{"action":"accept","content":{"email":"a@example.com","days":0,"role":"dev"}}`), 400)
	if len(a.Fields) != 1 || a.Fields[0].Field != "days" {
		t.Errorf("fields %+v", a.Fields)
	}
	a = w.want(w.answer("one", in, `{"action":"accept","content":{"email":"x","days":"3","role":"boss"}}`), 400)
	if len(a.Fields) != 3 {
		t.Errorf("fields %+v", a.Fields)
	}
	if got := w.input(in.ID); got.State != "pending" {
		t.Errorf("it is %s", got.State)
	}
	w.want(w.answer("one", in, `{"action":"accept","content":{"email":"a@example.com","days":3,"role":"dev"}}`), 202)
}

const set = `call ask_user {"questions":[{"id":"when","prompt":"When?","options":[{"value":"mon","label":"Monday"},{"value":"tue","label":"Tuesday"}],"defaults":["mon"]},` +
	`{"id":"what","prompt":"What goes in?","multi":true,"freeText":true,"options":[{"value":"api","label":"The API"},{"value":"web","label":"The site"}]}]}`

// TestContentRoundTrip: an answer as shown, sent again, is the same answer.
func TestContentRoundTrip(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, tt := range []struct{ text, content, defaulted string }{
		{drop, `true`, ""}, {`call team__sure {}`, `true`, ""}, {`call cal__connect {}`, `true`, ""}, {wipe, `{"wipe":false}`, ""},
		{set, `{"what":["The site","api","more"]}`, "when"}, {set, `{"answers":{"when":"Tuesday","What goes in?":[]}}`, ""}, {set, `{"when":"tue","what":"mine"}`, ""},
	} {
		in := w.begin(tt.text).Inputs[0]
		var s settled
		w.want(w.answer("one", in, `{"action":"accept","content":`+tt.content+`}`), 202).into(t, &s)
		if got := strings.Join(s.Input.Settled.Defaulted, " "); got != tt.defaulted || len(s.Input.Settled.Skipped) != 0 {
			t.Errorf("%s: defaulted %q", tt.content, got)
		}
		w.want(w.answer("one", in, map[string]any{"action": "accept", "content": s.Input.Settled.Content}), 200)
	}
}

// TestSkipIsNotAnAnswer: a skip has the default values and another state, and is not the same as accepting them.
func TestSkipIsNotAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin(`call ask {"questions":[{"prompt":"When?","options":[{"label":"Monday"},{"label":"Tuesday"}],"defaults":["Monday"]}]}`).Inputs[0]
	var s settled
	w.want(w.answer("one", in, act("skip", ana)), 202).into(t, &s)
	if s.Input.State != "skipped" || string(s.Input.Settled.Content) != `{"q1":"Monday"}` || len(s.Input.Settled.Skipped) != 1 {
		t.Errorf("%s: %+v", s.Input.Settled.Content, s.Input)
	}
	w.want(w.answer("one", in, act("accept", ana)), 409)
	w.want(w.answer("one", in, act("skip", ana)), 200)
}

// TestSecretsAreMasked in arguments and answers, for every token; what runs is what was sent.
func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.begin(`call db__drop {"name":"x","password":"hunter22","ssn":"078-05"}` + "\n" +
		`then team__form {"type":"object","properties":{"pin":{"type":"string","writeOnly":true},"name":{"type":"string"}},"required":["pin"]}`)
	in := r.Inputs[0]
	if !slices.Equal(in.Masked, []string{"/password", "/ssn"}) || strings.Contains(string(in.Arguments), "hunter22") || strings.Contains(string(in.Arguments), "078") {
		t.Errorf("arguments %s, masked %q", in.Arguments, in.Masked)
	}
	w.want(w.answer("one", in, act("accept", ana)), 202)
	if r = w.run(r.ID); len(r.Inputs) != 1 {
		t.Fatalf("%+v", r)
	}
	if got := w.effects(); len(got) != 1 || !strings.Contains(got[0], "hunter22") {
		t.Errorf("effects %q", got)
	}
	var s settled
	w.want(w.answer("one", r.Inputs[0], accept(ana, map[string]string{"pin": "4711", "name": "Ana"})), 202).into(t, &s)
	var fields map[string]string
	if err := json.Unmarshal(s.Input.Settled.Content, &fields); err != nil || fields["name"] != "Ana" || strings.Contains(fields["pin"], "4711") {
		t.Errorf("content %s", s.Input.Settled.Content)
	}
	w.run(r.ID)
	if strings.Contains(w.log.String(), "-secret") || strings.Contains(w.log.String(), "hunter22") {
		t.Error("the log holds a secret")
	}
}
