package parse

import "strings"

// splitLines returns the lines of a text that have something on them.
func splitLines(s string) []string {
	var out []string
	for l := range strings.Lines(s) {
		if l = trimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// prepareLine makes one line of a message ready to be read.
func (r *Reader) prepareLine(line string) message {
	m := message{typed: line, long: len(line) > r.longest}
	if !m.long {
		m.folded, m.asked = cutQuestion(Fold(r.p.Markup.emoji(line)))
	}
	return m
}
