package core

import (
	"fmt"
	"slices"
)

// Misfit says why an input is not as settling or closing leaves one, "" where it is: its row was written by
// another hand. What does not fit is never taken for an answer.
func (in Input) Misfit() string {
	switch in.State {
	case InputPending:
		return ""
	case InputCancelled, InputSuperseded, InputExpired:
		if in.Settled == nil {
			return "nothing says how it ended"
		}
		return ""
	case InputAccepted, InputDeclined, InputSkipped:
	default:
		return fmt.Sprintf("there is no state %q", in.State)
	}
	s := in.Settled
	switch {
	case s == nil || s.Answer == nil:
		return "it has no answer"
	case !slices.Contains(in.Responders.Audience, s.By):
		return "its answer is by nobody who may answer"
	case s.Answer.State() != in.State || s.Answer.Action != ActionDecline && in.State == InputDeclined:
		return fmt.Sprintf("it is %s, its answer says %s", in.State, s.Answer.Action)
	}
	return in.misfitting(*s.Answer)
}

// misfitting says why an answer is none to this kind of input, "" where it is one.
func (in Input) misfitting(a Answer) string {
	switch {
	case in.Kind != KindQuestion && len(a.Choices) > 0, in.Kind != KindForm && len(a.Fields) > 0:
		return "its answer is one to another kind of input than " + in.Kind.noun()
	case in.Kind != KindQuestion && a.Action == ActionSkip:
		return "only a question can be skipped"
	case a.Action == ActionDecline:
		return ""
	case in.Kind == KindQuestion:
		return in.misfittingChoices(a.Choices)
	case in.Kind == KindForm:
		form, err := ParseForm(in.Schema)
		if err != nil {
			return err.Error()
		}
		if bad := form.Check(a.Fields); len(bad) > 0 {
			return fmt.Sprintf("field %s: %s", bad[0].Field, bad[0].Reason)
		}
	}
	return ""
}

// misfittingChoices wants one choice for each question, of its options.
func (in Input) misfittingChoices(choices []Choice) string {
	if len(choices) != len(in.Questions) {
		return fmt.Sprintf("it has %d choices for %d questions", len(choices), len(in.Questions))
	}
	for _, q := range in.Questions {
		i := slices.IndexFunc(choices, func(c Choice) bool { return c.Question == q.ID })
		if i < 0 {
			return fmt.Sprintf("question %s has no choice", q.ID)
		}
		for _, v := range choices[i].Values {
			if q.find(v) < 0 {
				return fmt.Sprintf("question %s has no such option", q.ID)
			}
		}
		if choices[i].Text != "" && !q.FreeText {
			return fmt.Sprintf("question %s takes no text", q.ID)
		}
	}
	return ""
}
