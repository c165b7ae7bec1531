package core

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The limits of a question set.
const (
	MaxQuestions       = 4  // of a model's set
	MaxIntakeQuestions = 20 // of an author's set
	MinOptions         = 2  // or none, with free text
	MaxOptions         = 20
)

// FillQuestions returns the set as it is kept: ids q1, q2 … where there are none, values that are their
// labels (and the other way round) where only one was given, defaults as values of options in list order.
func FillQuestions(qs []Question) []Question {
	out := make([]Question, len(qs))
	for i, q := range qs {
		if q.ID == "" {
			q.ID = "q" + strconv.Itoa(i+1)
		}
		q.Options = slices.Clone(q.Options)
		for j := range q.Options {
			o := &q.Options[j]
			if o.Value == "" {
				o.Value = o.Label
			} else if o.Label == "" {
				o.Label = o.Value
			}
		}
		if q.Defaults != nil {
			q.Defaults = fillDefaults(q)
		}
		out[i] = q
	}
	return out
}

func fillDefaults(q Question) []string {
	out := make([]string, 0, len(q.Defaults))
	for _, d := range q.Defaults {
		if i := q.find(d); i >= 0 {
			d = q.Options[i].Value
		}
		out = append(out, d)
	}
	slices.SortStableFunc(out, func(a, b string) int { return q.find(a) - q.find(b) })
	return out
}

// find is the index of the option with that value or label, -1 for none: as written, else
// whatever its case and the space around it.
func (q Question) find(s string) int {
	for i, o := range q.Options {
		if o.Value == s {
			return i
		}
	}
	for i, o := range q.Options {
		if o.Label == s {
			return i
		}
	}
	s = foldPlain(s)
	return slices.IndexFunc(q.Options, func(o Option) bool { return foldPlain(o.Value) == s || foldPlain(o.Label) == s })
}

// foldPlain is the folding of values that come as data and not as a typed reply.
func foldPlain(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// CheckQuestions lists every reason why a filled set of a model is malformed; none: it may be asked.
// needDefaults is the rule of the tool ask. fold is the folding that replies get; nil
// stands for case and the space around.
func CheckQuestions(qs []Question, needDefaults bool, fold func(string) string) []string {
	return checkSet(qs, MaxQuestions, needDefaults, fold)
}

// CheckIntake lists every reason why a filled set of an author is malformed.
func CheckIntake(qs []Question, fold func(string) string) []string {
	return checkSet(qs, MaxIntakeQuestions, false, fold)
}

func checkSet(qs []Question, most int, needDefaults bool, fold func(string) string) []string {
	if fold == nil {
		fold = foldPlain
	}
	c := questionCheck{fold: fold, needDefaults: needDefaults}
	if len(qs) < 1 || len(qs) > most {
		c.add("want 1 to %d questions, not %d", most, len(qs))
	}
	for i, q := range qs {
		c.where = fmt.Sprintf("question %d: ", i+1)
		c.question(q)
		for j, earlier := range qs[:i] {
			if c.sameQuestion(q, earlier) {
				c.add("it is the same as question %d: an answer could not tell them apart", j+1)
			}
		}
	}
	return c.reasons
}

type questionCheck struct {
	fold         func(string) string
	needDefaults bool
	where        string
	reasons      []string
}

func (c *questionCheck) add(format string, args ...any) {
	c.reasons = append(c.reasons, c.where+fmt.Sprintf(format, args...))
}

// sameQuestion reports whether an answer by id or text would mean both.
func (c *questionCheck) sameQuestion(a, b Question) bool {
	for _, x := range []string{a.ID, a.Prompt} {
		for _, y := range []string{b.ID, b.Prompt} {
			if c.fold(x) != "" && c.fold(x) == c.fold(y) {
				return true
			}
		}
	}
	return false
}

func (c *questionCheck) question(q Question) {
	if c.fold(q.Prompt) == "" {
		c.add("its prompt is empty")
	}
	if c.fold(q.ID) == "" {
		c.add("its id is empty")
	}
	switch n := len(q.Options); {
	case n == 0 && !q.FreeText:
		c.add("it has no options: want %d to %d, or freeText", MinOptions, MaxOptions)
	case n == 1, n > MaxOptions:
		c.add("want %d to %d options, not %d", MinOptions, MaxOptions, n)
	}
	for i, o := range q.Options {
		c.option(q, i, o)
	}
	c.defaults(q)
}

func (c *questionCheck) option(q Question, i int, o Option) {
	label, value := c.fold(o.Label), c.fold(o.Value)
	if label == "" || value == "" {
		c.add("the label of option %d is empty", i+1)
		return
	}
	for j, earlier := range q.Options[:i] {
		l, v := c.fold(earlier.Label), c.fold(earlier.Value)
		switch {
		case label == l:
			c.add("options %d and %d have the same label %q", j+1, i+1, o.Label)
		case value == v:
			c.add("options %d and %d have the same value %q", j+1, i+1, o.Value)
		case value == l:
			c.add("the value %q of option %d is the label of option %d", o.Value, i+1, j+1)
		case label == v:
			c.add("the value %q of option %d is the label of option %d", earlier.Value, j+1, i+1)
		}
	}
}

func (c *questionCheck) defaults(q Question) {
	if q.Defaults == nil {
		if c.needDefaults {
			c.add("it has no defaults: pick what you would choose")
		}
		return
	}
	free, seen := 0, map[string]bool{}
	for _, d := range q.Defaults {
		switch {
		case seen[d]:
			c.add("the default %q is there twice", d)
		case q.find(d) >= 0:
		case !q.FreeText:
			c.add("the default %q is no option", d)
		case c.fold(d) == "":
			c.add("a default is empty")
		default:
			free++
		}
		seen[d] = true
	}
	if free > 1 {
		c.add("it has %d defaults that are no option: want one free text at most", free)
	}
	if !q.Multi && len(q.Defaults) > 1 {
		c.add("it has %d defaults, but one is wanted", len(q.Defaults))
	}
}
