package parse

import (
	"strings"
	"unicode/utf8"

	"parley/core"
	"parley/core/words"
)

// lister reads a text as a list of options in every way it can be read. More than one way is unclear.
type lister struct {
	r     *Reader
	c     *choice
	s     string
	found []found // the different ways, at most two
	tries int
}

// maxTries bounds the ways that are looked at: a text that has more is not a list that a person typed.
const maxTries = 400

// way is how far a list was read.
type way struct {
	set   set
	n     int       // items
	known int       // items that name an option
	hint  core.Hint // why the whole cannot be an answer
	and   bool      // an "and" stands before what comes now
}

// list reads a folded text as a list of labels and positions.
func (r *Reader) list(c *choice, s string) found {
	if c.n > maxOptions {
		return found{}
	}
	l := lister{r: r, c: c, s: r.lex.loosen(s)}
	l.from(0, way{})
	switch {
	case len(l.found) == 0:
		return found{}
	case len(l.found) == 1 && l.tries <= maxTries:
		f := l.found[0]
		if f.ok && f.n > 1 && !c.multi {
			return found{hint: core.HintSeveral}
		}
		return f
	}
	for _, f := range l.found {
		if f.hint == core.HintConflict {
			return f
		}
	}
	return found{hint: core.HintSeveral}
}

// loosen puts spaces around an "and" that stands between two numbers without any: "1と3".
func (x *lexicon) loosen(s string) string {
	for _, and := range x.tight {
		for i := 1; i < len(s); {
			n := strings.Index(s[i:], and)
			if n < 0 {
				break
			}
			i += n
			before, _ := utf8.DecodeLastRuneInString(s[:i])
			after, _ := utf8.DecodeRuneInString(s[i+len(and):])
			if counts(before) && counts(after) {
				s = s[:i] + " " + and + " " + strings.TrimLeft(s[i+len(and):], " ")
				i++
			}
			i += len(and)
		}
	}
	return s
}

// counts reports whether a rune can stand at the end or the start of a number as East Asia writes it.
func counts(r rune) bool {
	return r >= '0' && r <= '9' || strings.ContainsRune(" 第一二三四五六七八九十番目号个個项項번째", r) && r != utf8.RuneError
}

// from reads the item at byte i and what follows it.
func (l *lister) from(i int, w way) {
	if l.tries++; l.tries > maxTries || len(l.found) > 1 {
		return
	}
	met := false
	for k, label := range l.c.labels {
		if n := len(label); n > 0 && strings.HasPrefix(l.s[i:], label) && ends(l.s, i+n) {
			met = true
			l.item(i+n, w, k)
		}
	}
	if l.positions(i, w) {
		met = true
	}
	if !met {
		l.unknown(i, w)
	}
}

// ends reports whether an item can end before byte i.
func ends(s string, i int) bool { return i == len(s) || strings.IndexByte(" ,;+&/", s[i]) >= 0 }

// item goes on after an item that names option k and ends before byte i.
func (l *lister) item(i int, w way, k int) {
	if k < 0 {
		w.hint = core.HintPartial
	} else {
		w.set.add(k)
	}
	w.n++
	w.known++
	w.and = false
	l.after(i, w)
}

// after reads the separator at byte i, or ends the list.
func (l *lister) after(i int, w way) {
	if i == len(l.s) {
		l.end(w)
		return
	}
	j := i
	for j < len(l.s) && strings.IndexByte(" ,;+&/", l.s[j]) >= 0 {
		j++
	}
	gap := strings.ReplaceAll(l.s[i:j], " ", "")
	if j == len(l.s) || len(gap) > 1 {
		w.hint = core.HintSeveral // a list that breaks off or has a hole
		if j == len(l.s) {
			l.end(w)
			return
		}
	}
	l.from(j, w)
	last, or := 0, false
	for k := j + 1; k < len(l.s); k++ { // "and", "as well as": the longest that fits
		if l.s[k] != ' ' {
			continue
		}
		if roles := l.r.lex.roles[l.s[j:k]]; roles&(isAnd|isOr) != 0 {
			last, or = k+1, roles&isOr != 0
		}
		if strings.Count(l.s[j:k], " ") >= 2 {
			break
		}
	}
	if last > 0 {
		w.and = true
		if or {
			w.hint = core.HintSeveral
		}
		l.from(last, w)
	}
}

