package inbox

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/core"
)

// submission reads a form as an answer to the input. bad are values that no answer can be made of.
func submission(in core.Input, form url.Values) (s core.Submission, bad []core.FieldError) {
	s = core.Submission{Action: core.Action(form.Get("action")), Reason: lines(form.Get("reason"))}
	if s.Action != core.ActionAccept {
		return s, nil
	}
	content := map[string]any{}
	switch {
	case in.Kind == core.KindQuestion:
		for i, q := range in.Questions {
			value, given, reason := chosen(q, "q"+strconv.Itoa(i), form)
			if reason != "" {
				bad = append(bad, core.FieldError{Field: q.Prompt, Reason: reason})
			}
			if given {
				content[q.ID] = value
			}
		}
	case in.Kind == core.KindForm && !in.Confirmation():
		f, err := core.ParseForm(in.Schema)
		if err != nil {
			return s, []core.FieldError{{Reason: err.Error()}}
		}
		if len(f.Fields) == 0 {
			s.Content = json.RawMessage("true")
			return s, nil
		}
		for i, field := range f.Fields {
			if value, given := entered(field, "f"+strconv.Itoa(i), form); given {
				content[field.Name] = value
			}
		}
	default:
		s.Content = json.RawMessage("true")
		return s, nil
	}
	raw, err := json.Marshal(content)
	if err != nil {
		return s, []core.FieldError{{Reason: err.Error()}}
	}
	s.Content = raw
	return s, bad
}

// lines undoes the line ends that browsers send.
func lines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// chosen is what a person chose of a question. given is false where nothing was, and where the choice is the
// defaults as they stood there: then the engine notes that they were taken.
func chosen(q core.Question, name string, form url.Values) (value []string, given bool, reason string) {
	text := lines(form.Get(name + "t"))
	if len(q.Options) == 0 {
		text = lines(form.Get(name))
		if strings.TrimSpace(text) == "" || slices.Equal(q.Defaults, []string{text}) {
			return nil, false, ""
		}
		return []string{text}, true, ""
	}
	picked := form[name]
	value = []string{}
	for i, o := range q.Options {
		if slices.Contains(picked, "o"+strconv.Itoa(i)) {
			value = append(value, o.Value)
		}
	}
	free := slices.Contains(picked, textValue) || len(picked) == 0 && strings.TrimSpace(text) != ""
	none := slices.Contains(picked, noneValue)
	switch {
	case free && strings.TrimSpace(text) == "":
		return nil, false, "“Something else” is chosen and nothing is typed beside it"
	case !free && strings.TrimSpace(text) != "" && !slices.Contains(q.Defaults, text):
		return nil, false, "something is typed, but “Something else” is not chosen: choose it, or take the text out"
	case none && (free || len(value) > 0):
		return nil, false, "“None of these” is chosen beside others"
	case q.Multi && !none && !free && len(value) == 0:
		return nil, false, "nothing is chosen: choose, or take “None of these”"
	case !none && !free && len(value) == 0:
		return nil, false, ""
	}
	if free {
		value = append(value, text)
	}
	if q.HasDefaults() && sameSet(value, q.Defaults) {
		return nil, false, ""
	}
	return value, true, ""
}

func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

var (
	jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	// bareTime and bareMoment are what browsers send of a time and of a moment; they are meant in UTC.
	bareTime   = regexp.MustCompile(`^\d\d:\d\d(:\d\d(\.\d+)?)?$`)
	bareMoment = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?$`)
)

// entered is what a person entered into a field; given is false where they left it out. What does not fit the
// field's type goes to the engine as it is, which says why.
func entered(f core.FormField, name string, form url.Values) (value any, given bool) {
	s := lines(form.Get(name))
	switch f.Type {
	case core.FieldMultiEnum:
		list := []string{}
		for i, o := range f.Enum {
			if slices.Contains(form[name], "o"+strconv.Itoa(i)) {
				list = append(list, o.Value)
			}
		}
		return list, len(list) > 0 || f.Required
	case core.FieldEnum:
		if n, err := strconv.Atoi(strings.TrimPrefix(s, "o")); err == nil && strings.HasPrefix(s, "o") && n >= 0 && n < len(f.Enum) {
			return f.Enum[n].Value, true
		}
	case core.FieldBoolean:
		if s == "true" || s == "false" {
			return s == "true", true
		}
	case core.FieldInteger, core.FieldNumber:
		if t := strings.TrimSpace(s); jsonNumber.MatchString(t) {
			return json.RawMessage(t), true
		}
	case core.FieldString:
		switch {
		case f.Format == "time" && bareTime.MatchString(s):
			return seconds(s) + "Z", true
		case f.Format == "date-time" && bareMoment.MatchString(s):
			return seconds(s) + "Z", true
		}
	}
	return s, s != ""
}

// seconds adds those that a browser leaves out where they are 0.
func seconds(s string) string {
	if _, clock, ok := strings.Cut(s, "T"); ok && len(clock) == len("15:04") || !ok && len(s) == len("15:04") {
		return s + ":00"
	}
	return s
}
