package parse

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"parley/core/words"
)

// Fold is the folding that replies and labels get before they are compared: compatibility forms, case,
// white space, zero-width characters, quotes and dashes, one pair of emphasis, code or quote marks around
// the whole, and the full stops and exclamation marks at its end. Two labels with one folding cannot be
// told apart by typing. Control characters and those that turn the direction of a text stay, wherever they
// stand: a text with one is never the text without it.
func Fold(s string) string {
	return foldEnds(normalize(s))
}

// foldEnds folds what stands around a text that is folded else.
func foldEnds(s string) string {
	t := trimEnd(s)
	if t = trimEnd(unwrap(t)); t == "" {
		return s
	}
	return t
}

// normalize folds everything but what stands around the whole.
func normalize(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return normalizeUnicode(s)
		}
	}
	if i := firstUnfolded(s); i < len(s) {
		return normalizeASCII(s, i)
	}
	return s
}

// firstUnfolded is where an ASCII text first differs from its folding; len(s) if nowhere.
func firstUnfolded(s string) int {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\t' || c == '\n' || c == '\r' || 'A' <= c && c <= 'Z' || c == ' ' && (i == 0 || i+1 == len(s) || s[i+1] <= ' ') {
			return i
		}
	}
	return len(s)
}

func normalizeASCII(s string, from int) string {
	for from > 0 && s[from-1] == ' ' {
		from--
	}
	b := make([]byte, from, len(s))
	copy(b, s)
	space := false
	for i := from; i < len(s); i++ {
		c := s[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			space = true
			continue
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		if space && len(b) > 0 {
			b = append(b, ' ')
		}
		space = false
		b = append(b, c)
	}
	return string(b)
}

func normalizeUnicode(s string) string {
	b := make([]byte, 0, len(s)+8)
	arabic, normal := false, true
	for _, r := range s { // marks that NFKC would take apart or keep
		if arabic && vowelMark(r) {
			continue
		}
		arabic = unicode.Is(unicode.Arabic, r)
		if m, ok := marks[r]; ok {
			b = append(b, m...)
		} else if !invisible(r) {
			b = utf8.AppendRune(b, r)
			normal = normal && inert(r)
		}
	}
	if !normal && !norm.NFKC.IsNormal(b) {
		b = norm.NFKC.Bytes(b)
	}
	out := make([]byte, 0, len(b)+8)
	space := false
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		i += n
		if blank(r) {
			space = true
			continue
		}
		last, _ := utf8.DecodeLastRune(out)
		if r == 0x0307 && last == 'i' && !space || invisible(r) || vowelMark(r) && unicode.Is(unicode.Arabic, last) { // the dot that lower case leaves of a Turkish İ; what NFKC uncovered
			continue
		}
		if space && len(out) > 0 {
			out = append(out, ' ')
		}
		space = false
		out = appendLower(out, r)
	}
	if !normal && !norm.NFKC.IsNormal(out) { // lower case met a mark that joins with it
		out = norm.NFKC.Bytes(out)
	}
	return string(out)
}

// inert are runes, in either case, that compatibility forms and composition leave as they are; there are more of them.
func inert(r rune) bool {
	return r < utf8.RuneSelf || r >= 0x400 && r <= 0x45F || r >= 0x4E00 && r <= 0x9FFF || r >= 0xAC00 && r <= 0xD7A3 ||
		r >= 0x3041 && r <= 0x3096 || r >= 0x30A1 && r <= 0x30FA || r >= 0xC0 && r <= 0x131 || r >= 0x621 && r <= 0x63A
}

func appendLower(out []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return append(out, byte(r))
	}
	if m, ok := marks[r]; ok {
		return append(out, m...)
	}
	if d, ok := words.Digit(r); ok {
		return append(out, byte(d))
	}
	switch r = unicode.ToLower(r); r {
	case 'ß':
		return append(out, "ss"...)
	case 'ς':
		r = 'σ'
	case 'ı': // what a capital I is the capital of
		r = 'i'
	case 'ё': // mostly written without its dots
		r = 'е'
	}
	return utf8.AppendRune(out, r)
}

