package telegram

import (
	"encoding/json"
	"strings"
	"unicode/utf16"

	"parley/core"
)

// stripMention takes the bot's own mention off both ends of a text, and reports whether it is mentioned
// anywhere. Telegram marks mentions as ranges in UTF-16 code units.
func (r reader) stripMention(text string, entities []entity) (string, bool) {
	units := utf16.Encode([]rune(text))
	from, to := 0, len(units)
	var ours []entity
	for _, e := range entities {
		if e.Offset < 0 || e.Length <= 0 || e.Offset > len(units)-e.Length {
			continue
		}
		if r.isOurs(e, string(utf16.Decode(units[e.Offset:e.Offset+e.Length]))) {
			ours = append(ours, e)
		}
	}
	for range ours { // each pass may uncover another at the same end
		for _, e := range ours {
			start, end := e.Offset, e.Offset+e.Length
			if start >= from && end <= to && blank(units[from:start], "") {
				from = end
				for from < to && (units[from] == ',' || units[from] == ':') {
					from++
				}
			} else if start >= from && end <= to && blank(units[end:to], ".!?") {
				to = start
			}
		}
	}
	kept := strings.TrimSpace(string(utf16.Decode(units[from:to])))
	if to < len(units) {
		kept = strings.TrimRight(kept, ", \t\n")
	}
	return kept, len(ours) > 0
}

// blank reports whether there is nothing but white space and the marks given.
func blank(units []uint16, marks string) bool {
	return strings.Trim(string(utf16.Decode(units)), " \t\r\n\u00a0"+marks) == ""
}

func (r reader) isOurs(e entity, text string) bool {
	switch e.Type {
	case "mention":
		return r.me.username != "" && strings.EqualFold(text, "@"+r.me.username)
	case "text_mention":
		return e.User != nil && r.me.id != 0 && e.User.ID == r.me.id
	}
	return false
}

// describe fills in what Telegram says of an attachment. A photo comes in several sizes; the last is the
// largest. Anything unreadable is left out: the name of its kind stays.
func describe(f *core.File, raw json.RawMessage) {
	type object struct {
		Name  string `json:"file_name"`
		Type  string `json:"mime_type"`
		Size  int64  `json:"file_size"`
		Emoji string `json:"emoji"`
	}
	var o object
	if json.Unmarshal(raw, &o) != nil {
		var sizes []object
		if json.Unmarshal(raw, &sizes) != nil || len(sizes) == 0 {
			return
		}
		o = sizes[len(sizes)-1]
	}
	switch {
	case o.Name != "":
		f.Name = o.Name
	case f.Name == "sticker" && o.Emoji != "":
		f.Name += " " + o.Emoji
	}
	if o.Type != "" {
		f.Type = o.Type
	}
	if o.Size > 0 {
		f.Size = o.Size
	}
}
