package render

import (
	"encoding/json"
	"slices"
	"strconv"

	"parley/core"
)

// field asks for one field of a form.
func (w *writer) field(a *asking, in core.Input, f core.FormField) {
	form, _ := core.ParseForm(in.Schema) // in.Shown has parsed it
	key := "title.form"
	if len(form.Fields) > 1 {
		key = "title.form.n"
	}
	a.head = append([]block{w.title(in, key, args{"at": position(in.Draft.At), "all": number(len(form.Fields))})}, a.head...)
	a.body = append(a.body, w.asks(in))
	a.say(in.Message)
	a.recall = f.Label()
	label := f.Label()
	if f.Description != "" {
		label += "\n" + f.Description
	}
	a.say(label)
	a.body = append(a.body, line(join(w.limits(f)...)...))
	o := choices{}
	if len(f.Enum) > 0 {
		defaults := enumDefaults(f)
		o = w.options(a, f.Enum, func(x core.Option) bool { return slices.Contains(defaults, x.Value) })
	}
	a.tail = append(w.terms(in), line(join(w.fieldWays(a, in, f, o)...)...))
}

// enumDefaults are the values that a choice takes by default.
func enumDefaults(f core.FormField) []string {
	var one string
	var several []string
	if json.Unmarshal(f.Default, &one) == nil {
		return []string{one}
	}
	if json.Unmarshal(f.Default, &several) != nil {
		return nil
	}
	return several
}

// fieldWays are the sentences that say which replies fill the field.
func (w *writer) fieldWays(a *asking, in core.Input, f core.FormField, o choices) [][]seg {
	main := w.w.Main
	o.multi = f.Type == core.FieldMultiEnum
	if f.MinItems != nil {
		o.least = *f.MinItems
	}
	if f.MaxItems != nil {
		o.most = min(o.most, *f.MaxItems)
	}
	out := w.choosing(a, o)
	switch f.Type {
	case core.FieldEnum, core.FieldMultiEnum:
	case core.FieldBoolean:
		out = append(out, w.s.say("do.confirm", args{"reply": w.reply(), "yes": a.offer(main.True), "no": a.offer(main.False)}))
		a.button(w.s.text["button.yes"], main.True)
		a.button(w.s.text["button.no"], main.False)
	default:
		out = append(out, w.s.say(w.here("do.write"), args{"cancel": a.offer(main.Cancel)}))
	}
	if word := o.free([]string{main.Default}, w.w.Default); f.Default != nil && word != "" {
		out = append(out, w.s.say("do.default", args{"default": a.offer(word), "value": w.value(f, f.Default, in.Redact)}))
		a.button(w.s.text["button.default"], word)
	}
	if skip := o.free([]string{main.Skip}, w.w.Skip); skip != "" && !f.Required {
		out = append(out, w.s.say("do.skip.field", args{"skip": a.offer(skip)}))
		a.button(w.s.text["button.skip"], skip)
	}
	if back := o.free([]string{main.Back}, w.w.Back); back != "" && in.Draft.At > 0 {
		out = append(out, w.s.say("do.back", args{"back": a.offer(back)}))
	}
	return append(out, w.takenOver(a, o, false)...)
}

// limits say what fits the field.
func (w *writer) limits(f core.FormField) [][]seg {
	var out [][]seg
	say := func(key string, a args) { out = append(out, w.s.say(key, a)) }
	switch {
	case f.Type == core.FieldString && f.Format != "" && w.s.has("field.string."+f.Format):
		say("field.string."+f.Format, nil)
	case f.Type == core.FieldString && f.Format != "" && f.Format != "password":
		say("field.string.format", args{"format": codeOf(f.Format)})
	case f.Type == core.FieldEnum, f.Type == core.FieldMultiEnum:
	default:
		say("field."+string(f.Type), nil)
	}
	if f.Pattern != "" {
		say("field.pattern", args{"pattern": codeOf(f.Pattern)})
	}
	w.numberLimits(f, say)
	w.countLimits("field.length", f.MinLength, f.MaxLength, say)
	w.countLimits("field.items", f.MinItems, f.MaxItems, say)
	if f.Required {
		say("field.required", nil)
	} else {
		say("field.optional", nil)
	}
	if f.Secret {
		say("field.secret", nil)
	}
	return out
}

