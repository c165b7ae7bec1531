package core_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"parley/core"
)

// pick is a question with two options.
func pick(prompt string, defaults ...string) core.Question {
	q := core.Question{Prompt: prompt, Options: []core.Option{{Value: "pg", Label: "Postgres"}, {Value: "lite", Label: "SQLite"}}}
	if defaults != nil {
		q.Defaults = defaults
	}
	return q
}

func options(n int) []core.Option {
	var out []core.Option
	for i := range n {
		out = append(out, core.Option{Label: fmt.Sprintf("Choice %d", i)})
	}
	return out
}

func TestFillQuestions(t *testing.T) {
	t.Parallel()
	in := []core.Question{{Prompt: "A?", Options: []core.Option{{Label: "One"}, {Value: "2"}}, Multi: true, Defaults: []string{"2", "one"}}}
	got := core.FillQuestions(in)[0]
	if got.ID != "q1" || got.Options[0].Value != "One" || got.Options[1].Label != "2" {
		t.Errorf("filled %+v", got)
	}
	if strings.Join(got.Defaults, ",") != "One,2" {
		t.Errorf("defaults %q, want values in list order", got.Defaults)
	}
	if in[0].ID != "" || in[0].Options[0].Value != "" {
		t.Error("the caller's questions changed")
	}
	if none := core.FillQuestions([]core.Question{{Defaults: []string{}}})[0]; none.Defaults == nil {
		t.Error("none of these became no defaults")
	}
}

func TestCheckQuestions(t *testing.T) {
	t.Parallel()
	ok := pick("Which database?", "pg")
	for name, c := range map[string]struct {
		qs   []core.Question
		want string // part of a reason, "" for none
	}{
		"good":              {[]core.Question{ok}, ""},
		"free text only":    {[]core.Question{{Prompt: "Why?", FreeText: true}}, ""},
		"free default":      {[]core.Question{{Prompt: "Why?", FreeText: true, Defaults: []string{"because"}}}, ""},
		"none of these":     {[]core.Question{{Prompt: "A?", Options: options(2), Defaults: []string{}}}, ""},
		"twenty options":    {[]core.Question{{Prompt: "A?", Options: options(20)}}, ""},
		"none":              {nil, "1 to 4"},
		"five":              {[]core.Question{pick("A?"), pick("B?"), pick("C?"), pick("D?"), pick("E?")}, "1 to 4"},
		"no options":        {[]core.Question{{Prompt: "A?"}}, "no options"},
		"one option":        {[]core.Question{{Prompt: "A?", Options: options(1), FreeText: true}}, "2 to 20"},
		"too many options":  {[]core.Question{{Prompt: "A?", Options: options(21)}}, "2 to 20"},
		"empty prompt":      {[]core.Question{pick(" ")}, "prompt is empty"},
		"empty label":       {[]core.Question{{Prompt: "A?", Options: []core.Option{{Value: "a", Label: " "}, {Label: "B"}}}}, "label of option 1"},
		"same label":        {[]core.Question{{Prompt: "A?", Options: []core.Option{{Value: "1", Label: "Yes"}, {Value: "2", Label: "YES "}}}}, "same label"},
		"same value":        {[]core.Question{{Prompt: "A?", Options: []core.Option{{Value: "x", Label: "A"}, {Value: "X", Label: "B"}}}}, "same value"},
		"value is label":    {[]core.Question{{Prompt: "A?", Options: []core.Option{{Value: "b", Label: "A"}, {Value: "c", Label: "B"}}}}, "is the label of option 2"},
		"label is value":    {[]core.Question{{Prompt: "A?", Options: []core.Option{{Value: "x", Label: "A"}, {Value: "a", Label: "B"}}}}, "is the label of option 1"},
		"same text":         {[]core.Question{pick("A?"), pick("a? ")}, "same as question 1"},
		"same id":           {[]core.Question{{ID: "x", Prompt: "A?", FreeText: true}, {ID: "X", Prompt: "B?", FreeText: true}}, "same as question 1"},
		"id is text":        {[]core.Question{{ID: "x", Prompt: "A?", FreeText: true}, {ID: "a?", Prompt: "B?", FreeText: true}}, "same as question 1"},
		"default no option": {[]core.Question{pick("A?", "oracle")}, `"oracle" is no option`},
		"two defaults":      {[]core.Question{pick("A?", "pg", "lite")}, "one is wanted"},
		"doubled default":   {[]core.Question{{Prompt: "A?", Multi: true, Options: options(3), Defaults: []string{"Choice 1", "Choice 1"}}}, "twice"},
		"two free":          {[]core.Question{{Prompt: "A?", Multi: true, FreeText: true, Options: options(3), Defaults: []string{"x", "y"}}}, "one free text"},
	} {
		got := strings.Join(core.CheckQuestions(core.FillQuestions(c.qs), false, nil), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: reasons %q, want one with %q", name, got, c.want)
		}
	}
}

