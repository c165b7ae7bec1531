package parse

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// indexStarts notes how phrases begin: most sentences begin like none, and are then looked at no further.
func (x *lexicon) indexStarts() {
	for p, r := range x.roles {
		n := 1 + strings.Count(p, " ")
		var buf [maxItems + 2]word
		if ws, ok := split(p, buf[:0]); ok {
			n = max(n, len(ws))
			first := p[ws[0].start:ws[0].end]
			x.starts[first] = max(x.starts[first], n)
		}
		first := firstWord(p)
		x.starts[first] = max(x.starts[first], n)
		if r&(isNo|isUndone) != 0 {
			x.refusals[letterRun(p)] = struct{}{}
			c, _ := utf8.DecodeRuneInString(p)
			x.refusals[string(c)] = struct{}{}
		}
	}
	for p := range x.numbers {
		x.places[firstWord(p)] = struct{}{}
	}
	for _, p := range x.from {
		x.places[p] = struct{}{}
	}
	for p := range x.letters {
		x.places[firstWord(p)] = struct{}{}
	}
	for p := range x.last {
		x.places[firstWord(p)] = struct{}{}
	}
}

// firstWord is a folded text up to its first space, without the marks that end a word.
func firstWord(s string) string {
	if i := strings.IndexByte(s, ' '); i >= 0 {
		s = s[:i]
	}
	for len(s) > 1 && strings.IndexByte(".,:!)", s[len(s)-1]) >= 0 {
		s = s[:len(s)-1]
	}
	return s
}

// lead is how many bytes of a folded text a phrase at its start can have.
func (x *lexicon) lead(s string) int {
	n := x.starts[firstWord(s)]
	if n == 0 {
		return 0
	}
	for i := 0; i < len(s); i++ {
		if s[i] != ' ' {
			continue
		}
		if n--; n == 0 {
			return i + 1
		}
	}
	return len(s)
}

// mayRefuse reports whether a folded text begins like a refusal.
func (x *lexicon) mayRefuse(s string) bool {
	s = strings.TrimLeft(s, "*_`\"'/ ")
	first := letterRun(s)
	if _, ok := x.refusals[first]; ok {
		return true
	}
	c, n := utf8.DecodeRuneInString(s)
	if c < firstSpaceless && unicode.IsLetter(c) {
		return false
	}
	_, ok := x.refusals[s[:n]]
	return ok
}

// letterRun is what a text begins with in letters and apostrophes.
func letterRun(s string) string {
	for i, c := range s {
		if c != '\'' && !unicode.IsLetter(c) && !unicode.IsMark(c) {
			return s[:i]
		}
	}
	return s
}
