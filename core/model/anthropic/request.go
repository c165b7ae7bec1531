package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"parley/core/model"
	"parley/core/model/wire"
)

// What stands where the service demands words and nobody said any.
const (
	noText      = "(a message without text)"
	noBeginning = "(The conversation begins here.)"
	goOn        = "(Please go on.)"
	failedQuiet = "(failed without a message)"
)

// params puts a valid request into the SDK's terms.
func (c *Client) params(req model.Request) (anthropic.MessageNewParams, error) {
	p := anthropic.MessageNewParams{Model: c.model, MaxTokens: int64(c.maxTokens)}
	if system := clean(req.System); strings.TrimSpace(system) != "" {
		p.System = []anthropic.TextBlockParam{{Text: system}}
	}
	var err error
	if p.Messages, err = c.messages(req.Messages); err != nil {
		return p, err
	}
	for _, t := range req.Tools {
		described, err := describe(t)
		if err != nil {
			return p, err
		}
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: &described})
	}
	return p, nil
}

// messages puts a conversation into messages whose roles alternate, beginning and ending with the user's.
func (c *Client) messages(conversation []model.Message) (out []anthropic.MessageParam, err error) {
	var user []anthropic.ContentBlockParamUnion // of the user message that is being made: results come first in it
	flush := func() {
		if len(user) > 0 {
			out = append(out, anthropic.NewUserMessage(user...))
			user = nil
		}
	}
	ids := model.NewIDs(nil)
	var owed []string // ids under which the calls of the last reply were sent
	for i, m := range model.FitImages(conversation, c.images) {
		switch m.Role {
		case model.RoleUser:
			user = append(user, userBlocks(m)...)
		case model.RoleTool:
			user = append(user, result(*m.Result, owed[0]))
			owed = owed[1:]
		case model.RoleAssistant:
			reply, sent, err := c.assistant(m, ids)
			if err != nil {
				return nil, fmt.Errorf("message %d: %w", i, err)
			}
			if owed = sent; reply == nil {
				continue // it said nothing: the service takes no message without content
			}
			if len(user) == 0 && len(out) == 0 {
				user = append(user, anthropic.NewTextBlock(noBeginning))
			}
			flush()
			out = append(out, anthropic.MessageParam{OfAssistant: reply})
		}
	}
	if len(user) == 0 { // models take an assistant message at the end for the beginning of their reply, or refuse it
		user = append(user, anthropic.NewTextBlock(goOn))
	}
	flush()
	return out, nil
}

// clean makes text that JSON can carry.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// userBlocks is what a person said: the pictures, then the text.
func userBlocks(m model.Message) (blocks []anthropic.ContentBlockParamUnion) {
	for _, img := range m.Images {
		blocks = append(blocks, anthropic.NewImageBlockBase64(img.Type, base64.StdEncoding.EncodeToString(img.Data)))
	}
	text := clean(m.Text)
	if strings.TrimSpace(text) == "" {
		if len(blocks) > 0 {
			return blocks
		}
		text = noText
	}
	return append(blocks, anthropic.NewTextBlock(text))
}

// result is the result of the call that was sent under the id.
func result(r model.Result, id string) anthropic.ContentBlockParamUnion {
	b := anthropic.ToolResultBlockParam{ToolUseID: id}
	if r.IsError {
		b.IsError = anthropic.Bool(true)
	}
	text := clean(r.Content)
	if strings.TrimSpace(text) == "" {
		text = ""
		if r.IsError { // an error without content is refused
			text = failedQuiet
		}
	}
	if text != "" {
		b.Content = []anthropic.ToolResultBlockParamContentUnion{{OfText: &anthropic.TextBlockParam{Text: text}}}
	}
	return anthropic.ContentBlockParamUnion{OfToolResult: &b}
}

// assistant returns a reply as it is sent, nil if there is nothing to send, and the ids under which its
// calls go.
func (c *Client) assistant(m model.Message, ids *model.IDs) (a *anthropic.AssistantMessageParam, sent []string, err error) {
	var stored assistantMessage
	ours := m.Provider == c.provider && len(m.Raw) > 0 && json.Unmarshal(m.Raw, &stored) == nil
	for _, call := range m.Calls {
		want := call.ID
		if !ours && !wire.UsableID(want) {
			want = ""
		}
		sent = append(sent, ids.Take(want))
	}
	if ours {
		if content, err := mend(stored.Content, sent); err == nil {
			a, err := verbatim(content)
			return a, sent, err
		}
		// What is stored does not have the calls it should have: the neutral parts count.
	}
	var blocks []anthropic.ContentBlockParamUnion
	if text := clean(m.Text); strings.TrimSpace(text) != "" {
		blocks = append(blocks, anthropic.NewTextBlock(text))
	}
	for i, call := range m.Calls {
		blocks = append(blocks, anthropic.NewToolUseBlock(sent[i], input(call.Arguments), wire.ToolName(call.Name)))
	}
	if len(blocks) == 0 {
		return nil, nil, nil
	}
	return &anthropic.AssistantMessageParam{Content: blocks}, sent, nil
}

// verbatim is a mended message as it goes back, nil if there is nothing in it to send.
func verbatim(content []json.RawMessage) (*anthropic.AssistantMessageParam, error) {
	if !speaks(content) {
		return nil, nil
	}
	raw, err := encode(content)
	if err != nil {
		return nil, err
	}
	a := param.Override[anthropic.AssistantMessageParam](raw)
	return &a, nil
}

// describe describes a tool. The service refuses alternatives at the top of a schema; without them the
// model is told less, and its arguments are checked all the same before anything runs.
func describe(t model.ToolSpec) (anthropic.ToolParam, error) {
	p := anthropic.ToolParam{Name: wire.ToolName(t.Name)}
	if text := clean(t.Description); text != "" {
		p.Description = anthropic.String(text)
	}
	schema, err := wire.Schema(t)
	if err != nil {
		return p, err
	}
	for _, k := range []string{"oneOf", "anyOf", "allOf"} {
		delete(schema, k)
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return p, err
	}
	p.InputSchema = param.Override[anthropic.ToolInputSchemaParam](json.RawMessage(raw))
	return p, nil
}
