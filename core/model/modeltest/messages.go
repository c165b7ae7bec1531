package modeltest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
)

// versions are the API versions that the server knows.
var versions = map[string]bool{"2023-06-01": true, "2026-10-21": true}

type messagesRequest struct {
	Model     string          `json:"model"`
	MaxTokens *int            `json:"max_tokens"`
	System    json.RawMessage `json:"system"`
	Messages  []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name        string          `json:"name"`
		Type        string          `json:"type"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	Stream bool `json:"stream"`
}

// contentBlock is one block of a message, of any type.
type contentBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
	Signature *string         `json:"signature"`
	Source    struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
}

var toolUseID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// readMessages reads a request of Anthropic's Messages and checks it.
func (s *Server) readMessages(req *Request) error {
	if err := checkMessagesHeader(req.Header); err != nil {
		return err
	}
	var w messagesRequest
	d := json.NewDecoder(bytes.NewReader(req.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return refuse("The request body is not valid JSON, or: Extra inputs are not permitted (%v)", err)
	}
	req.Model, req.Stream = w.Model, w.Stream
	switch {
	case w.Model == "":
		return refuse("model: Field required")
	case w.MaxTokens == nil || *w.MaxTokens < 1:
		return refuse("max_tokens: Field required")
	case len(w.Messages) == 0:
		return refuse("messages: at least one message is required")
	}
	if err := req.readSystem(w.System); err != nil {
		return err
	}
	c := conversation{server: s, used: map[string]bool{}, last: len(w.Messages) - 1}
	for i, m := range w.Messages {
		read, err := c.read(i, m.Role, m.Content)
		if err != nil {
			return err
		}
		req.Messages = append(req.Messages, read...)
	}
	if len(c.open) > 0 {
		return refuse("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s", c.last, strings.Join(c.open, ", "))
	}
	return req.readMessagesTools(w)
}

func checkMessagesHeader(h http.Header) error {
	switch {
	case !versions[h.Get("Anthropic-Version")]:
		return refuse("anthropic-version: \"%s\" is not a valid version", h.Get("Anthropic-Version"))
	case h.Get("Content-Type") != "application/json":
		return refuse("content-type: must be application/json")
	}
	return nil
}

// readSystem reads the system prompt, a string or a list of texts, and makes it the first message.
func (r *Request) readSystem(raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	text, err := readTexts("system", raw)
	if err != nil {
		return err
	}
	r.Messages = append(r.Messages, Message{Role: "system", Content: text, Raw: raw})
	return nil
}

// readTexts reads a string or a list of text blocks, none of them empty. Pictures may stand among them.
func readTexts(at string, raw json.RawMessage) (string, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var blocks []contentBlock
	if json.Unmarshal(raw, &blocks) != nil {
		return "", refuse("%s: Input should be a valid string or list", at)
	}
	var b strings.Builder
	for _, block := range blocks {
		if err := checkText(at, block); err != nil {
			return "", err
		}
		b.WriteString(*block.Text)
	}
	return b.String(), nil
}

func checkText(at string, b contentBlock) error {
	switch {
	case b.Type != "text" || b.Text == nil:
		return refuse("%s: Input tag '%s' found using 'type' does not match any of the expected tags", at, b.Type)
	case *b.Text == "":
		return refuse("%s: text content blocks must be non-empty", at)
	case strings.TrimSpace(*b.Text) == "":
		return refuse("%s: text content blocks must contain non-whitespace text", at)
	}
	return nil
}

func (r *Request) readMessagesTools(w messagesRequest) error {
	seen := map[string]bool{}
	for i, t := range w.Tools {
		switch {
		case t.Type != "" && t.Type != "custom":
			return refuse("tools.%d: unknown type '%s'", i, t.Type)
		case !toolName.MatchString(t.Name):
			return refuse("tools.%d.custom.name: String should match pattern '%s'", i, toolName)
		case seen[t.Name]:
			return refuse("tools: Tool names must be unique.")
		}
		seen[t.Name] = true
		if err := checkSchema(t.Schema, true); err != nil {
			return refuse("tools.%d.custom.input_schema: %v", i, err)
		}
		var top map[string]json.RawMessage
		if json.Unmarshal(t.Schema, &top) == nil {
			for _, k := range []string{"oneOf", "allOf", "anyOf"} {
				if _, has := top[k]; has {
					return refuse("tools.%d.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level", i)
				}
			}
		}
		r.Tools = append(r.Tools, Tool{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	return nil
}
