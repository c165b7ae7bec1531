package openai

import (
	"encoding/json"
	"fmt"

	"parley/core/model/wire"
)

// mend returns an assistant message with its calls under the given ids, fit to be sent back. It is
// returned byte for byte unless something has to be mended.
func mend(raw json.RawMessage, ids []string) (json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil || m == nil {
		return nil, fmt.Errorf("a message that is no JSON object")
	}
	calls, changed, err := mendCalls(m["tool_calls"], ids)
	if err != nil {
		return nil, err
	}
	if wire.Text(m["role"]) != "assistant" {
		m["role"], changed = json.RawMessage(`"assistant"`), true
	}
	if _, has := m["tool_calls"]; has && len(ids) == 0 {
		// Servers send an empty list that others refuse.
		delete(m, "tool_calls")
		changed = true
	}
	if len(ids) == 0 && wire.IsNull(m["content"]) && wire.Text(m["refusal"]) == "" {
		m["content"], changed = json.RawMessage(`""`), true
	}
	if !changed {
		return raw, nil
	}
	if len(ids) > 0 {
		if m["tool_calls"], err = json.Marshal(calls); err != nil {
			return nil, err
		}
	}
	return json.Marshal(m)
}

// without is an object without one of its keys.
func without(raw json.RawMessage, key string) (json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("a message that is no JSON object")
	}
	delete(m, key)
	return json.Marshal(m)
}

// mendCalls gives calls their ids, and a name and type to those that have none. changed says that this was needed.
func mendCalls(raw json.RawMessage, ids []string) (calls []map[string]json.RawMessage, changed bool, err error) {
	if !wire.IsNull(raw) {
		if err := json.Unmarshal(raw, &calls); err != nil {
			return nil, false, fmt.Errorf("a list of calls of an unknown shape")
		}
	}
	if len(calls) != len(ids) {
		return nil, false, fmt.Errorf("a message of %d calls where %d belong", len(calls), len(ids))
	}
	for i, call := range calls {
		if call == nil {
			call = map[string]json.RawMessage{}
			calls[i] = call
		}
		if !wire.IsString(call["id"], ids[i]) {
			if call["id"], err = json.Marshal(ids[i]); err != nil {
				return nil, false, err
			}
			changed = true
		}
		named, err := mendFunction(call)
		if err != nil {
			return nil, false, err
		}
		changed = changed || named
	}
	return calls, changed, nil
}

// mendFunction gives a call without a tool name one; servers refuse an empty name.
func mendFunction(call map[string]json.RawMessage) (changed bool, err error) {
	var f map[string]json.RawMessage
	if !wire.IsNull(call["function"]) {
		if err := json.Unmarshal(call["function"], &f); err != nil {
			return false, fmt.Errorf("a call of an unknown shape")
		}
	}
	if wire.IsNull(call["type"]) {
		call["type"], changed = json.RawMessage(`"function"`), true
	}
	if wire.Text(f["name"]) != "" {
		return changed, nil
	}
	if f == nil {
		f = map[string]json.RawMessage{"arguments": json.RawMessage(`"{}"`)}
	}
	f["name"] = json.RawMessage(`"unnamed"`)
	call["function"], err = json.Marshal(f)
	return true, err
}
