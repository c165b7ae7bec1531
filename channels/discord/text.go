package discord

import (
	"regexp"
	"slices"
	"strings"

	"parley/core"
)

// mentionsOf writes every way in which we are mentioned: by account, also in the form of old clients, and by
// our role in each server, which autocompletion often picks.
func mentionsOf(me snowflake, roles []snowflake) []string {
	out := []string{"<@" + me.String() + ">", "<@!" + me.String() + ">"}
	for _, r := range roles {
		out = append(out, "<@&"+r.String()+">")
	}
	return out
}

// stripMentions takes our own mentions off both ends of a text, and reports whether there is one anywhere.
func stripMentions(text string, ours []string) (rest string, meant bool) {
	meant = slices.ContainsFunc(ours, func(m string) bool { return strings.Contains(text, m) })
	rest = strings.TrimSpace(text)
	for changed := meant; changed; {
		changed = false
		for _, m := range ours {
			if s, ok := strings.CutPrefix(rest, m); ok {
				rest, changed = strings.TrimLeft(s, " \t\r\n,:"), true
			}
			if s, ok := cutEnd(rest, m); ok {
				rest, changed = strings.TrimRight(s, " \t\r\n,"), true
			}
		}
	}
	return rest, meant
}

// cutEnd takes a mention off the end, with the marks behind it.
func cutEnd(s, mention string) (rest string, ok bool) {
	return strings.CutSuffix(strings.TrimRight(s, " \t\r\n.!?"), mention)
}

// unescape takes the backslashes off that Discord does not show: they stand before a mark, and not in code.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	fence := "" // the backticks that close the code we are in
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '`':
			n := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
			ticks := s[i : i+n]
			switch {
			case fence == ticks:
				fence = ""
			case fence == "" && strings.Contains(s[i+n:], ticks):
				fence = ticks
			}
			b.WriteString(ticks)
			i += n
		case c == '\\' && fence == "" && i+1 < len(s) && mark(s[i+1]):
			b.WriteByte(s[i+1])
			i += 2
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}

// mark reports whether c is an ASCII sign that a backslash can stand before.
func mark(c byte) bool {
	return c > ' ' && c < 0x7f && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
}

// commands are those that the engine knows; any other goes on as text.
var commands = map[string]bool{"cancel": true, "help": true, "start": true, "status": true, "inbox": true, "pending": true}

// typedCommand reads "/cancel" and its like where they are typed as text.
func typedCommand(text string) string {
	name, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(text)), "/")
	if ok && commands[name] {
		return name
	}
	return ""
}

// files names what a message carries beside its text.
func (m *message) files() (out []core.File) {
	for _, a := range m.Attachments {
		f := core.File{Name: a.Name, Type: a.Type, Size: max(a.Size, 0)}
		if f.Name == "" {
			f.Name = "file"
		}
		if a.ID != 0 {
			f.Ref = a.ID.String()
		}
		out = append(out, f)
	}
	for _, s := range m.Stickers {
		out = append(out, core.File{Name: strings.TrimSpace("sticker " + s.Name)})
	}
	if set(m.Poll) {
		out = append(out, core.File{Name: "poll"})
	}
	return out
}

// Signs that begin or end something in Discord's Markdown, anywhere and at the start of a line.
var (
	anywhere = regexp.MustCompile("[\\\\`*_~|<>\\[\\]()@]")
	starts   = regexp.MustCompile(`(?m)^(\s*)([#>+-]|\d+\.)`)
)

// literal escapes plain text so that Discord shows it as it is.
func literal(s string) string {
	s = anywhere.ReplaceAllStringFunc(s, func(c string) string {
		if c == "@" {
			return "@\u200b"
		}
		return `\` + c
	})
	return starts.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasSuffix(m, ".") {
			return m[:len(m)-1] + `\.`
		}
		return m[:len(m)-1] + `\` + m[len(m)-1:]
	})
}

// unitsOf is the length in UTF-16 code units.
func unitsOf(s string) (n int) {
	for _, r := range s {
		if n++; r > 0xffff {
			n++
		}
	}
	return n
}

func blankText(s string) bool { return strings.TrimSpace(s) == "" }
