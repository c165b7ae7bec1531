package openai

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/openai/openai-go/v3"

	"parley/core"
	"parley/core/model"
	"parley/core/model/wire"
)

// decode reads a successful answer to req.
func (c *Client) decode(body []byte, req model.Request) (model.Response, error) {
	var answer openai.ChatCompletion
	if err := json.Unmarshal(body, &answer); err != nil {
		return model.Response{}, c.far.Unreadable("an answer that is no JSON object")
	}
	if len(answer.Choices) == 0 {
		return model.Response{}, c.far.Unreadable("an answer without choices")
	}
	choice := answer.Choices[0]
	if said, ok := wire.ErrorIn([]byte(choice.RawJSON())); ok {
		return model.Response{}, c.far.Refused(said.Status(), said, nil)
	}
	raw := json.RawMessage(choice.Message.RawJSON())
	m, err := readMessage(raw)
	if err == nil && len(m.calls) > 0 && (m.refused || choice.FinishReason == filtered) {
		m.calls = nil // nothing of a refused reply runs, and what was filtered may be a half
		raw, err = without(raw, "tool_calls")
	}
	if err != nil {
		return model.Response{}, c.far.Unreadable(err.Error())
	}
	resp := model.Response{
		Text:     m.text,
		Calls:    model.Mend(m.calls, req.Messages),
		Provider: c.provider,
		Usage:    core.Usage{Requests: 1, Input: wire.Tokens(answer.Usage.PromptTokens), Output: wire.Tokens(answer.Usage.CompletionTokens)},
	}
	if n := len(m.calls); n > 0 && cutOff(choice.FinishReason) && m.unargued {
		resp.Calls[n-1].Arguments = json.RawMessage("{") // no JSON: the limit came before the arguments
	}
	var ids []string
	for i := range resp.Calls {
		resp.Calls[i].Name = wire.OwnName(resp.Calls[i].Name, req.Tools)
		ids = append(ids, resp.Calls[i].ID)
	}
	if resp.Raw, err = mend(raw, ids); err != nil {
		return model.Response{}, c.far.Unreadable(err.Error())
	}
	resp.Stop = stop(choice.FinishReason, m)
	return resp, nil
}

// stop reads why the reply ended. Servers say "stop" for replies with calls.
func stop(reason string, m message) model.Stop {
	switch {
	case len(m.calls) > 0:
		return model.StopTools
	case m.refused, reason == filtered:
		return model.StopRefuse
	case cutOff(reason):
		return model.StopLength
	}
	return model.StopEnd
}

// filtered is the reason of a reply that the service did not want to be whole.
const filtered = "content_filter"

// cutOff reports whether a reply ended at a limit.
func cutOff(reason string) bool { return reason == "length" || reason == "max_tokens" }

// message is what counts of an assistant message. The ids of calls are as sent.
type message struct {
	text    string
	refused bool
	calls   []model.Call
	// unargued says that the last call came without arguments.
	unargued bool
}

type wireMessage struct {
	Content   json.RawMessage `json:"content"`
	Refusal   json.RawMessage `json:"refusal"`
	ToolCalls []wireCall      `json:"tool_calls"`
}

type wireCall struct {
	ID       json.RawMessage `json:"id"`
	Function struct {
		Name      json.RawMessage `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

func readMessage(raw json.RawMessage) (message, error) {
	var w wireMessage
	if !wire.IsObject(raw) {
		return message{}, errors.New("a choice without a message")
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return message{}, errors.New("a message of an unknown shape")
	}
	refusal := wire.Text(w.Refusal)
	m := message{refused: refusal != ""}
	if m.text = contentText(w.Content); m.text == "" {
		m.text = refusal
	}
	for _, c := range w.ToolCalls {
		m.calls = append(m.calls, model.Call{ID: wire.Text(c.ID), Name: wire.Text(c.Function.Name), Arguments: arguments(c.Function.Arguments)})
		m.unargued = strings.TrimSpace(wire.Text(c.Function.Arguments)) == "" && !wire.IsObject(c.Function.Arguments)
	}
	return m, nil
}

// arguments returns the arguments of a call: the string's content or, from servers that send it so, the
// JSON value itself. No arguments are an empty object.
func arguments(raw json.RawMessage) json.RawMessage {
	s := string(raw)
	if len(raw) > 0 && raw[0] == '"' {
		s = wire.Text(raw)
	} else if s == "null" {
		s = ""
	}
	if strings.TrimSpace(s) == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(s)
}

// contentText reads content, which is a string, null or a list of parts.
func contentText(raw json.RawMessage) string {
	var parts []json.RawMessage
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &parts) != nil {
		return wire.Text(raw)
	}
	var b strings.Builder
	for _, p := range parts {
		var part struct {
			Text    json.RawMessage `json:"text"`
			Refusal json.RawMessage `json:"refusal"`
		}
		if wire.IsObject(p) && json.Unmarshal(p, &part) == nil {
			b.WriteString(wire.Text(part.Text))
			b.WriteString(wire.Text(part.Refusal))
		} else {
			b.WriteString(wire.Text(p))
		}
	}
	return b.String()
}
