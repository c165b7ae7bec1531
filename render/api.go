package render

import (
	"encoding/json"
	"time"

	"parley/core"
)

// View is what rendering needs beside the value itself.
type View struct {
	Dialect Dialect
	// Lang is a BCP 47 tag; "" is English.
	Lang string
	// Agent is the agent's name as people know it.
	Agent string
	// Now is the time that "expires in" counts from.
	Now time.Time
	// Shared says that other people read along.
	Shared bool
	// Names writes a person for this conversation; nil writes the id.
	Names func(core.PersonID) string
	// Again says that this is a second copy, since the first may have gone through.
	Again bool
}

// NoteData is what a note is about; each code uses what it needs.
type NoteData struct {
	Code   core.NoteCode
	Hint   core.Hint
	Person core.PersonID
	Input  *core.Input
	Call   *core.Call
	Run    *core.Run
	Inputs []core.Input
	Text   string
}

// Reply renders what an agent said.
func Reply(v View, text string) []Part { return []Part{{Text: text, Plain: text}} }

// Prompt renders the prompt of an input.
func Prompt(v View, in core.Input) []Part { return []Part{{Text: in.Message, Plain: in.Message}} }

// Closed renders what replaces the prompt of an input.
func Closed(v View, in core.Input, call *core.Call) []Part { return Prompt(v, in) }

// Note renders one line that Parley says in its own name.
func Note(v View, n NoteData) []Part { return []Part{{Text: string(n.Code), Plain: string(n.Code)}} }

// PlainText is what the person sees of parts.
func PlainText(parts []Part) string {
	var s string
	for _, p := range parts {
		s += p.Plain + "\n"
	}
	return s
}

// Masked pretty-prints arguments with secrets masked; n counts them.
func Masked(raw json.RawMessage, redact []string) (shown string, n int) { return string(raw), 0 }

// Replies lists every reply that the prompt of in names.
func Replies(v View, in core.Input) []string { return nil }

// SecretField reports whether a form field holds a secret.
func SecretField(name string, schema json.RawMessage) bool { return false }
