package openai

import (
	"strings"

	"parley/core"
	"parley/core/model"
)

// maxName is how long a tool name may be on the wire.
const maxName = 64

// wireName returns the name under which a tool is offered: its own if the protocol takes it, else one of
// the allowed letters with a digest, so that no two tools share one.
func wireName(name string) string {
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

// ownName returns the tool's own name for the one that the model used; an unknown one stays as it is.
func ownName(wire string, tools []model.ToolSpec) string {
	for _, t := range tools {
		if wireName(t.Name) == wire {
			return t.Name
		}
	}
	return wire
}
