package core_test

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/core"
)

func TestResolveVerdicts(t *testing.T) {
	t.Parallel()
	const refusedInvalid, refusedMismatch = core.Action(core.AnswerInvalid), core.Action(core.AnswerMismatch)
	approval, url := core.Input{ID: "a", Kind: core.KindApproval}, core.Input{ID: "u", Kind: core.KindURL}
	confirm := core.Input{ID: "c", Kind: core.KindForm}
	for _, c := range []struct {
		action                 core.Action
		content                string
		approval, url, confirm core.Action
	}{
		{core.ActionAccept, ``, core.ActionAccept, core.ActionAccept, core.ActionAccept},
		{core.ActionAccept, `null`, core.ActionAccept, core.ActionAccept, core.ActionAccept},
		{core.ActionAccept, ` true `, core.ActionAccept, core.ActionAccept, core.ActionAccept},
		{core.ActionAccept, `false`, core.ActionDecline, core.ActionDecline, core.ActionDecline},
		{core.ActionDecline, ``, core.ActionDecline, core.ActionDecline, core.ActionDecline},
		{core.ActionDecline, `true`, core.ActionDecline, core.ActionDecline, core.ActionDecline},
		{core.ActionSkip, ``, refusedMismatch, refusedMismatch, refusedMismatch},
		{core.ActionAccept, `"yes"`, refusedMismatch, refusedInvalid, refusedInvalid},
		{core.ActionAccept, `1`, refusedMismatch, refusedInvalid, refusedInvalid},
		{core.ActionAccept, `""`, refusedMismatch, refusedInvalid, refusedInvalid},
		{core.ActionAccept, `{"answers":{"q1":"x"}}`, refusedMismatch, refusedInvalid, refusedInvalid},
		{core.ActionAccept, `["true"]`, refusedMismatch, refusedInvalid, refusedInvalid},
		{core.ActionAccept, `{}`, refusedMismatch, refusedInvalid, core.ActionAccept},
		{core.ActionAccept, `true false`, refusedMismatch, refusedInvalid, refusedInvalid},
		{core.ActionCancel, ``, refusedInvalid, refusedInvalid, refusedInvalid},
		{"approve", `true`, refusedInvalid, refusedInvalid, refusedInvalid},
		{"", `true`, refusedInvalid, refusedInvalid, refusedInvalid},
	} {
		for in, want := range map[*core.Input]core.Action{&approval: c.approval, &url: c.url, &confirm: c.confirm} {
			a, refused := resolve(t, *in, c.action, c.content)
			got := a.Action
			if refused != nil {
				got = core.Action(refused.Code)
			}
			if got != want {
				t.Errorf("%s: %s %s is %q, want %q", in.Kind, c.action, c.content, got, want)
			}
		}
	}
}

func TestResolveDeclineKeepsItsReason(t *testing.T) {
	t.Parallel()
	for _, s := range []core.Submission{
		{Action: core.ActionDecline, Reason: " not today "},
		{Action: core.ActionAccept, Content: json.RawMessage(`false`), Reason: "not today"},
	} {
		a, err := core.Resolve(core.Input{Kind: core.KindApproval}, s)
		if err != nil || a.Action != core.ActionDecline || a.Reason != "not today" {
			t.Errorf("%+v: %+v, %v", s, a, err)
		}
	}
}

