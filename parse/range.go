package parse

import (
	"strings"
	"unicode/utf8"

	"parley/core"
	"parley/core/words"
)

// fromRange reads "from 1 to 3" at byte i.
func (l *lister) fromRange(i int, w way) bool {
	if l.r.p.Exact {
		return false
	}
	for _, from := range l.r.lex.from {
		rest, ok := strings.CutPrefix(l.s[i:], from)
		first := strings.TrimPrefix(rest, " ")
		if r, _ := utf8.DecodeRuneInString(from); !ok || len(first) == len(rest) && r < firstSpaceless {
			continue
		}
		word, _, _ := strings.Cut(first, " ")
		if at := l.r.place(l.c, word); at.N > 0 && l.toRange(len(l.s)-len(first)+len(word), w, at) {
			return true
		}
		if a, b, ok := l.span(word); ok {
			l.rangeOf(len(l.s)-len(first)+len(word), w, a, b)
			return true
		}
	}
	return false
}

// toRange reads " to 3" or " - 3" at byte i.
func (l *lister) toRange(i int, w way, at words.Place) bool {
	rest, ok := strings.CutPrefix(l.s[i:], " ")
	if !ok {
		return false
	}
	if rest = l.r.lex.afterTo(rest); rest == "" {
		return false
	}
	last := rest
	if n := strings.IndexAny(rest, " ,;+&/"); n >= 0 {
		last = rest[:n]
	}
	named := last
	for _, end := range l.r.lex.toEnd {
		if t, ok := strings.CutSuffix(last, end); ok {
			named = t
		}
	}
	b := l.r.place(l.c, named)
	if b.N > 0 {
		l.rangeOf(len(l.s)-len(rest)+len(last), w, at.N, b.N)
	}
	return b.N > 0
}

// afterTo is what stands behind a "to" that a text begins with, the longest that fits; "" if it does not.
func (x *lexicon) afterTo(s string) (rest string) {
	for i, words := 0, 0; i < len(s) && words < maxToWords; i++ {
		if s[i] != ' ' {
			continue
		}
		words++
		if to := s[:i]; to == "-" || to == "~" || x.roles[strings.TrimRight(to, ".")]&isTo != 0 {
			rest = s[i+1:]
		}
	}
	return rest
}

// maxToWords is how many words a "to" may have: "tot en met".
const maxToWords = 3

// span reads "1-3" in one word.
func (l *lister) span(s string) (a, b int, ok bool) {
	i := strings.IndexAny(s, "-~")
	if i < 1 || l.r.p.Exact {
		return 0, 0, false
	}
	from, to := s[:i], s[i+1:]
	x, y := l.r.place(l.c, from), l.r.place(l.c, to)
	return x.N, y.N, x.Plain && y.Plain
}

func (l *lister) rangeOf(end int, w way, a, b int) {
	switch {
	case b > l.c.n:
		w.hint = core.HintNumber
	case a > b:
		w.hint = core.HintSeveral
	}
	for k := a; k <= b && k <= l.c.n; k++ {
		w.set.add(k - 1)
		w.n++
		w.known++
	}
	if a > b {
		w.n, w.known = w.n+1, w.known+1
	}
	l.after(end, w)
}
