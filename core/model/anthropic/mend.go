package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"parley/core/model/wire"
)

// mend returns the content of an assistant message, with its calls under the given ids, fit to be sent
// back. A block is kept as it is unless something has to be mended in it.
func mend(content []json.RawMessage, ids []string) ([]json.RawMessage, error) {
	kept := make([]json.RawMessage, 0, len(content))
	for _, raw := range content {
		b, err := readBlock(raw)
		switch {
		case err != nil:
			return nil, err
		case b.Type == "text" && strings.TrimSpace(wire.Text(b.Text)) == "":
			continue // the service sends them and refuses them
		case b.Type == "tool_use":
			if len(ids) == 0 {
				return nil, errors.New("a message of more calls than belong to it")
			}
			if raw, err = mendCall(raw, b, ids[0]); err != nil {
				return nil, err
			}
			ids = ids[1:]
		}
		kept = append(kept, raw)
	}
	if len(ids) > 0 {
		return nil, fmt.Errorf("a message that lacks %d calls", len(ids))
	}
	return kept, nil
}

// assistantMessage is what is stored of a reply and sent back.
type assistantMessage struct {
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
}

func encode(content []json.RawMessage) (json.RawMessage, error) {
	return json.Marshal(assistantMessage{Role: "assistant", Content: content})
}

// mendCall gives a call its id, a name if it has none, and an object for an input.
func mendCall(raw json.RawMessage, b block, id string) (json.RawMessage, error) {
	name, isObject := wire.Text(b.Name), wire.IsObject(b.Input)
	if wire.IsString(b.ID, id) && wire.ToolName(name) == name && isObject {
		return raw, nil
	}
	var call map[string]json.RawMessage
	if err := json.Unmarshal(raw, &call); err != nil {
		return nil, err
	}
	var err error
	if call["id"], err = json.Marshal(id); err != nil {
		return nil, err
	}
	if wire.ToolName(name) != name {
		if call["name"], err = json.Marshal(wire.ToolName(name)); err != nil {
			return nil, err
		}
	}
	if !isObject {
		call["input"] = input(b.Input)
	}
	return json.Marshal(call)
}

// input returns the arguments of a call as an object, which is what the service takes: others become an
// object that holds them.
func input(arguments json.RawMessage) json.RawMessage {
	held := map[string]any{}
	switch {
	case wire.IsNull(arguments):
	case !json.Valid(arguments):
		held["not_json"] = strings.ToValidUTF8(string(arguments), "\uFFFD")
	case wire.IsObject(arguments):
		return arguments
	default:
		held["not_an_object"] = arguments
	}
	b, err := json.Marshal(held)
	if err != nil {
		return json.RawMessage("{}") // cannot be: what is held is valid
	}
	return b
}

// speaks reports whether a mended message says or does anything: what thinks alone is not sent back.
func speaks(content []json.RawMessage) bool {
	for _, raw := range content {
		if b, err := readBlock(raw); err == nil && b.Type != "thinking" && b.Type != "redacted_thinking" {
			return true
		}
	}
	return false
}
