package parse

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// word is one word of a folded text.
type word struct {
	start, end int
	// sep is what stands before it: 0 at the start, a space, a comma (or a mark that ends a sentence), or
	// anything else as a slash; that too before the first word of a text that begins or breaks off so.
	sep byte
}

// item is one phrase of a folded text with what it can mean.
type item struct {
	roles role
	text  string
	sep   byte
}

// maxItems is how many words a text may have that is made of known phrases only.
const maxItems = 12

// split cuts a folded text into words. An emoji is a word of its own. ok is false for too many.
func split(s string, buf []word) (ws []word, ok bool) {
	ws = buf[:0]
	sep, start := byte(0), -1
	end := func(i int) {
		if start >= 0 {
			ws = append(ws, word{start, i, sep})
			start, sep = -1, 0
		}
	}
	for i := 0; i < len(s); {
		c, n := rune(s[i]), 1
		if c >= utf8.RuneSelf {
			c, n = utf8.DecodeRuneInString(s[i:])
		}
		k := separator(s, i, c)
		switch {
		case k != 0:
			end(i)
			sep = stronger(sep, k)
		case c >= 0x2000 && unicode.IsSymbol(c):
			end(i)
			start = i
			end(i + n)
		case start < 0:
			start = i
		}
		if len(ws) > maxItems {
			return nil, false
		}
		i += n
	}
	end(len(s))
	if len(ws) > 0 && (sep != 0 || ws[0].sep != 0) { // it begins or ends in a separator
		ws[0].sep = '/'
	}
	for i := 1; i < len(ws); i++ {
		if ws[i].sep == 0 {
			ws[i].sep = ' ' // emoji in a row
		}
	}
	return ws, len(ws) > 0 && len(ws) <= maxItems
}

// separator is the kind of separator that byte i of s is, 0 for none.
func separator(s string, i int, c rune) byte {
	switch c {
	case ' ':
		return ' '
	case ',':
		return ','
	case '/', '&', '+', ';':
		return '/'
	case '.', '!', ':', '?':
		if i+1 < len(s) && strings.IndexByte(" ,.!?", s[i+1]) < 0 {
			return 0
		}
		if c == '.' || c == '!' {
			return ','
		}
		return '/'
	case '-':
		if i > 0 && s[i-1] == ' ' && i+1 < len(s) && s[i+1] == ' ' {
			return '/'
		}
	}
	return 0
}

func stronger(a, b byte) byte {
	if a == '/' || b == '/' {
		return '/'
	}
	if a == ',' || b == ',' {
		return ','
	}
	return b
}

// items reads a folded text as phrases, the longest that fits first. A word that begins no phrase has no
// roles. ok is false for a text that is too long for that.
func (x *lexicon) items(s string, buf []item) (its []item, ok bool) {
	its = buf[:0]
	if r, whole := x.roles[s]; whole {
		return append(its, item{r, s, 0}), true
	}
	var words [maxItems + 2]word
	ws, ok := split(s, words[:0])
	if !ok {
		return nil, false
	}
	for i := 0; i < len(ws); {
		j := min(i+max(x.starts[s[ws[i].start:ws[i].end]], 1), len(ws))
		for ; j > i; j-- {
			text := s[ws[i].start:ws[j-1].end]
			if r, ok := x.roles[text]; ok || j == i+1 {
				its = append(its, item{r, text, ws[i].sep})
				break
			}
		}
		i = j
	}
	return its, true
}

// unpolite takes a "please" or "thanks", or what else may follow a choice, off the end of a folded text.
func (x *lexicon) unpolite(s string) string {
	for _, p := range x.please {
		if t, ok := strings.CutSuffix(s, p); ok && t != "" {
			if u := strings.TrimRight(t, " "); len(u) < len(t) || strings.HasSuffix(u, ",") {
				return strings.TrimRight(strings.TrimSuffix(u, ","), " .!")
			}
		}
	}
	for _, p := range x.tail {
		if t, ok := strings.CutSuffix(s, p); ok && t != "" {
			return strings.TrimRight(t, " ")
		}
	}
	return s
}
