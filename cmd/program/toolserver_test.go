package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpNotes is the variable that makes the test binary an MCP server on its standard streams: the file into
// which its tools note what they did.
const mcpNotes = "PARLEY_TEST_MCP_NOTES"

// mcpOlder makes that server speak an older revision, in which a tool asks inside its call.
const mcpOlder = "PARLEY_TEST_MCP_OLDER"

// note is one call that reached a tool, with what came beside its arguments.
type note struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Meta      map[string]any  `json:"meta"`
	Answered  string          `json:"answered,omitempty"` // what the person said to the tool's own question
}

// write appends the note in one write, so that a kill leaves all of it or nothing.
func (n note) write(path string) error {
	line, err := json.Marshal(n)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(append(line, '\n')); err != nil {
		return err
	}
	return f.Close()
}

// readNotes is what reached the tools so far.
func readNotes(t *testing.T, path string) []note {
	t.Helper()
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	must(t, err)
	var out []note
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var n note
		must(t, d.Decode(&n))
		out = append(out, n)
	}
	return out
}

// mcpServer has a tool that reads, one that destroys, one that asks where to before it moves, and one that
// acts and then answers only once a file says so.
// Such a call ends with its server, too. An older one also has one that asks inside its call.
func mcpServer(path string, ended <-chan struct{}) *sdk.Server {
	o := &sdk.ServerOptions{}
	if os.Getenv(mcpOlder) != "" {
		o.SupportedProtocolVersions = []string{"2025-11-25"}
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "box", Version: "1"}, o)
	add := func(name, schema string, a *sdk.ToolAnnotations, act func(p *sdk.CallToolParamsRaw) (answered string, ask *sdk.CallToolResult)) {
		s.AddTool(&sdk.Tool{Name: name, Annotations: a, InputSchema: json.RawMessage(schema)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			answered := ""
			if act != nil {
				var ask *sdk.CallToolResult
				if answered, ask = act(r.Params); ask != nil {
					return ask, nil
				}
			}
			err := note{Tool: name, Arguments: r.Params.Arguments, Meta: r.Params.Meta, Answered: answered}.write(path)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: name + " did " + string(r.Params.Arguments) + answered}}}, err
		})
	}
	const named = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`
	add("read", named, &sdk.ToolAnnotations{ReadOnlyHint: true}, nil)
	add("drop", named, nil, nil)
	harmless := false
	add("move", named, &sdk.ToolAnnotations{DestructiveHint: &harmless}, where)
	if os.Getenv(mcpOlder) != "" {
		addAsk(s, path)
	}
	s.AddTool(&sdk.Tool{Name: "hang", InputSchema: json.RawMessage(named)}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if err := (note{Tool: "hang", Arguments: r.Params.Arguments, Meta: r.Params.Meta}).write(path); err != nil {
			return nil, err
		}
		if _, err := os.Stat(path + ".go"); err != nil {
			select {
			case <-ctx.Done():
			case <-ended:
			}
			return nil, errors.New("it was stopped")
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "hang did " + string(r.Params.Arguments)}}}, nil
	})
	return s
}

// addAsk adds a tool that asks inside its call.
func addAsk(s *sdk.Server, path string) {
	harmless := false
	s.AddTool(&sdk.Tool{Name: "ask", Annotations: &sdk.ToolAnnotations{DestructiveHint: &harmless}, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			got, err := r.Session.Elicit(ctx, whither())
			if err != nil {
				return nil, err
			}
			content, err := json.Marshal(got.Content)
			if err != nil {
				return nil, err
			}
			answered := " " + got.Action + " " + string(content)
			err = note{Tool: "ask", Arguments: r.Params.Arguments, Answered: answered}.write(path)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "ask did" + answered}}}, err
		})
}

// where asks in a multi round trip: the call ends, and is made again with the answer.
func where(p *sdk.CallToolParamsRaw) (answered string, ask *sdk.CallToolResult) {
	if got, ok := p.InputResponses["where"].(*sdk.ElicitResult); ok && p.RequestState == "asked-where" {
		content, err := json.Marshal(got.Content)
		if err != nil {
			return "", &sdk.CallToolResult{IsError: true}
		}
		return " " + got.Action + " " + string(content), nil
	}
	return "", &sdk.CallToolResult{RequestState: "asked-where", InputRequests: sdk.InputRequestMap{"where": whither()}}
}

func whither() *sdk.ElicitParams {
	return &sdk.ElicitParams{
		Mode: "form", Message: "Where to?",
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"zone":{"type":"string","enum":["eu","us"]}},"required":["zone"]}`),
	}
}

// serveMCP is the whole program of the test binary as an MCP server.
func serveMCP(path string) int {
	if err := mcpServer(path, nil).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// listenMCP serves the same over HTTP on loopback, and outlives the program under test.
func listenMCP(t *testing.T, path string) *httptest.Server {
	t.Helper()
	ended := make(chan struct{})
	s := mcpServer(path, ended)
	h := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(func() {
		close(ended)
		h.CloseClientConnections()
		h.Close()
	})
	return h
}
