package render

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible makes every character that a reader would not see, or that would move others about, a visible
// escape such as \u{202E}; bytes that are no UTF-8 become \xNN. Line feeds and tabs stay. Joiners and
// variation selectors stay where they belong: within emoji and between letters of scripts that need them.
// Our own U+2060 can therefore be told from the text's.
func visible(s string) string {
	if plainASCII(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	prev, marks := rune(-1), 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02X`, s[i])
			i++
			prev, marks = -1, 0
			continue
		}
		if unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		if marks > maxMarks || hidden(r) && !joins(prev, r, s[i+n:]) {
			fmt.Fprintf(&b, `\u{%04X}`, r)
			prev = -1
		} else {
			b.WriteString(s[i : i+n])
			prev = r
		}
		i += n
	}
	return b.String()
}

// maxMarks is how many combining marks may stand on one letter before they would paint over other lines.
const maxMarks = 6

func plainASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x7f || c < 0x20 && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// blank are characters that Unicode counts as letters, marks or symbols and that show nothing, and those of
// its default-ignorable ones that are not format characters.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034f, Hi: 0x034f, Stride: 1}, {Lo: 0x115f, Hi: 0x1160, Stride: 1}, {Lo: 0x17b4, Hi: 0x17b5, Stride: 1},
		{Lo: 0x180b, Hi: 0x180f, Stride: 1}, {Lo: 0x2800, Hi: 0x2800, Stride: 1}, {Lo: 0x3164, Hi: 0x3164, Stride: 1},
		{Lo: 0xfe00, Hi: 0xfe0f, Stride: 1}, {Lo: 0xffa0, Hi: 0xffa0, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0x16fe4, Hi: 0x16fe4, Stride: 1}, {Lo: 0x1d159, Hi: 0x1d159, Stride: 1}, {Lo: 0xe0000, Hi: 0xe0fff, Stride: 1}},
}

// prefixed are the format characters that are seen: signs of Arabic, Syriac and Kaithi that stand with numbers.
var prefixed = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x0600, Hi: 0x0605, Stride: 1}, {Lo: 0x06dd, Hi: 0x06dd, Stride: 1}, {Lo: 0x070f, Hi: 0x070f, Stride: 1},
		{Lo: 0x0890, Hi: 0x0891, Stride: 1}, {Lo: 0x08e2, Hi: 0x08e2, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0x110bd, Hi: 0x110bd, Stride: 1}, {Lo: 0x110cd, Hi: 0x110cd, Stride: 1}},
}

func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x7f:
		return r < 0x20
	case unicode.Is(blank, r):
		return true
	case unicode.Is(unicode.Cf, r):
		return !unicode.Is(prefixed, r)
	case unicode.Is(unicode.Zs, r):
		return false
	default:
		return !unicode.IsGraphic(r) && !emoji(r)
	}
}

const (
	zwnj = '\u200c'
	zwj  = '\u200d'
	vs15 = '\ufe0e'
	vs16 = '\ufe0f'
)

// joins reports whether the hidden character r does its ordinary work between prev and what follows.
func joins(prev, r rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	switch r {
	case vs15, vs16:
		return emoji(prev) || prev >= 0x203c && unicode.Is(unicode.S, prev) ||
			prev == '#' || prev == '*' || prev >= '0' && prev <= '9' && next == '\u20e3'
	case zwj, zwnj:
		if r == zwj && emojiEnd(prev) && emoji(next) {
			return true
		}
		for _, script := range joined {
			if unicode.Is(script, prev) && unicode.Is(script, next) {
				return true
			}
		}
	}
	return false
}

// joined are scripts whose spelling uses joiners.
var joined = []*unicode.RangeTable{
	unicode.Arabic, unicode.Bengali, unicode.Devanagari, unicode.Gujarati, unicode.Gurmukhi, unicode.Kannada,
	unicode.Khmer, unicode.Malayalam, unicode.Oriya, unicode.Sinhala, unicode.Syriac, unicode.Tamil, unicode.Telugu,
}

func emojiEnd(r rune) bool { return r == vs16 || r >= 0x1f3fb && r <= 0x1f3ff || emoji(r) }

// emoji reports whether r is of the blocks that emoji stand in.
func emoji(r rune) bool {
	return r >= 0x1f000 && r <= 0x1faff || r >= 0x2190 && r <= 0x21ff || r >= 0x2300 && r <= 0x23ff ||
		r >= 0x2600 && r <= 0x27bf || r >= 0x2900 && r <= 0x297f || r >= 0x2b00 && r <= 0x2bff ||
		r == 0x3030 || r == 0x303d || r == 0x3297 || r == 0x3299 || r == 0x203c || r == 0x2049 || r == 0x2122 || r == 0x2139 || r == 0xa9 || r == 0xae
}

// oneLine is visible for text that stands within a line of ours: line breaks are shown too.
func oneLine(s string) string {
	s = visible(strings.TrimSpace(lines(s)))
	if !strings.ContainsAny(s, "\n\t"+mark) {
		return s
	}
	return inLine.Replace(s)
}

// mark opens every line that Parley says in its own name. Nothing else can begin a line with it: within a line
// and in replies it is shown as an escape, and quoted lines begin with their own mark.
const mark = "◈"

var inLine = strings.NewReplacer("\n", `\n`, "\t", " ", mark, markShown)

const markShown = `\u{25C8}`

// lines turns the line ends of other systems into line feeds.
func lines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
