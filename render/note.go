package render

import (
	"parley/core"
)

// NoteData is what a note is about; each code uses what it needs of it.
type NoteData struct {
	Code   core.NoteCode
	Hint   core.Hint     // of an unclear reply
	Person core.PersonID // who cancelled, or sent the new message
	Input  *core.Input   // the input it is about
	Call   *core.Call    // whose arguments are shown again, or that may have run
	Run    *core.Run     // of a status
	Inputs []core.Input  // what waits, or was closed
	Text   string        // a further sentence, not trusted
}

// Note renders what Parley says in its own name. All notes are one line, except those that list or show
// something: help, status, inbox, what waits, and the stored call.
func Note(v View, n NoteData) []Part {
	w := newWriter(v)
	body := w.note(n)
	if n.Text != "" {
		body = append(body, quoted(w.hide(w.told(n.Text))))
	}
	if len(body) > 0 && body[0].kind == para {
		body[0].segs = append([]seg{{plain, mark + " "}}, body[0].segs...)
	}
	a := asking{body: body}
	return w.draw(w.pack(&a), a.file)
}

func (w *writer) note(n NoteData) []block {
	key := "note." + string(n.Code)
	switch n.Code {
	case core.NoteUnclear:
		return w.unclear(n)
	case core.NoteNotAllowed:
		if n.Input == nil || len(n.Input.Responders.Audience) == 0 {
			return one(w.line(key+".nobody", nil))
		}
		return one(w.line(key, args{"people": {plain, w.people(n.Input.Responders.Audience, "list.or")}}))
	case core.NoteAlready:
		if n.Input == nil || n.Input.Pending() {
			return one(w.line(key+".unknown", nil))
		}
		return one(w.line(key, args{"how": {plain, w.how(*n.Input)}}))
	case core.NoteAborted:
		if n.Person == "" {
			return one(w.line(key+".nobody", nil))
		}
		return one(w.line(key, args{"person": {plain, w.person(n.Person)}}))
	case core.NoteSuperseded:
		return w.superseded(n)
	case core.NoteMayHaveRun:
		tool, ok := w.noteTool(n)
		if !ok {
			return one(w.line(key+".call", nil))
		}
		return one(w.line(key, args{"tool": tool}))
	case core.NoteExpired:
		if n.Input == nil {
			return one(w.line(key+".turn", nil))
		}
		return one(w.line(key, args{"what": {plain, w.what(*n.Input)}}))
	case core.NoteDetails:
		return w.details(n)
	case core.NoteHelp:
		return w.help()
	case core.NoteStatus:
		return w.status(n)
	case core.NoteInbox:
		return w.inbox(n)
	case core.NotePending:
		return w.pending(n)
	case core.NoteWhich:
		return w.which(n)
	case core.NoteSecretField:
		return w.secretField(n)
	default:
		return one(w.line(key, nil))
	}
}

func one(b block) []block { return []block{b} }

// unclear says why a reply did not count and which replies do, on one line.
func (w *writer) unclear(n NoteData) []block {
	key := "note.unclear." + string(n.Hint)
	if !w.s.has(key) {
		key = "note.unclear.words"
	}
	sentences := [][]seg{w.s.say(key, nil)}
	if n.Input != nil {
		if a := w.asking(*n.Input); len(a.tail) > 0 {
			sentences = append(sentences, a.tail[len(a.tail)-1].segs)
		}
	}
	return one(line(join(append(sentences, w.s.say("note.unclear.end", nil))...)...))
}

// what names an input in a sentence about it.
func (w *writer) what(in core.Input) string {
	in = w.local(in)
	key := "what." + string(in.Kind)
	if in.Confirmation() {
		key = "what.confirm"
	}
	what := w.s.flat(key, args{"tool": w.fullTool(in)})
	message := w.said(in)
	if in.Kind == core.KindQuestion && message == "" && len(in.Questions) > 0 {
		message = in.Questions[0].Prompt
	}
	if in.Kind == core.KindApproval || foreign(message) == "" {
		return what
	}
	return w.s.flat("what.with", args{"what": {plain, what}, "message": {plain, clip(oneLine(w.hide(message)), 80)}})
}

