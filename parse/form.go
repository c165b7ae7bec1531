package parse

import (
	"bytes"
	"encoding/json"
	"strings"

	"golang.org/x/text/unicode/norm"

	"parley/core"
)

// typed reads a message as the value of a field without choices.
func (r *Reader) typed(i int, m message) core.Reading {
	f := r.form.Fields[i]
	if f.Type == core.FieldString {
		return r.optional(i, r.text(f, m))
	}
	if m.long {
		return core.Reading{}
	}
	if word, is := r.slash(m.folded); is && word != "" {
		m.folded = word
	}
	var buf [maxItems + 2]item
	its, ok := r.lex.items(m.folded, buf[:0])
	if !ok {
		return core.Reading{}
	}
	if value, ok := r.value(f, its, m.folded); ok {
		if m.asked || f.Check(value) != "" {
			return unclear(core.HintType)
		}
		return core.Reading{Kind: core.ReadAnswer, Part: &core.Part{Field: value}}
	}
	c := &choice{defaults: f.Default != nil && f.Type != core.FieldBoolean}
	if got, ok := r.asCommand(c, its, m); ok {
		return r.optional(i, got)
	}
	if f.Default != nil && !m.asked && r.takesDefaults(c, its, false) {
		return core.Reading{Kind: core.ReadAnswer, Part: &core.Part{Default: true}}
	}
	return r.misfit(its, m)
}

// value reads a boolean or a number.
func (r *Reader) value(f core.FormField, its []item, s string) (json.RawMessage, bool) {
	if f.Type != core.FieldBoolean {
		n, ok := number(r.lex.unpolite(s), f.Type == core.FieldInteger, r.lex.comma)
		return json.RawMessage(n), ok
	}
	switch only(withoutPlease(its)) & (isTrue | isFalse) {
	case isTrue:
		return json.RawMessage("true"), true
	case isFalse:
		return json.RawMessage("false"), true
	}
	return nil, false
}

// misfit decides between a value of the wrong type and a new message.
func (r *Reader) misfit(its []item, m message) core.Reading {
	if got, ok := r.listing(m); ok {
		return got
	}
	if meantAsValue(m) {
		return unclear(core.HintType)
	}
	return r.near(its, m.folded, answers)
}

// meantAsValue reports whether a message looks like the value of a field: a few words, no question.
func meantAsValue(m message) bool {
	n := 1 + strings.Count(m.folded, " ")
	if strings.ContainsAny(m.folded, "0123456789@") {
		n--
	}
	return n <= 3 && !m.asked
}

// text reads the value of a string field: everything but the few words that lead out.
func (r *Reader) text(f core.FormField, m message) core.Reading {
	switch {
	case m.long && r.commanded(m):
		return unclear(core.HintWords)
	case !m.long:
		c := &choice{free: true, defaults: f.Default != nil}
		got := r.freely(c, m, found{}, r.isSlash(&m))
		if got.Kind != core.ReadAnswer || got.Part.Default {
			return got
		}
	}
	value := encode(m.typed)
	if f.Format != "" && f.Check(value) != "" {
		value = encode(norm.NFKC.String(m.typed)) // full-width digits of a date
	}
	switch {
	case f.Check(value) == "":
		return core.Reading{Kind: core.ReadAnswer, Part: &core.Part{Field: value}}
	case m.long:
		return core.Reading{}
	}
	var buf [maxItems + 2]item
	its, _ := r.lex.items(m.folded, buf[:0])
	if got, ok := r.asCommand(&choice{}, its, m); ok { // it is not the value, so it is a command
		return got
	}
	if f.Format == "" && f.Pattern == "" {
		return unclear(core.HintType) // too long or too short
	}
	return r.misfit(its, m)
}

// isSlash reports whether a message is a platform command, and puts its word in its place.
func (r *Reader) isSlash(m *message) bool {
	word, is := r.slash(m.folded)
	if is && word != "" {
		m.folded = word
	}
	return is
}

// encode writes a value as JSON, its text as it is.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // strings always encode
		return nil
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// number reads a folded text as a number in digits and writes it as JSON. A comma may stand for the point;
// what could part thousands is not read.
func number(s string, whole, comma bool) (string, bool) {
	sign := ""
	if t, ok := strings.CutPrefix(s, "-"); ok {
		sign, s = "-", t
	} else {
		s = strings.TrimPrefix(s, "+")
	}
	at := strings.IndexAny(s, ".,")
	digits, part := s, ""
	if at >= 0 {
		digits, part = s[:at], s[at+1:]
		thousands := len(part) == 3 && digits != "0" && digits != "" && (s[at] == ',' || whole || comma)
		if part == "" || !allDigits(part) || thousands {
			return "", false
		}
	}
	if digits == "" && part != "" {
		digits = "0"
	}
	if !allDigits(digits) || len(digits) > 1 && digits[0] == '0' || len(s) > 400 {
		return "", false
	}
	if whole && strings.Trim(part, "0") == "" {
		part = ""
	}
	if strings.Trim(digits+part, "0") == "" {
		sign = ""
	}
	if part != "" {
		part = "." + part
	}
	return sign + digits + part, true
}

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
