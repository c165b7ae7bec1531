package modeltest

import (
	"encoding/json"
	"strings"
)

// conversation reads the messages of a request one after the other.
type conversation struct {
	server *Server
	last   int             // the number of the last message
	role   string          // of the message before
	open   []string        // calls of the message before
	used   map[string]bool // ids of all calls so far
}

// read reads the i-th message. Of a user's it makes one message a result, and one of the rest.
func (c *conversation) read(i int, role string, content json.RawMessage) ([]Message, error) {
	blocks, err := readBlocks(i, content)
	if err != nil {
		return nil, err
	}
	switch {
	case i == 0 && role != "user":
		return nil, refuse("messages: first message must use the \"user\" role")
	case role == "user" && c.role == "user":
		return nil, refuse("messages.%d: roles must alternate: all of the user's turn belongs in one message", i)
	case role == "assistant" && len(c.open) > 0:
		return nil, refuse("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s", i-1, strings.Join(c.open, ", "))
	}
	c.role = role
	switch role {
	case "user":
		return c.readUser(i, blocks, content)
	case "assistant":
		return c.readAssistant(i, blocks, content)
	}
	return nil, refuse("messages.%d.role: Input should be 'user' or 'assistant'", i)
}

// readBlocks reads the content of a message; a string is one text block.
func readBlocks(i int, content json.RawMessage) ([]json.RawMessage, error) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		content = json.RawMessage(encode([]any{map[string]any{"type": "text", "text": text}}))
	}
	var blocks []json.RawMessage
	if json.Unmarshal(content, &blocks) != nil {
		return nil, refuse("messages.%d.content: Input should be a valid list", i)
	}
	if len(blocks) == 0 {
		return nil, refuse("messages.%d: all messages must have non-empty content", i)
	}
	return blocks, nil
}

func (c *conversation) readUser(i int, blocks []json.RawMessage, raw json.RawMessage) (out []Message, err error) {
	owed := c.open
	c.open = nil
	rest := Message{Role: "user", Raw: raw}
	said := false
	for _, raw := range blocks {
		var b contentBlock
		if err := json.Unmarshal(raw, &b); err != nil {
			return nil, refuse("messages.%d.content: %v", i, err)
		}
		switch b.Type {
		case "tool_result":
			if said {
				return nil, refuse("messages.%d: `tool_result` blocks must come first in the content", i)
			}
			if len(owed) == 0 || owed[0] != b.ToolUseID {
				return nil, refuse("messages.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message, in its order.", i, b.ToolUseID)
			}
			owed = owed[1:]
			m := Message{Role: "tool", ToolCallID: b.ToolUseID, IsError: b.IsError, Raw: raw}
			if m.Content, err = resultText(i, b); err != nil {
				return nil, err
			}
			out = append(out, m)
			continue
		case "image":
			if b.Source.Type != "base64" {
				return nil, refuse("messages.%d: unknown source '%s'", i, b.Source.Type)
			}
			if err := checkImage(b.Source.MediaType, b.Source.Data); err != nil {
				return nil, err
			}
			rest.Images++
		default:
			if err := checkText("messages", b); err != nil {
				return nil, err
			}
			rest.Content += *b.Text
		}
		said = true
	}
	if len(owed) > 0 {
		return nil, refuse("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s", i-1, strings.Join(owed, ", "))
	}
	if said {
		out = append(out, rest)
	}
	return out, nil
}

func resultText(i int, b contentBlock) (string, error) {
	text := ""
	if len(b.Content) > 0 {
		var err error
		if text, err = readTexts("messages.tool_result", b.Content); err != nil {
			return "", err
		}
	}
	if text == "" && b.IsError {
		return "", refuse("messages.%d: tool_result: content cannot be empty if `is_error` is true", i)
	}
	return text, nil
}

func (c *conversation) readAssistant(i int, blocks []json.RawMessage, raw json.RawMessage) ([]Message, error) {
	m := Message{Role: "assistant", Raw: json.RawMessage(encode(map[string]any{"role": "assistant", "content": blocks}))}
	if i == c.last && !c.server.paused(m.Raw) {
		return nil, refuse("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	for j, raw := range blocks {
		var b contentBlock
		if err := json.Unmarshal(raw, &b); err != nil {
			return nil, refuse("messages.%d.content: %v", i, err)
		}
		switch b.Type {
		case "text":
			if err := checkText("messages", b); err != nil {
				return nil, err
			}
			m.Content += *b.Text
		case "thinking":
			if b.Signature == nil || *b.Signature == "" {
				return nil, refuse("messages.%d.content.%d.thinking.signature: Field required", i, j)
			}
		case "tool_use":
			if err := c.readCall(i, b); err != nil {
				return nil, err
			}
			m.Calls = append(m.Calls, Call{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
		case "redacted_thinking", "server_tool_use", "web_search_tool_result":
		default:
			return nil, refuse("messages.%d.content.%d: Input tag '%s' does not match any of the expected tags", i, j, b.Type)
		}
	}
	return []Message{m}, c.server.thoughts.checkThinking(i, blocks)
}

func (c *conversation) readCall(i int, b contentBlock) error {
	var input map[string]json.RawMessage
	switch {
	case !toolUseID.MatchString(b.ID):
		return refuse("messages.%d: tool_use.id: String should match pattern '%s'", i, toolUseID)
	case c.used[b.ID]:
		return refuse("messages.%d: `tool_use` ids must be unique", i)
	case !toolName.MatchString(b.Name):
		return refuse("messages.%d: tool_use.name: String should match pattern '%s'", i, toolName)
	case json.Unmarshal(b.Input, &input) != nil || input == nil:
		return refuse("messages.%d: tool_use.input: Input should be a valid dictionary", i)
	}
	c.used[b.ID] = true
	c.open = append(c.open, b.ID)
	return nil
}

// paused reports whether the message is one with which the server paused its turn.
func (s *Server) paused(message json.RawMessage) bool {
	return s.pauses[string(canonical(message))]
}