func (w *writer) superseded(n NoteData) []block {
	ins := n.Inputs
	if len(ins) == 0 && n.Input != nil {
		ins = []core.Input{*n.Input}
	}
	if len(ins) == 0 {
		return one(w.line("note.superseded", nil))
	}
	var names []string
	for _, in := range ins {
		names = append(names, w.what(in))
	}
	return one(line(w.s.many("note.superseded", len(ins), args{"what": {plain, w.s.list("list.and", names)}})...))
}

func (w *writer) noteTool(n NoteData) (seg, bool) {
	switch {
	case n.Input != nil && n.Input.Tool != "":
		return w.fullTool(*n.Input), true
	case n.Call != nil && n.Call.Tool != "":
		return codeOf(clip(oneLine(n.Call.Tool), 120)), true
	default:
		return seg{}, false
	}
}

// details shows the stored call again.
func (w *writer) details(n NoteData) []block {
	in := core.Input{}
	switch {
	case n.Input != nil && (len(n.Input.Arguments) > 0 || n.Call == nil):
		in = *n.Input
	case n.Call != nil:
		in = core.Input{Tool: n.Call.Tool, Arguments: n.Call.Arguments, Hash: n.Call.Hash}
		if n.Input != nil {
			in.Redact = n.Input.Redact
		}
	}
	if in.Tool == "" {
		return one(w.line("note.details.none", nil))
	}
	out := append(one(w.line("note.details", args{"tool": w.fullTool(in)})), w.arguments(in)...)
	if in.Hash != "" {
		out = append(out, w.line("hash", args{"hash": codeOf(clip(in.Hash, 120))}))
	}
	if n.Input != nil && n.Input.Kind == core.KindApproval && n.Input.Pending() {
		out = append(out, w.line("note.details.change", args{"edit": w.typed(w.w.Main.Edit + " " + firstArgument(in.Arguments) + "=…")}))
	}
	return out
}

func (w *writer) status(n NoteData) []block {
	switch {
	case n.Run == nil:
		return one(w.line("note.status.idle", nil))
	case n.Run.Status == core.RunRunning:
		return one(w.line("note.status.running", nil))
	case n.Run.Status == core.RunInputRequired:
		return append(one(w.line("note.status.waiting", nil)), w.items(waiting(n.Inputs))...)
	default:
		return one(w.line("note.status.ended", args{"status": {plain, w.s.text["note.status."+string(n.Run.Status)]}}))
	}
}

func (w *writer) inbox(n NoteData) []block {
	if len(n.Inputs) == 0 {
		return one(w.line("note.inbox.empty", nil))
	}
	return append(one(line(w.s.many("note.inbox", len(n.Inputs), nil)...)), w.items(n.Inputs)...)
}

// items lists inputs, one a line.
func (w *writer) items(ins []core.Input) []block {
	var out []block
	for i, in := range ins {
		terms := w.terms(in)
		waits := flatten(terms[len(terms)-1].segs)
		item := w.s.say("note.item", args{"what": {plain, w.what(in)}, "waits": {plain, waits}})
		out = append(out, line(append([]seg{position(i), {plain, ") "}}, item...)...))
	}
	return out
}

func (w *writer) secretField(n NoteData) []block {
	if n.Input == nil {
		return one(w.line("note.secret_field.any", nil))
	}
	_, f, _ := n.Input.Shown()
	if f == nil {
		return one(w.line("note.secret_field.any", nil))
	}
	return one(w.line("note.secret_field", args{"tool": w.fullTool(*n.Input), "field": text(clip(oneLine(f.Label()), 80))}))
}

// Refusal tells a person who is not let in what the operator needs to know: their id.
func Refusal(v View, person core.PersonID) []Part {
	return newWriter(v).sentence("note.refused", args{"person": codeOf(string(person))})
}

// MovedOn tells a person who answered a question by its button that the answer stands and others wait.
func MovedOn(v View) []Part { return newWriter(v).sentence("note.moved_on", nil) }

// sentence is a note of one line that no core.NoteCode stands for.
func (w *writer) sentence(key string, values args) []Part {
	body := w.line(key, values)
	body.segs = append([]seg{{plain, mark + " "}}, body.segs...)
	a := asking{body: one(body)}
	return w.draw(w.pack(&a), nil)
}