func TestCheckQuestionsUsesTheFoldingOfReplies(t *testing.T) {
	t.Parallel()
	fold := func(s string) string { return strings.Trim(strings.ToLower(s), "!. ") }
	qs := core.FillQuestions([]core.Question{{Prompt: "A?", Options: []core.Option{{Label: "Go"}, {Label: "go!"}}}})
	if len(core.CheckQuestions(qs, false, fold)) == 0 {
		t.Error("labels that a reply cannot tell apart pass")
	}
}

func TestCheckQuestionsListsEveryReason(t *testing.T) {
	t.Parallel()
	qs := core.FillQuestions([]core.Question{{Prompt: ""}, pick("A?", "oracle"), pick("A?")})
	if got := core.CheckQuestions(qs, true, nil); len(got) < 5 {
		t.Errorf("%d reasons, want at least 5: %q", len(got), got)
	}
}

func TestAskNeedsDefaults(t *testing.T) {
	t.Parallel()
	qs := core.FillQuestions([]core.Question{pick("A?", "pg"), pick("B?")})
	if got := core.CheckQuestions(qs, true, nil); len(got) != 1 || !strings.Contains(got[0], "question 2: it has no defaults") {
		t.Errorf("reasons %q", got)
	}
}

func TestIntakeTakesMoreQuestions(t *testing.T) {
	t.Parallel()
	var qs []core.Question
	for i := range 21 {
		qs = append(qs, pick(fmt.Sprintf("Question %d?", i)))
	}
	qs = core.FillQuestions(qs)
	if got := core.CheckIntake(qs[:20], nil); len(got) != 0 {
		t.Errorf("20 questions: %q", got)
	}
	if got := core.CheckIntake(qs, nil); len(got) != 1 {
		t.Errorf("21 questions: %q", got)
	}
}

// FM-01: two questions of the same text.
func TestFM01EqualQuestionsAreMalformed(t *testing.T) {
	t.Parallel()
	qs := core.FillQuestions([]core.Question{pick("Which database?"), pick("Which database?")})
	got := core.CheckQuestions(qs, false, nil)
	if len(got) != 1 || !strings.Contains(got[0], "question 2") || !strings.Contains(got[0], "question 1") {
		t.Errorf("reasons %q", got)
	}
}

// set is a pending question set.
func set(qs ...core.Question) core.Input {
	return core.Input{
		ID: "in1", Kind: core.KindQuestion, State: core.InputPending, Questions: core.FillQuestions(qs),
		Responders: core.Responders{Asker: "local:ana", Audience: []core.PersonID{"local:ana"}},
	}
}

func resolve(t *testing.T, in core.Input, action core.Action, content string) (core.Answer, *core.AnswerError) {
	t.Helper()
	a, err := core.Resolve(in, core.Submission{Action: action, Content: json.RawMessage(content)})
	if err == nil {
		return a, nil
	}
	refused, ok := err.(*core.AnswerError)
	if !ok {
		t.Fatalf("Resolve: %T %v, want an AnswerError", err, err)
	}
	if refused.Input != in.ID {
		t.Fatalf("the error is of input %q", refused.Input)
	}
	return a, refused
}

// brief writes an answer on one line.
func brief(a core.Answer) string {
	var b strings.Builder
	b.WriteString(string(a.Action))
	for _, c := range a.Choices {
		fmt.Fprintf(&b, " %s=%s", c.Question, strings.Join(c.Values, "+"))
		if c.Text != "" {
			fmt.Fprintf(&b, "%q", c.Text)
		}
		if c.Defaulted {
			b.WriteString("(d)")
		}
		if c.Skipped {
			b.WriteString("(s)")
		}
		if c.Values == nil {
			b.WriteString("(nil)")
		}
	}
	return b.String()
}
