package core

import (
	"fmt"
	"strings"
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
	rest = strings.TrimSpace(text)
	if word, after, ok := strings.Cut(rest, " "); ok && strings.EqualFold(word, "show") {
		show, rest = true, strings.TrimSpace(after)
	}
	for rest != "" {
		word, after, _ := strings.Cut(rest, " ")
		id := byCode(pending, strings.Trim(word, ",:;.()"))
		if id == "" {
			break
		}
		codes, rest = append(codes, id), strings.TrimSpace(after)
	}
	switch {
	case len(codes) == 0:
		return nil, text, false
	case show && rest != "": // "show K1 to me" is a sentence
		return nil, text, false
	}
	return codes, rest, show || rest == ""
}

func byCode(pending []Input, word string) InputID {
	for _, in := range pending {
		if in.Code != "" && strings.EqualFold(in.Code, word) {
			return in.ID
		}
	}
	return ""
}
