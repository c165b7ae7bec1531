package turn

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"parley/core"
)

// answered is the data of an EventAnswered: a reply that answered a part, as typed and as read.
type answered struct {
	Raw string `json:"raw"`
	// Choices and Fields are what it put into the draft.
	Choices []core.Choice              `json:"choices,omitempty"`
	Fields  map[string]json.RawMessage `json:"fields,omitempty"`
}

// answeredBy tells what a reply changed of a draft.
func answeredBy(raw string, before, after core.Draft) answered {
	out := answered{Raw: raw}
	for _, c := range after.Choices {
		same := func(o core.Choice) bool {
			return o.Question == c.Question && slices.Equal(o.Values, c.Values) && o.Text == c.Text && o.By == c.By
		}
		if !slices.ContainsFunc(before.Choices, same) {
			out.Choices = append(out.Choices, c)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after.Fields)) {
		f, was := after.Fields[name], before.Fields[name]
		if was.By == f.By && bytes.Equal(was.Value, f.Value) {
			continue
		}
		if out.Fields == nil {
			out.Fields = map[string]json.RawMessage{}
		}
		out.Fields[name] = f.Value
	}
	return out
}
