package parse

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/core"
)

// maxReason is the greatest length of a message, in bytes, that refuses and says why; a longer one is a new
// message, so that nothing of it is cut. maxHead is how much of it may be the refusal.
const (
	maxReason = 4 << 10
	maxHead   = 96
)

// because is a phrase between a refusal and its reason.
type because struct {
	phrase string
	words  int
	// tight: the reason may follow without a space.
	tight bool
}

func newBecause(phrase string) because {
	phrase = normalize(phrase)
	r, _ := utf8.DecodeRuneInString(phrase)
	return because{phrase, 1 + strings.Count(phrase, " "), r >= firstSpaceless && !unicode.Is(unicode.Hangul, r)}
}

// reason reads a refusal that says why: a refusal, then "because" or a colon, then anything. It is asked about
// a text that has no other reading, and it never consents.
func (r *Reader) reason(m message) (core.Reading, bool) {
	if !m.long && !r.lex.mayRefuse(m.folded) || len(m.typed) > maxReason || asking(m.typed) {
		return core.Reading{}, false
	}
	why, ok := r.afterBecause(m.typed)
	if !ok {
		why, ok = r.afterColon(m.typed)
	}
	if !ok {
		return core.Reading{}, false
	}
	var buf [maxItems + 2]item
	if its, ok := r.lex.items(Fold(why), buf[:0]); ok && consents(its, isYes|isConfirm|isDone) {
		return unclear(core.HintBoth), true
	}
	return core.Reading{Kind: core.ReadAnswer, Reason: why}, true
}

// asking reports whether a text ends with a question mark.
func asking(s string) bool {
	s = strings.TrimRight(s, "!. )\"'”’\n\t")
	last, _ := utf8.DecodeLastRuneInString(s)
	return last == '?' || last == '？' || last == '؟'
}

// afterBecause is what stands behind a refusal and "because".
func (r *Reader) afterBecause(s string) (why string, ok bool) {
	head := s[:min(len(s), maxHead)]
	for i := 0; i < len(head); {
		_, n := utf8.DecodeRuneInString(s[i:])
		for _, b := range r.lex.because {
			if end := b.at(s, i); end > 0 && r.refusal(s[:i]) {
				if why := strings.TrimLeft(trimSpace(s[end:]), ",:，：、 "); reasoned(why) {
					return trimSpace(why), true
				}
			}
		}
		i += n
	}
	return "", false
}

// at reports where the phrase ends that begins at byte i of a text; 0 where it does not stand there.
func (b because) at(s string, i int) int {
	if b.tight {
		if !strings.HasPrefix(s[i:], b.phrase) {
			return 0
		}
		return i + len(b.phrase)
	}
	if i == 0 || !unicode.IsSpace(lastRune(s[:i])) {
		return 0
	}
	end, elided := i, strings.HasSuffix(b.phrase, "'")
	for range b.words {
		end += len(s[end:]) - len(strings.TrimLeftFunc(s[end:], unicode.IsSpace))
		n := strings.IndexFunc(s[end:], unicode.IsSpace)
		if n < 0 {
			n = len(s) - end
		}
		end += n
	}
	said := s[i:end]
	if elided { // parce qu'elle
		n := strings.IndexAny(said, "'’")
		if n < 0 {
			return 0
		}
		_, size := utf8.DecodeRuneInString(said[n:])
		end = i + n + size
		said = s[i:end]
	}
	if strings.TrimRight(normalize(said), ",:") != b.phrase {
		return 0
	}
	return end
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// afterColon is what stands behind a refusal and a colon.
func (r *Reader) afterColon(s string) (why string, ok bool) {
	for i, c := range s[:min(len(s), maxHead)] {
		if c != ':' && c != '：' {
			continue
		}
		behind := s[i+utf8.RuneLen(c):]
		next, _ := utf8.DecodeRuneInString(behind)
		spaced := c != ':' || unicode.IsSpace(next) || utf8.RuneCountInString(trimSpace(s[:i])) > 1 && unicode.IsLetter(next)
		if why := trimSpace(behind); spaced && reasoned(why) && r.refusal(s[:i]) {
			return why, true
		}
	}
	return "", false
}

// reasoned reports whether a text says anything: "no: 2" gives no reason.
func reasoned(why string) bool { return strings.ContainsFunc(why, unicode.IsLetter) }

// refusal reports whether a text as typed refuses what is asked, and nothing else.
func (r *Reader) refusal(head string) bool {
	head = Fold(strings.TrimRight(r.p.Markup.emoji(head), " \t\r\n\u00a0\u3000,;:.!-–—…，、；：。،؛"))
	var buf [maxItems + 2]item
	its, ok := r.lex.items(head, buf[:0])
	if !ok || head == "" {
		return false
	}
	if r.p.Input.Kind == core.KindURL {
		return only(withoutPlease(its))&isUndone != 0
	}
	return refuses(its)
}
