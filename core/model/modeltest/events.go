package modeltest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// pieces cuts text into small pieces, not within a character.
func pieces(s string) (out []string) {
	runes := []rune(s)
	for len(runes) > 0 {
		n := min(3, len(runes))
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	return out
}

// object reads JSON whose numbers stay as they were written.
func object(raw json.RawMessage) map[string]any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		panic(err) // a test gave a message that is no JSON object
	}
	return m
}

// chatEvents is an assistant message of Chat Completions as a stream.
func chatEvents(message json.RawMessage, finish string, usage bool) []string {
	events := []string{": keep-alive\n\n"}
	event := func(choices string, rest string) {
		events = append(events, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"fake","choices":[`+choices+`]`+rest+"}\n\n")
	}
	delta := func(d map[string]any) {
		event(`{"index":0,"delta":`+encode(d)+`,"finish_reason":null}`, "")
	}
	m := object(message)
	delta(map[string]any{"role": "assistant", "content": ""})
	for _, k := range slices.Sorted(maps.Keys(m)) {
		text, isText := m[k].(string)
		calls, isCalls := m[k].([]any)
		switch {
		case k == "role" || m[k] == nil:
		case isText:
			for _, p := range pieces(text) {
				delta(map[string]any{k: p})
			}
		case k == "tool_calls" && isCalls:
			for i, c := range calls {
				for _, d := range callDeltas(i, c) {
					delta(map[string]any{k: []any{d}})
				}
			}
		default:
			delta(map[string]any{k: m[k]})
		}
	}
	event(`{"index":0,"delta":{},"finish_reason":`+orNull(finish)+`}`, "")
	if usage {
		event("", `,"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}`)
	}
	return append(events, "data: [DONE]\n\n")
}

// callDeltas is a call in pieces: all but the arguments, then these.
func callDeltas(i int, call any) (out []any) {
	c, ok := call.(map[string]any)
	if !ok {
		return []any{call}
	}
	first := maps.Clone(c)
	first["index"] = i
	f, _ := c["function"].(map[string]any)
	arguments, isText := f["arguments"].(string)
	if isText {
		f := maps.Clone(f)
		f["arguments"] = ""
		first["function"] = f
	}
	out = append(out, first)
	for _, p := range pieces(arguments) {
		out = append(out, map[string]any{"index": i, "function": map[string]any{"arguments": p}})
	}
	return out
}

// messagesEvents is an assistant message of Messages as a stream.
func messagesEvents(message json.RawMessage, stop string) (events []string) {
	event := func(kind string, v map[string]any) {
		v["type"] = kind
		events = append(events, "event: "+kind+"\ndata: "+encode(v)+"\n\n")
	}
	event("message_start", map[string]any{"message": map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": map[string]any{"input_tokens": 4, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 1},
	}})
	event("ping", map[string]any{})
	content, _ := object(message)["content"].([]any)
	for i, c := range content {
		block, ok := c.(map[string]any)
		if !ok {
			event("content_block_start", map[string]any{"index": i, "content_block": c})
			continue
		}
		start, deltas := blockDeltas(block)
		event("content_block_start", map[string]any{"index": i, "content_block": start})
		for _, d := range deltas {
			event("content_block_delta", map[string]any{"index": i, "delta": d})
		}
		event("content_block_stop", map[string]any{"index": i})
	}
	var reason any
	if stop != "" {
		reason = stop
	}
	event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": reason, "stop_sequence": nil}, "usage": map[string]any{"output_tokens": 7}})
	event("message_stop", map[string]any{})
	return events
}

// blockDeltas is a content block as it starts, and the pieces that follow.
func blockDeltas(block map[string]any) (start map[string]any, deltas []map[string]any) {
	start = maps.Clone(block)
	grow := func(field, kind, delta string) {
		text, ok := block[field].(string)
		if !ok {
			return
		}
		start[field] = ""
		for _, p := range pieces(text) {
			deltas = append(deltas, map[string]any{"type": kind, delta: p})
		}
	}
	switch block["type"] {
	case "text":
		grow("text", "text_delta", "text")
	case "thinking":
		grow("thinking", "thinking_delta", "thinking")
		grow("signature", "signature_delta", "signature")
	case "tool_use":
		input, ok := block["input"].(map[string]any)
		if !ok {
			return start, nil
		}
		start["input"] = map[string]any{}
		for _, p := range pieces(encode(input)) {
			deltas = append(deltas, map[string]any{"type": "input_json_delta", "partial_json": p})
		}
	}
	return start, deltas
}
