package mcp

import (
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core"
)

// The fields of asks that are a verdict, and the ending of the field for one's own words.
const (
	fieldApprove = "approve"
	fieldConfirm = "confirm"
	fieldDone    = "done"
	fieldReason  = "reason"
	ownWords     = "_text"
)

// schema is a flat JSON Schema as elicitation takes it. Enums are written as every generation reads them.
type schema map[string]any

// fields are the properties of an ask.
type fields struct {
	props    map[string]schema
	required []string
}

func (f *fields) add(name string, required bool, s schema) {
	if f.props == nil {
		f.props = map[string]schema{}
	}
	f.props[name] = s
	if required {
		f.required = append(f.required, name)
	}
}

func (f *fields) object() schema {
	out := schema{"type": "object", "properties": f.props}
	if len(f.required) > 0 {
		out["required"] = f.required
	}
	return out
}

// elicit is how an input is put to a client. The second value is false where it cannot be.
func elicit(in core.Input, a ask, agent string) (*sdk.ElicitParams, bool) {
	p := &sdk.ElicitParams{Mode: "form", Message: message(in, a, agent)}
	var f fields
	switch {
	case in.Kind == core.KindURL && !a.Opened:
		return &sdk.ElicitParams{Mode: "url", Message: p.Message, URL: in.URL, ElicitationID: string(in.ID)}, true
	case in.Kind == core.KindURL:
		f.add(fieldDone, true, schema{"type": "boolean", "title": "Done", "description": "true once the step on the page is finished"})
	case in.Kind == core.KindApproval:
		f.add(fieldApprove, true, schema{"type": "boolean", "title": "Approve", "description": "true approves this call, false declines it"})
		f.add(fieldReason, false, schema{"type": "string", "title": "Reason", "description": "why it is declined; the agent is told"})
	case in.Confirmation():
		f.add(fieldConfirm, true, schema{"type": "boolean", "title": "Confirm", "description": "true confirms, false declines"})
	case in.Kind == core.KindQuestion:
		for _, q := range in.Questions {
			f.question(q)
		}
	default:
		form, err := core.ParseForm(in.Schema)
		if err != nil || len(form.Fields) == 0 {
			return nil, false
		}
		for _, field := range form.Fields {
			f.add(field.Name, field.Required, formField(field))
		}
	}
	p.RequestedSchema = f.object()
	return p, true
}

// question adds the field of one question, and one for own words where options stand beside them.
func (f *fields) question(q core.Question) {
	s := schema{"title": clean(q.Prompt)}
	if len(q.Options) == 0 {
		s["type"] = "string"
		if len(q.Defaults) == 1 {
			s["default"] = q.Defaults[0]
		}
		f.add(q.ID, !q.HasDefaults(), s)
		return
	}
	choices(s, q.Options, q.Multi)
	if !q.Multi && len(q.Defaults) == 1 && slices.ContainsFunc(q.Options, func(o core.Option) bool { return o.Value == q.Defaults[0] }) {
		s["default"] = q.Defaults[0]
	}
	if q.HasDefaults() {
		s["description"] = "left out: " + orNone(labels(q))
	}
	f.add(q.ID, !q.HasDefaults() && !q.FreeText, s)
	if q.FreeText {
		f.add(q.ID+ownWords, false, schema{"type": "string", "title": "Or in your own words: " + clean(q.Prompt)})
	}
}

func labels(q core.Question) string {
	var out []string
	for _, d := range q.Defaults {
		for _, o := range q.Options {
			if o.Value == d {
				d = o.Label
				break
			}
		}
		out = append(out, clean(d))
	}
	return strings.Join(out, ", ")
}

func orNone(s string) string {
	if s == "" {
		return "none of these"
	}
	return s
}

// choices makes s an enum, or a list of one.
func choices(s schema, options []core.Option, multi bool) {
	var values, names []string
	var titled []schema
	for _, o := range options {
		values, names = append(values, o.Value), append(names, clean(o.Label))
		titled = append(titled, schema{"const": o.Value, "title": clean(o.Label)})
	}
	switch {
	case !multi:
		s["type"], s["enum"], s["enumNames"] = "string", values, names
	case slices.Equal(values, names) || slices.Contains(values, "") || slices.Contains(names, ""):
		s["type"], s["items"], s["uniqueItems"] = "array", schema{"type": "string", "enum": values}, true
	default:
		s["type"], s["items"], s["uniqueItems"] = "array", schema{"anyOf": titled}, true
	}
}

