package parse

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// message is a text made ready to be read.
type message struct {
	typed  string // as typed, without the platform's markup, our mention and quoted lines of the prompt
	folded string // without the question mark
	asked  bool   // it ends with a question mark
	quote  quote
	long   bool // too long to be anything but free text; then folded is empty
}

type quote int

const (
	noQuote      quote = iota
	ownQuote           // of the prompt, and taken off
	foreignQuote       // of something else, and taken off
)

// prepare takes off everything around what was said. ok is false for bytes that are no text.
func (r *Reader) prepare(text string) (m message, ok bool) {
	if !utf8.ValidString(text) {
		return m, false
	}
	s := r.strip(r.p.Markup.plain(text))
	if strings.HasPrefix(s, ">") {
		s, m.quote = r.unquote(s)
		s = r.strip(s)
	}
	m.typed = s
	if m.long = len(s) > r.longest; !m.long {
		m.folded, m.asked = cutQuestion(Fold(r.p.Markup.emoji(s)))
	}
	return m, true
}

// strip takes off white space and our own mention at either end.
func (r *Reader) strip(s string) string {
	s = trimSpace(s)
	for _, name := range r.p.Names {
		if n := mention(s, name); n > 0 {
			s = trimSpace(strings.TrimLeft(trimSpace(s[n:]), ":,"))
		}
		if t := unmention(s, name); len(t) < len(s) {
			s = trimSpace(strings.TrimRight(trimSpace(t), ","))
		}
	}
	return s
}

// trimSpace takes off white space and what cannot be seen.
func trimSpace(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return blank(r) || r == 0x200B || r == 0xFEFF || r == 0x2060 })
}

// mention is the length of our mention at the start of s, 0 for none. "<@U1>" is also met as "<@U1|name>".
func mention(s, name string) int {
	if name == "" {
		return 0
	}
	if stem, ok := strings.CutSuffix(name, ">"); ok {
		if !strings.HasPrefix(s, stem) {
			return 0
		}
		rest := s[len(stem):]
		if i := strings.IndexByte(rest, '>'); i == 0 || i > 0 && rest[0] == '|' {
			return len(stem) + i + 1
		}
		return 0
	}
	if len(s) < len(name) || !strings.EqualFold(s[:len(name)], name) || partOfName(s[len(name):]) {
		return 0
	}
	return len(name)
}

func partOfName(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return rest != "" && (r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r))
}

// unmention takes our mention off the end of s, where it stands alone.
func unmention(s, name string) string {
	i := strings.LastIndexAny(s, " \t\n\r\u00a0,")
	if i < 0 {
		return s
	}
	last := strings.TrimRight(s[i+1:], ".!")
	if n := mention(last, name); n == 0 || n < len(last) {
		return s
	}
	return s[:i+1]
}

// unquote takes the quoted lines off the top of s.
func (r *Reader) unquote(s string) (rest string, q quote) {
	q = ownQuote
	own := 0
	for strings.HasPrefix(s, ">") {
		if strings.HasPrefix(s, ">>>") { // quotes all that follows
			return "", foreignQuote
		}
		var line string
		line, s, _ = strings.Cut(s, "\n")
		key := quoteKey(line[1:])
		if _, ok := r.lines[key]; key != "" && !ok {
			q = foreignQuote
		} else if key != "" {
			own++
		}
		s = strings.TrimLeft(s, " \t\r")
	}
	if own == 0 {
		q = foreignQuote
	}
	return s, q
}

// quoteKey is a line of a prompt as it compares with a quotation of it: without the marks of emphasis
// and code, which a quotation loses, and without isolates.
func quoteKey(line string) string {
	return Fold(strings.Map(func(r rune) rune {
		if strings.ContainsRune("*_`~\\", r) || r >= 0x2066 && r <= 0x2069 { // isolates stand in our own sentences
			return -1
		}
		return r
	}, line))
}

// cutQuestion takes the question mark off the end of a folded text.
func cutQuestion(s string) (rest string, asked bool) {
	t := strings.TrimRight(s, "?!. ")
	if len(t) == len(s) || strings.IndexByte(s[len(t):], '?') < 0 {
		return s, false
	}
	return foldEnds(t), true
}
