package parse

import (
	"slices"
	"strings"
	"unicode/utf8"

	"parley/core"
	"parley/core/words"
)

// choice is a question, or a form field with choices, made ready to be read.
type choice struct {
	n        int
	labels   []string       // folded
	words    [][]string     // of each folded label
	byLabel  map[string]int // by folded label; doubled for two that fold alike
	byValue  map[string]int
	byNumber map[int]int // labels that are a number, by it
	lettered bool
	multi    bool
	free     bool
	defaults bool
	verdicts bool // a label says yes or no itself, so that a bare consent cannot mean the defaults
	// addresses: a label is one, so that a slash in a text may part nothing.
	addresses bool
	// initials are the first bytes of labels and of their words.
	initials [256]bool
	part     func(picked []int) *core.Part
}

const doubled = -1

func newChoice(options []core.Option, lang string) *choice {
	c := &choice{n: len(options), byLabel: map[string]int{}, byValue: map[string]int{}, byNumber: map[int]int{}}
	labels := make([]string, c.n)
	lex := lexiconOf(lang)
	for i, o := range options {
		labels[i] = o.Label
		f := Fold(o.Label)
		c.labels = append(c.labels, f)
		c.words = append(c.words, wordsOf(f))
		for _, w := range append(c.words[i], f) {
			if w != "" {
				c.initials[w[0]] = true
			}
		}
		c.addresses = c.addresses || strings.Contains(f, "://")
		put(c.byLabel, f, i)
		put(c.byValue, Fold(o.Value), i)
		c.verdicts = c.verdicts || lex.verdict(f, c.words[i])
		if at := lex.numbers[f]; at.Plain {
			if _, ok := c.byNumber[at.N]; ok {
				i = doubled
			}
			c.byNumber[at.N] = i
		}
	}
	c.lettered = words.Lettered(labels, lang)
	return c
}

// verdict reports whether a folded label reads as a verdict, or has a word of one in it: "Yes, delete it".
func (x *lexicon) verdict(label string, words []string) bool {
	const verdicts = isYes | isConfirm | isNo
	return x.roles[label]&(verdicts|isNear|isDone|isOk) != 0 || slices.ContainsFunc(words, func(w string) bool {
		return len(w) > 1 && x.roles[w]&verdicts != 0
	})
}

func put(m map[string]int, key string, i int) {
	if j, ok := m[key]; ok && j != i {
		i = doubled
	}
	m[key] = i
}

// found is what a text says about the options of a choice.
type found struct {
	set set
	// one is the only option if n is 1, from 1; 0 if set tells.
	one int
	// n is how many items the text lists, 0 for none of the options ("none").
	n    int
	ok   bool
	hint core.Hint // why a text that is near to a choice is none
}

func (f found) unclear() bool { return !f.ok && f.hint != "" }

func pick(i int) found {
	if i < 0 {
		return found{hint: core.HintPartial}
	}
	return found{one: i + 1, n: 1, ok: true}
}

// indices are the options found, in order, never nil.
func (f found) indices() []int {
	if f.one > 0 {
		return []int{f.one - 1}
	}
	return f.set.list()
}

// find reads a folded text as a choice: a label, a position, a list of them, all or none.
func (r *Reader) find(c *choice, s string) found {
	if i, ok := c.byLabel[s]; ok {
		if at := r.place(c, s); at.N > 0 && at.N <= c.n && i != at.N-1 {
			return found{hint: core.HintConflict}
		}
		return pick(i)
	}
	f := r.position(c, s)
	if f.ok {
		return f
	}
	if i, ok := c.byValue[s]; ok && i >= 0 && !numeric(s) && r.lex.numbers[s].N == 0 {
		return pick(i) // nobody was shown it: a number that is a value chooses nothing
	}
	if f.unclear() {
		return f
	}
	t := s
	if !r.p.Exact {
		t = r.lex.unpolite(s)
	}
	if len(t) < len(s) {
		if f := r.find(c, t); f.ok || f.unclear() {
			return f
		}
	}
	if c.n == 0 || !r.mayChoose(c, t) {
		return found{}
	}
	if (strings.IndexByte(t, ' ') > 0 || r.lex.picks != nil) && !r.p.Exact {
		if f := r.picked(c, t); f.ok || f.unclear() {
			return f
		}
	}
	if f := r.several(c, t); f.ok || f.unclear() {
		return f
	}
	return r.list(c, t)
}