// formats are those that elicitation knows; of others only Parley judges.
var formats = []string{"email", "uri", "date", "date-time"}

func formField(f core.FormField) schema {
	s := schema{"title": clean(f.Label())}
	if f.Description != "" {
		s["description"] = clean(f.Description)
	}
	if f.Default != nil {
		s["default"] = f.Default
	}
	switch f.Type {
	case core.FieldEnum, core.FieldMultiEnum:
		choices(s, f.Enum, f.Type == core.FieldMultiEnum)
	default:
		s["type"] = string(f.Type)
	}
	if slices.Contains(formats, f.Format) {
		s["format"] = f.Format
	}
	for name, v := range map[string]*int{"minLength": f.MinLength, "maxLength": f.MaxLength, "minItems": f.MinItems, "maxItems": f.MaxItems} {
		if v != nil {
			s[name] = *v
		}
	}
	if f.Min != nil && !f.MinExclusive {
		s["minimum"] = *f.Min
	}
	if f.Max != nil && !f.MaxExclusive {
		s["maximum"] = *f.Max
	}
	return s
}

// reply is what an answer to an ask means.
type reply struct {
	// submission is to be settled; nil settles nothing.
	submission *core.Submission
	// misfit says why the content does not fit, "" where it does.
	misfit string
	// opened: the page of a step was opened; it is yet to be done.
	opened bool
}

// read reads the answer to an ask: accept with fitting content, decline, and cancel, which take weighs.
func read(in core.Input, a ask, res *sdk.ElicitResult) reply {
	if res == nil {
		return reply{}
	}
	switch res.Action {
	case "decline":
		return reply{submission: &core.Submission{Action: core.ActionDecline}}
	case "cancel":
		return reply{submission: &core.Submission{Action: core.ActionCancel}}
	case "accept":
	default:
		return reply{}
	}
	switch {
	case in.Kind == core.KindURL && !a.Opened:
		return reply{opened: true}
	case in.Kind == core.KindURL:
		if res.Content[fieldDone] == false {
			return reply{} // not yet
		}
		return verdict(res.Content, fieldDone)
	case in.Kind == core.KindApproval:
		return verdict(res.Content, fieldApprove)
	case in.Confirmation():
		return verdict(res.Content, fieldConfirm)
	case in.Kind == core.KindQuestion:
		content, misfit := chosen(in.Questions, res.Content)
		if misfit != "" {
			return reply{misfit: misfit}
		}
		return accept(content)
	}
	if res.Content == nil {
		return accept(map[string]any{})
	}
	return accept(res.Content)
}

func accept(content any) reply {
	raw, err := json.Marshal(content)
	if err != nil {
		return reply{misfit: "the content cannot be read"}
	}
	return reply{submission: &core.Submission{Action: core.ActionAccept, Content: raw}}
}

// verdict reads a yes or no that must be said.
func verdict(content map[string]any, name string) reply {
	yes, ok := content[name].(bool)
	if !ok {
		return reply{misfit: name + ": want true or false"}
	}
	out := accept(yes)
	if reason, ok := content[fieldReason].(string); ok && !yes {
		out.submission.Reason = reason
	}
	return out
}

// chosen joins own words with what was chosen.
func chosen(qs []core.Question, content map[string]any) (out map[string]any, misfit string) {
	out = map[string]any{}
	for name, v := range content {
		out[name] = v
	}
	for _, q := range qs {
		if !q.FreeText || len(q.Options) == 0 {
			continue
		}
		words, _ := out[q.ID+ownWords].(string)
		delete(out, q.ID+ownWords)
		if strings.TrimSpace(words) == "" {
			continue
		}
		list, isList := out[q.ID].([]any)
		one, _ := out[q.ID].(string)
		switch {
		case isList:
			out[q.ID] = append(slices.Clone(list), words)
		case one != "":
			return nil, q.ID + ": choose one or write your own, not both"
		case q.Multi:
			out[q.ID] = []any{words}
		default:
			out[q.ID] = words
		}
	}
	return out, ""
}
