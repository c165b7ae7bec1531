package scripted

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"parley/core/model"
)

// place is where a conversation stands.
type place struct {
	message string   // of the user, the last one
	done    int      // replies of this provider since then
	results []string // of the last reply's calls
	match   []string // groups of the rule that speaks
}

// locate reads the place from a valid conversation.
func locate(messages []model.Message) (at place) {
	for _, m := range messages {
		switch m.Role {
		case model.RoleUser:
			at = place{message: valid(m.Text)}
		case model.RoleAssistant:
			at.results = nil
			if m.Provider == Provider {
				at.done++
			}
		case model.RoleTool:
			at.results = append(at.results, valid(m.Result.Content))
		}
	}
	return at
}

// valid keeps a reply the same when it is stored as JSON and read back.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

var slot = regexp.MustCompile(`\{\{(message|match \d+|result|result \d+)\}\}`)

// fill puts values into the slots of a text. What is put in is not looked at again.
func (at place) fill(s string) string {
	return slot.ReplaceAllStringFunc(s, func(name string) string {
		what, number, _ := strings.Cut(strings.Trim(name, "{}"), " ")
		n, err := strconv.Atoi(number)
		switch {
		case what == "message":
			return at.message
		case what == "match":
			return nth(at.match, n)
		case err != nil:
			return strings.Join(at.results, "\n")
		}
		return nth(at.results, n-1)
	})
}

// nth is element n, "" where there is none.
func nth(list []string, n int) string {
	if n < 0 || n >= len(list) {
		return ""
	}
	return list[n]
}

// fillJSON fills the strings within a JSON value and leaves one without slots as it is.
func (at place) fillJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	if !slot.Match(raw) {
		return raw
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw // a script made in Go may send what is no JSON
	}
	b, err := json.Marshal(at.fillValue(v))
	if err != nil {
		return raw
	}
	return b
}

func (at place) fillValue(v any) any {
	switch v := v.(type) {
	case string:
		return at.fill(v)
	case []any:
		for i := range v {
			v[i] = at.fillValue(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = at.fillValue(v[k])
		}
	}
	return v
}
