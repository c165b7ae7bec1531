package parse

import (
	"strings"
)

// plain undoes a platform's way of writing text: entities and links. What a person typed is left.
func (m Markup) plain(s string) string {
	if m.AngleLinks && strings.IndexByte(s, '<') >= 0 {
		s = flatten(s)
	}
	if m.Entities && strings.IndexByte(s, '&') >= 0 {
		s = entities.Replace(s)
	}
	return s
}

var entities = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">")

// flatten writes links as what was typed: an address without its scheme where the label is the same
// address, else the address. Mentions stay.
func flatten(s string) string {
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
		b.WriteString(s[:i])
		b.WriteString(link(s[i : i+n+1]))
		s = s[i+n+1:]
	}
	b.WriteString(s)
	return b.String()
}

func link(token string) string {
	target, label, _ := strings.Cut(token[1:len(token)-1], "|")
	for _, scheme := range []string{"mailto:", "tel:"} {
		if rest, ok := strings.CutPrefix(target, scheme); ok {
			if label != "" {
				return label
			}
			return rest
		}
	}
	switch {
	case !strings.HasPrefix(target, "http://") && !strings.HasPrefix(target, "https://"):
		return token
	case label != "" && strings.TrimSuffix(target[strings.Index(target, "//")+2:], "/") == strings.TrimSuffix(label, "/"):
		return label // a bare host that the platform made a link of
	}
	return target
}

// emoji turns the short names that answers are given by into the emoji themselves; others stay.
func (m Markup) emoji(s string) string {
	if !m.Shortcodes || strings.Count(s, ":") < 2 {
		return s
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, ':')
		if i < 0 {
			break
		}
		n := strings.IndexByte(s[i+1:], ':')
		if n < 0 {
			break
		}
		name := s[i+1 : i+1+n]
		e, ok := shortcodes[name]
		if !ok && !strings.HasPrefix(name, "skin-tone-") {
			b.WriteString(s[:i+1+n]) // the second colon may begin a name
			s = s[i+1+n:]
			continue
		}
		b.WriteString(s[:i])
		b.WriteString(e)
		s = s[i+n+2:]
	}
	b.WriteString(s)
	return b.String()
}

var shortcodes = map[string]string{
	"+1": "👍", "thumbsup": "👍", "-1": "👎", "thumbsdown": "👎",
	"white_check_mark": "✅", "heavy_check_mark": "✔", "ballot_box_with_check": "☑", "check": "✓",
	"x": "❌", "no_entry_sign": "🚫", "no_entry": "⛔", "negative_squared_cross_mark": "❎", "heavy_multiplication_x": "✖", "octagonal_sign": "🛑", "stop_sign": "🛑",
	"ok": "🆗", "ok_hand": "👌", "100": "💯", "clap": "👏", "pray": "🙏", "raised_hands": "🙌", "rocket": "🚀", "tada": "🎉", "handshake": "🤝", "saluting_face": "🫡", "muscle": "💪", "large_green_circle": "🟢", "red_circle": "🔴",
	"no_good": "🙅", "hand": "✋", "raised_hand": "✋", "hourglass": "⌛", "hourglass_flowing_sand": "⏳", "slightly_smiling_face": ":)", "simple_smile": ":)", "smile": "😄",
	"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "keycap_ten": "10", "zero": "0",
}
