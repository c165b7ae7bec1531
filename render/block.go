package render

import (
	"strings"
)

// A text is made of blocks, in three steps that know nothing of each other: the prompt, note or reply
// is put together as blocks of text that is already visible; pack deals them out to parts; draw writes each
// part in the dialect's style. Escaping comes last, so that nothing can be escaped twice or cut within.

type blockKind int

const (
	para  blockKind = iota // one line of ours, with values within
	quote                  // text of somebody else, each line marked as theirs
	pre                    // literal text
	prose                  // an agent's reply: text that stands for itself, of any number of lines
)

type block struct {
	kind blockKind
	segs []seg  // of a para
	text string // of the others
	info string // of a pre: the language, as its fence says
	file string // of a pre: the name of the file it may become
	name string // of a pre: what it is, for the line that stands for it once it became a file
}

type segKind int

const (
	plain segKind = iota // text of anybody, escaped and with no mention alive
	own                  // a sentence of ours, escaped
	bold                 // text in bold; ours
	code                 // literal text
	link                 // an address on a line of its own, as it is
)

type seg struct {
	kind segKind
	text string
}

func text(s string) seg        { return seg{plain, oneLine(s)} }
func codeOf(s string) seg      { return seg{code, oneLine(s)} }
func line(segs ...seg) block   { return block{segs: segs} }
func quoted(s string) block    { return block{kind: quote, text: foreign(s)} }
func space() block             { return block{} }
func (b block) empty() bool    { return b.kind == para && len(b.segs) == 0 }
func foreign(s string) string  { return visible(strings.TrimSpace(lines(s))) }
func quoteMark(s Style) string { return [...]string{"│ ", "│ ", "&gt; ", "> "}[s] }
func fenced(s Style) bool      { return s == Mrkdwn || s == Markdown }
func (s seg) spans(st Style) bool {
	return s.kind == code && (st == Entities || fenced(st) && !strings.ContainsAny(s.text, "`\\"))
}

// cost is the most that the block can take in style, in UTF-16 code units, its line feed included.
func (b block) cost(style Style) int {
	switch b.kind {
	case para:
		n := 1
		for _, s := range b.segs {
			n += s.cost(style)
		}
		return n
	case pre:
		return preCost(b, style) + literalCosts[style].of(b.text)
	case quote:
		mark := units(quoteMark(style))
		return 2 + textCosts[style].of(b.text) + mark*(1+strings.Count(b.text, "\n"))
	default:
		return 1 + textCosts[style].of(b.text)
	}
}

// preCost is what stands around the text of a pre.
func preCost(b block, style Style) int {
	if fenced(style) {
		return 9 + len(b.info)
	}
	return 1
}

func (s seg) cost(style Style) int {
	switch {
	case s.kind == link:
		return 2 + max(units(s.text), textCosts[style].of(s.text))
	case s.spans(style):
		return 2 + literalCosts[style].of(s.text)
	case s.kind == bold:
		return 4 + textCosts[style].of(s.text)
	default:
		return textCosts[style].of(s.text)
	}
}
