package wire

import (
	"encoding/json"
	"fmt"
	"strings"

	"parley/core"
	"parley/core/model"
)

// maxName is how long a tool name may be on the wire.
const maxName = 64

// ToolName returns the name under which a tool is offered: its own if the protocol takes it, else one of
// the allowed letters with a digest, so that no two tools share one.
func ToolName(name string) string {
	ok := name != "" && len(name) <= maxName
	safe := strings.Map(func(r rune) rune {
		if r < 0x80 && nameByte(byte(r)) {
			return r
		}
		ok = false
		return '_'
	}, name)
	if ok {
		return name
	}
	digest := core.Digest("tool name", name)[:8]
	return safe[:min(len(safe), maxName-len(digest)-1)] + "_" + digest
}

func nameByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == '-'
}

// OwnName returns the tool's own name for the one that the model used; an unknown one stays as it is.
func OwnName(wire string, tools []model.ToolSpec) string {
	for _, t := range tools {
		if ToolName(t.Name) == wire {
			return t.Name
		}
	}
	return wire
}

// UsableID reports whether every server takes the call id that another one made.
func UsableID(id string) bool {
	if id == "" || len(id) > 40 {
		return false
	}
	for i := range len(id) {
		if !nameByte(id[i]) {
			return false
		}
	}
	return true
}

// Schema returns a tool's schema with the type "object" and with properties, as every server demands; the
// rest of it is as it was.
func Schema(t model.ToolSpec) (map[string]json.RawMessage, error) {
	var given map[string]json.RawMessage
	if len(t.Schema) > 0 {
		if err := json.Unmarshal(t.Schema, &given); err != nil {
			return nil, fmt.Errorf("tool %q: its schema is no JSON object", t.Name)
		}
	}
	if given == nil {
		given = map[string]json.RawMessage{}
	}
	if IsNull(given["properties"]) {
		given["properties"] = json.RawMessage(`{}`)
	}
	given["type"] = json.RawMessage(`"object"`)
	return given, nil
}
