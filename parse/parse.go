package parse

import (
	"parley/core"
	"parley/core/words"
)

// Prompt is what a message is read against.
type Prompt struct {
	// Input is the waiting input; its Draft says which question or field is shown.
	Input core.Input
	// Lang is the BCP 47 tag of the conversation's language; "" is English, which is always understood.
	Lang string
	// Text is the prompt as it was shown, plain, to know quoted lines of it again; "" if unknown.
	Text string
	// Markup is how the platform writes text.
	Markup Markup
	// Exact reads only label, number, approve/yes, deny/no and done as answers; cancel and commands
	// stay, all else is a new message (humanInput.nearMiss "supersede").
	Exact bool
	// Listing reads the word that lists all that waits, as "/pending" does where a slash reaches us.
	Listing bool
	// Names are our own mentions, such as "@relaybot" or "<@U123>": taken off at either end.
	Names []string
}

// Markup says which forms of writing a platform puts into the text it hands over.
type Markup struct {
	Entities   bool // &amp; &lt; &gt;
	AngleLinks bool // <https://host|label>, <mailto:address|label>
	Shortcodes bool // :+1:, :white_check_mark:, with skin tones
}

// Read returns the one meaning of text against p. It never fails and changes nothing.
func Read(p Prompt, text string) core.Reading { return Compile(p).Read(text) }

// WordsFor returns the main words of a language, those that a prompt names; English where a language is unknown.
func WordsFor(lang string) words.Words { return words.For(lang).Main }

// Lettered reports whether the options of a question are shown as letters.
func Lettered(options []core.Option, lang string) bool {
	labels := make([]string, len(options))
	for i, o := range options {
		labels[i] = o.Label
	}
	return words.Lettered(labels, lang)
}
