package modeltest

import (
	"encoding/json"
	"strings"
)

// checkConversation checks that each call has exactly one result, in call order, directly after the
// message that made it, and that no call id is used twice.
func checkConversation(messages []Message) error {
	var open []Call
	answered := make(map[string]bool) // by call id, false while it waits
	for i, m := range messages {
		if m.Role != "tool" {
			if len(open) > 0 {
				return unanswered(open)
			}
			for _, c := range m.Calls {
				if _, used := answered[c.ID]; used {
					return refuse("Duplicate value for 'tool_call_id' of '%s'", c.ID)
				}
				answered[c.ID] = false
			}
			open = m.Calls
			continue
		}
		done, known := answered[m.ToolCallID]
		switch {
		case done:
			return refuse("Invalid 'messages[%d]': a second result for 'tool_call_id' '%s'.", i, m.ToolCallID)
		case !known && len(open) == 0:
			return refuse("Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
		case !known:
			return refuse("Invalid 'messages[%d]': 'tool_call_id' '%s' not found in 'tool_calls' of previous message.", i, m.ToolCallID)
		case open[0].ID != m.ToolCallID:
			return refuse("Invalid 'messages[%d]': result of '%s' out of order: expected that of '%s'.", i, m.ToolCallID, open[0].ID)
		}
		answered[m.ToolCallID] = true
		open = open[1:]
	}
	if len(open) > 0 {
		return unanswered(open)
	}
	return nil
}

func unanswered(open []Call) error {
	var ids []string
	for _, c := range open {
		ids = append(ids, c.ID)
	}
	return refuse("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "+
		"The following tool_call_ids did not have response messages: %s", strings.Join(ids, ", "))
}

func (r *Request) readTools(tools []wireTool) error {
	seen := make(map[string]bool)
	for i, t := range tools {
		name := t.Function.Name
		switch {
		case t.Type != "function":
			return refuse("Invalid 'tools[%d].type': '%s'.", i, t.Type)
		case !toolName.MatchString(name):
			return refuse("Invalid 'tools[%d].function.name': string '%s' does not match pattern '%s'.", i, name, toolName)
		case seen[name]:
			return refuse("Invalid 'tools[%d].function.name': '%s' is there twice.", i, name)
		}
		seen[name] = true
		if len(t.Function.Parameters) > 0 {
			if err := checkSchema(t.Function.Parameters, true); err != nil {
				return refuse("Invalid schema for function '%s': %v", name, err)
			}
		}
		r.Tools = append(r.Tools, Tool{Name: name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	return nil
}

type schema struct {
	Type       json.RawMessage             `json:"type"`
	Properties *map[string]json.RawMessage `json:"properties"`
	Required   *[]string                   `json:"required"`
	Items      json.RawMessage             `json:"items"`
}

// checkSchema checks what the service checks of a schema: the outermost one is an object with properties.
func checkSchema(raw json.RawMessage, outermost bool) error {
	if !outermost && (string(raw) == "true" || string(raw) == "false") {
		return nil
	}
	var s schema
	if err := json.Unmarshal(raw, &s); err != nil || string(raw) == "null" {
		return refuse("schema must be a JSON object.")
	}
	switch {
	case outermost && string(s.Type) != `"object"`:
		return refuse("schema must be a JSON Schema of 'type: \"object\"', got 'type: %s'.", s.Type)
	case string(s.Type) == `"object"` && outermost && s.Properties == nil:
		return refuse("object schema missing properties.")
	case string(s.Type) == `"array"` && len(s.Items) == 0:
		return refuse("array schema missing items.")
	}
	if s.Properties != nil {
		for name, p := range *s.Properties {
			if err := checkSchema(p, false); err != nil {
				return refuse("in '%s': %v", name, err)
			}
		}
	}
	if len(s.Items) > 0 {
		return checkSchema(s.Items, false)
	}
	return nil
}
