package render

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// node is a JSON value as it was written: order, doubled keys and numbers kept.
type node struct {
	key  string // decoded, of a member of an object
	kind byte   // { [ " or 0 for a number, true, false, null
	text string // decoded, of a string; as written, of a literal
	kids []node
}

// parseTree reads raw, which must be one valid JSON value.
func parseTree(raw []byte) (node, bool) {
	if !json.Valid(raw) {
		return node{}, false
	}
	s := treeScanner{s: string(raw)}
	return s.value(), true
}

type treeScanner struct {
	s string
	i int
}

func (t *treeScanner) space() {
	for t.i < len(t.s) && strings.IndexByte(" \t\r\n", t.s[t.i]) >= 0 {
		t.i++
	}
}

// value reads the next value. The text is known to be valid, so that nothing can be missing.
func (t *treeScanner) value() node {
	t.space()
	switch c := t.s[t.i]; c {
	case '{', '[':
		return t.composite(c)
	case '"':
		return node{kind: '"', text: t.str()}
	default:
		from := t.i
		for t.i < len(t.s) && strings.IndexByte(" \t\r\n,]}", t.s[t.i]) < 0 {
			t.i++
		}
		return node{text: t.s[from:t.i]}
	}
}

func (t *treeScanner) composite(open byte) node {
	n := node{kind: open}
	t.i++
	for {
		t.space()
		switch t.s[t.i] {
		case '}', ']':
			t.i++
			return n
		case ',':
			t.i++
			continue
		}
		key := ""
		if open == '{' {
			key = t.str()
			t.space()
			t.i++ // the colon
		}
		kid := t.value()
		kid.key = key
		n.kids = append(n.kids, kid)
	}
}

// str reads a string. A lone surrogate, which no UTF-8 can hold, becomes the three bytes it would have, so
// that it is shown as bytes and not dropped.
func (t *treeScanner) str() string {
	from := t.i + 1
	end := from
	for t.s[end] != '"' {
		if t.s[end] == '\\' {
			end++
		}
		end++
	}
	t.i = end + 1
	body := t.s[from:end]
	if strings.IndexByte(body, '\\') < 0 {
		return body
	}
	return unescapeJSON(body)
}

func unescapeJSON(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'u':
			r := hex4(s[i+1:])
			i += 4
			if low, ok := lowSurrogate(s[i+1:]); ok && r >= 0xd800 && r < 0xdc00 {
				r = (r-0xd800)<<10 + (low - 0xdc00) + 0x10000
				i += 6
			}
			if r >= 0xd800 && r < 0xe000 {
				b.Write([]byte{0xe0 | byte(r>>12), 0x80 | byte(r>>6)&0x3f, 0x80 | byte(r)&0x3f})
				continue
			}
			b.WriteRune(r)
		default:
			if j := strings.IndexByte("bfnrt", c); j >= 0 {
				c = "\b\f\n\r\t"[j]
			}
			b.WriteByte(c)
		}
	}
	return b.String()
}

func hex4(s string) rune {
	n, _ := strconv.ParseUint(s[:4], 16, 32) // valid JSON: four hexadecimal digits
	return rune(n)
}

func lowSurrogate(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	r := hex4(s[2:])
	return r, r >= 0xdc00 && r < 0xe000
}

var jsonEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`)

// quoteJSON writes a string so that it is on one line and every character is seen.
func quoteJSON(s string) string {
	return `"` + visible(jsonEscapes.Replace(s)) + `"`
}

func runes(s string) int { return utf8.RuneCountInString(s) }