// mayChoose reports whether a folded text begins like something that chooses, or could be a list: most sentences
// do not, and are looked at no further.
func (r *Reader) mayChoose(c *choice, s string) bool {
	if s == "" || c.initials[s[0]] || strings.IndexByte("0123456789(#\"'*_`", s[0]) >= 0 || strings.ContainsAny(s, ",;+&/") {
		return true
	}
	first := firstWord(s)
	if _, ok := r.lex.places[first]; ok || r.lex.starts[first] > 0 || strings.ContainsAny(first, ".):-~") {
		return true
	}
	start, _ := utf8.DecodeRuneInString(s)
	return start >= firstSpaceless
}

// place is the position that a phrase names: by digits and words, or by letters in a lettered choice.
func (r *Reader) place(c *choice, s string) words.Place {
	if _, ok := r.lex.last[s]; ok && !r.p.Exact {
		return words.Place{N: c.n}
	}
	at := r.lex.numbers[s]
	if c.lettered {
		at = r.lex.letters[s]
	}
	if r.p.Exact && !at.Plain {
		return words.Place{}
	}
	return at
}

// position reads a phrase that names one position and nothing else.
func (r *Reader) position(c *choice, s string) found {
	if at := r.place(c, s); at.N > 0 {
		if at.N <= c.n {
			return pick(at.N - 1)
		}
		if i, ok := c.byNumber[at.N]; ok && at.Plain && !c.lettered {
			return pick(i)
		}
		return r.outside(c)
	}
	if at, ok := r.lex.numbers[s]; ok { // a number in a lettered choice
		if i, ok := c.byNumber[at.N]; ok && at.Plain {
			return pick(i)
		}
		return r.outside(c)
	}
	if _, ok := r.lex.letters[s]; ok { // a letter in a numbered one
		return r.outside(c)
	}
	return found{}
}

// outside is a position that is no option; where there are none it is just a word.
func (r *Reader) outside(c *choice) found {
	if c.n == 0 {
		return found{}
	}
	return found{hint: core.HintNumber}
}

// picked reads "I'd go with 2": a position, not a label, which may be part of a longer thought.
func (r *Reader) picked(c *choice, s string) found {
	for i, end := 0, r.lex.lead(s); i < end; i++ {
		if s[i] == ' ' && r.lex.roles[s[:i]]&isPick != 0 {
			if f := r.pickOf(c, s[i+1:]); f.ok || f.unclear() {
				return f
			}
		}
	}
	for _, pick := range r.lex.picks {
		if rest, ok := strings.CutPrefix(s, pick); ok {
			if f := r.pickOf(c, rest); f.ok || f.unclear() {
				return f
			}
		}
	}
	return found{}
}

// pickOf reads what was picked: a position, or several where several may be chosen.
func (r *Reader) pickOf(c *choice, s string) found {
	if f := r.position(c, s); f.ok || f.unclear() {
		return f
	}
	if _, ok := c.byLabel[s]; ok {
		return found{hint: core.HintWords}
	}
	bare := *c
	bare.labels = nil
	if f := r.list(&bare, s); f.ok && c.multi {
		return f
	}
	if f := r.list(c, s); f.ok || f.unclear() {
		return found{hint: core.HintSeveral}
	}
	return found{}
}

// several reads all, none, and all but some.
func (r *Reader) several(c *choice, s string) found {
	roles := r.lex.roles[s]
	of := r.allOf(s)
	all := roles&isAll != 0 || roles&isBoth != 0 && c.n == 2 || of == c.n
	switch {
	case of > 0 && of != c.n:
		return found{hint: core.HintNumber}
	case !all && roles&isNone == 0 && roles&isBoth == 0:
		return r.allBut(c, s)
	case !c.multi || r.p.Exact && !r.counted(c, s) || c.n > maxOptions || !all && roles&isNone == 0:
		return found{hint: core.HintSeveral}
	case all:
		return found{set: every(c.n), n: c.n, ok: true}
	}
	return found{ok: true}
}

