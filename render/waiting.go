package render

import (
	"bytes"
	"encoding/json"
	"regexp"

	"parley/core"
)

// waiting are those of inputs that wait, in their order.
func waiting(ins []core.Input) []core.Input {
	var out []core.Input
	for _, in := range ins {
		if in.Pending() {
			out = append(out, in)
		}
	}
	return out
}

// pending lists all that waits here, each with the code that addresses it.
func (w *writer) pending(n NoteData) []block {
	ins := waiting(n.Inputs)
	if len(ins) == 0 {
		return one(w.line("note.pending.none", nil))
	}
	out := append(one(w.line("note.pending", nil)), w.coded(ins)...)
	return append(out, w.line("note.pending.end", args{
		"example": w.typed(w.coding(ins)), "show": w.typed("show " + codeOrPlace(ins[0], 0)),
	}))
}

// which asks for a code where several prompts stand and a reply named none.
func (w *writer) which(n NoteData) []block {
	return append(one(w.line("note.which", nil)), w.coded(waiting(n.Inputs))...)
}

// coded lists inputs by their codes: what each is, who is waited for and since when.
func (w *writer) coded(ins []core.Input) []block {
	var out []block
	for i, in := range ins {
		people := "–"
		if len(in.Responders.Audience) > 0 {
			people = w.people(in.Responders.Audience, "list.or")
		}
		out = append(out, line(w.s.say("note.pending.item", args{
			"code": {bold, codeOrPlace(in, i)}, "what": {plain, w.what(in)},
			"people": {plain, people}, "at": {plain, when(in.CreatedAt)},
		})...))
	}
	return out
}

// codeOrPlace is the code of an input; one of a program before there were codes is named by its place.
func codeOrPlace(in core.Input, i int) string {
	if in.Code == "" {
		return position(i).text + ")"
	}
	return in.Code
}

// coding is an answer that begins with a code: the first word that the first of them takes.
func (w *writer) coding(ins []core.Input) string {
	for i, in := range ins {
		if r := Replies(w.View, in); len(r) > 0 {
			return codeOrPlace(in, i) + " " + r[0]
		}
	}
	return codeOrPlace(ins[0], 0) + " …"
}

// code is the line by which the prompt of one of several names its code.
func (w *writer) code(in core.Input) []block {
	if in.Of < 2 || in.Code == "" {
		return nil
	}
	return one(w.line("code", args{"code": {bold, in.Code}, "pending": w.listing()}))
}

// listing is what to type for the list of all that waits.
func (w *writer) listing() seg {
	if w.Dialect.Slash {
		return w.typed("/pending")
	}
	return w.typed(w.w.Main.Pending)
}

// help says what Parley understands: the words that always work, codes, reasons and changes.
func (w *writer) help() []block {
	key := "note.help"
	if w.Dialect.Slash {
		key += ".slash"
	}
	m := w.w.Main
	code := core.Code("", 2) // any will do
	return []block{
		w.line(key, args{"cancel": w.typed(m.Cancel)}),
		w.line("note.help.codes", args{"pending": w.listing(), "show": w.typed("show " + code), "example": w.typed(code + " " + m.Approve)}),
		w.line("note.help.reason", args{"example": w.typed(m.No + ", " + m.Because + " …")}),
		w.line("note.help.change", args{"example": w.typed(m.Edit + " amount=20")}),
	}
}

// edited is the line below a call whose arguments a person changed: each prompt of an approval after the first
// is of such a call.
func (w *writer) edited(in core.Input) []block {
	if in.Kind != core.KindApproval || in.Draft.Step == 0 {
		return nil
	}
	return one(w.line("edited", nil))
}

// plainName is a name of an argument that can be typed before "=".
var plainName = regexp.MustCompile(`^[A-Za-z0-9_.$-]{1,40}$`)

// firstArgument is the name of the first argument of a call that can be typed; "name" where there is none.
func firstArgument(arguments json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(arguments))
	if t, err := d.Token(); err == nil && t == json.Delim('{') && d.More() {
		if name, err := d.Token(); err == nil && plainName.MatchString(name.(string)) {
			return name.(string)
		}
	}
	return "name"
}