func (l *lister) end(w way) {
	f := found{set: w.set, n: w.n, ok: w.hint == "" && w.known == w.n, hint: w.hint}
	if w.known == 0 || w.n == 1 && !f.ok && w.hint == "" {
		return
	}
	if !f.ok && f.hint == "" {
		f.hint = core.HintPartial
	}
	for _, g := range l.found {
		if g.ok == f.ok && (!f.ok || g.set == f.set) {
			return
		}
	}
	l.found = append(l.found, f)
}

// positions reads a range in one word, or the longest phrase at byte i that names a position.
func (l *lister) positions(i int, w way) (met bool) {
	var at words.Place
	end, stop := i, 0
	for n := range 4 { // a phrase has at most four words: "the last one"
		for end < len(l.s) && strings.IndexByte(" ,;&/", l.s[end]) < 0 && (l.s[end] != '+' || end == i) {
			end++
		}
		text := l.s[i:end]
		if a, b, ok := l.span(text); ok && n == 0 {
			l.rangeOf(end, w, a, b)
			return true
		}
		phrase := strings.TrimRight(text, ".:")
		found := l.r.place(l.c, phrase)
		if found.N == 0 {
			phrase = strings.TrimSuffix(phrase, ")")
			found = l.r.place(l.c, phrase)
		}
		if found.N > 0 {
			at, stop = found, end
		}
		if end == len(l.s) || l.s[end] != ' ' {
			break
		}
		end++
	}
	if at.N > 0 {
		l.numbered(stop, w, at)
	}
	return at.N > 0
}

// numbered goes on after position at, which ends before byte i: alone, as the start of a range, or with
// its label behind it.
func (l *lister) numbered(i int, w way, at words.Place) {
	j := i
	for j < len(l.s) && strings.IndexByte(" -,", l.s[j]) >= 0 {
		j++
	}
	comma := strings.IndexByte(l.s[i:j], ',') >= 0 // then another label is the next item
	for k, label := range l.c.labels {
		if j > i && label != "" && (k == at.N-1 || !comma) && strings.HasPrefix(l.s[j:], label) && ends(l.s, j+len(label)) {
			x := w
			if k != at.N-1 {
				x.hint = core.HintConflict
			}
			l.item(j+len(label), x, k)
		}
	}
	if !l.r.p.Exact {
		l.toRange(i, w, at)
	}
	if at.N > l.c.n {
		w.hint = core.HintNumber
		w.n, w.known = w.n+1, w.known+1
		l.after(i, w)
		return
	}
	l.item(i, w, at.N-1)
}

// toRange reads " to 3" or " - 3" at byte i.
func (l *lister) toRange(i int, w way, at words.Place) {
	rest, ok := strings.CutPrefix(l.s[i:], " ")
	if !ok {
		return
	}
	word, rest, ok := strings.Cut(rest, " ")
	if !ok || word != "-" && l.r.lex.roles[word]&isTo == 0 {
		return
	}
	last := rest
	if n := strings.IndexAny(rest, " ,;+&/"); n >= 0 {
		last = rest[:n]
	}
	if b := l.r.place(l.c, last); b.N > 0 {
		l.rangeOf(len(l.s)-len(rest)+len(last), w, at.N, b.N)
	}
}

// span reads "1-3" in one word.
func (l *lister) span(s string) (a, b int, ok bool) {
	from, to, ok := strings.Cut(s, "-")
	if !ok || from == "" || l.r.p.Exact {
		return 0, 0, false
	}
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

// unknown reads something that is no option as an item of a list, if it is short and commas stand around it.
func (l *lister) unknown(i int, w way) {
	n := strings.IndexAny(l.s[i:], ",;+&/")
	end := i + n
	if n < 0 {
		end = len(l.s)
	}
	text := strings.TrimSpace(l.s[i:end])
	before := strings.TrimRight(l.s[:i], " ")
	bounded := w.and || before == "" || strings.IndexByte(",;+&/", before[len(before)-1]) >= 0
	first, _, _ := strings.Cut(text, " ")
	switch {
	case text == "", strings.Count(text, " ") > 1, !bounded, n < 0 && w.n == 0:
		return
	case l.r.lex.roles[first]&(isAnd|isOr) != 0: // "1, and 3" has another way
		return
	}
	w.n++
	w.and = false
	l.after(end, w)
}
