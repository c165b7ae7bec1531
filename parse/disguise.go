package parse

import (
	"strings"

	"parley/core"
)

// disguised reads a text with characters in it that nothing folds away. It answers nothing, commands nothing and
// cancels nothing: what would without them is unclear. Only where any text is an answer it is one, as typed.
func (r *Reader) disguised(m message) core.Reading {
	bare := r.message(r.undisguised(m))
	switch {
	case r.written(bare):
		if got := r.message(m); r.written(got) {
			return got
		}
	case bare.Kind == core.ReadOther, bare.Kind == core.ReadUnclear:
		return bare
	}
	return unclear(core.HintWords)
}

// undisguised is a message without those characters.
func (r *Reader) undisguised(m message) message {
	bare := r.prepareLine(r.strip(strings.Map(func(c rune) rune {
		if disguise(c) {
			return -1
		}
		return c
	}, m.typed)))
	bare.quote, bare.long = m.quote, m.long || bare.long
	return bare
}

// written reports whether a reading is a text of the person's own: free text, or what a field of text holds.
func (r *Reader) written(got core.Reading) bool {
	switch {
	case got.Kind != core.ReadAnswer || got.Part == nil || got.Part.Default:
		return false
	case got.Part.Text != "":
		return true
	}
	return r.p.Input.Kind == core.KindForm && r.form.Fields[r.open[0]].Type == core.FieldString
}
