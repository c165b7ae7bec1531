package render

import (
	"strconv"
	"strings"

	"parley/core"
)

// Prompt renders the prompt of an input: of the question or field that its draft stands at, or the last look
// at a form. It stands on its own. What does not fit one part goes on in further ones, or into a file; who
// may answer and which replies count always stand on the last. A secret field is never asked in a shared
// conversation: there the parts say so instead.
func Prompt(v View, in core.Input) []Part {
	if _, f, _ := in.Shown(); f != nil && f.Secret && v.Shared {
		return Note(v, NoteData{Code: core.NoteSecretField, Input: &in})
	}
	w := newWriter(v)
	a := w.asking(in)
	parts := w.draw(w.pack(&a), a.file)
	parts[len(parts)-1].Buttons = w.buttons(in, a)
	return parts
}

// Replies lists every reply that the prompt of in names.
func Replies(v View, in core.Input) []string {
	if _, f, _ := in.Shown(); f != nil && f.Secret && v.Shared {
		return nil
	}
	a := newWriter(v).asking(in)
	return a.replies
}

// asking is a prompt before it is dealt out to parts.
type asking struct {
	head, body, tail []block
	recall           string // what is asked, for a last part that stands apart from it
	replies          []string
	buttons          []Button
	file             *File
	typed            func(string) seg // sets a word to type off from its sentence
	hide             func(string) string
}

// offer notes a reply that the prompt names and returns it as it stands in a sentence.
func (a *asking) offer(reply string) seg {
	a.replies = append(a.replies, reply)
	return a.typed(reply)
}

func (a *asking) button(label, reply string) {
	a.buttons = append(a.buttons, Button{Label: label, Reply: reply})
}

func (w *writer) asking(in core.Input) asking {
	in = w.local(in)
	a := asking{typed: w.typed, hide: w.hide}
	if w.Again {
		a.head = append(a.head, w.line("again", nil))
	}
	q, f, review := in.Shown()
	switch {
	case in.Kind == core.KindApproval:
		w.approval(&a, in)
	case in.Kind == core.KindURL:
		w.url(&a, in)
	case review:
		w.review(&a, in)
	case q != nil:
		w.question(&a, in, *q)
	case f != nil:
		w.field(&a, in, *f)
	default:
		w.confirmation(&a, in)
	}
	return a
}

// title is the first line of a prompt, with its place in the batch.
func (w *writer) title(in core.Input, key string, values args) block {
	s := w.s.flat(key, values)
	if in.Of > 1 {
		s += " · " + w.s.flat("title.batch", args{"nth": number(in.Nth), "of": number(in.Of)})
	}
	return w.head(s)
}

func (w *writer) approval(a *asking, in core.Input) {
	key, says := "title.approval", "says"
	if in.Purpose == core.PurposeChanged {
		key, says = "title.approval.changed", "changed"
	} else if in.Draft.Step > 0 {
		key = "title.approval.edited"
	}
	a.head = append([]block{w.title(in, key, nil)}, a.head...)
	a.body = append(a.body, w.line("asks.approval", args{
		"agent": w.agent(), "tool": w.fullTool(in), "asker": {plain, w.person(in.Responders.Asker)},
	}))
	if in.Message != "" {
		a.body = append(a.body, w.line(says, nil), quoted(w.hide(in.Message)))
	}
	if in.Rule != "" {
		a.body = append(a.body, w.line("rule", args{"rule": codeOf(clip(oneLine(in.Rule), 200))}))
	}
	a.body = append(append(a.body, w.edited(in)...), w.arguments(in)...)
	a.tail = w.terms(in)
	yes, no := w.w.Main.Approve, w.w.Main.Deny
	a.tail = append(a.tail, line(join(
		w.s.say("do.approval", args{"tool": w.tool(in), "reply": w.reply(), "yes": a.offer(yes), "no": a.offer(no)}),
		w.s.say("do.cancel", args{"cancel": a.offer(w.w.Main.Cancel)}),
	)...))
	a.button(w.s.text["button.approve"], yes)
	a.button(w.s.text["button.deny"], no)
}

func (w *writer) confirmation(a *asking, in core.Input) {
	a.head = append([]block{w.title(in, "title.confirm", nil)}, a.head...)
	a.body = append(a.body, w.asks(in))
	a.say(in.Message)
	a.recall = in.Message
	yes, no := w.w.Main.Yes, w.w.Main.No
	a.tail = append(w.terms(in), line(join(
		w.s.say("do.confirm", args{"reply": w.reply(), "yes": a.offer(yes), "no": a.offer(no)}),
		w.s.say("do.cancel", args{"cancel": a.offer(w.w.Main.Cancel)}),
	)...))
	a.button(w.s.text["button.yes"], yes)
	a.button(w.s.text["button.no"], no)
}

// say quotes the sentence of whoever asks.
func (a *asking) say(message string) {
	if foreign(message) != "" {
		if n := len(a.body); n > 0 && a.body[n-1].kind == quote {
			a.body = append(a.body, space())
		}
		a.body = append(a.body, quoted(a.hide(message)))
	}
}

