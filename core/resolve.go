package core

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Resolve reads a submission against the stored input: labels become values, questions left out take
// their defaults, fields are checked. The error is always an *AnswerError and says everything that does
// not fit. It does not look at the input's state, and ActionCancel, which ends a run, is none of its business.
func Resolve(in Input, s Submission) (Answer, error) {
	s.Reason = strings.TrimSpace(s.Reason)
	switch s.Action {
	case ActionDecline:
		return Answer{Action: ActionDecline, Reason: s.Reason}, nil
	case ActionSkip:
		if in.Kind != KindQuestion {
			return Answer{}, mismatch(in, "only a question can be skipped, this is "+in.Kind.noun()+": decline it instead")
		}
		return skipAll(in, s.Reason), nil
	case ActionAccept:
	default:
		return Answer{}, invalid(in, FieldError{"action", fmt.Sprintf("%q is not accept, decline or skip", s.Action)})
	}
	if t := strings.TrimSpace(string(s.Content)); t == "" || t == "null" {
		s.Content = nil
	}
	switch in.Kind {
	case KindApproval:
		return resolveApproval(in, s)
	case KindURL:
		return resolveVerdict(in, s)
	case KindForm:
		return resolveForm(in, s)
	case KindQuestion:
		return resolveSet(in, s)
	}
	return Answer{}, mismatch(in, fmt.Sprintf("an input of kind %q has no answer", in.Kind))
}

// noun names a kind in a sentence.
func (k Kind) noun() string {
	switch k {
	case KindApproval:
		return "an approval"
	case KindForm:
		return "a form"
	case KindURL:
		return "a step on a web page"
	default:
		return "a question"
	}
}

func resolveApproval(in Input, s Submission) (Answer, error) {
	if _, ok := verdict(s.Content); !ok {
		return Answer{}, mismatch(in, "this is an approval: want true or false")
	}
	return resolveVerdict(in, s)
}

func resolveVerdict(in Input, s Submission) (Answer, error) {
	yes, ok := verdict(s.Content)
	switch {
	case !ok:
		return Answer{}, invalid(in, FieldError{"", "want true or false"})
	case yes:
		return Answer{Action: ActionAccept}, nil
	default:
		return Answer{Action: ActionDecline, Reason: s.Reason}, nil
	}
}

// verdict reads true or false; no content stands for true, since the action said accept.
func verdict(content json.RawMessage) (yes, ok bool) {
	switch strings.TrimSpace(string(content)) {
	case "", "true":
		return true, true
	case "false":
		return false, true
	default:
		return false, false
	}
}

func resolveForm(in Input, s Submission) (Answer, error) {
	form, err := ParseForm(in.Schema)
	if err != nil {
		return Answer{}, invalid(in, FieldError{"", err.Error()})
	}
	t := jsonType(s.Content)
	if len(form.Fields) == 0 && t != "object" {
		return resolveVerdict(in, s)
	}
	fields := map[string]json.RawMessage{}
	if t == "object" {
		list, err := members(s.Content)
		if err != nil {
			return Answer{}, invalid(in, FieldError{"", err.Error()})
		}
		for _, m := range list {
			fields[m.key] = m.value
		}
	} else if s.Content != nil {
		return Answer{}, invalid(in, FieldError{"", "want the fields as an object"})
	}
	if bad := form.Check(fields); len(bad) > 0 {
		return Answer{}, invalid(in, bad...)
	}
	if len(form.Fields) == 0 {
		return Answer{Action: ActionAccept}, nil
	}
	return Answer{Action: ActionAccept, Fields: fields}, nil
}

// SameAnswer reports whether two answers are one: the same verdict, values and fields. Their order, the
// reason, what was taken by default and who gave them do not count. A skip is never an acceptance.
func SameAnswer(a, b Answer) bool {
	if a.Action != b.Action || len(a.Choices) != len(b.Choices) || len(a.Fields) != len(b.Fields) {
		return false
	}
	choices := map[string]Choice{}
	for _, c := range b.Choices {
		choices[c.Question] = c
	}
	for _, c := range a.Choices {
		o, ok := choices[c.Question]
		if !ok || c.Skipped != o.Skipped || strings.TrimSpace(c.Text) != strings.TrimSpace(o.Text) || !sameSet(c.Values, o.Values) {
			return false
		}
		delete(choices, c.Question)
	}
	for name, v := range a.Fields {
		o, ok := b.Fields[name]
		if !ok || !SameJSON(v, o) {
			return false
		}
	}
	return true
}

func sameSet(a, b []string) bool {
	have := map[string]bool{}
	for _, v := range a {
		have[v] = true
	}
	want := map[string]bool{}
	for _, v := range b {
		if want[v] = true; !have[v] {
			return false
		}
	}
	return len(have) == len(want)
}