// counted reports whether a prompt names that word for all or none.
func (r *Reader) counted(c *choice, s string) bool {
	return slices.ContainsFunc(r.lex.out, func(w wayOut) bool { return s == c.untaken(w.all) || s == c.untaken(w.none) })
}

// allOf is the number in "all four" and "all four of them", 0 for none.
func (r *Reader) allOf(s string) int {
	for i, end := 0, r.lex.lead(s); i < end; i++ {
		if s[i] != ' ' || r.lex.roles[s[:i]]&isAll == 0 {
			continue
		}
		word, rest, _ := strings.Cut(s[i+1:], " ")
		if at := r.lex.numbers[word]; at.Plain && (rest == "" || r.lex.roles[s[:i+1]+rest]&isAll != 0) {
			return at.N
		}
	}
	return 0
}

// allBut reads "all except 2 and 3".
func (r *Reader) allBut(c *choice, s string) found {
	rest := ""
	for _, end := range r.lex.ends { // the longest that fits leaves the least
		if t, ok := strings.CutSuffix(s, end); ok && (rest == "" || len(t) < len(rest)) {
			rest = strings.TrimSpace(t)
		}
	}
	if r.lex.tight != nil {
		rest = r.lex.between(s, rest)
	}
	for i, end := 0, r.lex.lead(s); i < end && rest == ""; i++ {
		if s[i] == ' ' && r.lex.roles[strings.TrimRight(s[:i], ",")]&(isAll|isNone) != 0 {
			if rest = r.afterExcept(s[i+1:]); rest != "" && r.lex.roles[strings.TrimRight(s[:i], ",")]&isAll == 0 {
				return found{hint: core.HintSeveral} // none but some
			}
			if roles := r.lex.roles[s[i+1:]]; rest == "" && (roles&isExcept != 0 || r.eitherWhole(s[i+1:])) {
				return found{hint: core.HintSeveral}
			}
		}
	}
	if rest == "" {
		return found{}
	}
	f := r.list(c, rest)
	switch {
	case !f.ok && !f.unclear() && (strings.IndexByte(rest, ' ') < 0 || r.lex.roles[rest]&(isAll|isNone) != 0):
		return found{hint: core.HintPartial} // all but what is no option
	case !f.ok:
		return f
	case !c.multi || r.p.Exact || f.n == 0:
		return found{hint: core.HintSeveral}
	}
	left := every(c.n)
	left.remove(f.set)
	if left == (set{}) {
		return found{hint: core.HintSeveral}
	}
	return found{set: left, n: left.count(), ok: true}
}

// between is what a text without spaces leaves out: between a word of exception and "all" ("除了2都要"), or before
// the ending that rest was cut off by ("除了2以外全部").
func (x *lexicon) between(s, rest string) string {
	for i := range s {
		if i == 0 || x.roles[s[:i]]&isExcept == 0 {
			continue
		}
		if strings.HasPrefix(rest, s[:i]) {
			return strings.TrimSpace(rest[i:])
		}
		for j := range s[i:] {
			if j > 0 && rest == "" && x.roles[s[i+j:]]&isAll != 0 {
				return strings.TrimRight(s[i:i+j], " ,")
			}
		}
	}
	return rest
}

// eitherWhole reads what stands behind an "all" or "none" with another of them: "or none".
func (r *Reader) eitherWhole(s string) bool {
	and, whole, _ := strings.Cut(s, " ")
	return r.lex.roles[and]&(isAnd|isOr) != 0 && r.lex.roles[whole]&(isAll|isNone) != 0
}

// afterExcept takes a word of exception off the start of s; the longest that fits.
func (r *Reader) afterExcept(s string) (rest string) {
	for i, end := 0, r.lex.lead(s); i < end; i++ {
		if s[i] == ' ' && r.lex.roles[s[:i]]&isExcept != 0 {
			rest = s[i+1:]
		}
	}
	return rest
}
