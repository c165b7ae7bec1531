package render

import (
	"strings"
)

// members finds the secrets that JSON within a text names, whole or in pieces, escaped as often as it may be:
// {"password": "…"} and, as it stands in a text of a text, {\"password\": \"…\"}. Single quotes count as double
// ones do.
type members struct {
	s      string
	redact []string
	// data says that the text is JSON as a whole, in which no character can be part of a command.
	data  bool
	spans [][2]int
	// last is the value of the last member that a name can belong to; owed says that such a name was met first.
	last [2]int
	owed bool
	from int // where last and owed were looked at last
}

// quoted is a string within a text: its quote stands behind slashes backslashes.
type quotedText struct {
	quote      byte
	slashes    int
	start, end int // of what is between the marks
	after      int
}

func memberSpans(s string, redact []string) [][2]int {
	if strings.IndexByte(s, ':') < 0 && strings.IndexByte(s, '[') < 0 {
		return nil
	}
	_, data := parseTree([]byte(s))
	m := members{s: s, redact: redact, data: data}
	for i := 0; i < len(s); {
		if s[i] != '"' && s[i] != '\'' {
			i++
			continue
		}
		i = m.member(i)
	}
	return m.spans
}

// member reads the string at byte i and, if it is a name, its value; it returns where to go on.
func (m *members) member(i int) int {
	key, ok := m.quoted(i)
	if !ok {
		return i + 1
	}
	at := m.space(key.after)
	if at == len(m.s) || m.s[at] != ':' {
		m.pair(i, key)
		return i + 1
	}
	name := m.s[key.start:key.end]
	return m.valueOf(name, m.space(at+1), i+1)
}

// valueOf reads the value at byte i of a name; next is where to go on if nothing of it is a secret.
func (m *members) valueOf(name string, i, next int) int {
	secret := secretName(name, m.redact)
	if i == len(m.s) {
		return next
	}
	open := i
	for open < len(m.s) && m.s[open] == '\\' {
		open++
	}
	switch {
	case open < len(m.s) && (m.s[open] == '"' || m.s[open] == '\''):
		value, ok := m.quoted(open)
		if !ok { // cut off: what is there of it
			value = quotedText{start: open + 1, end: len(m.s), after: len(m.s)}
		}
		if secret || m.named(name, value) {
			m.add(value.start, value.end)
			return value.after
		}
	case secret && (m.s[i] == '{' || m.s[i] == '['):
		return m.leaves(i)
	case secret && !countsTokens(name):
		end := m.number(i)
		m.add(i, end)
		return max(end, next)
	}
	return next
}

// named reports whether a value belongs to a secret that a member beside it names:
// {"name": "Authorization", "value": "…"}, in either order.
func (m *members) named(name string, value quotedText) bool {
	if m.from < value.start && strings.ContainsAny(m.s[m.from:value.start], "{}") {
		m.last, m.owed = [2]int{}, false
	}
	m.from = value.start
	switch low := strings.ToLower(name); {
	case oneOf(valueKeys, low):
		m.last = [2]int{value.start, value.end}
		return m.owed
	case oneOf(nameKeys, low) && secretName(m.s[value.start:value.end], m.redact):
		m.owed = true
		m.add(m.last[0], m.last[1])
	}
	return false
}

func oneOf(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// pair masks the second of two strings in brackets of which the first names a secret.
func (m *members) pair(i int, first quotedText) {
	before := strings.TrimRight(m.s[:i-first.slashes], " \t\r\n")
	if !strings.HasSuffix(before, "[") || !secretName(m.s[first.start:first.end], m.redact) {
		return
	}
	at := m.space(first.after)
	if at == len(m.s) || m.s[at] != ',' {
		return
	}
	at = m.space(at + 1)
	for at < len(m.s) && m.s[at] == '\\' {
		at++
	}
	if second, ok := m.quoted(at); ok && strings.HasPrefix(m.s[m.space(second.after):], "]") {
		m.add(second.start, second.end)
	}
}

// leaves masks all that stands in the brackets at byte i but for names, and returns where they end.
func (m *members) leaves(i int) int {
	for depth := 0; i < len(m.s); {
		switch c := m.s[i]; {
		case c == '{' || c == '[':
			depth++
			i++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
			i++
		case c == '"' || c == '\'':
			q, ok := m.quoted(i)
			if !ok {
				m.add(i+1, len(m.s))
				return len(m.s)
			}
			if at := m.space(q.after); at == len(m.s) || m.s[at] != ':' {
				m.add(q.start, q.end)
			}
			i = q.after
		default:
			end := m.number(i)
			m.add(i, end)
			i = max(end, i+1)
		}
	}
	return i
}

// number is where a number at byte i ends; i if there is none.
func (m *members) number(i int) int {
	end := i
	for end < len(m.s) && strings.IndexByte("0123456789+-.eE", m.s[end]) >= 0 {
		end++
	}
	if !strings.ContainsAny(m.s[i:end], "0123456789") {
		return i
	}
	return end
}

// quoted reads the string whose quote stands at byte i. It ends at a quote of the same kind that is escaped as
// deep: behind the same number of backslashes, or behind more of them that stand for backslashes.
func (m *members) quoted(i int) (q quotedText, ok bool) {
	if i >= len(m.s) || m.s[i] != '"' && m.s[i] != '\'' {
		return q, false
	}
	q.quote, q.slashes, q.start = m.s[i], m.slashes(i, 0), i+1
	if q.slashes&(q.slashes+1) != 0 { // not 0, 1, 3, 7, …: these stand for backslashes themselves
		return q, false
	}
	for j := i + 1; j < len(m.s); j++ {
		if m.s[j] != q.quote {
			continue
		}
		n := m.slashes(j, q.start)
		switch {
		case n < q.slashes:
			return q, false // what it stands in ends first
		case (n-q.slashes)%(2*(q.slashes+1)) == 0:
			q.end, q.after = j-q.slashes, j+1
			return q, true
		}
	}
	return q, false
}

// slashes counts the backslashes before byte i, down to byte from.
func (m *members) slashes(i, from int) int {
	n := 0
	for i-n > from && m.s[i-n-1] == '\\' {
		n++
	}
	return n
}

// space skips white space, escaped or not, and the backslashes of the quote behind it stay.
func (m *members) space(i int) int {
	for i < len(m.s) {
		j := i
		for j < len(m.s) && m.s[j] == '\\' {
			j++
		}
		switch {
		case j == len(m.s):
			return i
		case j > i && strings.IndexByte("nrt", m.s[j]) >= 0, j == i && strings.IndexByte(" \t\r\n", m.s[j]) >= 0:
			i = j + 1
		default:
			return i
		}
	}
	return i
}

// structure are characters that can be part of a command.
const structure = "`$;|&<>()'\n"

// add masks a value. What could be a command, in a text that is one, stays.
func (m *members) add(start, end int) {
	if start < end && (m.data || !strings.ContainsAny(m.s[start:end], structure)) {
		m.spans = append(m.spans, [2]int{start, end})
	}
}
