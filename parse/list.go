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
	if !c.addresses && strings.Contains(s, "://") {
		return found{}
	}
	l := lister{r: r, c: c, s: r.lex.loosen(c, s)}
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

// loosen puts spaces around an "and", "or" or "to" that stands between two items without any: "1と3", "赤と青".
func (x *lexicon) loosen(c *choice, s string) string {
	for _, and := range x.tight {
		for i := 1; i < len(s); {
			n := strings.Index(s[i:], and)
			if n < 0 {
				break
			}
			i += n
			if c.borders(s[:i], s[i+len(and):]) {
				before := strings.TrimRight(s[:i], " ") + " "
				s, i = before+and+" "+strings.TrimLeft(s[i+len(and):], " "), len(before)
			}
			i += len(and)
		}
	}
	return s
}

// borders reports whether an item can end before a place in a text and another begin behind it.
func (c *choice) borders(before, behind string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(behind)
	ends, begins := counts(last), counts(next)
	for _, label := range c.labels {
		ends = ends || label != "" && strings.HasSuffix(before, label)
		begins = begins || label != "" && strings.HasPrefix(behind, label)
	}
	return ends && begins
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
	if l.positions(i, w) || !met && (l.quoted(i, w) || l.fromRange(i, w)) {
		met = true
	}
	if !met {
		l.unknown(i, w)
	}
}

// quoted reads an item at byte i that has a pair of marks around it: "Lint", *Docs*.
func (l *lister) quoted(i int, w way) bool {
	if i == len(l.s) || strings.IndexByte("\"'*_`", l.s[i]) < 0 {
		return false
	}
	n := strings.IndexByte(l.s[i+1:], l.s[i])
	end := i + n + 2
	if n < 1 || !ends(l.s, end) {
		return false
	}
	inner := l.s[i+1 : end-1]
	if k, ok := l.c.byLabel[inner]; ok {
		l.item(end, w, k)
		return true
	}
	at := l.r.place(l.c, inner)
	if at.N > 0 && at.N <= l.c.n {
		l.item(end, w, at.N-1)
		return true
	}
	return false
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
	names := l.named(l.s[i:])
	for n := range 4 { // a phrase has at most four words: "the last one"
		for end < len(l.s) && strings.IndexByte(" ,;&/", l.s[end]) < 0 && (l.s[end] != '+' || end == i) {
			end++
		}
		text := l.s[i:end]
		if n == 0 {
			if a, b, ok := l.span(text); ok {
				l.rangeOf(end, w, a, b)
				return true
			}
			if at, k := l.glued(text); at.N > 0 {
				return l.labelled(i+k, w, at, false)
			}
		}
		if !names {
			break
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

// named reports whether a text begins like a phrase that names a position.
func (l *lister) named(s string) bool {
	if n := strings.IndexAny(s, " ,;&/"); n >= 0 {
		s = s[:n]
	}
	s = firstWord(s)
	if _, ok := l.r.lex.places[s]; ok {
		return true
	}
	if i := strings.IndexByte(s[min(1, len(s)):], '+'); i >= 0 {
		s = firstWord(s[:i+1])
	}
	_, ok := l.r.lex.places[s]
	return ok
}

// glued reads "2." or "2)" with something behind it that no space parts from it: where that begins.
func (l *lister) glued(word string) (at words.Place, behind int) {
	i := strings.IndexAny(word, ".):")
	if i < 1 || i+1 == len(word) || word[i+1] >= '0' && word[i+1] <= '9' {
		return at, 0
	}
	if at = l.r.place(l.c, strings.TrimPrefix(word[:i], "(")); !at.Plain {
		return words.Place{}, 0
	}
	return at, i + 1
}

// labelled goes on with the label at byte i, which has to agree with the position before it; behind a comma another
// label is the next item. It reports whether one agrees.
func (l *lister) labelled(i int, w way, at words.Place, comma bool) (agrees bool) {
	for k, label := range l.c.labels {
		if label == "" || !strings.HasPrefix(l.s[i:], label) || !ends(l.s, i+len(label)) {
			continue
		}
		x := w
		switch {
		case k == at.N-1:
			agrees = true
		case at.N <= l.c.n && label == l.c.labels[at.N-1]: // its double: the number tells
			continue
		case comma:
			continue
		default:
			x.hint = core.HintConflict
		}
		l.item(i+len(label), x, k)
	}
	return agrees
}

// numbered goes on after position at, which ends before byte i: alone, as the start of a range, or with
// its label behind it.
func (l *lister) numbered(i int, w way, at words.Place) {
	j := i
	for j < len(l.s) && strings.IndexByte(" -,", l.s[j]) >= 0 {
		j++
	}
	if j > i && l.labelled(j, w, at, strings.IndexByte(l.s[i:j], ',') >= 0) {
		return
	}
	if !l.r.p.Exact && l.toRange(i, w, at) {
		return
	}
	if at.N > l.c.n {
		w.hint = core.HintNumber
		w.n, w.known = w.n+1, w.known+1
		l.after(i, w)
		return
	}
	l.item(i, w, at.N-1)
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
	bounded := w.and || before == "" || strings.IndexByte(",;+&/", before[len(before)-1]) >= 0 ||
		w.known > 1 && w.known == w.n && end == len(l.s) && strings.IndexByte(text, ' ') < 0
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
