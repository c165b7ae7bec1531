package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core"
	"parley/core/tool"
	"parley/core/tool/oauth"
)

// suite are scenarios of a pinned version of @modelcontextprotocol/conformance.
type suite struct {
	version string
	spec    string // the revision of the protocol they are run at, "" for the version's own choice
	ids     []string
}

// What is run: every client scenario that the two versions list, but for those in notRun; the newer version's
// also at the revision 2026-07-28, where they are part of it.
var conformance = []suite{
	{"0.1.16", "", slices.Concat(basics, loginsBefore, credentials)},
	{"0.2.0-alpha.12", "", slices.Concat(basics, revision26, loginsBefore, logins26, credentials)},
	{"0.2.0-alpha.12", "2026-07-28", slices.Concat([]string{"tools_call"}, revision26, logins, logins26)},
}

var (
	basics     = []string{"initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"}
	revision26 = []string{
		"request-metadata", "sep-2322-client-request-state", "http-standard-headers", "http-custom-headers", "http-invalid-tool-headers",
		"json-schema-ref-no-deref", "json-schema-2020-12-preservation",
	}
	logins = []string{
		"auth/metadata-default", "auth/metadata-var1", "auth/metadata-var2", "auth/metadata-var3", "auth/basic-cimd",
		"auth/scope-from-www-authenticate", "auth/scope-from-scopes-supported", "auth/scope-omitted-when-undefined", "auth/scope-step-up",
		"auth/scope-retry-limit", "auth/token-endpoint-auth-basic", "auth/token-endpoint-auth-post", "auth/token-endpoint-auth-none",
		"auth/pre-registration", "auth/resource-mismatch", "auth/offline-access-scope", "auth/offline-access-not-supported",
	}
	loginsBefore = append([]string{"auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"}, logins...)
	logins26     = []string{
		"auth/authorization-server-migration", "auth/iss-supported", "auth/iss-not-advertised", "auth/iss-supported-missing",
		"auth/iss-wrong-issuer", "auth/iss-unexpected", "auth/iss-normalized", "auth/metadata-issuer-mismatch",
	}
	credentials = []string{"auth/client-credentials-jwt", "auth/client-credentials-basic"}
)

// conformant is how many runs of scenarios must pass.
const conformant = 25 + 40 + 33

// notRun are the scenarios that are listed and not run, and why, by version and id.
var notRun = map[string]map[string]string{
	"0.1.16": {
		"auth/cross-app-access-complete-flow": "extension: exchanges the token of an identity provider",
	},
	"0.2.0-alpha.12": {
		"auth/enterprise-managed-authorization": "extension: exchanges the token of an identity provider",
		"auth/dpop":                             "extension, a draft: tokens bound to a key",
		"auth/dpop-nonce":                       "extension, a draft: tokens bound to a key",
		"auth/wif-jwt-bearer":                   "extension, a draft: workload identities",
		"sep-2640-client-no-prefetch":           "extension: skills, of which this client has none",
		"sep-2640-client-verify-digest":         "extension: skills, of which this client has none",
		"sep-2640-client-verify-size":           "extension: skills, of which this client has none",
		"sep-2640-client-verify-frontmatter":    "extension: skills, of which this client has none",
	},
}

// TestConformanceIsCounted: no scenario is run twice in a suite, or both run and left out.
func TestConformanceIsCounted(t *testing.T) {
	t.Parallel()
	n := 0
	for _, s := range conformance {
		seen := map[string]bool{}
		for _, id := range s.ids {
			if n++; seen[id] || notRun[s.version][id] != "" {
				t.Errorf("%s: %s stands there twice", s.version, id)
			}
			seen[id] = true
		}
	}
	if n != conformant {
		t.Errorf("%d runs are listed, want %d", n, conformant)
	}
}

// conformanceTool is the command line of a pinned version.
func conformanceTool(t *testing.T, version string, args ...string) *exec.Cmd {
	t.Helper()
	all := append([]string{"-y", "-p", "node@22", "-p", "@modelcontextprotocol/conformance@" + version, "conformance"}, args...)
	cmd := exec.CommandContext(t.Context(), npx(t), all...)
	cmd.Dir = t.TempDir()
	return cmd
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
	for _, s := range conformance {
		allListed(t, s)
		for _, id := range s.ids {
			args := []string{"client", "--command", exe, "--scenario", id}
			if s.spec != "" {
				args = append(args, "--spec-version", s.spec)
			}
			cmd := conformanceTool(t, s.version, args...)
			cmd.Env = append(os.Environ(), childKind+"=conformance")
			out, err := cmd.CombinedOutput()
			if err != nil || bytes.Contains(out, []byte("WARNING")) {
				t.Errorf("%s %s %s: %v\n%s", s.version, s.spec, id, err, out)
				continue
			}
			passed++
			t.Logf("%s %s %s: passed", s.version, s.spec, id)
		}
	}
	t.Logf("%d of %d scenarios passed", passed, conformant)
}

// allListed wants every scenario that a version lists to be run or left out with a reason.
func allListed(t *testing.T, s suite) {
	t.Helper()
	if s.spec != "" {
		return
	}
	out, err := conformanceTool(t, s.version, "list", "--client").Output()
	if err != nil {
		t.Fatal(err)
	}
	listed := 0
	for line := range strings.Lines(string(out)) {
		rest, ok := strings.CutPrefix(line, "  - ")
		if !ok {
			continue
		}
		listed++
		id, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if !slices.Contains(s.ids, id) && notRun[s.version][id] == "" {
			t.Errorf("%s lists %s, which is neither run nor left out", s.version, id)
		}
	}
	if want := len(s.ids) + len(notRun[s.version]); listed != want {
		t.Errorf("%s lists %d scenarios, want %d", s.version, listed, want)
	}
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
	if err != nil {
		fmt.Fprintln(os.Stderr, "no login:", err)
	}
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
