package modeltest

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

type wireRequest struct {
	Model               string            `json:"model"`
	Messages            []json.RawMessage `json:"messages"`
	Tools               []wireTool        `json:"tools"`
	Stream              bool              `json:"stream"`
	MaxTokens           *int              `json:"max_tokens"`
	MaxCompletionTokens *int              `json:"max_completion_tokens"`
	StreamOptions       *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type wireTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type wireMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Refusal    *string         `json:"refusal"`
	ToolCallID *string         `json:"tool_call_id"`
	ToolCalls  *[]wireCall     `json:"tool_calls"`
}

type wireCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// read takes a request apart and checks what can be checked of each part alone.
func (r *Request) read() error {
	var w wireRequest
	if err := json.Unmarshal(r.Body, &w); err != nil {
		return refuse("We could not parse the JSON body of your request. (%v)", err)
	}
	r.Model, r.Stream = w.Model, w.Stream
	r.usage = w.StreamOptions != nil && w.StreamOptions.IncludeUsage
	switch {
	case w.Model == "":
		return refuse("you must provide a model parameter")
	case len(w.Messages) == 0:
		return refuse("Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	case w.StreamOptions != nil && !w.Stream:
		return refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case w.MaxTokens != nil && w.MaxCompletionTokens != nil:
		return refuse("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	}
	for i, raw := range w.Messages {
		m, err := readMessage(raw)
		if err != nil {
			return refuse("Invalid 'messages[%d]': %v", i, err)
		}
		if (m.Role == "system" || m.Role == "developer") && i > 0 {
			return refuse("Invalid 'messages[%d].role': a system message must be the first.", i)
		}
		r.Messages = append(r.Messages, m)
	}
	return r.readTools(w.Tools)
}

func readMessage(raw json.RawMessage) (Message, error) {
	var w wireMessage
	if err := json.Unmarshal(raw, &w); err != nil {
		return Message{}, refuse("it has the wrong shape (%v)", err)
	}
	m := Message{Role: w.Role, Raw: raw}
	var isNull bool
	var err error
	if m.Content, m.Images, isNull, err = readContent(w.Content, w.Role == "user"); err != nil {
		return m, err
	}
	switch w.Role {
	case "system", "developer", "user":
		if isNull {
			return m, refuse("expected a string for 'content', got null instead.")
		}
	case "tool":
		if isNull || w.ToolCallID == nil || *w.ToolCallID == "" {
			return m, refuse("Missing required parameter: 'tool_call_id' or 'content'.")
		}
		m.ToolCallID = *w.ToolCallID
	case "assistant":
		if isNull && w.ToolCalls == nil && (w.Refusal == nil || *w.Refusal == "") {
			return m, refuse("expected a string for 'content', got null instead.")
		}
	default:
		return m, refuse("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'tool', and 'developer'.", w.Role)
	}
	if w.ToolCalls != nil {
		if w.Role != "assistant" {
			return m, refuse("'tool_calls' is only allowed for the role 'assistant'.")
		}
		m.Calls, err = readCalls(*w.ToolCalls)
	}
	return m, err
}

// readContent reads a string, a list of parts or null.
func readContent(raw json.RawMessage, user bool) (text string, images int, isNull bool, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", 0, true, nil
	}
	if raw[0] != '[' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return "", 0, false, refuse("expected a string or an array for 'content'.")
		}
		return text, 0, false, nil
	}
	var parts []struct {
		Type, Text, Refusal string
		Image               struct{ URL string } `json:"image_url"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil || len(parts) == 0 {
		return "", 0, false, refuse("expected a list of parts for 'content'.")
	}
	var b strings.Builder
	for _, p := range parts {
		switch {
		case p.Type == "image_url" && user:
			kind, data, _ := strings.Cut(strings.TrimPrefix(p.Image.URL, "data:"), ";base64,")
			if err := checkImage(kind, data); err != nil {
				return "", 0, false, err
			}
			images++
		case p.Type != "text" && p.Type != "refusal":
			return "", 0, false, refuse("part of type '%s' in 'content'.", p.Type)
		}
		b.WriteString(p.Text)
		b.WriteString(p.Refusal)
	}
	return b.String(), images, false, nil
}

// checkImage checks a picture as every service that sees pictures does.
func checkImage(kind, data string) error {
	b, err := base64.StdEncoding.DecodeString(data)
	switch {
	case !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind):
		return refuse("unsupported image type '%s'", kind)
	case err != nil || len(b) == 0:
		return refuse("the image is no base64 or empty")
	case len(b) > 5<<20:
		return refuse("image exceeds 5 MB maximum")
	}
	return nil
}

func readCalls(wire []wireCall) (calls []Call, err error) {
	if len(wire) == 0 {
		return nil, refuse("'tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	seen := make(map[string]bool)
	for i, c := range wire {
		switch {
		case c.ID == "":
			return nil, refuse("'tool_calls[%d].id': empty string.", i)
		case seen[c.ID]:
			return nil, refuse("Duplicate value for 'tool_call_id' of '%s'", c.ID)
		case c.Type != "function":
			return nil, refuse("'tool_calls[%d].type': '%s' is not 'function'.", i, c.Type)
		case !toolName.MatchString(c.Function.Name):
			return nil, refuse("'tool_calls[%d].function.name': string '%s' does not match pattern '%s'.", i, c.Function.Name, toolName)
		}
		seen[c.ID] = true
		calls = append(calls, Call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	return calls, nil
}
