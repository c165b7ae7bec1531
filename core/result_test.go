package core_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"parley/core"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// settled is the input ended by Ana after 42.9 seconds.
func settled(in core.Input, a core.Answer) core.Input {
	in.CreatedAt, in.State = noon, a.State()
	in.Responders.Asker = "telegram:42"
	in.Settled = &core.Settled{By: "telegram:42", Role: "asker", At: noon.Add(42900 * time.Millisecond), Answer: &a}
	return in
}

func answered(t *testing.T, in core.Input, action core.Action, content string) core.Input {
	t.Helper()
	a, refused := resolve(t, in, action, content)
	if refused != nil {
		t.Fatal(refused)
	}
	return settled(in, a)
}

// FM-05: the result names the question and the label, who answered and how long it took; no internal id.
func TestFM05TheResultNamesQuestionAndLabel(t *testing.T) {
	t.Parallel()
	in := set(pick("Which database?"))
	in.ID, in.Run, in.Call = "i7x3", "r9k2", "c4m1"
	got := core.ResultAnswered(answered(t, in, core.ActionAccept, `"pg"`)).Text()
	want := `{"outcome":"answered","answeredBy":"telegram:42","role":"asker","waited":42,"content":"\"Which database?\": Postgres"}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, id := range []string{"i7x3", "r9k2", "c4m1", "q1", `"pg"`} {
		if strings.Contains(got, id) {
			t.Errorf("the result holds the internal id %s", id)
		}
	}
}

// FM-04: five endings, five statements; only the first says that somebody chose.
func TestFM04FiveEndingsFiveStatements(t *testing.T) {
	t.Parallel()
	in := set(pick("Which database?", "pg"))
	call := core.Call{Kind: core.CallAsk, Waits: 1}
	by := core.Closing{By: "telegram:42", At: noon}
	seen := map[string]string{}
	for name, r := range map[string]core.Result{
		"answered":   core.ResultAnswered(answered(t, in, core.ActionAccept, `"lite"`)),
		"declined":   core.ResultAnswered(answered(t, in, core.ActionDecline, ``)),
		"cancelled":  core.ResultClosed(call, core.OutcomeCancelled, by),
		"superseded": core.ResultClosed(call, core.OutcomeSuperseded, by),
		"expired":    core.ResultClosed(call, core.OutcomeExpired, core.Closing{At: noon}),
	} {
		if string(r.Outcome) != name {
			t.Errorf("%s: outcome %s", name, r.Outcome)
		}
		if other, twice := seen[r.Content]; twice {
			t.Errorf("%s and %s read the same: %s", name, other, r.Content)
		}
		seen[r.Content] = name
		if chose := strings.Contains(r.Content, "SQLite"); chose != (name == "answered") {
			t.Errorf("%s: %s", name, r.Content)
		}
		if name != "answered" && strings.Contains(r.Content, "Postgres") {
			t.Errorf("%s names a default: %s", name, r.Content)
		}
	}
}

func TestResultsOfSets(t *testing.T) {
	t.Parallel()
	free := core.Question{Prompt: "Why?\nReally: yes", FreeText: true, Defaults: []string{}}
	in := set(pick("Which database?", "pg"), free)
	for _, c := range []struct {
		action  core.Action
		content string
		want    string
	}{
		{core.ActionAccept, `{"q1":"lite","q2":"a \"b\"\nc"}`, "\"Which database?\": SQLite\n\"Why?\\nReally: yes\": \"a \\\"b\\\"\\nc\""},
		{core.ActionAccept, `true`, "\"Which database?\": Postgres (the default, taken as it stood: nobody chose otherwise)\n\"Why?\\nReally: yes\": none of these (the default, taken as it stood: nobody chose otherwise)"},
		{core.ActionSkip, ``, "Skipped: nobody confirmed an answer. These defaults stand unconfirmed:\n\"Which database?\": Postgres (skipped: this is the default, nobody confirmed it)\n\"Why?\\nReally: yes\": no answer (skipped)"},
		{core.ActionDecline, ``, "Declined: the user was asked and chose nothing."},
	} {
		if got := core.ResultAnswered(answered(t, in, c.action, c.content)).Content; got != c.want {
			t.Errorf("%s %s:\n got %s\nwant %s", c.action, c.content, got, c.want)
		}
	}
}

func TestResultsOfCallsThatWaited(t *testing.T) {
	t.Parallel()
	approval := core.Input{Kind: core.KindApproval}
	yes := settled(approval, core.Answer{Action: core.ActionAccept})
	no := settled(approval, core.Answer{Action: core.ActionDecline, Reason: "not on a Friday"})
	call := core.Call{Kind: core.CallApproval, Waits: 1}
	approved := call
	approved.Approval = &core.Approval{By: "telegram:7"}
	by := core.Closing{By: "telegram:42"}
	for name, c := range map[string]struct {
		r    core.Result
		want string
	}{
		"superseded":         {core.ResultClosed(call, core.OutcomeSuperseded, by), "Not answered: the user sent a new message instead"},
		"expired":            {core.ResultClosed(call, core.OutcomeExpired, core.Closing{}), "Not answered: nobody answered in time"},
		"cancelled":          {core.ResultClosed(call, core.OutcomeCancelled, by), "Not answered: cancelled by telegram:42"},
		"cancelled, nobody":  {core.ResultClosed(call, core.OutcomeCancelled, core.Closing{}), "Not answered: the turn was cancelled"},
		"never asked":        {core.ResultClosed(core.Call{Kind: core.CallAuto}, core.OutcomeSuperseded, by), "Not run: the user sent a new message instead"},
		"approved, not run":  {core.ResultNotRun(call, yes, core.OutcomeSuperseded), `{"outcome":"superseded","answeredBy":"telegram:42","role":"asker","waited":42,"content":"approved by telegram:42, not run: the user sent a new message instead"}`},
		"approval of record": {core.ResultNotRun(approved, yes, core.OutcomeExpired), `{"outcome":"expired","answeredBy":"telegram:42","role":"asker","waited":42,"content":"approved by telegram:7, not run: nobody answered in time"}`},
		"declined, not run":  {core.ResultNotRun(call, no, core.OutcomeSuperseded), `{"outcome":"declined","answeredBy":"telegram:42","role":"asker","waited":42,"content":"Declined: the call did not run. Their reason: not on a Friday"}`},
		"interrupted":        {core.ResultInterrupted(core.Call{}), "Interrupted: the call had been started, and it may or may not have run. It is not tried again."},
		"assumed":            {core.ResultAssumed(yes), `{"outcome":"assumed_done","answeredBy":"telegram:42","role":"asker","waited":42,"content":"Treated as done: the call was interrupted, and a person said to go on as if it had run. Its output is lost."}`},
		"answered form":      {core.ResultNotRun(core.Call{Kind: core.CallAuto, Waits: 1}, settled(core.Input{Kind: core.KindForm}, core.Answer{Action: core.ActionAccept}), core.OutcomeCancelled), `{"outcome":"cancelled","answeredBy":"telegram:42","role":"asker","waited":42,"content":"Not run: the turn was cancelled"}`},
		"refused":            {core.ResultRefused(), "Not run and not asked again: a person declined this same call before in this turn."},
		"ran":                {core.Result{Outcome: core.OutcomeOK, Content: `{"<ok>":true}`}.After(yes), `{"outcome":"ok","answeredBy":"telegram:42","role":"asker","waited":42,"content":"{\"<ok>\":true}"}`},
		"ran unasked":        {core.Result{Outcome: core.OutcomeOK, Content: "done"}.After(), "done"},
		"not settled":        {core.Result{Outcome: core.OutcomeOK, Content: "done"}.After(core.Input{State: core.InputExpired, Settled: &core.Settled{At: noon}}), "done"},
	} {
		if got := c.r.Text(); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
	if s := core.ResultInterrupted(approved).Content; !strings.HasPrefix(s, "approved by telegram:7. ") {
		t.Errorf("interrupted: %s", s)
	}
	question := answered(t, set(pick("A?")), core.ActionAccept, `"pg"`)
	if r := core.ResultNotRun(core.Call{Kind: core.CallAsk}, question, core.OutcomeSuperseded); r.Outcome != core.OutcomeAnswered {
		t.Errorf("an answered question lost its answer: %+v", r)
	}
}

func TestAfterSumsWaits(t *testing.T) {
	t.Parallel()
	first := settled(core.Input{Kind: core.KindApproval}, core.Answer{Action: core.ActionAccept})
	second := settled(core.Input{Kind: core.KindForm}, core.Answer{Action: core.ActionAccept})
	second.Settled.By, second.Settled.Role = "telegram:7", ""
	r := core.Result{}.After(first, second)
	if r.By != "telegram:7" || r.Role != "approver" || *r.Waited != 85 {
		t.Errorf("%s as %s after %d s", r.By, r.Role, *r.Waited)
	}
	at := first
	at.Settled = &core.Settled{By: "telegram:42", At: noon.Add(-time.Hour)} // a clock that went back
	if r := (core.Result{}).After(at); *r.Waited != 0 {
		t.Errorf("waited %d s", *r.Waited)
	}
}

func TestBoundResult(t *testing.T) {
	t.Parallel()
	if got := core.BoundResult("a\xffb\x00"); got != "a\uFFFDb\x00" {
		t.Errorf("%q", got)
	}
	if s := strings.Repeat("x", core.MaxResult); core.BoundResult(s) != s {
		t.Error("a result at the limit was cut")
	}
	long := core.BoundResult("a" + strings.Repeat("ä", core.MaxResult))
	if !utf8.ValidString(long) || len(long) > core.MaxResult+100 || !strings.HasSuffix(long, "[cut here: 100002 of 200001 bytes are left out]") {
		t.Errorf("%d bytes, ends %q", len(long), long[len(long)-60:])
	}
	if _, err := json.Marshal(long); err != nil {
		t.Error(err)
	}
}

// CF-04: every spelling of a person is taken by rule or refused with the expected form.
func TestCF04Persons(t *testing.T) {
	t.Parallel()
	for s, ok := range map[string]bool{
		"telegram:42": true, "local:alice": true, "api:deploy": true, "slack:U0123": true, "slack:T01/U0123": true,
		"ana": false, "U0123": false, "slack:@ana": false, " slack:U1": false, "slack:U1 ": false, "42": false, "": false, ":1": false, "slack:": false,
	} {
		p, err := core.ParsePerson(s)
		if (err == nil) != ok || ok && string(p) != s {
			t.Errorf("%q: %q, %v", s, p, err)
		}
		if err != nil && !strings.Contains(err.Error(), s) {
			t.Errorf("%q: the error does not name the entry: %v", s, err)
		}
	}
	h := core.HumanInput{Approvers: []core.PersonID{"telegram:42", "telegram:42"}}
	if got := h.Audience("telegram:42"); len(got) != 1 {
		t.Errorf("the same person twice: %v", got)
	}
}
