package parse

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/core"
)

// part reads a message against one question or field.
func (r *Reader) part(i int, m message) core.Reading {
	c := r.choices[i]
	switch {
	case r.p.Input.Kind == core.KindQuestion:
	case c == nil:
		return r.typed(i, m)
	default:
		got := r.choose(c, m)
		if got.Kind == core.ReadAnswer && !got.Part.Default && r.form.Fields[i].Check(got.Part.Field) != "" {
			return unclear(core.HintType) // too many or too few of them
		}
		if got.Kind == core.ReadOther && !m.long && meantAsValue(m) {
			return unclear(core.HintType)
		}
		return r.optional(i, got)
	}
	return r.choose(c, m)
}

// optional makes a skip of a required field unclear.
func (r *Reader) optional(i int, got core.Reading) core.Reading {
	if got.Verb == core.VerbSkip && r.form.Fields[i].Required {
		return unclear(core.HintWords)
	}
	return got
}

// choose reads a message against a question.
func (r *Reader) choose(c *choice, m message) core.Reading {
	if m.long {
		switch {
		case !c.free:
			return core.Reading{}
		case r.commanded(m):
			return unclear(core.HintWords)
		}
		return answerText(m)
	}
	if i, ok := c.byLabel[m.folded+"?"]; ok && m.asked && i >= 0 {
		return picked(c, pick(i))
	}
	f := r.find(c, m.folded)
	if f.ok && !m.asked {
		return picked(c, f)
	}
	word, slash := r.slash(m.folded)
	if slash && word != "" {
		m.folded = word
	}
	if c.free {
		return r.freely(c, m, f, slash)
	}
	var buf [maxItems + 2]item
	its, known := r.lex.items(m.folded, buf[:0])
	if got, ok := r.asCommand(c, its, m); ok && known {
		return got
	}
	switch {
	case f.ok:
		return unclear(core.HintWords) // with a question mark
	case f.unclear():
		return unclear(f.hint)
	case r.partial(c, r.lex.unpolite(m.folded)):
		return unclear(core.HintPartial)
	case r.negated(c, m.folded):
		return unclear(core.HintPartial)
	case !known:
		return core.Reading{}
	}
	return r.near(its, m.folded, answers|isPlace)
}

func picked(c *choice, f found) core.Reading {
	return core.Reading{Kind: core.ReadAnswer, Part: c.part(f.indices())}
}

func answerText(m message) core.Reading {
	return core.Reading{Kind: core.ReadAnswer, Part: &core.Part{Text: m.typed}}
}

// asCommand reads the commands of a question: those of every input, of every set, and its defaults.
func (r *Reader) asCommand(c *choice, its []item, m message) (core.Reading, bool) {
	if m.asked {
		return core.Reading{}, false
	}
	if got, ok := r.command(its, m); ok {
		return got, true
	}
	if got, ok := r.setCommand(its); ok {
		return got, true
	}
	if n, ok := r.edit(m.folded); ok {
		return r.editing(n), true
	}
	if c.defaults && r.takesDefaults(c, its, !c.verdicts) {
		return core.Reading{Kind: core.ReadAnswer, Part: &core.Part{Default: true}}, true
	}
	return core.Reading{}, false
}

// takesDefaults reads the words that take the defaults of what is shown; a consent is one where it can
// mean nothing else.
func (r *Reader) takesDefaults(c *choice, its []item, consent bool) bool {
	if roles := only(withoutPlease(its)); roles&(isDefault|isOk|isConfirm) != 0 {
		return !r.p.Exact || roles&isDefault != 0 || len(its) == 1 &&
			slices.ContainsFunc(r.lex.out, func(w wayOut) bool { return its[0].text == c.untaken(w.ok) })
	}
	return consent && consents(its, isYes|isConfirm) && (!r.p.Exact || mainWord(its))
}

// freely reads a message where free text is allowed: everything is the answer as typed but a position, a
// label, a lone number and the few words that lead out.
func (r *Reader) freely(c *choice, m message, f found, slash bool) core.Reading {
	var buf [maxItems + 2]item
	its, _ := r.lex.items(m.folded, buf[:0])
	if !m.asked {
		switch {
		case r.leaves(c, m.folded, slash):
			return core.Reading{Kind: core.ReadCancel}
		case slash && r.lex.roles[m.folded]&commands == 0:
			return unclear(core.HintWords)
		case c.defaults && r.takesDefaults(c, its, c.n > 0 && !c.verdicts):
			return core.Reading{Kind: core.ReadAnswer, Part: &core.Part{Default: true}}
		}
		if slash && r.lex.roles[m.folded]&isDetails != 0 {
			return command(core.VerbDetails)
		}
		if v, ok := r.moves(c, m.folded, slash); ok {
			return command(v)
		}
	}
	if r.commanded(m) {
		return unclear(core.HintWords)
	}
	if i, ok := c.byLabel[m.folded]; ok && i == doubled || f.hint == core.HintConflict {
		return unclear(f.hint)
	}
	if _, ok := r.lex.numbers[m.folded]; c.n > 0 && (ok || numeric(m.folded)) {
		return unclear(core.HintNumber)
	}
	return answerText(m)
}

