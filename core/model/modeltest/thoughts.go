package modeltest

import (
	"encoding/json"
	"fmt"
)

// unsigned is what Google's models take in the place of a signature.
const unsigned = "skip_thought_signature_validator"

// thoughts are the signatures that a server gave, which must come back as they were.
type thoughts struct {
	next       int
	signatures map[string]bool   // of Google's calls
	thinking   map[string]bool   // canonical thinking blocks
	before     map[string]string // the thinking that a call came with, by call id
}

type signedCall struct {
	ID    string `json:"id"`
	Extra struct {
		Google struct {
			Signature string `json:"thought_signature"`
		} `json:"google"`
	} `json:"extra_content"`
}

// sign makes a new signature.
func (t *thoughts) sign() string {
	t.next++
	return fmt.Sprintf("c2lnbmF0dXJl%d", t.next)
}

// remember keeps what an assistant message that is sent was thought with.
func (t *thoughts) remember(message json.RawMessage) {
	if t.signatures == nil {
		t.signatures, t.thinking, t.before = map[string]bool{unsigned: true}, map[string]bool{}, map[string]string{}
	}
	var m struct {
		Calls   []signedCall    `json:"tool_calls"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(message, &m) != nil {
		return
	}
	for _, c := range m.Calls {
		if s := c.Extra.Google.Signature; s != "" {
			t.signatures[s] = true
		}
	}
	var blocks []json.RawMessage
	if json.Unmarshal(m.Content, &blocks) != nil {
		return
	}
	thinking, ids := thinkingOf(blocks)
	for _, b := range thinking {
		t.thinking[b] = true
	}
	for _, id := range ids {
		t.before[id] = encode(thinking)
	}
}

// thinkingOf returns the thinking blocks of a content and the ids of its calls.
func thinkingOf(blocks []json.RawMessage) (thinking, ids []string) {
	for _, raw := range blocks {
		var b struct{ Type, ID string }
		if json.Unmarshal(raw, &b) != nil {
			continue
		}
		switch b.Type {
		case "thinking", "redacted_thinking":
			thinking = append(thinking, string(canonical(raw)))
		case "tool_use":
			ids = append(ids, b.ID)
		}
	}
	return thinking, ids
}

// checkSigned checks that the first call of each step has a signature that was given.
func (t *thoughts) checkSigned(messages []Message) error {
	for i, m := range messages {
		if m.Role != "assistant" || len(m.Calls) == 0 {
			continue
		}
		var w struct {
			Calls []signedCall `json:"tool_calls"`
		}
		if json.Unmarshal(m.Raw, &w) != nil || len(w.Calls) == 0 {
			return refuse("Invalid value at 'messages[%d].tool_calls'.", i)
		}
		switch s := w.Calls[0].Extra.Google.Signature; {
		case s == "":
			return refuse("Function call is missing a thought_signature in functionCall parts. Position %d.", i)
		case s != unsigned && !t.signatures[s]:
			return refuse("Thought signature is not valid. Position %d.", i)
		}
	}
	return nil
}

// checkThinking checks that thinking comes back as it was given, and with each call that it led to.
func (t *thoughts) checkThinking(i int, blocks []json.RawMessage) error {
	thinking, ids := thinkingOf(blocks)
	for _, b := range thinking {
		if !t.thinking[b] {
			return refuse("messages.%d: Invalid `signature` in `thinking` block", i)
		}
	}
	for _, id := range ids {
		if want, known := t.before[id]; known && want != "null" && want != encode(thinking) {
			return refuse("messages.%d: `thinking` or `redacted_thinking` blocks in the assistant message cannot be modified", i)
		}
	}
	return nil
}
