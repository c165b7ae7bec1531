package parse

import (
	"strings"

	"parley/core"
)

// command reads the words that work on every input: those that cancel and those that show details.
func (r *Reader) command(its []item, m message) (core.Reading, bool) {
	switch roles := only(withoutPlease(its)); {
	case m.asked:
	case roles&isCancel != 0:
		return core.Reading{Kind: core.ReadCancel}, true
	case roles&isDetails != 0:
		return command(core.VerbDetails), true
	}
	return r.listing(m)
}

// listing reads the word that lists all that waits.
func (r *Reader) listing(m message) (core.Reading, bool) {
	if _, ok := r.lex.pending[m.folded]; !ok || !r.p.Listing || m.asked {
		return core.Reading{}, false
	}
	return command(core.VerbPending), true
}

func command(v core.Verb) core.Reading { return core.Reading{Kind: core.ReadCommand, Verb: v} }

// setCommand reads a command of a set or form.
func (r *Reader) setCommand(its []item) (core.Reading, bool) {
	switch roles := only(withoutPlease(its)); {
	case roles&isSkip != 0:
		return command(core.VerbSkip), true
	case roles&isSkipAll != 0:
		return command(core.VerbSkipAll), true
	case roles&isBack != 0:
		return command(core.VerbBack), true
	case roles&isDefaultAll != 0:
		return command(core.VerbDefaultAll), true
	}
	return core.Reading{}, false
}

// edit reads "edit 2". A number that no text has so many questions for is one all the same.
func (r *Reader) edit(s string) (n int, ok bool) {
	i := strings.LastIndexByte(s, ' ')
	if i < 0 || r.lex.roles[s[:i]]&isEdit == 0 {
		return 0, false
	}
	at := r.lex.numbers[s[i+1:]]
	if allDigits(s[i+1:]) && at.N == 0 {
		return noPart, true
	}
	return at.N, at.Plain
}

// noPart is a number that no question or field has.
const noPart = 1 << 20

// editing is the command to open part n again; that there is none is said by whoever carries it out.
func (r *Reader) editing(n int) core.Reading {
	if n < 1 {
		n = noPart
	}
	return core.Reading{Kind: core.ReadCommand, Verb: core.VerbEdit, N: n}
}

// slash reads a message that is one platform command: "/approve" or "/approve@relaybot". A word that
// counts is that word; what is for another bot, or no word of ours, is not a command.
func (r *Reader) slash(s string) (word string, is bool) {
	if len(s) < 2 || s[0] != '/' || strings.ContainsAny(s[1:], " /.,") {
		return "", false
	}
	word, to, addressed := strings.Cut(s[1:], "@")
	if addressed && !r.named("@"+to) {
		return "", true
	}
	if r.lex.roles[word]&(answers|isConfirm) == 0 {
		return "", true
	}
	return word, true
}

// platform are the commands that a platform offers, as they are typed.
var platform = map[string]bool{"cancel": true, "help": true, "start": true, "status": true, "inbox": true, "pending": true}

// longestHead is how many bytes of a first word are looked at; no command is as long, whomever it names.
const longestHead = 128

// commanded reports whether the first word of a text is a command of ours: "/cancel please". With words behind it
// it commands nothing, and where any text is an answer it is none. A path is not a command: "/etc/hosts".
func (r *Reader) commanded(m message) bool {
	s := m.folded
	if m.long {
		s = strings.TrimSpace(m.typed[:min(len(m.typed), 2*longestHead)])
	}
	if i := strings.IndexFunc(s, blank); i >= 0 {
		s = s[:i]
	}
	s, ok := strings.CutPrefix(Fold(s[:min(len(s), longestHead)]), "/")
	if i := strings.IndexAny(s, ",;:!?"); i >= 0 {
		s = s[:i]
	}
	word, to, addressed := strings.Cut(s, "@")
	if !ok || addressed && !r.named("@"+to) {
		return false
	}
	return platform[word] || r.lex.roles[word]&(isCancel|isSkip|isBack|isDetails) != 0
}

func (r *Reader) named(mention string) bool {
	for _, n := range r.p.Names {
		if strings.EqualFold(n, mention) {
			return true
		}
	}
	return false
}
