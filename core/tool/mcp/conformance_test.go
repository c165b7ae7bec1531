package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"parley/core"
	"parley/core/tool"
	"parley/core/tool/oauth"
)

// conformance are the client scenarios of the pinned versions of @modelcontextprotocol/conformance that are
// about what this client offers. Left out: auth/* (it has headers, not OAuth) and the extensions.
var conformance = map[string][]string{
	"0.1.16": {"initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"},
	"0.2.0-alpha.12": {
		"initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry", "request-metadata", "sep-2322-client-request-state",
		"http-standard-headers", "http-custom-headers", "http-invalid-tool-headers", "json-schema-ref-no-deref", "json-schema-2020-12-preservation",
	},
}

// TestConformance runs the public client scenarios, on request: they need npx and the network.
func TestConformance(t *testing.T) {
	t.Parallel()
	if os.Getenv("PARLEY_MCP_CONFORMANCE") != "1" {
		t.Skip("set PARLEY_MCP_CONFORMANCE=1 to run the client scenarios; they need npx and the network")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for version, ids := range conformance {
		for _, id := range ids {
			cmd := exec.CommandContext(t.Context(), npx(t), "-y", "-p", "node@22", "-p", "@modelcontextprotocol/conformance@"+version,
				"conformance", "client", "--command", exe, "--scenario", id)
			cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), childKind+"=conformance")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%s %s: %v\n%s", version, id, err, out)
				continue
			}
			passed++
			t.Logf("%s %s: passed", version, id)
		}
	}
	t.Logf("%d scenarios passed", passed)
}

// conform uses the server of a scenario as an agent would: it lists the tools and calls each, and the person
// takes the defaults of what they are asked. Where the scenario is about OAuth an operator logs in when told to.
func conform(url string) int {
	cfg := Config{Name: "c", URL: url, Connect: 10 * time.Second, OAuth: scenarioOAuth()}
	s, err := New(cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	over := make(chan error, 1)
	go func() { over <- s.Run(ctx) }()
	s.Attempted(ctx)
	for range 3 {
		err := s.Check(ctx)
		if err == nil || needsLogin(err) == nil || !operator(ctx, cfg) {
			break
		}
	}
	for _, c := range scenarioCalls(s) {
		t, ok := s.Lookup(c.name)
		if !ok {
			continue
		}
		out, err := callWithDefaults(ctx, t, c.args)
		if needsLogin(err) != nil && operator(ctx, cfg) {
			out, err = callWithDefaults(ctx, t, c.args)
		}
		fmt.Fprintf(os.Stderr, "%s: %s %v\n", c.name, out, err)
	}
	_ = s.Close()
	if err := <-over; err != nil {
		return 1
	}
	return 0
}

// scenarioOAuth is the configuration of an OAuth scenario, nil for another.
func scenarioOAuth() *oauth.Config {
	name := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	if !strings.HasPrefix(name, "auth/") {
		return nil
	}
	var about struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
		Key    string `json:"private_key_pem"`
		Issuer string `json:"issuer"`
	}
	_ = json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &about) // most scenarios have none
	c := &oauth.Config{
		Grant: oauth.AuthorizationCode, ClientID: about.ID, ClientSecret: about.Secret, PrivateKey: about.Key, Issuer: about.Issuer,
		Memory: &memory{}, Key: name, Now: time.Now, Hint: "log in",
	}
	if strings.HasPrefix(name, "auth/client-credentials") {
		c.Grant = oauth.ClientCredentials
	}
	if c.ClientID == "" && name != "auth/offline-access-scope" { // which looks at what a client registers
		c.ClientID = "https://conformance-test.local/client-metadata.json"
	}
	return c
}

// operator logs in, as a person with a browser that a server sends straight back.
func operator(ctx context.Context, c Config) bool {
	err := oauth.Login(ctx, c.oauth(), func(ctx context.Context, v oauth.Visit) (url.Values, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.URL, nil)
		if err != nil {
			return nil, err
		}
		browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := browser.Do(req)
		if err != nil {
			return nil, err
		}
		_ = resp.Body.Close()
		back, err := url.Parse(resp.Header.Get("Location"))
		if err != nil {
			return nil, err
		}
		return back.Query(), nil
	})
	fmt.Fprintln(os.Stderr, "login:", err)
	return err == nil
}

type scenarioCall struct {
	name string
	args json.RawMessage
}

// scenarioCalls are those that the scenario asks for, or one of each tool.
func scenarioCalls(s *Source) (calls []scenarioCall) {
	var about struct {
		ToolCalls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &about) == nil && len(about.ToolCalls) > 0 {
		for _, c := range about.ToolCalls {
			calls = append(calls, scenarioCall{s.Name() + "__" + toolName(s.Name(), c.Name), c.Arguments})
		}
		return calls
	}
	for _, spec := range s.List() {
		args := json.RawMessage(`{}`)
		switch spec.Name {
		case "add_numbers":
			args = json.RawMessage(`{"a":5,"b":3}`)
		case "json_schema_echo":
			for _, other := range s.List() {
				if other.Name == "json_schema_2020_12_tool" {
					args = fmt.Appendf(nil, `{"schema":%s}`, other.Schema)
				}
			}
		default:
			if strings.Contains(string(spec.Schema), `"region"`) {
				args = json.RawMessage(`{"region":"us-west1"}`)
			}
		}
		calls = append(calls, scenarioCall{spec.FullName(), args})
	}
	return calls
}

// callWithDefaults calls until nothing more is asked.
func callWithDefaults(ctx context.Context, t tool.Tool, args json.RawMessage) (string, error) {
	var answers []tool.Answered
	wait := func(a tool.Asked) (tool.Answered, error) { return takeDefaults(a), nil }
	for {
		out, err := t.Call(tool.NewContext(ctx, "k", ana, answers, wait), args)
		var ask *tool.AskError
		if !errors.As(err, &ask) || len(answers) > 5 {
			return out, err
		}
		answers = append(answers, takeDefaults(ask.Asked))
	}
}

func takeDefaults(a tool.Asked) tool.Answered {
	got := tool.Answered{Key: a.Key, State: a.State, By: "local:ana", Answer: core.Answer{Action: core.ActionAccept, Fields: map[string]json.RawMessage{}}}
	form, err := core.ParseForm(a.Schema)
	if err != nil {
		return got
	}
	for _, f := range form.Fields {
		switch {
		case f.Default != nil:
			got.Answer.Fields[f.Name] = f.Default
		case f.Type == core.FieldBoolean:
			got.Answer.Fields[f.Name] = json.RawMessage("true")
		case f.Required:
			got.Answer.Fields[f.Name] = json.RawMessage(`"x"`)
		}
	}
	return got
}
