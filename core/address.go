package core

import (
	"fmt"
	"strings"
	"unicode"
)

// Code is the short name of the place-th input (from 1) of an open run: a letter of the run, so that a code
// of an earlier run names nothing now, and the place.
func Code(root RunID, place int) string {
	const letters = "ABCDEFGHJKLMNPQRSTUVWXYZ" // without I and O, which read as digits
	n := uint(0)
	for _, c := range []byte(Digest(string(root))) {
		n = n*31 + uint(c)
	}
	return fmt.Sprintf("%c%d", letters[n%uint(len(letters))], place)
}

// SplitCodes takes the codes of waiting inputs off the start of a text: "K1 K2 yes". With "show" before them,
// or nothing behind them, show is true. No codes: nothing is addressed.
func SplitCodes(pending []Input, text string) (codes []InputID, rest string, show bool) {
	rest = trimBlank(text)
	if word, after, ok := strings.Cut(rest, " "); ok && strings.EqualFold(word, "show") {
		show, rest = true, trimBlank(after)
	}
	for rest != "" {
		word, after, _ := strings.Cut(rest, " ")
		id := byCode(pending, strings.Trim(word, ",:;.()"))
		if id == "" {
			break
		}
		codes, rest = append(codes, id), trimBlank(after)
	}
	switch {
	case len(codes) == 0:
		return nil, text, false
	case show && rest != "": // "show K1 to me" is a sentence
		return nil, text, false
	}
	return codes, rest, show || rest == ""
}

// trimBlank takes white space off both ends, but no control characters that Unicode counts in: what has one is
// never read as the text without it.
func trimBlank(s string) string {
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) && r != '\v' && r != '\f' && r != 0x85
	})
}

func byCode(pending []Input, word string) InputID {
	for _, in := range pending {
		if in.Code != "" && strings.EqualFold(in.Code, word) {
			return in.ID
		}
	}
	return ""
}
