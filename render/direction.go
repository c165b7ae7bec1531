package render

import (
	"strings"

	"golang.org/x/text/unicode/bidi"
)

// A value that is written the other way than the sentence it stands in would draw the signs and numbers beside
// it along, and one at the start of a line would turn the whole line round. Such a value therefore stands
// between fsi and pdi, which keep its order to itself; readers do not see them and parse drops them. Only our
// own sentences have them: visible shows those, and all marks like them, of anybody else's text.
const (
	fsi = "\u2068"
	pdi = "\u2069"
)

// isolated is a value as it stands in a sentence.
func (s *sentences) isolated(value seg) []seg {
	if !s.turns(value.text) {
		return []seg{value}
	}
	return []seg{{plain, fsi}, value, {plain, pdi}}
}

// turns reports whether a value needs to be kept apart. Among letters from left to right only those of the
// other direction do. The other way round, Latin letters do and numbers with signs in them, such as dates.
func (s *sentences) turns(value string) bool {
	if !s.rtl && plainASCII(value) || strings.Contains(value, fsi) {
		return false
	}
	digits, others := false, false
	for _, r := range value {
		switch class, _ := bidi.LookupRune(r); class.Class() {
		case bidi.R, bidi.AL, bidi.AN:
			if !s.rtl {
				return true
			}
			others = true
		case bidi.L:
			if s.rtl {
				return true
			}
		case bidi.EN:
			digits = true
		default:
			others = true
		}
	}
	return s.rtl && digits && others
}

// isolates counts what is set apart and goes on behind segs. A part that ends there ends it too, and the next begins it.
func isolates(segs []seg) (open int) {
	for _, s := range segs {
		open += strings.Count(s.text, fsi) - strings.Count(s.text, pdi)
	}
	return max(open, 0)
}

// withoutIsolates is for text whose surroundings are not ours, such as a button's.
var withoutIsolates = strings.NewReplacer(fsi, "", pdi, "")
