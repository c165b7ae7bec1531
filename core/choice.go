package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// defaultChoice is the choice of a question by its own defaults; without any it is empty.
func defaultChoice(q Question) Choice {
	c := Choice{Question: q.ID, Values: []string{}}
	for _, d := range q.Defaults {
		if q.find(d) < 0 {
			c.Text = d
		} else {
			c.Values = append(c.Values, d)
		}
	}
	c.Values = q.inOrder(c.Values)
	return c
}

// inOrder puts values or labels of options in list order, as values and without doubles.
func (q Question) inOrder(values []string) []string {
	out := make([]string, 0, len(values))
	for i, o := range q.Options {
		if slices.ContainsFunc(values, func(v string) bool { return q.find(v) == i }) {
			out = append(out, o.Value)
		}
	}
	return out
}

// Labels are the labels of the chosen options of q, in list order.
func (c Choice) Labels(q Question) []string {
	out := make([]string, 0, len(c.Values))
	for _, v := range c.Values {
		if i := q.find(v); i >= 0 {
			out = append(out, q.Options[i].Label)
		}
	}
	return out
}

// skipAll gives every question its default values unconfirmed. Where no question has any it is a decline.
func skipAll(in Input, reason string) Answer {
	if !slices.ContainsFunc(in.Questions, Question.HasDefaults) {
		return Answer{Action: ActionDecline, Reason: reason}
	}
	a := Answer{Action: ActionSkip, Reason: reason}
	for _, q := range in.Questions {
		c := defaultChoice(q)
		c.Skipped = true
		a.Choices = append(a.Choices, c)
	}
	return a
}

// resolveSet reads the answer to a question set.
func resolveSet(in Input, s Submission) (Answer, error) {
	answers := map[string]json.RawMessage{} // by question id
	var bad []FieldError
	switch t := jsonType(s.Content); {
	case s.Content == nil, t == "boolean":
		if yes, _ := verdict(s.Content); !yes {
			return skipAll(in, s.Reason), nil
		}
	case t == "object":
		if answers, bad = byQuestion(in, s.Content); answers == nil {
			return Answer{}, invalid(in, bad...)
		}
	case len(in.Questions) == 1:
		answers[in.Questions[0].ID] = s.Content
	default:
		return Answer{}, invalid(in, FieldError{"", `want {"<question id or text>": answer}, since there are several questions`})
	}
	a := Answer{Action: ActionAccept}
	for _, q := range in.Questions {
		c, reason := resolveChoice(q, answers)
		if reason != "" {
			bad = append(bad, FieldError{q.Prompt, reason})
		}
		a.Choices = append(a.Choices, c)
	}
	if len(bad) > 0 {
		return Answer{}, invalid(in, bad...)
	}
	return a, nil
}

// byQuestion reads {"<question id or text>": answer}, optionally below "answers"; nil if it is no such object.
func byQuestion(in Input, content json.RawMessage) (map[string]json.RawMessage, []FieldError) {
	list, err := members(content)
	if err != nil {
		return nil, []FieldError{{"", err.Error()}}
	}
	if len(list) == 1 && list[0].key == "answers" && in.question("answers") < 0 && jsonType(list[0].value) == "object" {
		if list, err = members(list[0].value); err != nil {
			return nil, []FieldError{{"answers", err.Error()}}
		}
	}
	out := map[string]json.RawMessage{}
	var bad []FieldError
	for _, m := range list {
		i := in.question(m.key)
		if i < 0 {
			bad = append(bad, FieldError{m.key, "there is no such question"})
			continue
		}
		id := in.Questions[i].ID
		if _, twice := out[id]; twice {
			bad = append(bad, FieldError{in.Questions[i].Prompt, "it is answered twice, by id and by text"})
		}
		out[id] = m.value
	}
	return out, bad
}

// question is the index of the question of that id or text, -1 for none.
func (in Input) question(key string) int {
	if i := slices.IndexFunc(in.Questions, func(q Question) bool { return q.ID == key }); i >= 0 {
		return i
	}
	if i := slices.IndexFunc(in.Questions, func(q Question) bool { return q.Prompt == key }); i >= 0 {
		return i
	}
	return slices.IndexFunc(in.Questions, func(q Question) bool { return foldPlain(q.Prompt) == foldPlain(key) })
}

// resolveChoice reads the answer to one question: a label, a value, free text or a list of them. The
// reason says why it does not fit. A question that is left out takes its defaults.
func resolveChoice(q Question, answers map[string]json.RawMessage) (c Choice, reason string) {
	raw, given := answers[q.ID]
	if !given {
		c = defaultChoice(q)
		c.Defaulted = true
		if !q.HasDefaults() {
			return c, "it is not answered and has no defaults"
		}
		return c, ""
	}
	items := []json.RawMessage{raw}
	if jsonType(raw) == "array" {
		items = list(raw)
	}
	c = Choice{Question: q.ID, Values: []string{}}
	free := 0
	for _, item := range items {
		if jsonType(item) != "string" {
			return c, fmt.Sprintf("%s is no label or value: want %s", shorten(string(item)), wanted(q))
		}
		s := text(item)
		switch {
		case q.find(s) >= 0:
			c.Values = append(c.Values, s)
		case !q.FreeText:
			return c, fmt.Sprintf("%q is no option: want %s", shorten(s), wanted(q))
		case !shows(s):
			return c, "the text is empty"
		default:
			c.Text = s
			free++
		}
	}
	c.Values = q.inOrder(c.Values)
	if free > 1 || !q.Multi && len(c.Values)+free > 1 {
		return c, "there are several answers, one is wanted"
	}
	return c, ""
}

// shows reports whether a text has anything to see: spaces, format characters and marks on nothing have not.
func shows(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cf, unicode.Mn) })
}

// wanted lists what a question takes.
func wanted(q Question) string {
	var names []string
	for _, o := range q.Options {
		names = append(names, o.Label)
	}
	if q.FreeText {
		names = append(names, "a text")
	}
	if q.Multi {
		return "any of " + strings.Join(names, ", ")
	}
	return "one of " + strings.Join(names, ", ")
}

// shorten keeps an error short whatever was sent.
func shorten(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
