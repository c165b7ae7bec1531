package channels

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/core"
	"parley/render"
)

// MaxInputID is how many bytes the id of an input has at the most in a button's payload.
const MaxInputID = 32

// ButtonPayload is what a button submits: the input, the step of its prompt and the reply, joined by colons. ok
// is false where that cannot be taken apart again; the reply can still be typed.
func ButtonPayload(b render.Button, reply string) (payload string, ok bool) {
	payload = fmt.Sprintf("%s:%d:%s", b.Input, b.Step, reply)
	return payload, b.Input != "" && b.Reply != "" && utf8.ValidString(payload) && !strings.Contains(string(b.Input), ":")
}

// ParseButtonPayload takes one apart. People can send whatever they like in one: it names an input, and proves
// nothing. reply may be "".
func ParseButtonPayload(payload string) (input core.InputID, step int, reply string, ok bool) {
	parts := strings.SplitN(payload, ":", 3)
	if len(parts) != 3 || parts[0] == "" || len(parts[0]) > MaxInputID {
		return "", 0, "", false
	}
	for _, c := range parts[0] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' {
			return "", 0, "", false
		}
	}
	step, err := strconv.Atoi(parts[1])
	if err != nil || step < 0 || strconv.Itoa(step) != parts[1] {
		return "", 0, "", false
	}
	return core.InputID(parts[0]), step, parts[2], true
}