// leaves reads the one word that cancels where any text is an answer: the main one, or the next that no option is
// named by.
func (r *Reader) leaves(c *choice, s string, slash bool) bool {
	for _, w := range r.lex.out {
		if s == c.untaken(w.cancel) {
			return true
		}
	}
	return slash && r.lex.roles[s]&isCancel != 0
}

// moves reads the words skip and back where any text is an answer.
func (r *Reader) moves(c *choice, s string, slash bool) (core.Verb, bool) {
	for _, w := range r.lex.out {
		switch {
		case s == c.untaken(w.skip), slash && r.lex.roles[s]&isSkip != 0:
			return core.VerbSkip, true
		case s == c.untaken(w.back), slash && r.lex.roles[s]&isBack != 0:
			return core.VerbBack, true
		}
	}
	return "", false
}

// untaken is the first of folded words that no option is named by.
func (c *choice) untaken(list []string) string {
	for _, w := range list {
		_, label := c.byLabel[w]
		if _, value := c.byValue[w]; !label && !value {
			return w
		}
	}
	return ""
}

// partial reports whether a text is part of a label, or a typo of one.
func (r *Reader) partial(c *choice, s string) bool {
	_, known := r.lex.known[s]
	if utf8.RuneCountInString(s) >= 3 && !known {
		for _, l := range c.labels {
			if oneEdit(s, l) && utf8.RuneCountInString(l) >= 3 {
				return true
			}
		}
	}
	first, _ := utf8.DecodeRuneInString(s)
	spaceless := first >= firstSpaceless && utf8.RuneCountInString(s) > 1
	if spaceless && slices.ContainsFunc(c.labels, func(l string) bool { return strings.Contains(l, s) }) {
		return true
	}
	start := strings.IndexFunc(s, func(r rune) bool { return !notWord(r) && r != '\'' })
	if start < 0 || !c.initials[s[start]] && !loneLetter(s[start:]) {
		return false
	}
	said := wordsOf(s)
	return letters(said) && c.n > 0 || slices.ContainsFunc(c.words, func(label []string) bool { return inOrder(said, label) })
}

// loneLetter reports whether a text begins with a word of one letter.
func loneLetter(s string) bool {
	if s[0] >= utf8.RuneSelf {
		return false
	}
	next, _ := utf8.DecodeRuneInString(s[1:])
	return len(s) == 1 || next == '\'' || notWord(next)
}

// wordsOf are the words of a folded text, without marks around them.
func wordsOf(s string) []string {
	out := strings.FieldsFunc(s, notWord)
	for i, w := range out {
		if t := strings.Trim(w, "'"); t != "" {
			out[i] = t
		}
	}
	return out
}

func notWord(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '\''
}

// letters reports whether all words are single letters: positions as another choice shows them.
func letters(said []string) bool {
	for _, w := range said {
		if len(w) != 1 {
			return false
		}
	}
	return len(said) > 0
}

// inOrder reports whether each word is a word of the label or the start of one, in its order.
func inOrder(said, label []string) bool {
	if len(said) > len(label) {
		return false
	}
	at := 0
	for _, w := range said {
		for at < len(label) && label[at] != w && (len(w) < 2 || !strings.HasPrefix(label[at], w)) {
			at++
		}
		if at == len(label) {
			return false
		}
		at++
	}
	return len(said) > 0
}

// longestBeside is how many bytes of a text are looked at for what stands beside a choice.
const longestBeside = 24

// negated reports whether a text is a choice and something beside it that takes from it or adds to it: "not 2",
// "maybe 2", "2 for now".
func (r *Reader) negated(c *choice, s string) bool {
	const before = isNot | isDont | isLead | isNo | isYes | isNear | isWait | isOk | isOr | isAnd | isExcept
	const behind = isLead | isNo | isYes | isNear | isWait | isOk | isOr | isAnd | isWhole | isIt
	chosen := func(s string) bool {
		if !r.mayChoose(c, s) {
			return false
		}
		f := r.find(c, s)
		return f.ok || f.unclear() && f.hint != core.HintPartial
	}
	lead := min(r.lex.lead(s), longestBeside)
	for i := range lead {
		if s[i] == ' ' && r.lex.roles[strings.TrimRight(s[:i], ",.!")]&before != 0 && chosen(s[i+1:]) {
			return true
		}
	}
	if i := strings.IndexByte(s, ' '); i > 0 && r.mayChoose(c, s[i+1:]) && r.lex.typo(s[:i], isNo) && chosen(s[i+1:]) {
		return true
	}
	if r.lex.tight != nil {
		for i := range s[:min(len(s), longestBeside)] {
			if i > 0 && r.lex.roles[s[:i]]&isExcept != 0 && chosen(s[i:]) {
				return true
			}
		}
	}
	for i := len(s) - 1; i > 0 && i > len(s)-longestBeside; i-- {
		if s[i] == ' ' && r.lex.roles[s[i+1:]]&behind != 0 && chosen(strings.TrimRight(s[:i], ",.!")) {
			return true
		}
	}
	return false
}
