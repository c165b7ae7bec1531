package render

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoded is a text with one layer of escapes taken off, and where each of its bytes stood before: the bytes
// from at[i] to at[i+1].
type decoded struct {
	text string
	at   []int
}

// maxLayers is how many layers of escapes are looked under.
const maxLayers = 6

// decode takes off what URLs, HTML and JSON write characters as: %22, &quot;, \u0022 and \". ok is false for a text
// without any.
func decode(s string) (d decoded, ok bool) {
	if !strings.ContainsAny(s, `%&\`) {
		return d, false
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		c, n := unescape(s[i:])
		if n == 0 {
			c, n = s[i], 1
		} else {
			ok = true
		}
		b.WriteByte(c)
		d.at = append(d.at, i)
		i += n
	}
	d.text, d.at = b.String(), append(d.at, len(s))
	return d, ok
}

// named are the entities that a text of HTML has for what matters here.
var named = []struct {
	name string
	c    byte
}{{"&quot;", '"'}, {"&#34;", '"'}, {"&#x22;", '"'}, {"&apos;", '\''}, {"&#39;", '\''}, {"&#x27;", '\''}, {"&amp;", '&'}}

// unescape reads the escape of a byte at the start of s, n bytes long; 0 for none.
func unescape(s string) (c byte, n int) {
	switch s[0] {
	case '%':
		if len(s) >= 3 {
			if v, err := strconv.ParseUint(s[1:3], 16, 8); err == nil {
				return byte(v), 3
			}
		}
	case '\\':
		if strings.HasPrefix(s, `\u00`) && len(s) >= 6 {
			if v, err := strconv.ParseUint(s[4:6], 16, 8); err == nil && v < utf8.RuneSelf {
				return byte(v), 6
			}
		}
		if len(s) > 1 && strings.IndexByte(`\"'/`, s[1]) >= 0 {
			return s[1], 2
		}
	case '&':
		for _, e := range named {
			if len(s) >= len(e.name) && strings.EqualFold(s[:len(e.name)], e.name) {
				return e.c, len(e.name)
			}
		}
	}
	return 0, 0
}

// back are spans of the decoded text as spans of what it was.
func (d decoded) back(spans [][2]int) [][2]int {
	for i, sp := range spans {
		spans[i] = [2]int{d.at[sp[0]], d.at[sp[1]]}
	}
	return spans
}