// marks are quotes, dashes, separators and digits in rings, as what they stand for.
var marks = func() map[rune]string {
	m := map[rune]string{
		'İ': "i", '⁄': "/", '∕': "/", '、': ",", '،': ",", '﹐': ",", '؛': ";", '؟': "?", '〜': "~", '。': ".", '۔': ".", '।': ".", '｡': ".", '🔟': "10",
	}
	for to, from := range map[string]string{
		"'": "‘’‚‛′ʼʹ´`＇＇‹›", `"`: "“”„‟″«»「」『』〝〞＂", "-": "‐‑‒–—―−﹘﹣－",
	} {
		for _, r := range from {
			if r >= utf8.RuneSelf {
				m[r] = to
			}
		}
	}
	for n := rune(1); n <= 10; n++ {
		d := words.Position(int(n)-1, false)
		m['❶'+n-1], m['➀'+n-1], m['➊'+n-1], m['⓵'+n-1] = d, d, d, d
	}
	for n := rune(11); n <= 20; n++ {
		m['⓫'+n-11] = words.Position(int(n)-1, false)
	}
	return m
}()

// disguise are runes that hide or turn round what stands beside them, and that nobody types: control
// characters but tab and line ends, and the overrides, embeddings and isolates of direction.
func disguise(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return false
	case r < 0xA0:
		return r < ' ' || r >= 0x7F
	}
	return r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069
}

// blank are the runes that part words. Of those that Unicode counts in, some are control characters.
func blank(r rune) bool { return unicode.IsSpace(r) && !disguise(r) }

// invisible are runes that change how a text looks at most, never what it says: zero-width characters, direction
// marks, variation selectors, skin tones, the ring of a keycap.
func invisible(r rune) bool {
	switch {
	case r < 0xAD:
		return false
	case r >= 0x200B && r <= 0x200F, r >= 0x2060 && r <= 0x2065, r >= 0x206A && r <= 0x206F,
		r >= 0xFE00 && r <= 0xFE0F, r >= 0x1F3FB && r <= 0x1F3FF, r >= 0xE0000 && r <= 0xE0FFF:
		return true
	}
	switch r {
	case 0xAD, 0x34F, 0x61C, 0x180B, 0x180C, 0x180D, 0x180E, 0x20E3, 0xFEFF, 0x3164, 0xFFA0, 0x115F, 0x1160:
		return true
	}
	return false
}

// vowelMark are the marks of vowels and of lengthening that Arabic words are mostly written without.
func vowelMark(r rune) bool { return r >= 0x64B && r <= 0x652 || r == 0x640 || r == 0x670 }

// trimEnd takes off what ends a sentence: full stops, exclamation marks, a smile; and the opening marks of
// Spanish. It leaves question marks.
func trimEnd(s string) string {
	s = strings.TrimLeft(s, "¿¡ ")
	for {
		t := strings.TrimRight(s, ".! ")
		t = strings.TrimSuffix(strings.TrimSuffix(t, ":)"), ":-)")
		if len(t) == len(s) {
			return s
		}
		s = t
	}
}

// unwrap takes off one pair of emphasis, code or quote marks around the whole.
func unwrap(s string) string {
	if len(s) < 3 {
		return s
	}
	c := s[0]
	if !strings.ContainsRune("*_`\"'", rune(c)) {
		return s
	}
	n := 1
	for n < 3 && s[n] == c {
		n++
	}
	if len(s) <= 2*n || strings.TrimRight(s, s[:1]) != s[:len(s)-n] {
		return s
	}
	inner := s[n : len(s)-n]
	if inside(inner, c) {
		return s
	}
	return strings.TrimSpace(inner)
}

// inside reports whether mark c occurs in s other than as an apostrophe.
func inside(s string, c byte) bool {
	for i := 0; i < len(s); i++ {
		if s[i] == c && (c != '\'' || i == 0 || i+1 == len(s) || s[i-1] == ' ' || s[i+1] == ' ') {
			return true
		}
	}
	return false
}
