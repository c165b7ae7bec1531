package render

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// MaskedJSON masks the same secrets as Masked and gives JSON for machines, in the order, with the doubles and
// the numbers as they were written. A masked value is a string that says its length and a short digest;
// masked lists where they stand as JSON Pointers, so that no string can pass for one. What is no JSON
// becomes a JSON string, masked as a text.
func MaskedJSON(raw json.RawMessage, redact []string) (shown json.RawMessage, masked []string) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	m := jsonMasker{masker: masker{redact: redact}}
	tree, ok := parseTree(raw)
	if !ok {
		tree = node{kind: '"', text: strings.ToValidUTF8(string(raw), "\uFFFD")}
	}
	m.value(tree, false, "")
	return m.out.Bytes(), m.masked
}

type jsonMasker struct {
	masker
	out    bytes.Buffer
	masked []string
}

func (m *jsonMasker) value(n node, secret bool, at string) {
	switch {
	case n.kind == '{' || n.kind == '[':
		m.composite(n, secret, at)
	case n.kind == '"' && secret:
		m.mask(n.text, at)
	case n.kind == '"':
		if clear := hideSpans(n.text, secretSpans(n.text, m.redact), maskOf); clear != n.text {
			m.masked = append(m.masked, at)
			n.text = clear
		}
		m.str(n.text)
	case secret && n.text != "null" && n.text != "true" && n.text != "false": // a flag is no secret, and changes what runs
		m.mask(n.text, at)
	default:
		m.out.WriteString(n.text)
	}
}

func (m *jsonMasker) mask(value, at string) {
	m.masked = append(m.masked, at)
	m.str(maskOf(value))
}

// str writes a string; json.Marshal puts U+FFFD in place of what is no UTF-8.
func (m *jsonMasker) str(s string) {
	b, err := json.Marshal(s)
	if err != nil {
		b = []byte(`""`) // a string always encodes
	}
	m.out.Write(b)
}

var pointer = strings.NewReplacer("~", "~0", "/", "~1")

func (m *jsonMasker) composite(n node, secret bool, at string) {
	m.out.WriteByte(n.kind)
	hidden := m.pairs(n)
	for i, kid := range n.kids {
		if i > 0 {
			m.out.WriteByte(',')
		}
		where := at + "/" + strconv.Itoa(i)
		if n.kind == '{' {
			where = at + "/" + pointer.Replace(kid.key)
			m.str(kid.key)
			m.out.WriteByte(':')
		}
		m.value(kid, secret || hidden(i) || n.kind == '{' && m.secretMember(kid), where)
	}
	m.out.WriteByte(n.kind + 2) // } and ] stand two after { and [
}