func TestResolveOneQuestion(t *testing.T) {
	t.Parallel()
	plain := set(pick("Which database?"))
	defaulted := set(pick("Which database?", "lite"))
	many := pick("Which database?", "pg", "lite")
	many.Multi = true
	multi := set(many)
	free := pick("Which database?")
	free.FreeText = true
	text := set(free)
	for _, c := range []struct {
		in      core.Input
		content string
		want    string // the answer, or the reason of a refusal
	}{
		{plain, `"Postgres"`, "accept q1=pg"},
		{plain, `"pg"`, "accept q1=pg"},
		{plain, `" postgres "`, "accept q1=pg"},
		{plain, `["SQLite"]`, "accept q1=lite"},
		{plain, `[]`, "accept q1="},
		{plain, `{"q1":"pg"}`, "accept q1=pg"},
		{plain, `{"Which database?":["pg"]}`, "accept q1=pg"},
		{plain, `{"answers":{"q1":"pg"}}`, "accept q1=pg"},
		{plain, `true`, "no defaults"},
		{plain, `{}`, "no defaults"},
		{plain, `false`, "decline"},
		{plain, `"Oracle"`, `"Oracle" is no option: want one of Postgres, SQLite`},
		{plain, `""`, "no option"},
		{plain, `["pg","lite"]`, "one is wanted"},
		{plain, `1`, "no label or value"},
		{plain, `{"q1":true}`, "no label or value"},
		{plain, `{"q1":null}`, "no label or value"},
		{plain, `{"q2":"pg"}`, "no such question"},
		{plain, `{"q1":"pg","q1":"lite"}`, "occurs twice"},
		{plain, `{"q1":"pg","Which database?":"lite"}`, "answered twice"},
		{plain, `{`, "no label"},
		{defaulted, ``, "accept q1=lite(d)"},
		{defaulted, `true`, "accept q1=lite(d)"},
		{defaulted, `{}`, "accept q1=lite(d)"},
		{defaulted, `[]`, "accept q1="},
		{defaulted, `false`, "skip q1=lite(s)"},
		{defaulted, `"lite"`, "accept q1=lite"},
		{multi, `["SQLite","pg","Postgres"]`, "accept q1=pg+lite"},
		{multi, `"SQLite"`, "accept q1=lite"},
		{multi, `[]`, "accept q1="},
		{multi, `true`, "accept q1=pg+lite(d)"},
		{text, `"whichever is cheaper"`, `accept q1="whichever is cheaper"`},
		{text, `"SQLITE"`, "accept q1=lite"},
		{text, `"  "`, "the text is empty"},
		{text, `"\u200b\u2060\ufeff"`, "the text is empty"},
		{text, `"\u00ad \ufe0f\u0301\u202e"`, "the text is empty"},
		{text, `"\u200bx"`, `accept q1="\u200bx"`},
		{text, `["pg","or else"]`, "one is wanted"},
	} {
		a, refused := resolve(t, c.in, core.ActionAccept, c.content)
		if refused == nil {
			if got := brief(a); got != c.want {
				t.Errorf("%s: %s, want %s", c.content, got, c.want)
			}
		} else if refused.Code != core.AnswerInvalid || !strings.Contains(refused.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.content, refused, c.want)
		}
	}
}

func TestResolveSet(t *testing.T) {
	t.Parallel()
	days := core.Question{ID: "days", Prompt: "Which days?", Multi: true, Options: []core.Option{{Label: "Monday"}, {Label: "Friday"}}, Defaults: []string{}}
	in := set(pick("Which database?", "pg"), days, core.Question{ID: "why", Prompt: "Why?", FreeText: true})
	for _, c := range []struct{ content, want string }{
		{`{"why":"because","days":["Friday","Monday"]}`, `accept q1=pg(d) days=Monday+Friday why="because"`},
		{`{"answers":{"Why?":"x","which database?":[]}}`, `accept q1= days=(d) why="x"`},
		{`{"q1":"lite"}`, "Why?: it is not answered"},
		{`true`, "Why?: it is not answered"},
		{`"pg"`, "several questions"},
		{`["pg","Monday","x"]`, "several questions"},
	} {
		a, refused := resolve(t, in, core.ActionAccept, c.content)
		if refused == nil {
			if got := brief(a); got != c.want {
				t.Errorf("%s: %s, want %s", c.content, got, c.want)
			}
		} else if !strings.Contains(refused.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.content, refused, c.want)
		}
	}
	if _, refused := resolve(t, in, core.ActionAccept, `{"q1":"x","days":"y","z":1}`); refused == nil || len(refused.Fields) != 4 {
		t.Errorf("want all three bad questions and the unknown one: %v", refused)
	}
	if _, refused := resolve(t, in, core.ActionAccept, `{"q1":"x","days":"y"}`); refused == nil || len(refused.Fields) != 3 {
		t.Errorf("want all three bad questions: %v", refused)
	}
	if a, _ := resolve(t, in, core.ActionSkip, ``); brief(a) != "skip q1=pg(s) days=(s) why=(s)" {
		t.Errorf("skip: %s", brief(a))
	}
	if a, _ := resolve(t, in, core.ActionDecline, ``); brief(a) != "decline" {
		t.Errorf("decline: %s", brief(a))
	}
	if a, _ := resolve(t, set(pick("A?"), pick("B?")), core.ActionSkip, ``); brief(a) != "decline" {
		t.Errorf("a skip without any defaults: %s", brief(a))
	}
}

