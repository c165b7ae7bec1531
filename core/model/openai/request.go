package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"parley/core/model"
	"parley/core/model/wire"
)

// params puts a valid request into the SDK's terms.
func (c *Client) params(req model.Request) (openai.ChatCompletionNewParams, error) {
	p := openai.ChatCompletionNewParams{Model: c.model}
	if req.System != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(req.System))
	}
	ids := model.NewIDs(nil)
	var owed []string // ids under which the calls of the last reply were sent
	for i, m := range model.FitImages(req.Messages, c.images) {
		switch m.Role {
		case model.RoleUser:
			p.Messages = append(p.Messages, user(m))
		case model.RoleTool:
			p.Messages = append(p.Messages, openai.ToolMessage(m.Result.Content, owed[0]))
			owed = owed[1:]
		case model.RoleAssistant:
			a, sent, err := c.assistant(m, ids)
			if err != nil {
				return p, fmt.Errorf("message %d: %w", i, err)
			}
			owed = sent
			p.Messages = append(p.Messages, openai.ChatCompletionMessageParamUnion{OfAssistant: &a})
		}
	}
	for _, t := range req.Tools {
		f, err := function(t)
		if err != nil {
			return p, err
		}
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(f))
	}
	c.limit(&p)
	return p, nil
}

// user is what a person said, with pictures where there are any.
func user(m model.Message) openai.ChatCompletionMessageParamUnion {
	if len(m.Images) == 0 {
		return openai.UserMessage(m.Text)
	}
	var parts []openai.ChatCompletionContentPartUnionParam
	if m.Text != "" {
		parts = append(parts, openai.TextContentPart(m.Text))
	}
	for _, img := range m.Images {
		parts = append(parts, openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{
			URL: "data:" + img.Type + ";base64," + base64.StdEncoding.EncodeToString(img.Data),
		}))
	}
	return openai.UserMessage(parts)
}

// limit bounds the reply under the name that the server knows.
func (c *Client) limit(p *openai.ChatCompletionNewParams) {
	p.MaxTokens, p.MaxCompletionTokens = param.Opt[int64]{}, param.Opt[int64]{}
	switch {
	case c.maxTokens <= 0:
	case c.newTokens.Load():
		p.MaxCompletionTokens = openai.Int(int64(c.maxTokens))
	default:
		p.MaxTokens = openai.Int(int64(c.maxTokens))
	}
}

// assistant returns a reply as it is sent and the ids under which its calls go.
func (c *Client) assistant(m model.Message, ids *model.IDs) (a openai.ChatCompletionAssistantMessageParam, sent []string, err error) {
	ours := m.Provider == c.provider && len(m.Raw) > 0
	for _, call := range m.Calls {
		want := call.ID
		if !ours && !wire.UsableID(want) {
			want = ""
		}
		sent = append(sent, ids.Take(want))
	}
	if ours {
		if raw, err := mend(m.Raw, sent); err == nil {
			return param.Override[openai.ChatCompletionAssistantMessageParam](raw), sent, nil
		}
		// What is stored does not have the calls it should have: the neutral parts count.
	}
	if m.Text != "" || len(m.Calls) == 0 {
		a.Content.OfString = openai.String(m.Text)
	}
	for i, call := range m.Calls {
		arguments, err := argumentText(call.Arguments)
		if err != nil {
			return a, nil, fmt.Errorf("call %q: %w", call.ID, err)
		}
		f := openai.ChatCompletionMessageFunctionToolCallParam{
			ID:       sent[i],
			Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: wire.ToolName(call.Name), Arguments: arguments},
		}
		if c.signs && i == 0 {
			sign(&f)
		}
		a.ToolCalls = append(a.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &f})
	}
	return a, sent, nil
}

// argumentText returns the arguments of a rebuilt call. Servers parse them, so that some that are no JSON
// become an object that holds them.
func argumentText(arguments json.RawMessage) (string, error) {
	switch {
	case len(arguments) == 0:
		return "{}", nil
	case json.Valid(arguments):
		return string(arguments), nil
	}
	b, err := json.Marshal(map[string]string{"not_json": string(arguments)})
	return string(b), err
}

// function describes a tool. A schema that leaves out what every server demands of one is completed.
func function(t model.ToolSpec) (openai.FunctionDefinitionParam, error) {
	f := openai.FunctionDefinitionParam{Name: wire.ToolName(t.Name)}
	if t.Description != "" {
		f.Description = openai.String(t.Description)
	}
	schema, err := wire.Schema(t)
	if err != nil {
		return f, err
	}
	f.Parameters = openai.FunctionParameters{}
	for k, v := range schema {
		f.Parameters[k] = v
	}
	return f, nil
}
