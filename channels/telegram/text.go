package telegram

import (
	"strings"
	"unicode/utf16"
)

// stripMention takes the bot's own mention off both ends of a text, and reports whether it is mentioned
// anywhere.
func (r reader) stripMention(text string, entities []entity) (string, bool) {
	units := utf16.Encode([]rune(text))
	from, to := 0, len(units)
	ours := r.mentions(units, entities)
	for range ours { // each pass may uncover another at the same end
		for _, e := range ours {
			switch {
			case e.start < from || e.end > to:
			case blank(units[from:e.start], ""):
				from = e.end
				for from < to && (units[from] == ',' || units[from] == ':') {
					from++
				}
			case blank(units[e.end:to], ".!?"):
				to = e.start
			}
		}
	}
	kept := strings.TrimSpace(string(utf16.Decode(units[from:to])))
	if to < len(units) {
		kept = strings.TrimRight(kept, ", \t\n")
	}
	return kept, len(ours) > 0
}

// span is a range in UTF-16 code units, in which Telegram counts.
type span struct{ start, end int }

// mentions finds where the bot is meant: its user name as a word of its own, or a mention by id.
func (r reader) mentions(units []uint16, entities []entity) []span {
	var out []span
	name := utf16.Encode([]rune("@" + strings.ToLower(r.me.username)))
	for i := 0; len(name) > 1 && i+len(name) <= len(units); i++ {
		if sameLetters(units[i:i+len(name)], name) && (i == 0 || !wordUnit(units[i-1])) &&
			(i+len(name) == len(units) || !wordUnit(units[i+len(name)])) {
			out = append(out, span{i, i + len(name)})
		}
	}
	for _, e := range entities {
		if e.Type == "text_mention" && e.User != nil && r.me.id != 0 && e.User.ID == r.me.id &&
			e.Offset >= 0 && e.Length > 0 && e.Offset <= len(units)-e.Length {
			out = append(out, span{e.Offset, e.Offset + e.Length})
		}
	}
	return out
}

// sameLetters compares with a name in lower case; user names are ASCII.
func sameLetters(units, name []uint16) bool {
	for i, u := range units {
		if u >= 'A' && u <= 'Z' {
			u += 'a' - 'A'
		}
		if u != name[i] {
			return false
		}
	}
	return true
}

func wordUnit(u uint16) bool { return u < 0x80 && plainName(string(rune(u))) }

// blank reports whether there is nothing but white space and the marks given.
func blank(units []uint16, marks string) bool {
	return strings.Trim(string(utf16.Decode(units)), " \t\r\n\u00a0"+marks) == ""
}
