package slack

import (
	"strings"
)

var entities = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">")

// plain undoes the platform's way of writing text: links become what was typed, other people's mentions
// become @U0123, and the three escapes are undone.
func plain(s string) string {
	if !strings.ContainsAny(s, "<&") {
		return s
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			break
		}
		n := strings.IndexByte(s[i:], '>')
		if n < 0 {
			break
		}
		b.WriteString(entities.Replace(s[:i]))
		b.WriteString(entities.Replace(token(s[i+1 : i+n])))
		s = s[i+n+1:]
	}
	b.WriteString(entities.Replace(s))
	return b.String()
}

// token is what stands for <inner>.
func token(inner string) string {
	target, label, _ := strings.Cut(inner, "|")
	if target == "" {
		return "<" + inner + ">"
	}
	switch target[0] {
	case '@':
		return target
	case '#':
		if label != "" {
			return "#" + label
		}
		return target
	case '!':
		return special(target[1:], label)
	}
	for _, scheme := range []string{"mailto:", "tel:"} {
		if rest, ok := strings.CutPrefix(target, scheme); ok {
			if label != "" {
				return label
			}
			return rest
		}
	}
	switch _, rest, ok := strings.Cut(target, "://"); {
	case label == "" || label == target:
		return target
	case ok && strings.TrimSuffix(rest, "/") == strings.TrimSuffix(label, "/"):
		return label // a bare host that the platform made a link of
	}
	return label + " (" + target + ")" // what a label says is not what the link is
}

// special is <!here>, <!subteam^S1|@team>, <!date^…|fallback>.
func special(target, label string) string {
	name, _, _ := strings.Cut(target, "^")
	switch {
	case name == "date":
		return label
	case label != "":
		return "@" + strings.TrimPrefix(label, "@")
	}
	return "@" + name
}

// stripMention takes the bot's own mention off both ends of a text as it arrives, and reports whether it
// stands anywhere in it.
func stripMention(text, me string) (string, bool) {
	if me == "" || !strings.Contains(text, "<@"+me) {
		return text, false
	}
	found := false
	text = strings.TrimSpace(text)
	for {
		n := mentionLen(text, me)
		if n == 0 {
			break
		}
		found = true
		text = strings.TrimLeft(text[n:], " \t\r\n\u00a0,:")
	}
	for {
		kept := strings.TrimRight(text, " \t\r\n\u00a0.!?")
		i := strings.LastIndexByte(kept, '<')
		if i < 0 || mentionLen(kept[i:], me) != len(kept)-i {
			break
		}
		found = true
		text = strings.TrimRight(kept[:i], " \t\r\n\u00a0,")
	}
	return text, found || mentioned(text, me)
}

// mentionLen is the length of the bot's mention at the start of s, 0 for none.
func mentionLen(s, me string) int {
	rest, ok := strings.CutPrefix(s, "<@"+me)
	if !ok {
		return 0
	}
	end := strings.IndexByte(rest, '>')
	if end < 0 || end > 0 && rest[0] != '|' {
		return 0
	}
	return len(s) - len(rest) + end + 1
}

func mentioned(text, me string) bool {
	for i := range text {
		if text[i] == '<' && mentionLen(text[i:], me) > 0 {
			return true
		}
	}
	return false
}
