package parse

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"parley/core/words"
)

// role is what a phrase can mean; a phrase may have several.
type role uint64

const (
	isYes role = 1 << iota
	isConfirm
	isNo
	isDont
	isDontDo
	isDontDeny
	isIt
	isPlease
	isLead
	isDone
	isUndone
	isNotDone
	isTrue
	isFalse
	isCancel
	isSkip
	isSkipAll
	isBack
	isDefault
	isDefaultAll
	isOk
	isEdit
	isDetails
	isNear
	isWait
	isUnit
	isUnitLead
	isNot
	isWhole
	isAnd
	isOr
	isTo
	isAll
	isBoth
	isNone
	isExcept
	isExceptEnd
	isPick
	isTypo // one edit from a word that counts; never in a lexicon
	isMain // a main word of approve, yes, deny, no or done
)

// lexicon holds the phrases of English and one other language.
type lexicon struct {
	roles map[string]role
	known map[string]struct{} // words that are no typos
	// starts are the first words of phrases, with how many words the longest phrase has that begins so.
	starts map[string]int
	// places are the first words of what names a position.
	places map[string]struct{}
	// refusals are the first words of refusals, and their first runes.
	refusals map[string]struct{}
	please   []string
	ends     []string        // phrases of isExceptEnd
	tight    []string        // "and", "or" and "to" of scripts that write no space around them
	from     []string        // before a range
	toEnd    []string        // after it
	tail     []string        // after a choice
	picks    []string        // before a position, without a space
	alike    map[int][]alike // by length in runes, for typos
	numbers  map[string]words.Place
	letters  map[string]words.Place
	last     map[string]struct{}
	because  []because
	with     []string // between a consent and the arguments it changes
	// pending ask for the list of all that waits.
	pending map[string]struct{}
	out     []wayOut
	// comma: a point may part thousands.
	comma bool
}

// firstSpaceless is the first rune of the scripts of East Asia, which write words without spaces.
const firstSpaceless = 0x2E80

type alike struct {
	phrase string
	roles  role
}

var lexicons sync.Map // of *lexicon by tag

func lexiconOf(tag string) *lexicon {
	l := words.For(tag)
	if x, ok := lexicons.Load(l.Tag); ok {
		return x.(*lexicon)
	}
	x := &lexicon{
		roles: map[string]role{}, known: map[string]struct{}{}, alike: map[int][]alike{}, last: map[string]struct{}{},
		starts: map[string]int{}, places: map[string]struct{}{}, refusals: map[string]struct{}{},
		pending: map[string]struct{}{}, comma: l.DecimalComma,
	}
	places := words.PlacesOf(tag)
	x.numbers, x.letters = foldPlaces(places.Numbers), foldPlaces(places.Letters)
	x.add(words.For("en"))
	for _, c := range l.Clash {
		x.roles[Fold(c)] = isNear
	}
	if l.Tag != "en" {
		x.add(l)
	}
	x.index()
	got, _ := lexicons.LoadOrStore(l.Tag, x)
	return got.(*lexicon)
}

func (x *lexicon) add(l *words.Language) {
	for _, g := range []struct {
		role    role
		phrases []string
	}{
		{isYes, l.Yes}, {isConfirm, l.Confirm}, {isNo, l.No}, {isDont, l.Dont}, {isDontDo, l.DontDo}, {isDontDeny, l.DontDeny},
		{isIt, l.It}, {isPlease, l.Please}, {isLead, l.Lead}, {isDone, l.Done}, {isUndone, l.Undone}, {isNotDone, l.NotDone},
		{isTrue, l.True}, {isFalse, l.False}, {isCancel, l.Cancel}, {isSkip, l.Skip}, {isSkipAll, l.SkipAll}, {isBack, l.Back},
		{isDefault, l.Default}, {isDefaultAll, l.DefaultAll}, {isOk, l.Ok}, {isEdit, l.Edit}, {isDetails, l.Details},
		{isNear, l.Near}, {isWait, l.Wait}, {isUnit, l.Unit}, {isUnitLead, l.UnitLead}, {isNot, l.Not}, {isWhole, l.Whole},
		{isAnd, l.And}, {isOr, l.Or}, {isTo, l.To}, {isAll, l.All}, {isBoth, l.Both}, {isNone, l.None},
		{isExcept, l.Except}, {isExceptEnd, l.ExceptEnd}, {isPick, l.Pick},
	} {
		for _, p := range g.phrases {
			x.roles[Fold(p)] |= g.role
		}
	}
	for _, p := range []string{l.Main.Approve, l.Main.Yes, l.Main.Deny, l.Main.No, l.Main.Done} {
		if f := Fold(p); x.roles[f]&(isYes|isNo|isDone) != 0 {
			x.roles[f] |= isMain
		}
	}
	for _, p := range l.Please {
		x.please = append(x.please, Fold(p))
	}
	for _, p := range l.ExceptEnd {
		x.ends = append(x.ends, Fold(p))
	}
	for _, p := range slices.Concat(l.And, l.Or, l.To) {
		if r, n := utf8.DecodeRuneInString(p); r >= firstSpaceless || n == len(p) && unicode.Is(unicode.Arabic, r) {
			x.tight = append(x.tight, p)
		}
	}
	for _, p := range l.Pick {
		if r, _ := utf8.DecodeRuneInString(p); r >= firstSpaceless {
			x.picks = append(x.picks, p)
		}
	}
	x.from, x.toEnd, x.tail = append(x.from, l.From...), append(x.toEnd, l.ToEnd...), append(x.tail, l.Tail...)
	for _, p := range l.Last {
		x.last[Fold(p)] = struct{}{}
	}
	for _, p := range l.Because {
		x.because = append(x.because, newBecause(p))
	}
	for _, p := range l.With {
		x.with = append(x.with, Fold(p))
	}
	for _, p := range l.Pending {
		x.pending[Fold(p)] = struct{}{}
	}
	for _, p := range l.Known {
		x.known[Fold(p)] = struct{}{}
	}
	x.out = append(x.out, wayOut{
		foldAll(l.Main.Cancel, l.Cancel), foldAll(l.Main.Skip, l.Skip), foldAll(l.Main.Back, l.Back),
		foldAll(l.Main.All, l.All), foldAll(l.Main.None, l.None), foldAll(l.Ok[0], l.Ok),
	})
}

