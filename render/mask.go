package render

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"parley/core"
)

// Masked pretty-prints arguments, one member a line, in the order, with the doubles and the numbers as they
// were written. Secrets are masked: values of names that say so or that redact lists, and within strings
// the user info of URLs, authorization and cookie headers, and keys of well-known forms. A masked value is
// its length and a short digest, outside of quotes, so that no string can look like one. n counts them.
// What is no JSON is shown as the text it is.
func Masked(raw json.RawMessage, redact []string) (shown string, n int) {
	return masked(raw, redact, maskOf)
}

// masked is Masked with masks in the view's language.
func (w *writer) masked(raw json.RawMessage, redact []string) (shown string, n int) {
	return masked(raw, redact, w.mask)
}

func masked(raw json.RawMessage, redact []string, mask func(string) string) (shown string, n int) {
	m := masker{redact: redact, as: mask}
	if tree, ok := parseTree(raw); ok {
		m.value(tree, false, 0)
	} else {
		m.plain(string(raw))
	}
	return m.b.String(), m.n
}

// Clear pretty-prints arguments as Masked does, with their secrets as they are: for somebody who may see them
// and asked to.
func Clear(raw json.RawMessage) string {
	m := masker{clear: true}
	if tree, ok := parseTree(raw); ok {
		m.value(tree, false, 0)
	} else {
		m.plain(string(raw))
	}
	return m.b.String()
}

type masker struct {
	b      strings.Builder
	redact []string
	clear  bool // mask nothing
	as     func(string) string
	n      int
}

// spans are the secrets within a text.
func (m *masker) spans(s string) [][2]int {
	if m.clear {
		return nil
	}
	return secretSpans(s, m.redact)
}

// mask writes what stands for a secret value.
func (m *masker) mask(value string) {
	m.n++
	m.b.WriteString(m.as(value))
}

// maskOf is what stands for a secret, in English, as machines are given it too.
func maskOf(value string) string {
	return fmt.Sprintf("‹masked: %d characters, digest %s›", runes(value), core.Digest(value)[:8])
}

// mask is what stands for a secret in the view's language.
func (w *writer) mask(value string) string {
	return strings.NewReplacer("{n}", strconv.Itoa(runes(value)), "{digest}", core.Digest(value)[:8]).Replace(w.s.text["mask"])
}

// maxIndent bounds the indentation, so that deep nesting does not grow with its square.
const maxIndent = 24

func (m *masker) line(depth int) {
	m.b.WriteByte('\n')
	m.b.WriteString(strings.Repeat("  ", min(depth, maxIndent)))
}

// value writes n; secret says that a name above it is.
func (m *masker) value(n node, secret bool, depth int) {
	secret = secret && !m.clear
	switch n.kind {
	case '"':
		m.str(n.text, secret)
	case '{', '[':
		m.composite(n, secret, depth)
	default:
		if secret && n.text != "null" && n.text != "true" && n.text != "false" { // a flag is no secret, and changes what runs
			m.mask(n.text)
			return
		}
		m.b.WriteString(n.text)
	}
}

func (m *masker) composite(n node, secret bool, depth int) {
	m.b.WriteByte(n.kind)
	hidden := m.pairs(n)
	for i, kid := range n.kids {
		if i > 0 {
			m.b.WriteByte(',')
		}
		m.line(depth + 1)
		if n.kind == '{' {
			m.b.WriteString(quoteJSON(kid.key))
			m.b.WriteString(": ")
		}
		m.value(kid, secret || hidden(i) || n.kind == '{' && m.secretMember(kid), depth+1)
	}
	if len(n.kids) > 0 {
		m.line(depth)
	}
	m.b.WriteByte(n.kind + 2) // } and ] stand two after { and [
}

// pairs reports which members are the value of a name that another member gives:
// {"name": "Authorization", "value": "…"} and ["Authorization", "…"].
func (m *masker) pairs(n node) func(int) bool {
	never := func(int) bool { return false }
	if n.kind == '[' {
		if len(n.kids) == 2 && n.kids[0].kind == '"' && secretName(n.kids[0].text, m.redact) {
			return func(i int) bool { return i == 1 }
		}
		return never
	}
	for _, kid := range n.kids {
		if kid.kind == '"' && slices.Contains(nameKeys, strings.ToLower(kid.key)) && secretName(kid.text, m.redact) {
			return func(i int) bool { return slices.Contains(valueKeys, strings.ToLower(n.kids[i].key)) }
		}
	}
	return never
}

var (
	nameKeys  = []string{"name", "key", "header", "field", "param", "parameter", "variable", "var", "id", "k"}
	valueKeys = []string{"value", "values", "val", "content", "data", "v", "default"}
)

func (m *masker) secretMember(n node) bool {
	if n.kind == 0 && countsTokens(n.key) {
		return false
	}
	return secretName(n.key, m.redact)
}

func (m *masker) str(s string, secret bool) {
	if secret {
		m.mask(s)
		return
	}
	spans := m.spans(s)
	if len(spans) == 0 {
		m.b.WriteString(quoteJSON(s))
		return
	}
	at := 0
	for _, sp := range spans {
		if sp[0] > at {
			m.b.WriteString(quoteJSON(s[at:sp[0]]))
		}
		m.mask(s[sp[0]:sp[1]])
		at = sp[1]
	}
	if at < len(s) {
		m.b.WriteString(quoteJSON(s[at:]))
	}
}

// plain writes text that is not JSON.
func (m *masker) plain(s string) {
	at := 0
	for _, sp := range m.spans(s) {
		m.b.WriteString(visible(unbroken.Replace(s[at:sp[0]])))
		m.mask(s[sp[0]:sp[1]])
		at = sp[1]
	}
	m.b.WriteString(visible(unbroken.Replace(s[at:])))
}

// unbroken keeps text that is not JSON on one line, so that none of its lines can pass for one of ours.
var unbroken = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// hide is s with the secrets within it masked, for sentences.
func (w *writer) hide(s string) string { return hideSpans(s, secretSpans(s, nil), w.mask) }

func hideSpans(s string, spans [][2]int, mask func(string) string) string {
	for i := len(spans) - 1; i >= 0; i-- {
		sp := spans[i]
		s = s[:sp[0]] + mask(s[sp[0]:sp[1]]) + s[sp[1]:]
	}
	return s
}