const inviteSchema = `{"type":"object","properties":{
	"email":{"type":"string","format":"email"},"days":{"type":"integer","minimum":1,"maximum":30},"wipe":{"type":"boolean"}},
	"required":["email","wipe"]}`

func formInput(schema string) core.Input {
	return core.Input{ID: "f1", Kind: core.KindForm, State: core.InputPending, Schema: json.RawMessage(schema)}
}

// FM-07: nothing becomes true or false by coercion.
func TestFM07NoCoercion(t *testing.T) {
	t.Parallel()
	in := formInput(`{"properties":{"wipe":{"type":"boolean"}},"required":["wipe"]}`)
	for _, content := range []string{`{"wipe":"false"}`, `{"wipe":""}`, `{"wipe":0}`, `{}`, `{"wipe":null}`, ``} {
		_, refused := resolve(t, in, core.ActionAccept, content)
		if refused == nil || refused.Code != core.AnswerInvalid || len(refused.Fields) != 1 || refused.Fields[0].Field != "wipe" {
			t.Errorf("%s: %v, want a refusal that names wipe", content, refused)
		}
	}
	a, refused := resolve(t, in, core.ActionAccept, `{"wipe":false}`)
	if refused != nil || string(a.Fields["wipe"]) != "false" || a.Action != core.ActionAccept {
		t.Errorf("false is a value: %+v, %v", a, refused)
	}
}

// FM-09: one bad field is named alone, and the corrected answer settles.
func TestFM09OnlyTheBadFieldIsListed(t *testing.T) {
	t.Parallel()
	in := formInput(inviteSchema)
	_, refused := resolve(t, in, core.ActionAccept, `{"email":"ana@example.test","days":31,"wipe":true}`)
	if refused == nil || len(refused.Fields) != 1 || refused.Fields[0].Field != "days" {
		t.Errorf("refusal %v, want days alone", refused)
	}
	if a, refused := resolve(t, in, core.ActionAccept, `{"email":"ana@example.test","days":3.0,"wipe":true}`); refused != nil || string(a.Fields["days"]) != "3.0" {
		t.Errorf("corrected: %+v, %v", a, refused)
	}
}

// FM-17: an address is kept exactly.
func TestFM17EmailIsKeptAsTyped(t *testing.T) {
	t.Parallel()
	in := formInput(`{"properties":{"email":{"type":"string","format":"email"}},"required":["email"]}`)
	a, refused := resolve(t, in, core.ActionAccept, `{"email":"ana@example.test"}`)
	if refused != nil || string(a.Fields["email"]) != `"ana@example.test"` {
		t.Errorf("%+v, %v", a, refused)
	}
}

func TestResolveFormRefusesVerdictsAndLists(t *testing.T) {
	t.Parallel()
	for _, content := range []string{`true`, `false`, `[]`, `"x"`, `{"email":"a@b.c","email":"d@e.f","wipe":true}`} {
		if _, refused := resolve(t, formInput(inviteSchema), core.ActionAccept, content); refused == nil {
			t.Errorf("%s was taken", content)
		}
	}
	if _, refused := resolve(t, formInput(`{"properties":{"a":{}}}`), core.ActionAccept, `{}`); refused == nil {
		t.Error("a form that cannot be read was answered")
	}
}