// asks names who asks whom: a tool, or the agent itself.
func (w *writer) asks(in core.Input) block {
	values := args{"agent": w.agent(), "asker": {plain, w.person(in.Responders.Asker)}, "tool": w.fullTool(in)}
	switch {
	case in.Purpose == core.PurposeAskUser, in.Purpose == core.PurposeAsk, in.Purpose == core.PurposeIntake, in.Tool == "":
		return w.line("asks.agent", values)
	default:
		return w.line("asks.tool", values)
	}
}

func (w *writer) fullTool(in core.Input) seg {
	if in.Source == "" {
		return w.tool(in)
	}
	return seg{code, w.s.flat("tool", args{"tool": w.tool(in), "source": {plain, clip(oneLine(in.Source), 80)}})}
}

// arguments shows what runs, in full.
func (w *writer) arguments(in core.Input) []block {
	if len(in.Arguments) == 0 {
		return []block{w.line("arguments.none", nil)}
	}
	shown, n := w.masked(in.Arguments, in.Redact)
	out := []block{w.line("arguments", nil), {
		kind: pre, text: shown, info: "json", file: "arguments.json", name: w.tool(in).text,
	}}
	if n > 0 {
		out = append(out, line(w.s.many("masked", n, nil)...))
	}
	return out
}

// terms are the code of one of several, the hash, who may answer and until when.
func (w *writer) terms(in core.Input) []block {
	out := w.code(in)
	if in.Hash != "" {
		out = append(out, w.line("hash", args{"hash": codeOf(clip(in.Hash, 120))}))
	}
	if len(in.Responders.Audience) == 0 {
		out = append(out, w.line("who.nobody", nil))
	} else {
		out = append(out, w.line("who", args{"people": {plain, w.people(in.Responders.Audience, "list.or")}}))
	}
	at := seg{plain, when(in.ExpiresAt)}
	switch left := in.ExpiresAt.Sub(w.Now); {
	case in.ExpiresAt.IsZero():
		out = append(out, w.line("expires.never", nil))
	case w.Now.IsZero() || left <= 0:
		out = append(out, w.line("expires.at", args{"at": at}))
	default:
		out = append(out, w.line("expires", args{"in": {plain, w.s.in(left)}, "at": at}))
	}
	return out
}

// reply is how a sentence asks for one: where others read along, as a reply to the prompt itself.
func (w *writer) reply() seg {
	if w.Shared {
		return seg{plain, w.s.text["reply.shared"]}
	}
	return seg{plain, w.s.text["reply"]}
}

// join puts sentences side by side.
func join(sentences ...[]seg) []seg {
	var out []seg
	for _, s := range sentences {
		if len(s) == 0 {
			continue
		}
		if n := len(out); n > 0 && !strings.HasSuffix(out[n-1].text, "。") { // after which no space is written
			out = append(out, seg{plain, " "})
		}
		out = append(out, s...)
	}
	return out
}

// pack deals a prompt out to parts; arguments that take more of them than the dialect bears become a file.
func (w *writer) pack(a *asking) [][]block {
	parts := w.packed(a)
	if most := w.Dialect.MaxParts; most > 0 && len(parts) > most && w.Dialect.Files && w.toFile(a) {
		parts = w.packed(a)
	}
	return parts
}

func (w *writer) packed(a *asking) [][]block {
	body := append(append([]block(nil), a.head...), a.body...)
	parts := w.packing().pack(body, a.tail)
	if len(parts) == 1 || a.recall == "" {
		return parts
	}
	recall := w.line("recall", args{"question": {plain, clip(oneLine(w.hide(a.recall)), 200)}})
	return w.packing().pack(body, append([]block{recall}, a.tail...))
}

func (w *writer) packing() *packing {
	p := newPacking(w.Dialect)
	p.head = []block{line(seg{plain, mark + " " + w.s.text["continued"]})}
	p.foot = []block{line(seg{plain, mark + " " + w.s.text["goes.on"]})}
	p.cut = []block{line(seg{plain, mark + " " + w.s.text["goes.on.line"]})}
	return p
}

// toFile moves the arguments into a document.
func (w *writer) toFile(a *asking) bool {
	for i, b := range a.body {
		if b.file == "" || i == 0 {
			continue
		}
		a.file = &File{Name: b.file, Data: []byte(b.text)}
		stands := w.line("arguments.file", args{"file": codeOf(b.file), "n": number(runes(b.text))})
		a.body = append(append(a.body[:i-1:i-1], stands), a.body[i+1:]...)
		return true
	}
	return false
}

// draw writes the parts, a file before them.
func (w *writer) draw(parts [][]block, file *File) []Part {
	var out []Part
	if file != nil {
		caption := draw(w.Dialect.Style, []block{line(seg{plain, mark + " " + w.s.text["arguments.caption"]})})
		caption.File = file
		out = append(out, caption)
	}
	for _, blocks := range parts {
		out = append(out, draw(w.Dialect.Style, blocks))
	}
	return out
}

// buttons are the native buttons of the last part.
func (w *writer) buttons(in core.Input, a asking) []Button {
	if !w.Dialect.Buttons {
		return nil
	}
	for i := range a.buttons {
		a.buttons[i].Input, a.buttons[i].Step = in.ID, in.Draft.Step
		a.buttons[i].Label = clip(withoutIsolates.Replace(a.buttons[i].Label), 30)
	}
	return a.buttons
}

// position counts from 1, for sentences.
func position(i int) seg { return seg{plain, strconv.Itoa(i + 1)} }
