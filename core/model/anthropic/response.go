package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"parley/core"
	"parley/core/model"
	"parley/core/model/wire"
)

// message is what counts of a reply, or of the parts of one that paused.
type message struct {
	content []json.RawMessage // the blocks as the server wrote them
	stop    anthropic.StopReason
	usage   core.Usage
	parts   int
}

// block is what counts of one content block.
type block struct {
	Type  string          `json:"type"`
	Text  json.RawMessage `json:"text"`
	ID    json.RawMessage `json:"id"`
	Name  json.RawMessage `json:"name"`
	Input json.RawMessage `json:"input"`
}

// readMessage reads the body of a successful answer.
func readMessage(body []byte) (message, error) {
	var answer anthropic.Message
	if !wire.IsObject(body) || json.Unmarshal(body, &answer) != nil {
		return message{}, errors.New("an answer that is no JSON object")
	}
	m := message{stop: answer.StopReason, parts: 1}
	raw := answer.JSON.Content.Raw()
	if raw == "" || raw[0] != '[' || json.Unmarshal([]byte(raw), &m.content) != nil {
		return message{}, errors.New("an answer without content")
	}
	for _, b := range m.content {
		if _, err := readBlock(b); err != nil {
			return message{}, err
		}
	}
	u := answer.Usage
	m.usage = core.Usage{
		Requests: 1,
		Input:    wire.Tokens(u.InputTokens) + wire.Tokens(u.CacheCreationInputTokens) + wire.Tokens(u.CacheReadInputTokens),
		Output:   wire.Tokens(u.OutputTokens),
	}
	return m, nil
}

func readBlock(raw json.RawMessage) (block, error) {
	var b block
	if !wire.IsObject(raw) || json.Unmarshal(raw, &b) != nil || b.Type == "" {
		return b, errors.New("a content block of an unknown shape")
	}
	return b, nil
}

// add puts what came after a pause behind what came before it.
func (m *message) add(part message) {
	m.content = append(m.content, part.content...)
	m.stop = part.stop
	m.parts += part.parts
	m.usage.Requests += part.usage.Requests
	m.usage.Input += part.usage.Input
	m.usage.Output += part.usage.Output
}

// paused returns the message with which the model is asked to go on, nil if it does not want that. A call
// is to be answered first.
func (m *message) paused() *anthropic.AssistantMessageParam {
	if m.stop != anthropic.StopReasonPauseTurn {
		return nil
	}
	content, err := mend(m.content, nil)
	if err != nil {
		return nil // there is a call
	}
	a, err := verbatim(content)
	if err != nil {
		return nil
	}
	return a
}

// cutOff reports whether the reply ended because a limit was reached.
func (m *message) cutOff() bool {
	return m.stop == anthropic.StopReasonMaxTokens || m.stop == anthropic.StopReasonModelContextWindowExceeded
}

// response puts a whole reply into neutral terms.
func (c *Client) response(m message, req model.Request) (model.Response, error) {
	var text joined
	var calls []model.Call
	var kept []json.RawMessage
	for i, raw := range m.content {
		b, err := readBlock(raw)
		if err != nil {
			return model.Response{}, c.far.Unreadable(err.Error())
		}
		text.block(b.Type)
		if b.Type == "text" {
			text.write(wire.Text(b.Text))
		}
		if b.Type == "tool_use" {
			if m.stop == anthropic.StopReasonRefusal {
				continue // nothing of a refused reply runs
			}
			call := model.Call{ID: wire.Text(b.ID), Name: wire.OwnName(wire.Text(b.Name), req.Tools), Arguments: arguments(b.Input)}
			if m.cutOff() && i == len(m.content)-1 {
				call.Arguments = unfinished(call.Arguments)
			}
			calls = append(calls, call)
		}
		kept = append(kept, raw)
	}
	resp := model.Response{Text: text.String(), Calls: model.Mend(calls, req.Messages), Provider: c.provider, Usage: m.usage}
	var ids []string
	for _, call := range resp.Calls {
		ids = append(ids, call.ID)
	}
	content, err := mend(kept, ids)
	if err == nil {
		resp.Raw, err = encode(content)
	}
	if err != nil {
		return model.Response{}, c.far.Unreadable(err.Error())
	}
	resp.Stop = m.reason(len(calls) > 0)
	return resp, nil
}

// reason says why the reply ended. One that paused too often was cut, too.
func (m *message) reason(calls bool) model.Stop {
	switch {
	case calls:
		return model.StopTools
	case m.stop == anthropic.StopReasonRefusal:
		return model.StopRefuse
	case m.cutOff(), m.stop == anthropic.StopReasonPauseTurn:
		return model.StopLength
	}
	return model.StopEnd
}

// arguments returns the input of a call. No input is an empty object.
func arguments(input json.RawMessage) json.RawMessage {
	if wire.IsNull(input) {
		return json.RawMessage("{}")
	}
	return input
}

// unfinished makes arguments that were cut off by a limit into text that is no JSON, and stays so.
func unfinished(arguments json.RawMessage) json.RawMessage {
	open := bytes.TrimRight(arguments, "} \t\r\n")
	if len(open) == 0 || open[0] != '{' {
		open = []byte("{")
	}
	return json.RawMessage(bytes.Clone(open))
}
