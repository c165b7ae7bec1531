// Package render turns core values into text: the prompt of an input, the edit that shows how it ended, a
// note, an agent's reply. It is pure. What differs between platforms is data: a Dialect.
package render

import "parley/core"

// Dialect is how a platform shows text and what it takes.
type Dialect struct {
	Name string
	// Limit is the greatest length of one part, in UTF-16 code units, after escaping; 0 is none.
	Limit int
	// Style is how emphasis and literal text are written.
	Style Style
	// MaxParts is how many parts a long text may have before it goes into a file; 0 is no bound.
	MaxParts int
	// Files says that a part may be a document.
	Files bool
	// Edits says that a part can be replaced after it was sent.
	Edits bool
	// Buttons says that a prompt may carry native buttons.
	Buttons bool
	// Slash says that a leading / reaches the bot as text, so that "/cancel" can be offered.
	Slash bool
}

// Style is the way a dialect marks text.
type Style int

// The styles.
const (
	Plain    Style = iota // no marks at all: a terminal
	Entities              // plain text, with marks beside it as Spans
	Mrkdwn                // *bold*, `code`, three characters escaped as entities
	Markdown              // Markdown with backslash escapes
)

// Part is one message as it is sent.
type Part struct {
	Text string
	// Plain is Text without the dialect's marks and escapes: what is sent instead where the platform refuses
	// the marked text, and what is kept to recognise quoted lines. It is never longer than Text, except that
	// no mention in it is live either.
	Plain string
	// Spans mark ranges of Text, for the style Entities.
	Spans []Span
	// Buttons do exactly what the typed reply does. Only the last part of a prompt has any.
	Buttons []Button
	// File is the content of a part that is a document; Text is its caption.
	File *File
}

// Span marks text from Start, Length long, both in UTF-16 code units.
type Span struct {
	Kind   SpanKind
	Start  int
	Length int
}

// SpanKind is what a span does.
type SpanKind string

// The kinds of spans.
const (
	Bold SpanKind = "bold"
	Code SpanKind = "code"
	Pre  SpanKind = "pre"
)

// Button is a native button. Input and Reply say what a press submits: the same as typing Reply.
type Button struct {
	Label string
	Input core.InputID
	Reply string
	// Step is the Draft.Step of the prompt it stands under.
	Step int
	URL  string // of a link button; then Reply is ""
}

// File is a document.
type File struct {
	Name string
	Data []byte
}
