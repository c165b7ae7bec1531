package parse

import (
	"strings"
	"unicode/utf8"

	"parley/core"
)

// said are the roles that make a text an attempt to answer; around are those that may stand beside them.
const (
	said   = isYes | isConfirm | isNo | isDone | isUndone | isNotDone | isTrue | isFalse | isNear | isOk | isTypo | commands
	around = said | isDont | isDontDo | isDontDeny | isIt | isPlease | isLead | isWhole | isAnd | isOr | isNot
	// commands are the roles of commands, which are no answer to an input they do not fit.
	commands = isCancel | isSkip | isSkipAll | isBack | isDefault | isDefaultAll | isDetails
)

// near decides between unclear and other for a text that does nothing: unclear if it is made of words of
// consent, refusal and hesitation alone, or a typo of a word that counts.
func (r *Reader) near(its []item, s string, of role) core.Reading {
	if r.lex.typo(s, of) {
		return unclear(core.HintWords)
	}
	if r.plainNumber(s) {
		return unclear(core.HintNumber)
	}
	if r.nearlyPolite(s) {
		return unclear(core.HintWords)
	}
	if r.waits(its) {
		return unclear(core.HintWords)
	}
	if hint, ok := r.attempt(its, of); ok {
		return unclear(hint)
	}
	if t := strings.Trim(s, "*_~`\"'|()[] "); t != s && t != "" {
		if t = Fold(t); t != s {
			var buf [maxItems + 2]item
			if its, ok := r.lex.items(t, buf[:0]); ok {
				if hint, ok := r.attempt(its, of); ok {
					return unclear(hint)
				}
			}
		}
	}
	return core.Reading{}
}

// nearlyPolite reports whether a text is a verdict and a typo of a please or thanks: "no tanks", "nothanks".
func (r *Reader) nearlyPolite(s string) bool {
	for _, p := range r.lex.please {
		if utf8.RuneCountInString(p) < 3 {
			continue
		}
		if head, ok := strings.CutSuffix(s, p); ok && r.saysVerdict(head) {
			return true // glued
		}
		for i := max(0, len(s)-len(p)-1-utf8.UTFMax); i < len(s); i++ {
			if s[i] == ' ' && oneEdit(s[i+1:], p) && r.saysVerdict(strings.TrimRight(s[:i], ",.!")) {
				_, known := r.lex.known[s[i+1:]]
				return !known
			}
		}
	}
	return false
}

// saysVerdict reports whether a folded text is a yes or no to the input.
func (r *Reader) saysVerdict(s string) bool {
	var buf [maxItems + 2]item
	its, ok := r.lex.items(s, buf[:0])
	if !ok {
		return false
	}
	yes, no := r.verdictOf(its)
	return yes || no
}

// attempt reports whether all of a text is about consenting or refusing.
func (r *Reader) attempt(its []item, of role) (core.Hint, bool) {
	any, yes, no := false, false, false
	unknown := 0
	for _, it := range its {
		if it.roles == 0 {
			unknown++
		} else if it.roles&around == 0 {
			return "", false
		}
	}
	if unknown > 1 || unknown == len(its) {
		return "", false
	}
	for i, it := range its {
		roles := it.roles
		if roles == 0 && utf8.RuneCountInString(it.text) >= 3 && r.lex.typo(it.text, of) {
			roles = isTypo
		}
		switch {
		case roles&around == 0:
			return "", false
		case roles&isNot != 0 && roles&said == 0 && (i == 0 || its[i-1].roles&isOr == 0) && (i+1 == len(its) || its[i+1].roles&(said|isLead|isIt) == 0):
			return "", false // a negation of something else
		}
		any = any || roles&said != 0
		yes = yes || roles&(isYes|isConfirm) != 0
		no = no || roles&isNo != 0
	}
	switch {
	case !any:
		return "", false
	case yes && no:
		return core.HintBoth, true
	}
	return core.HintWords, true
}

// waits reports whether a text is nothing but hesitation: "hold on", "give me 1 sec please".
func (r *Reader) waits(its []item) bool {
	any := false
	for i := 0; i < len(its); i++ {
		switch roles := its[i].roles; {
		case roles&isWait != 0:
			any = true
		case r.plainNumber(its[i].text) && i+1 < len(its) && its[i+1].roles&isUnit != 0:
			if i > 0 && its[i-1].roles&isUnitLead == 0 {
				return false // "wait 2 minutes" is told to somebody
			}
			any = true
			i++
		case roles&isUnitLead != 0 && i+1 < len(its) && r.plainNumber(its[i+1].text):
		case roles&(isPlease|isAnd) == 0:
			return false
		}
	}
	return any
}

// plainNumber reports whether a word is a number, in digits or as a word.
func (r *Reader) plainNumber(s string) bool { return numeric(s) || r.lex.numbers[s].Plain }

// numeric reports whether a folded text is a number and nothing else, in whatever form.
func numeric(s string) bool {
	digits := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits = true
		case c == 'e' && digits && i+1 < len(s): // 1e9
		case strings.IndexByte("-+.,:#()[]%", c) < 0:
			return false
		}
	}
	return digits
}
