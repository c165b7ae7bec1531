package openai

import (
	"encoding/json"

	"parley/core/model/wire"
)

// merged puts a piece of an unknown field to what came of it before.
func merged(old, piece json.RawMessage) json.RawMessage {
	if wire.IsNull(piece) {
		return old
	}
	if wire.IsNull(old) || old[0] != piece[0] {
		return piece
	}
	switch piece[0] {
	case '{':
		var a, b map[string]json.RawMessage
		if json.Unmarshal(old, &a) != nil || json.Unmarshal(piece, &b) != nil {
			return piece
		}
		for k, v := range b {
			a[k] = merged(a[k], v)
		}
		return encode(a, piece)
	case '[':
		var a, b []json.RawMessage
		if json.Unmarshal(old, &a) != nil || json.Unmarshal(piece, &b) != nil {
			return piece
		}
		for _, item := range b {
			a = addItem(a, item)
		}
		return encode(a, piece)
	}
	return piece
}

// item is what says that two items of a list are pieces of one.
type item struct {
	Index *int                       `json:"index"`
	Type  string                     `json:"type"`
	Rest  map[string]json.RawMessage `json:"-"`
}

func readItem(raw json.RawMessage) (it item, ok bool) {
	ok = wire.IsObject(raw) && json.Unmarshal(raw, &it) == nil && it.Index != nil && json.Unmarshal(raw, &it.Rest) == nil
	return it, ok
}

// addItem adds an item to a list, or to the last item if both say that they are pieces of one: that is how
// thoughts are streamed.
func addItem(list []json.RawMessage, raw json.RawMessage) []json.RawMessage {
	it, ok := readItem(raw)
	if !ok || len(list) == 0 {
		return append(list, raw)
	}
	last, ok := readItem(list[len(list)-1])
	if !ok || *last.Index != *it.Index || last.Type != it.Type {
		return append(list, raw)
	}
	for k, v := range it.Rest {
		grows := k == "text" || k == "summary" || k == "data"
		if old := last.Rest[k]; grows && !wire.IsNull(v) && !wire.IsNull(old) && v[0] == '"' && old[0] == '"' {
			last.Rest[k] = encode(wire.Text(old)+wire.Text(v), v)
		} else {
			last.Rest[k] = merged(old, v)
		}
	}
	list[len(list)-1] = encode(last.Rest, raw)
	return list
}

// encode is the JSON of a value that was made of JSON, and fallback where that fails.
func encode(v any, fallback json.RawMessage) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return fallback
	}
	return b
}
