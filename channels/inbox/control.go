package inbox

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/core"
	"parley/render"
)

// control is one question or field, as a page asks for it.
type control struct {
	ID, Name string
	Label    string
	Help     string
	// Type is radio, checkbox, select, textarea, or the type of an <input>.
	Type     string
	Options  []choice
	Value    string
	Required bool
	Min, Max string
	Step     string
	Least    int // characters; 0: no bound
	Most     int
	// Text, at a list of options, takes an answer that is none of them.
	Text *control
	// Field is the name that the engine uses for it in errors, Error why its value was not taken.
	Field string
	Error string
}

// choice is one option of a control.
type choice struct {
	ID, Value, Label string
	Checked          bool
}

// The values of options that are none: the text beside them, no option at all, and a field that is left out.
const (
	textValue = "text"
	noneValue = "none"
	outValue  = ""
)

// manyChoices is from how many options on a list is a <select>.
const manyChoices = 7

// controls are those of an input; filled has what was handed in, by the names of the controls, or is nil.
func controls(in core.Input, filled map[string][]string) (out []control) {
	prefix := "in-" + string(in.ID) + "-"
	for i, q := range in.Questions {
		c := questionControl(q, "q"+strconv.Itoa(i), prefix)
		c.fill(filled)
		out = append(out, c)
	}
	form, err := core.ParseForm(in.Schema)
	if in.Kind != core.KindForm || err != nil {
		return out
	}
	for i, f := range form.Fields {
		c := fieldControl(f, "f"+strconv.Itoa(i), prefix)
		c.fill(filled)
		out = append(out, c)
	}
	return out
}

// fill puts in what the person gave before. A secret is never sent back.
func (c *control) fill(filled map[string][]string) {
	if filled == nil || c.Type == "password" {
		return
	}
	given := filled[c.Name]
	for i := range c.Options {
		c.Options[i].Checked = slices.Contains(given, c.Options[i].Value)
	}
	c.Value = strings.Join(given, "\n")
	if c.Text != nil {
		c.Text.Value = strings.Join(filled[c.Text.Name], "\n")
	}
}

func questionControl(q core.Question, name, prefix string) control {
	c := control{ID: prefix + name, Name: name, Label: render.Visible(q.Prompt), Field: q.Prompt, Type: "radio"}
	free := ""
	for _, d := range q.Defaults {
		if !slices.ContainsFunc(q.Options, func(o core.Option) bool { return o.Value == d }) {
			free = d
		}
	}
	if len(q.Options) == 0 {
		c.Type, c.Value = "textarea", free
		return c
	}
	if q.Multi {
		c.Type = "checkbox"
	}
	for i, o := range q.Options {
		c.add("o"+strconv.Itoa(i), render.Visible(o.Label), slices.Contains(q.Defaults, o.Value))
	}
	if q.FreeText {
		c.add(textValue, "Something else:", free != "")
		c.Text = &control{ID: c.ID + "-t", Name: name + "t", Label: "Something else", Value: free}
	}
	if q.Multi || q.HasDefaults() && len(q.Defaults) == 0 {
		c.add(noneValue, "None of these", q.HasDefaults() && len(q.Defaults) == 0)
	}
	if len(q.Defaults) > 0 {
		c.Help = "What is chosen already is the default."
	}
	return c
}

func (c *control) add(value, label string, checked bool) {
	c.Options = append(c.Options, choice{ID: c.ID + "-" + value, Value: value, Label: label, Checked: checked})
}

// inputTypes are the types of <input> for formats of strings.
var inputTypes = map[string]string{"email": "email", "uri": "url", "date": "date", "date-time": "datetime-local", "time": "time"}

