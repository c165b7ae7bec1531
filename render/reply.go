package render

import (
	"regexp"
	"strings"
)

// Reply renders what an agent said. It is the model's text: shown as it is and inert. Its code fences are
// literal text in the dialect's style, and each part of a long reply has whole ones. A reply that shows
// nothing has no parts.
func Reply(v View, reply string) []Part {
	w := newWriter(v)
	s := visible(strings.TrimSpace(lines(reply)))
	s = strings.ReplaceAll(s, mark, markShown)
	if s == "" {
		return nil
	}
	var out []Part
	for _, blocks := range newPacking(w.Dialect).pack(w.prose(s), nil) {
		p := draw(w.Dialect.Style, blocks)
		if strings.TrimSpace(strings.ReplaceAll(p.Plain, joiner, "")) != "" {
			out = append(out, p)
		}
	}
	return out
}

// fence opens or closes a code block. The language is at most a word.
var fence = regexp.MustCompile("^[ \t]*(```+|~~~+)[ \t]*([A-Za-z0-9+#_.-]{0,20})[ \t]*$")

// prose parts a reply into its text and its code. A terminal shows the fences as they were written.
func (w *writer) prose(s string) []block {
	if w.Dialect.Style == Plain || !strings.Contains(s, "```") && !strings.Contains(s, "~~~") {
		return []block{{kind: prose, text: s}}
	}
	var out []block
	var now []string
	var open []string // the fence that is open: its marks and its language
	flush := func() {
		b := block{kind: prose, text: strings.Join(now, "\n")}
		if open != nil {
			b.kind, b.info = pre, open[2]
		}
		if b.text != "" {
			out = append(out, b)
		}
		now = nil
	}
	for _, l := range strings.Split(s, "\n") {
		m := fence.FindStringSubmatch(l)
		switch {
		case m != nil && open == nil:
			flush()
			open = m
		case m != nil && m[2] == "" && strings.HasPrefix(m[1], open[1]):
			flush()
			open = nil
		default:
			now = append(now, l)
		}
	}
	flush()
	return out
}
