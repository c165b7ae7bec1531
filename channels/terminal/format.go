package terminal

import (
	"fmt"
	"strings"
	"unicode"

	"parley/channels"
)

// voiceYou is the echo of a line that was read from a pipe.
const voiceYou channels.Voice = "you"

// mark is where a person types.
const mark = "> "

// breaks are all the characters that some program takes for the end of a line: none may begin a line of
// output that lacks its prefix.
var breaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// parley opens the lines of Parley's own notes; no text of anybody else has it (render sees to that).
const parley = "◈ "

// format is text as voice says it, ending with a line feed. On a pipe (columns 0) each line has its prefix. On a
// terminal a prompt has a rule at its side, and all that is not a note of Parley's own is moved in, so that nobody
// else's text begins where a rule, a note or the mark where to type does. Lines longer than the terminal is wide are
// broken here: what the terminal itself broke off would begin there too.
func format(v channels.Voice, text string, columns int) string {
	var b strings.Builder
	if columns > 0 && v == channels.VoiceAsk {
		b.WriteByte('\n')
	}
	for line := range strings.SplitSeq(strings.TrimRight(breaks.Replace(text), "\n"), "\n") {
		first, next := prefixesOf(v, line, columns > 0)
		rest := line
		for prefix := first; ; prefix = next {
			n := len(rest)
			if columns > 0 {
				n = fits(rest, columns-widthOf(prefix))
			}
			b.WriteString(strings.TrimRight(prefix+rest[:n], " "))
			b.WriteByte('\n')
			if rest = strings.TrimLeft(rest[n:], " "); rest == "" {
				break
			}
		}
	}
	return b.String()
}

// prefixesOf are what stands before a line, and before what of it goes on below.
func prefixesOf(v channels.Voice, line string, interactive bool) (first, next string) {
	const indent = "  "
	switch {
	case !interactive && v == "":
		v = channels.VoiceSay
		fallthrough
	case !interactive:
		return string(v) + ": ", string(v) + ": "
	case v == channels.VoiceAsk:
		return "│ ", "│ "
	case v == channels.VoiceNote && strings.HasPrefix(line, parley):
		return "", indent
	}
	return indent, indent
}

// commands are the platform commands that a line may be.
var commands = map[string]bool{"cancel": true, "help": true, "start": true, "status": true, "inbox": true, "pending": true}

// command is the command that a line is, "" for ordinary text.
func command(line string) string {
	name, ok := strings.CutPrefix(strings.TrimSpace(line), "/")
	if name = strings.ToLower(name); ok && commands[name] {
		return name
	}
	return ""
}

// visible makes control and direction characters of a line visible, as the channel's echo shows it.
func visible(line string) string {
	var b strings.Builder
	for _, r := range line {
		if r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			fmt.Fprintf(&b, `\u{%04X}`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