func TestSameAnswer(t *testing.T) {
	t.Parallel()
	many := pick("Which?", "pg")
	many.Multi = true
	in := set(many, pick("B?", "pg"))
	get := func(action core.Action, content string) core.Answer {
		a, refused := resolve(t, in, action, content)
		if refused != nil {
			t.Fatal(refused)
		}
		return a
	}
	base := get(core.ActionAccept, `{"q1":["pg","lite"],"q2":"pg"}`)
	for content, want := range map[string]bool{
		`{"B?":"Postgres","Which?":["SQLite","Postgres"]}`: true,
		`{"q1":["lite","pg"]}`:                             true, // q2 by default
		`{"q1":["pg"]}`:                                    false,
		`{"q1":["pg","lite"],"q2":"lite"}`:                 false,
	} {
		if got := core.SameAnswer(base, get(core.ActionAccept, content)); got != want {
			t.Errorf("%s: same %v", content, got)
		}
	}
	if core.SameAnswer(get(core.ActionAccept, `true`), get(core.ActionSkip, ``)) {
		t.Error("a skip is the same as accepting its values")
	}
	if !core.SameAnswer(core.Answer{Action: core.ActionDecline, Reason: "a"}, core.Answer{Action: core.ActionDecline, Reason: "b"}) {
		t.Error("two declines differ by their reason")
	}
	x := core.Answer{Action: core.ActionAccept, Fields: map[string]json.RawMessage{"n": json.RawMessage(`3`)}}
	y := core.Answer{Action: core.ActionAccept, Fields: map[string]json.RawMessage{"n": json.RawMessage(`3.0`)}}
	z := core.Answer{Action: core.ActionAccept, Fields: map[string]json.RawMessage{"m": json.RawMessage(`3`)}}
	if !core.SameAnswer(x, y) || core.SameAnswer(x, z) {
		t.Error("fields are compared wrongly")
	}
}

func TestAnswerErrors(t *testing.T) {
	t.Parallel()
	in := core.Input{ID: "in1", State: core.InputAccepted, Settled: &core.Settled{By: "local:ana"}}
	for err, want := range map[*core.AnswerError]string{
		core.ErrConflict(in):               "answer input in1: it is already accepted by local:ana",
		core.ErrForbidden(in, "local:eve"): "answer input in1: local:eve may not answer it",
		core.ErrNoInput("x"):               "answer input x: there is no such input",
		core.ErrFromRequired("x"):          `answer input x: say who answers with "from"`,
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err.Error(), want)
		}
	}
	if c := core.ErrConflict(in); c.Current == nil || c.Current.ID != "in1" || c.Code != core.AnswerConflict {
		t.Errorf("a conflict does not carry its input: %+v", c)
	}
}

func FuzzResolve(f *testing.F) {
	for _, s := range []string{`true`, `false`, ``, `null`, `"pg"`, `["pg"]`, `{"q1":"pg"}`, `{"answers":{"A?":[]}}`, `{"email":"a@b.c","wipe":true}`, ` true`, `tru`, `1`} {
		f.Add(s, "accept")
		f.Add(s, "decline")
		f.Add(s, "skip")
	}
	free := pick("A?", "pg")
	free.FreeText = true
	inputs := []core.Input{
		{Kind: core.KindApproval}, {Kind: core.KindURL}, {Kind: core.KindForm},
		formInput(inviteSchema), set(pick("A?")), set(free, pick("B?")), set(pick("A?", "pg"), pick("B?", "lite")),
	}
	f.Fuzz(func(t *testing.T, content, action string) {
		for _, in := range inputs {
			a, err := core.Resolve(in, core.Submission{Action: core.Action(action), Content: json.RawMessage(content)})
			if err != nil {
				if a.Action != "" {
					t.Fatalf("%s: an answer beside an error", in.Kind)
				}
				continue
			}
			c := strings.TrimSpace(content)
			verdict := in.Kind == core.KindApproval || in.Kind == core.KindURL
			if verdict && a.Action == core.ActionAccept && (action != "accept" || c != "" && c != "true" && c != "null") {
				t.Fatalf("%s: %s %q was accepted", in.Kind, action, content)
			}
			if action == "decline" && (a.Action != core.ActionDecline || a.Choices != nil || a.Fields != nil) {
				t.Fatalf("%s: a decline became %+v", in.Kind, a)
			}
			if in.Kind == core.KindQuestion && a.Action != core.ActionDecline && len(a.Choices) != len(in.Questions) {
				t.Fatalf("%d choices to %d questions", len(a.Choices), len(in.Questions))
			}
			for _, choice := range a.Choices {
				if choice.Values == nil {
					t.Fatal("a choice without values")
				}
			}
			if !core.SameAnswer(a, a) {
				t.Fatal("an answer is not the same as itself")
			}
		}
	})
}
