package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"parley/core/model/wire"
)

// assembly is a reply that comes in pieces. It keeps every field, also those that nobody here knows:
// strings grow, objects are merged, lists grow.
type assembly struct {
	message map[string]json.RawMessage // but for the fields below
	strings map[string]*strings.Builder
	calls   []*streamedCall
	finish  string
	usage   json.RawMessage
	done    bool
	said    *wire.Said // an error in the stream
}

// streamedCall is a call that comes in pieces.
type streamedCall struct {
	index           int
	id, name        string
	arguments       strings.Builder
	call, functions map[string]json.RawMessage // other fields
}

// chunk is one piece.
type chunk struct {
	Error   json.RawMessage `json:"error"`
	Usage   json.RawMessage `json:"usage"`
	Choices []struct {
		Index  int                        `json:"index"`
		Delta  map[string]json.RawMessage `json:"delta"`
		Finish json.RawMessage            `json:"finish_reason"`
		Error  json.RawMessage            `json:"error"`
	} `json:"choices"`
}

// add takes one event of the stream.
func (a *assembly) add(kind string, data []byte) error {
	data = bytes.TrimSpace(data)
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		a.done = true
		return nil
	}
	if kind == "error" {
		said := wire.ParseSaid(data)
		a.said = &said
		return nil
	}
	var c chunk
	if !wire.IsObject(data) || json.Unmarshal(data, &c) != nil {
		return errors.New("an event that is no piece of a reply")
	}
	if !wire.IsNull(c.Usage) {
		a.usage = c.Usage
	}
	failed := c.Error
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		if wire.IsNull(failed) {
			failed = choice.Error
		}
		if err := a.merge(choice.Delta); err != nil {
			return err
		}
		if reason := wire.Text(choice.Finish); reason != "" {
			a.finish = reason
		}
	}
	if said, ok := wire.ErrorIn([]byte(`{"error":` + string(orNull(failed)) + `}`)); ok {
		a.said = &said
	}
	return nil
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// text is the reply's text so far: what it says, or why it refuses.
func (a *assembly) text() string {
	for _, k := range []string{"content", "refusal"} {
		if b := a.strings[k]; b != nil && b.Len() > 0 {
			return b.String()
		}
	}
	return ""
}

// merge adds a piece of the message.
func (a *assembly) merge(delta map[string]json.RawMessage) error {
	if a.message == nil {
		a.message, a.strings = map[string]json.RawMessage{}, map[string]*strings.Builder{}
	}
	for k, v := range delta {
		switch {
		case wire.IsNull(v), k == "obfuscation":
		case k == "tool_calls":
			var pieces []map[string]json.RawMessage
			if json.Unmarshal(v, &pieces) != nil {
				return errors.New("a list of calls of an unknown shape")
			}
			for _, p := range pieces {
				if err := a.mergeCall(p); err != nil {
					return err
				}
			}
		case k == "role":
			a.message[k] = v
		case k == "content":
			a.grow(k, contentText(v))
		case v[0] == '"':
			a.grow(k, wire.Text(v))
		default:
			a.message[k] = merged(a.message[k], v)
		}
	}
	return nil
}

func (a *assembly) grow(field, text string) {
	if a.strings[field] == nil {
		a.strings[field] = &strings.Builder{}
	}
	a.strings[field].WriteString(text)
}

// mergeCall adds a piece of a call.
func (a *assembly) mergeCall(piece map[string]json.RawMessage) error {
	var function map[string]json.RawMessage
	if raw := piece["function"]; !wire.IsNull(raw) && json.Unmarshal(raw, &function) != nil {
		return errors.New("a call of an unknown shape")
	}
	c := a.call(piece["index"], wire.Text(piece["id"]), wire.Text(function["name"]))
	for k, v := range piece {
		if k != "index" && k != "id" && k != "function" && !wire.IsNull(v) {
			c.call[k] = merged(c.call[k], v)
		}
	}
	for k, v := range function {
		switch {
		case k == "name" || wire.IsNull(v):
		case k == "arguments" && v[0] == '"':
			c.arguments.WriteString(wire.Text(v))
		case k == "arguments":
			c.arguments.Write(v)
		default:
			c.functions[k] = merged(c.functions[k], v)
		}
	}
	return nil
}

// call finds the call that a piece belongs to, or begins a new one: servers leave the index out, or give
// each of several calls the same.
func (a *assembly) call(rawIndex json.RawMessage, id, name string) *streamedCall {
	index := len(a.calls)
	hasIndex := json.Unmarshal(rawIndex, &index) == nil && !wire.IsNull(rawIndex)
	for i := len(a.calls) - 1; i >= 0; i-- {
		c := a.calls[i]
		if hasIndex && c.index != index {
			continue
		}
		if id != "" && c.id != "" && c.id != id || name != "" && c.complete() && id == "" {
			break // another call
		}
		if c.id == "" {
			c.id = id
		}
		if c.name == "" {
			c.name = name
		}
		return c
	}
	c := &streamedCall{index: index, id: id, name: name, call: map[string]json.RawMessage{}, functions: map[string]json.RawMessage{}}
	a.calls = append(a.calls, c)
	return c
}

// complete reports whether a call has all that a call has.
func (c *streamedCall) complete() bool {
	s := c.arguments.String()
	return c.name != "" && wire.IsObject([]byte(s)) && json.Valid([]byte(s))
}

// body is the whole reply as a server that does not stream would have sent it.
func (a *assembly) body() ([]byte, *failure) {
	m := map[string]any{"role": "assistant", "content": nil}
	for k, v := range a.message {
		m[k] = v
	}
	for k, b := range a.strings {
		if k != "content" || b.Len() > 0 {
			m[k] = b.String()
		}
	}
	if len(a.calls) == 0 && a.text() == "" {
		m["content"] = ""
	}
	var calls []any
	for _, c := range a.calls {
		function := map[string]any{"name": c.name, "arguments": c.arguments.String()}
		for k, v := range c.functions {
			function[k] = v
		}
		call := map[string]any{"id": c.id, "type": "function", "function": function}
		for k, v := range c.call {
			call[k] = v
		}
		calls = append(calls, call)
	}
	if len(calls) > 0 {
		m["tool_calls"] = calls
	}
	choice := map[string]any{"index": 0, "message": m, "finish_reason": a.finish}
	return encode(map[string]any{"choices": []any{choice}, "usage": orNull(a.usage)}, nil), nil
}