func (w *writer) numberLimits(f core.FormField, say func(string, args)) {
	num := func(x float64) seg { return seg{plain, strconv.FormatFloat(x, 'f', -1, 64)} }
	switch {
	case f.Min != nil && f.Max != nil && !f.MinExclusive && !f.MaxExclusive:
		say("field.range", args{"min": num(*f.Min), "max": num(*f.Max)})
	default:
		if f.Min != nil {
			key := map[bool]string{true: "field.more", false: "field.min"}[f.MinExclusive]
			say(key, args{"min": num(*f.Min)})
		}
		if f.Max != nil {
			key := map[bool]string{true: "field.less", false: "field.max"}[f.MaxExclusive]
			say(key, args{"max": num(*f.Max)})
		}
	}
	if f.MultipleOf != nil {
		say("field.multiple", args{"n": num(*f.MultipleOf)})
	}
}

func (w *writer) countLimits(key string, least, most *int, say func(string, args)) {
	switch {
	case least != nil && most != nil:
		say(key, args{"min": number(*least), "max": number(*most)})
	case least != nil:
		say(key+".min", args{"min": number(*least)})
	case most != nil:
		say(key+".max", args{"max": number(*most)})
	}
}

// review is the last look at a form of several fields: all that is handed in.
func (w *writer) review(a *asking, in core.Input) {
	a.head = append([]block{w.title(in, "title.review", nil)}, a.head...)
	a.body = append(a.body, w.asks(in))
	a.say(in.Message)
	a.recall = in.Message
	form, _ := core.ParseForm(in.Schema) // in.Shown has parsed it
	values := map[string]json.RawMessage{}
	for name, f := range in.Draft.Fields {
		values[name] = f.Value
	}
	a.body = append(a.body, w.filled(form, values, in.Redact)...)
	main := w.w.Main
	a.tail = append(w.terms(in), line(w.s.say("do.review", args{
		"reply": w.reply(), "yes": a.offer(main.Yes), "no": a.offer(main.No), "edit": a.offer(main.Edit + " 1"),
	})...))
	a.button(w.s.text["button.yes"], main.Yes)
	a.button(w.s.text["button.no"], main.No)
}

// filled lists the fields of a form with their values, numbered as "edit 2" counts them.
func (w *writer) filled(form core.Form, values map[string]json.RawMessage, redact []string) []block {
	var out []block
	for i, f := range form.Fields {
		segs := append([]seg{position(i), {plain, ") "}}, w.s.isolated(text(clip(oneLine(f.Label()), 200)))...)
		segs = append(append(segs, seg{plain, ": "}), w.s.isolated(w.value(f, values[f.Name], redact))...)
		out = append(out, line(segs...))
	}
	return out
}

// value shows the value of a field: what a person would have typed, or a mask.
func (w *writer) value(f core.FormField, raw json.RawMessage, redact []string) seg {
	tree, ok := parseTree(raw)
	switch {
	case !ok || tree.kind == 0 && tree.text == "null":
		return seg{plain, w.s.text["left.out"]}
	case f.Secret || f.Type != core.FieldBoolean && secretName(f.Name, redact) && (tree.kind != 0 || !countsTokens(f.Name)):
		return seg{plain, w.mask(tree.text)}
	case tree.kind == '[':
		var labels []string
		for _, kid := range tree.kids {
			labels = append(labels, oneLine(label(f, kid.text)))
		}
		if len(labels) == 0 {
			return seg{plain, w.s.text["none"]}
		}
		return seg{plain, w.s.list("list.and", labels)}
	case tree.kind == 0:
		return text(w.boolean(tree.text))
	case tree.text == "":
		return seg{plain, w.s.text["empty"]}
	default:
		return text(label(f, tree.text))
	}
}

func (w *writer) boolean(s string) string {
	switch s {
	case "true":
		return w.w.Main.True
	case "false":
		return w.w.Main.False
	default:
		return s
	}
}

func label(f core.FormField, value string) string {
	if i := slices.IndexFunc(f.Enum, func(o core.Option) bool { return o.Value == value }); i >= 0 {
		return f.Enum[i].Label
	}
	return value
}
