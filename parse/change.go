package parse

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/core"
	"parley/core/words"
)

// maxChanges is how many arguments one message may change.
const maxChanges = 16

// change reads "yes with amount=20" and "edit amount=20, note="two words"": a consent and "with", or a word
// for editing, then nothing but name=value. It approves nothing: the changed call is asked again.
func (r *Reader) change(m message) (core.Reading, bool) {
	eq := strings.IndexByte(m.typed, '=')
	if eq < 1 || len(m.typed) > maxReason || asking(m.typed) || r.p.Input.Kind != core.KindApproval {
		return core.Reading{}, false
	}
	for _, inName := range []func(rune) bool{nameRune, func(c rune) bool { return c < utf8.RuneSelf && nameRune(c) }} {
		start := nameStart(m.typed, eq, inName)
		head, list := m.typed[:start], m.typed[start:]
		if h, ok := strings.CutSuffix(head, "`"); ok && strings.HasSuffix(list, "`") {
			head, list = h, strings.TrimSuffix(list, "`")
		}
		if !r.changing(head) {
			continue
		}
		changes, ok := r.pairs(list)
		switch {
		case !ok:
			return core.Reading{}, false
		case twice(changes):
			return unclear(core.HintConflict), true
		}
		return core.Reading{Kind: core.ReadCommand, Verb: core.VerbChange, Changes: changes}, true
	}
	return core.Reading{}, false
}

func twice(changes []core.Change) bool {
	seen := map[string]bool{}
	for _, c := range changes {
		if seen[c.Name] {
			return true
		}
		seen[c.Name] = true
	}
	return false
}

// nameRune are the characters of an argument's name.
func nameRune(r rune) bool {
	return r == '_' || r == '-' || r == '.' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// nameStart is where the name before the "=" at eq begins.
func nameStart(s string, eq int, in func(rune) bool) int {
	s = strings.TrimRight(s[:eq], " \t")
	return len(strings.TrimRightFunc(s, in))
}

// changing reports whether what stands before the first name says to change the call.
func (r *Reader) changing(head string) bool {
	f := Fold(r.p.Markup.emoji(head))
	if r.lex.roles[f]&isEdit != 0 {
		return true
	}
	for _, with := range r.lex.with {
		yes, ok := strings.CutSuffix(f, with)
		first, _ := utf8.DecodeRuneInString(with)
		if !ok || !strings.HasSuffix(yes, " ") && !strings.HasSuffix(yes, ",") && first < firstSpaceless {
			continue
		}
		var buf [maxItems + 2]item
		if its, ok := r.lex.items(strings.TrimRight(yes, " ,"), buf[:0]); ok && consents(its, isYes) {
			return true
		}
	}
	return false
}

// pairs reads a list of name=value; ok is false for a text with anything else in it, but for a last please.
func (r *Reader) pairs(s string) (out []core.Change, ok bool) {
	for {
		var c core.Change
		if c, s, ok = pair(s); !ok || len(out) == maxChanges {
			return nil, false
		}
		out = append(out, c)
		rest := strings.TrimLeft(s, " \t\r\n,;，；、&+")
		if end := strings.Trim(rest, ".! "); end == "" || r.lex.roles[Fold(end)]&isPlease != 0 && len(rest) < len(s) {
			return out, true
		}
		if len(rest) == len(s) {
			return nil, false // nothing parts it from the value
		}
		if word, after, found := strings.Cut(rest, " "); found && r.lex.roles[Fold(word)]&isAnd != 0 {
			rest = strings.TrimLeft(after, " \t\r\n")
		}
		s = rest
	}
}

// pair takes one name=value off the start of a text.
func pair(s string) (c core.Change, rest string, ok bool) {
	n := strings.IndexFunc(s, func(r rune) bool { return !nameRune(r) })
	if n < 1 {
		return c, s, false
	}
	c.Name = s[:n]
	behind, ok := strings.CutPrefix(strings.TrimLeft(s[n:], " \t"), "=")
	if !ok {
		return c, s, false
	}
	behind = strings.TrimLeft(behind, " \t")
	first, size := utf8.DecodeRuneInString(behind)
	if closing, quoted := closingOf[first]; quoted {
		end := strings.IndexAny(behind[size:], closing)
		if end < 0 {
			return c, s, false
		}
		c.Value = behind[size : size+end]
		_, n := utf8.DecodeRuneInString(behind[size+end:])
		return c, behind[size+end+n:], true
	}
	end := strings.IndexFunc(behind, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;，；、", r) })
	if end < 0 {
		end = len(behind)
		if t := strings.TrimRight(behind, ".!"); t != "" && json.Valid([]byte(digits(t))) {
			end = len(t) // the end of the sentence
		}
	}
	c.Value = digits(behind[:end])
	return c, behind[end:], c.Value != "" && c.Value[0] != '=' && !strings.ContainsAny(c.Value, "\"“”„«»")
}

// closingOf are the marks that close a quoted value, by the one that opens it.
var closingOf = map[rune]string{'"': `"`, '“': "”“", '„': "“”", '«': "»", '‘': "’", '\'': "'", '「': "」", '『': "』"}

// digits writes a number in the digits of any script as JSON does; all else stays.
func digits(s string) string {
	out := strings.Map(func(r rune) rune {
		if d, ok := words.Digit(r); ok {
			return d
		}
		return r
	}, s)
	if out != s && json.Valid([]byte(out)) {
		return out
	}
	return s
}
