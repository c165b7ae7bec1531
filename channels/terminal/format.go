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

// format is text as voice says it, ending with a line feed. On a pipe each line has its prefix; a person
// sees prompts set off from what the agent says.
func format(v channels.Voice, text string, interactive bool) string {
	prefix := prefixOf(v, interactive)
	var b strings.Builder
	if interactive && v == channels.VoiceAsk {
		b.WriteByte('\n')
	}
	for line := range strings.SplitSeq(strings.TrimRight(breaks.Replace(text), "\n"), "\n") {
		b.WriteString(strings.TrimRight(prefix+line, " "))
		b.WriteByte('\n')
	}
	return b.String()
}

func prefixOf(v channels.Voice, interactive bool) string {
	if v == "" {
		v = channels.VoiceSay
	}
	if !interactive {
		return string(v) + ": "
	}
	if v == channels.VoiceAsk {
		return "│ "
	}
	return "" // Parley's own lines open with its mark, which no other text can
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