// wayOut are the words of one language of which a prompt names the first that no option is named by, the main one
// first: those that lead out of a question, and those that take all, none and the defaults.
type wayOut struct{ cancel, skip, back, all, none, ok []string }

func foldAll(first string, others []string) []string {
	out := []string{Fold(first)}
	for _, w := range others {
		out = append(out, Fold(w))
	}
	return out
}

// foldPlaces folds the phrases; one that would then mean two numbers means none.
func foldPlaces(m map[string]words.Place) map[string]words.Place {
	out := make(map[string]words.Place, len(m))
	for phrase, at := range m {
		f := Fold(phrase)
		if old, ok := out[f]; ok && old.N != at.N {
			at = words.Place{}
		} else if ok {
			at.Plain = at.Plain || old.Plain
		}
		out[f] = at
	}
	return out
}

// answers are the roles of phrases that do something: a typo of one is unclear.
const answers = isYes | isConfirm | isNo | isDone | isUndone | isTrue | isFalse | isCancel | isSkip | isSkipAll |
	isBack | isDefault | isDefaultAll | isDetails | isAll | isNone

func (x *lexicon) index() {
	for p, r := range x.roles {
		x.known[p] = struct{}{}
		x.addAlike(p, r&answers)
	}
	x.indexStarts()
	for p := range x.last {
		x.known[p] = struct{}{}
		x.addAlike(p, isPlace)
	}
	for p, at := range x.numbers {
		if !strings.ContainsAny(p, "0123456789") && at.N > 0 {
			x.known[p] = struct{}{}
			x.addAlike(p, isPlace)
		}
	}
}

// isPlace marks a word that names a position, for typos only.
const isPlace = isPick

func (x *lexicon) addAlike(p string, r role) {
	if n := utf8.RuneCountInString(p); r != 0 && n >= 3 {
		x.alike[n] = append(x.alike[n], alike{p, r})
	}
}

// typo reports whether s is one edit or swap away from a phrase that has one of the roles, and is no
// word of its own.
func (x *lexicon) typo(s string, of role) bool {
	if _, ok := x.known[s]; ok {
		return false
	}
	n := utf8.RuneCountInString(s)
	for k := n - 1; k <= n+1; k++ {
		for _, a := range x.alike[k] {
			if a.roles&of != 0 && oneEdit(s, a.phrase) {
				return true
			}
		}
	}
	return false
}

// oneEdit reports whether a becomes b by one insertion, removal, replacement or swap of neighbours.
func oneEdit(a, b string) bool {
	for a != "" && b != "" {
		r, n := utf8.DecodeRuneInString(a)
		s, m := utf8.DecodeRuneInString(b)
		if r != s {
			break
		}
		a, b = a[n:], b[m:]
	}
	for a != "" && b != "" {
		r, n := utf8.DecodeLastRuneInString(a)
		s, m := utf8.DecodeLastRuneInString(b)
		if r != s {
			break
		}
		a, b = a[:len(a)-n], b[:len(b)-m]
	}
	r, n := utf8.DecodeRuneInString(a)
	s, m := utf8.DecodeRuneInString(b)
	switch {
	case len(a) == n && len(b) == m:
		return a != b
	case n == 0 || m == 0:
		return false
	}
	return a[n:] == string(s) && b[m:] == string(r)
}
