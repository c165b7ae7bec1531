package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// ChangeArguments returns the arguments of a call with some set anew, in their order. A value takes the type
// of the one it replaces: a number, true or false, or text as typed; any other is JSON if it reads as such,
// else text. The caller checks the whole against the tool's schema.
func ChangeArguments(arguments json.RawMessage, changes []Change) (json.RawMessage, error) {
	fields, err := objectFields(arguments)
	if err != nil {
		return nil, fmt.Errorf("change arguments: %w", err)
	}
	for _, c := range changes {
		at := -1
		for i := range fields {
			if fields[i].name == c.Name {
				at = i
			}
		}
		if at < 0 {
			fields = append(fields, objectField{c.Name, valueLike(nil, c.Value)})
			continue
		}
		fields[at].value = valueLike(fields[at].value, c.Value)
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(marshal(f.name))
		b.WriteByte(':')
		b.Write(f.value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// valueLike encodes typed text in the manner of an old value.
func valueLike(old json.RawMessage, text string) json.RawMessage {
	text = strings.TrimSpace(text)
	if len(old) > 0 && old[0] == '"' {
		return marshal(text)
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return marshal(text)
}

type objectField struct {
	name  string
	value json.RawMessage
}

// objectFields are the members of a JSON object in their order.
func objectFields(raw json.RawMessage) ([]objectField, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("want a JSON object")
	}
	var out []objectField
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		out = append(out, objectField{fmt.Sprint(name), v})
	}
	return out, nil
}