func fieldControl(f core.FormField, name, prefix string) control {
	c := control{
		ID: prefix + name, Name: name, Label: render.Visible(f.Label()), Help: render.Visible(f.Description), Field: f.Name, Type: "text", Required: f.Required,
		Min: number(f.Min), Max: number(f.Max),
	}
	def := text(f.Default)
	switch f.Type {
	case core.FieldBoolean:
		c.Type = "radio"
		c.add("true", "Yes", string(f.Default) == "true")
		c.add("false", "No", string(f.Default) == "false")
	case core.FieldEnum:
		c.Type = "radio"
		for i, o := range f.Enum {
			c.add("o"+strconv.Itoa(i), render.Visible(o.Label), f.Default != nil && o.Value == def)
		}
	case core.FieldMultiEnum:
		c.Type = "checkbox"
		var chosen []string
		_ = json.Unmarshal(f.Default, &chosen) // without a default none is
		for i, o := range f.Enum {
			c.add("o"+strconv.Itoa(i), render.Visible(o.Label), slices.Contains(chosen, o.Value))
		}
		c.addHelp(bounds("Choose", f.MinItems, f.MaxItems, ""))
		return c
	case core.FieldInteger, core.FieldNumber:
		c.Type, c.Step, c.Value = "number", "any", string(f.Default)
		if f.Type == core.FieldInteger {
			c.Step = "1"
		}
	case core.FieldString:
		c.textField(f, def)
	}
	if f.Secret {
		c.Type, c.Value, c.Options = "password", "", nil
	}
	if c.Type == "radio" && !f.Required {
		c.add(outValue, "Leave it out", f.Default == nil)
	}
	if len(c.Options) >= manyChoices {
		c.Type = "select"
		if f.Required && f.Default == nil {
			c.Options = append([]choice{{Value: outValue, Label: "Choose one", Checked: true}}, c.Options...)
		}
	}
	return c
}

func (c *control) textField(f core.FormField, def string) {
	c.Value = def
	if f.MinLength != nil {
		c.Least = *f.MinLength
	}
	if f.MaxLength != nil {
		c.Most = *f.MaxLength
	}
	if t, ok := inputTypes[f.Format]; ok {
		c.Type = t
	}
	switch {
	case c.Type == "datetime-local":
		c.Step, c.Value = "1", inUTC(def, time.RFC3339, "2006-01-02T15:04:05")
		c.addHelp("In UTC.")
	case c.Type == "time":
		c.Step, c.Value = "1", inUTC(def, "15:04:05Z07:00", "15:04:05")
		c.addHelp("In UTC.")
	case c.Type == "text" && f.Format == "" && f.Pattern == "" && (c.Most == 0 || c.Most > 200):
		c.Type = "textarea"
	case f.Pattern != "":
		c.addHelp("It must match " + render.Visible(f.Pattern))
	}
}

// inUTC is a time as a browser takes it, "" for none.
func inUTC(s, layout, browsers string) string {
	t, err := time.Parse(layout, s)
	if err != nil {
		return ""
	}
	return t.UTC().Format(browsers)
}

func (c *control) addHelp(s string) {
	c.Help = strings.TrimSpace(c.Help + " " + s)
}

// bounds words how many are wanted.
func bounds(verb string, least, most *int, what string) string {
	s := ""
	if least != nil && *least > 0 {
		s = verb + " at least " + strconv.Itoa(*least)
	}
	if most != nil {
		if s == "" {
			s = verb
		} else {
			s += " and"
		}
		s += " at most " + strconv.Itoa(*most)
	}
	if s == "" {
		return ""
	}
	return s + what + "."
}

func number(f *float64) string {
	if f == nil {
		return ""
	}
	return strconv.FormatFloat(*f, 'f', -1, 64)
}

// text is the Go string of a JSON string, "" for anything else.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// one is an object of one member, and inner what its pretty print shows of the value.
func one(name string, raw json.RawMessage) json.RawMessage {
	key, err := json.Marshal(name)
	if err != nil {
		panic(err) // a string always encodes
	}
	return json.RawMessage("{" + string(key) + ":" + string(raw) + "}")
}

func inner(shown string) string {
	_, value, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(shown, "{\n"), "\n}"), ": ")
	return value
}
