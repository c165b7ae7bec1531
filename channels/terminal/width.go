package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"golang.org/x/text/width"
)

// minColumns is the least that a line is broken to, whatever the terminal says it has.
const minColumns = 20

// widthOf is how many columns a text takes at most.
func widthOf(s string) int {
	n := 0
	for g := graphemes.FromString(s); g.Next(); {
		n += columnsOf(g.Value())
	}
	return n
}

// columnsOf is the width of what is drawn as one character.
func columnsOf(grapheme string) int {
	n := 0
	for _, r := range grapheme {
		switch k := width.LookupRune(r).Kind(); {
		case r == '\t':
			return 8
		case unicode.Is(unicode.M, r), unicode.Is(unicode.Cf, r):
		case k == width.EastAsianWide, k == width.EastAsianFullwidth:
			n = max(n, 2)
		default:
			n = max(n, 1)
		}
	}
	return n
}

// fits is how much of a line stands in so many columns: up to its last space where there is one in the second half,
// else as many whole characters as fit, and at least one. A web address is never broken, since it is there to be
// copied: none of its characters can be taken for a mark of ours.
func fits(s string, columns int) int {
	columns = max(columns, minColumns)
	if len(s) <= columns && !strings.Contains(s, "\t") {
		return len(s)
	}
	used, at, space := 0, 0, -1
	for g := graphemes.FromString(s); g.Next(); {
		c := g.Value()
		if at == 0 || s[at-1] == ' ' {
			if n := address(s[at:]); n > 0 && (at == 0 || used+n > columns) {
				if at == 0 {
					return n
				}
				return at
			}
		}
		w := columnsOf(c)
		if used+w > columns && at > 0 {
			if space > 0 {
				return space
			}
			return at
		}
		used += w
		at += len(c)
		if c == " " && used > columns/2 {
			space = at
		}
	}
	return len(s)
}

// address is the length of the web address that s begins with; 0 for none.
func address(s string) int {
	if !strings.HasPrefix(s, "https://") && !strings.HasPrefix(s, "http://") {
		return 0
	}
	end := strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r == '<' || r == '>' || r >= utf8.RuneSelf })
	if end < 0 {
		return len(s)
	}
	return end
}
