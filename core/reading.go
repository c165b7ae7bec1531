package core

import "encoding/json"

// ReadingKind is how a typed message reads against a waiting input.
type ReadingKind int

// The readings of spec section 6.
const (
	ReadOther   ReadingKind = iota // a new message
	ReadAnswer                     // settles the input, or the question or field shown
	ReadCommand                    // acts on the question shown
	ReadCancel                     // aborts
	ReadUnclear                    // near to an answer: one line of help, it goes on waiting
)

func (k ReadingKind) String() string {
	return [...]string{"other", "answer", "command", "cancel", "unclear"}[k]
}

// Verb is a command on the question shown.
type Verb string

// The commands of a set or form; details works on every input.
const (
	VerbSkip       Verb = "skip"
	VerbSkipAll    Verb = "skip all"
	VerbBack       Verb = "back"
	VerbDefault    Verb = "default"
	VerbDefaultAll Verb = "default all"
	VerbEdit       Verb = "edit"
	VerbDetails    Verb = "details"
	VerbPending    Verb = "pending" // lists all that waits, where "/pending" does not reach us
	VerbChange     Verb = "change"  // "yes with amount=20", "edit amount=20": shows the changed call and asks again
)

// Reading is the one meaning of a typed message against a waiting input. parse makes it, from the whole
// message, never from a word inside it.
type Reading struct {
	Kind ReadingKind
	// Yes is the verdict of a ReadAnswer to an approval, confirmation, URL step or last look.
	Yes bool
	// Part answers the question or field shown, Parts one each of those that are open, in order.
	Part  *Part
	Parts []Part
	Verb  Verb
	N     int // the number of "edit N", from 1
	// Reason is what a decline gives after "because" or a colon, as typed.
	Reason string
	// Changes are the arguments that a VerbChange sets.
	Changes []Change
	// Hint says why it is unclear.
	Hint Hint
}

// Change sets one argument of a call, by its name at the top level, to a value as typed.
type Change struct {
	Name  string
	Value string
}

// Part is the reading of one question or one form field.
type Part struct {
	Values []string        // values of options in list order; never nil for a chosen answer
	Text   string          // free text as typed
	Field  json.RawMessage // a form field's value
	// Default: the question's own defaults, as "ok" says.
	Default bool
}

// Hint is why a reading is unclear: render makes the line of help from it.
type Hint string

// The hints.
const (
	HintWords    Hint = "words"    // not one of the words that count
	HintBoth     Hint = "both"     // yes and no at once
	HintNumber   Hint = "number"   // a number that is no option
	HintSeveral  Hint = "several"  // several where one is wanted
	HintPartial  Hint = "partial"  // part of a label, or a typo of one
	HintConflict Hint = "conflict" // label and position point at different options
	HintType     Hint = "type"     // a form value of the wrong type or format
	HintQuote    Hint = "quote"    // a quotation that is not the prompt's
	HintLines    Hint = "lines"    // several lines that fit in two ways or not all
)
