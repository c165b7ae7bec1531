package core

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// member is one key of a JSON object with its value as written.
type member struct {
	key   string
	value json.RawMessage
}

// members takes a JSON object apart in document order. It refuses doubled keys, which encoding/json
// would drop silently, and anything after the object.
func members(raw json.RawMessage) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	t, err := dec.Token()
	if err != nil {
		return nil, notJSON(err)
	}
	if t != json.Delim('{') {
		return nil, errors.New("want a JSON object")
	}
	var out []member
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, notJSON(err)
		}
		m := member{key: t.(string)} // the decoder lets no other token stand for a key
		if err := dec.Decode(&m.value); err != nil {
			return nil, notJSON(err)
		}
		if seen[m.key] {
			return nil, fmt.Errorf("the key %q occurs twice", m.key)
		}
		seen[m.key] = true
		out = append(out, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, notJSON(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("want one JSON object and nothing after it")
	}
	return out, nil
}

func notJSON(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("not valid JSON: it ends too early")
	}
	return fmt.Errorf("not valid JSON: %w", err)
}

// jsonType names the JSON type of a value: object, array, string, number, boolean, null, or "" for none.
func jsonType(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || !json.Valid(raw) {
		return ""
	}
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	default:
		return "number"
	}
}

// text is the Go string of a JSON string; call it only on one.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// list takes a JSON array apart; nil if it is none.
func list(raw json.RawMessage) []json.RawMessage {
	var l []json.RawMessage
	if jsonType(raw) != "array" || json.Unmarshal(raw, &l) != nil {
		return nil
	}
	return l
}
