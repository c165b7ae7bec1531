package core_test

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/core"
	"parley/core/coretest"
)

// TestWhatSettlingLeavesFits resolves every answer there is to every fixture: none of them is a misfit.
func TestWhatSettlingLeavesFits(t *testing.T) {
	t.Parallel()
	n := 0
	for _, in := range coretest.Inputs() {
		for _, s := range []core.Submission{
			{Action: core.ActionAccept}, {Action: core.ActionDecline, Reason: "no"}, {Action: core.ActionSkip},
			{Action: core.ActionAccept, Content: json.RawMessage(`false`)},
			{Action: core.ActionAccept, Content: json.RawMessage(`"eu-west-1"`)},
			{Action: core.ActionAccept, Content: json.RawMessage(`["Lint","Docs"]`)},
			{Action: core.ActionAccept, Content: json.RawMessage(`{"q1":"Mars","q2":"This module only"}`)},
			{Action: core.ActionAccept, Content: json.RawMessage(`{}`)},
			{Action: core.ActionAccept, Content: json.RawMessage(`{"email":"ada@example.com","role":"dev"}`)},
			{Action: core.ActionAccept, Content: json.RawMessage(`{"f":true}`)},
			{Action: core.ActionAccept, Content: json.RawMessage(`{"f":3}`)},
			{Action: core.ActionAccept, Content: json.RawMessage(`{"f":"small"}`)},
		} {
			a, err := core.Resolve(in, s)
			if err != nil {
				continue
			}
			n++
			if why := coretest.Ended(in, a.State(), &a).Misfit(); why != "" {
				t.Errorf("%s settled with %s %s: %s", in.ID, s.Action, s.Content, why)
			}
		}
		for _, state := range []core.InputState{core.InputCancelled, core.InputSuperseded, core.InputExpired} {
			if why := coretest.Ended(in, state, nil).Misfit(); why != "" {
				t.Errorf("%s %s: %s", in.ID, state, why)
			}
		}
		if why := in.Misfit(); why != "" {
			t.Errorf("%s waits: %s", in.ID, why)
		}
	}
	if n < 100 {
		t.Errorf("only %d answers were taken", n)
	}
}

// TestTypedAnswersFit fills a set and a form one by one, as in a chat.
func TestTypedAnswersFit(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]core.Part{
		"question-set":    {{Values: []string{"The whole repository"}}, {Default: true}, {Text: "mars"}},
		"intake":          {{Text: "mars"}, {Values: []string{"This module only"}}},
		"form-multi-enum": {{Field: json.RawMessage(`["a1"]`)}},
	} {
		in := coretest.Input(name)
		for i := range parts {
			applied, err := core.Apply(in, core.Reading{Kind: core.ReadAnswer, Part: &parts[i]}, coretest.Asker, "typed")
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if in.Draft = applied.Draft; applied.Answer == nil {
				continue
			}
			if why := coretest.Ended(in, applied.Answer.State(), applied.Answer).Misfit(); why != "" {
				t.Errorf("%s: %s", name, why)
			}
			in.State = core.InputAccepted
		}
		if in.State != core.InputAccepted {
			t.Errorf("%s was not answered", name)
		}
	}
}

func TestMisfits(t *testing.T) {
	t.Parallel()
	yes := core.Answer{Action: core.ActionAccept}
	ended := func(name string, state core.InputState, a *core.Answer) core.Input {
		return coretest.Ended(coretest.Input(name), state, a)
	}
	stranger := ended("approval", core.InputAccepted, &yes)
	stranger.Settled.By = "local:eve"
	bare := coretest.Input("approval")
	bare.State = core.InputAccepted
	closed := coretest.Input("approval")
	closed.State = core.InputExpired
	for name, c := range map[string]struct {
		in  core.Input
		why string
	}{
		"nothing":          {bare, "it has no answer"},
		"no answer":        {ended("approval", core.InputAccepted, nil), "it has no answer"},
		"nobody":           {stranger, "nobody who may"},
		"closed by no one": {closed, "how it ended"},
		"unknown state":    {ended("approval", "approved", &yes), "no state"},
		"another verdict":  {ended("approval", core.InputAccepted, &core.Answer{Action: core.ActionDecline}), "says decline"},
		"no verdict":       {ended("approval", core.InputDeclined, &core.Answer{}), "says"},
		"answers":          {ended("approval", core.InputAccepted, &core.Answer{Action: core.ActionAccept, Choices: []core.Choice{{Question: "q1"}}}), "another kind"},
		"fields":           {ended("url", core.InputAccepted, &core.Answer{Action: core.ActionAccept, Fields: map[string]json.RawMessage{"a": nil}}), "another kind"},
		"skip":             {ended("confirm", core.InputSkipped, &core.Answer{Action: core.ActionSkip}), "only a question"},
		"verdict to a set": {ended("question-set", core.InputAccepted, &yes), "0 choices for 3"},
		"no such option":   {ended("question-single", core.InputAccepted, &core.Answer{Action: core.ActionAccept, Choices: []core.Choice{{Question: "q1", Values: []string{"x"}}}}), "no such option"},
		"no such question": {ended("question-single", core.InputAccepted, &core.Answer{Action: core.ActionAccept, Choices: []core.Choice{{Question: "q2"}}}), "has no choice"},
		"text":             {ended("question-single", core.InputAccepted, &core.Answer{Action: core.ActionAccept, Choices: []core.Choice{{Question: "q1", Text: "x"}}}), "no text"},
		"missing field":    {ended("form-enum", core.InputAccepted, &yes), "field f"},
		"wrong field":      {ended("form-boolean", core.InputAccepted, &core.Answer{Action: core.ActionAccept, Fields: map[string]json.RawMessage{"f": json.RawMessage(`"yes"`)}}), "field f"},
	} {
		if got := c.in.Misfit(); !strings.Contains(got, c.why) || got == "" {
			t.Errorf("%s: %q, want %q", name, got, c.why)
		}
	}
}
