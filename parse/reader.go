package parse

import (
	"slices"
	"strings"
	"unicode"

	"parley/core"
	"parley/core/words"
)

// Reader reads messages against one prompt. It may be used from several goroutines at once.
type Reader struct {
	p       Prompt
	lex     *lexicon
	lines   map[string]struct{} // of the prompt, as quotations of them compare
	longest int                 // bytes; a longer message is no answer but free text
	form    core.Form
	choices []*choice // one a question or field; nil for a field without choices
	open    []int     // what is still to be answered, the one shown first
	parts   int       // questions or fields
}

// Compile prepares a reader for an input that is read often.
func Compile(p Prompt) *Reader {
	r := &Reader{p: p, lex: lexiconOf(p.Lang), longest: 1024, lines: promptLines(p.Text)}
	switch p.Input.Kind {
	case core.KindQuestion:
		for _, q := range p.Input.Questions {
			r.choices = append(r.choices, r.question(q))
		}
		r.parts = len(p.Input.Questions)
	case core.KindForm:
		form, err := core.ParseForm(p.Input.Schema)
		if err != nil { // never asked; nothing answers it
			return r
		}
		r.form = form
		for _, f := range form.Fields {
			r.choices = append(r.choices, r.field(f))
		}
		r.parts = len(form.Fields)
	}
	if r.parts > 0 {
		r.open = core.Open(p.Input)
	}
	return r
}

func promptLines(text string) map[string]struct{} {
	if text == "" {
		return nil
	}
	lines := map[string]struct{}{}
	for _, l := range splitLines(text) {
		lines[quoteKey(l)] = struct{}{}
	}
	return lines
}

func (r *Reader) question(q core.Question) *choice {
	c := r.asked(q.Options)
	c.multi, c.free, c.defaults = q.Multi, q.FreeText, q.HasDefaults()
	c.part = func(picked []int) *core.Part {
		values := make([]string, len(picked))
		for i, k := range picked {
			values[i] = q.Options[k].Value
		}
		return &core.Part{Values: values}
	}
	return c
}

// asked are the options of a question as they are shown: those about a call that may have run in the language of
// the conversation. In English they are understood too.
func (r *Reader) asked(options []core.Option) *choice {
	if r.p.Input.Purpose != core.PurposeUnknown {
		return r.choice(options)
	}
	shown := slices.Clone(options)
	for i, o := range options {
		shown[i].Label = words.Outcome(o.Label, r.p.Lang)
	}
	c := r.choice(shown)
	for i, o := range options {
		put(c.byLabel, Fold(o.Label), i)
	}
	return c
}

func (r *Reader) field(f core.FormField) *choice {
	if f.Type != core.FieldEnum && f.Type != core.FieldMultiEnum {
		return nil
	}
	c := r.choice(f.Enum)
	c.multi, c.defaults = f.Type == core.FieldMultiEnum, f.Default != nil
	c.part = func(picked []int) *core.Part {
		values := make([]string, len(picked))
		for i, k := range picked {
			values[i] = f.Enum[k].Value
		}
		if c.multi {
			return &core.Part{Field: encode(values)}
		}
		return &core.Part{Field: encode(values[0])}
	}
	return c
}

func (r *Reader) choice(options []core.Option) *choice {
	c := newChoice(options, r.p.Lang)
	for _, l := range c.labels {
		r.longest += 2 * len(l)
	}
	return c
}

// Read returns the one meaning of text. It never fails; a text that is no text is a new message.
func (r *Reader) Read(text string) core.Reading {
	m, ok := r.prepare(text)
	if !ok {
		return core.Reading{}
	}
	var got core.Reading
	if strings.ContainsFunc(m.typed, disguise) {
		got = r.disguised(m)
	} else {
		got = r.message(m)
	}
	if m.quote == foreignQuote && got.Kind != core.ReadOther {
		got = unclear(core.HintQuote)
	}
	if r.p.Exact && got.Kind == core.ReadUnclear {
		return core.Reading{}
	}
	return got
}

// message reads what is left of a text once everything around it is off.
func (r *Reader) message(m message) core.Reading {
	switch {
	case m.quote != noQuote && m.typed == "":
		return unclear(core.HintQuote)
	case m.long && r.parts == 0:
		return r.saidMore(m, core.Reading{})
	case !m.long && strings.IndexFunc(m.folded, func(r rune) bool { return !unicode.IsPunct(r) && r != ' ' }) < 0:
		return unclear(core.HintWords) // nothing but punctuation
	case r.parts == 0:
		return r.saidMore(m, r.verdict(r.unslash(m)))
	case r.p.Input.Draft.Review:
		return r.verdict(r.unslash(m))
	case len(r.open) == 0:
		return core.Reading{}
	}
	return r.set(m)
}

// saidMore reads a verdict that says more than yes or no: a refusal with its reason, a change of the call. It is
// the last reading of a text that has no other.
func (r *Reader) saidMore(m message, got core.Reading) core.Reading {
	if got.Kind != core.ReadOther || r.p.Exact {
		return got
	}
	if got, ok := r.reason(m); ok {
		return got
	}
	if got, ok := r.change(m); ok {
		return got
	}
	return got
}

// unslash turns "/approve" into the word; what is another command stays and fits nothing.
func (r *Reader) unslash(m message) message {
	if word, is := r.slash(m.folded); is && word != "" {
		m.folded = word
	}
	return m
}

// set reads a message against the question or field shown, or against all that are open, one a line.
func (r *Reader) set(m message) core.Reading {
	whole := r.part(r.open[0], m)
	if len(r.open) < 2 {
		return whole
	}
	lines := splitLines(m.typed)
	if len(lines) != len(r.open) {
		return whole
	}
	var parts []core.Part
	fit, other := 0, 0
	for k, line := range lines {
		got := r.part(r.open[k], r.prepareLine(line))
		switch {
		case got.Kind == core.ReadAnswer && !(got.Part.Default && k > 0): // nobody confirms a default not yet shown
			parts = append(parts, *got.Part)
			fit++
		case got.Kind == core.ReadOther:
			other++
		}
	}
	switch {
	case fit == len(lines) && whole.Kind == core.ReadAnswer:
		return unclear(core.HintLines)
	case fit == len(lines):
		return core.Reading{Kind: core.ReadAnswer, Parts: parts}
	case fit > 0 && other == 0 && whole.Kind != core.ReadAnswer:
		return unclear(core.HintLines)
	}
	return whole
}
