package mcp_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"
)

// serverScenarios are those of @modelcontextprotocol/conformance, by version, that a server with one fixed tool
// can take: most call tools, prompts and resources of a model server, which agents do not have. Left out beside
// those: caching, which wants prompts and resources, and dns-rebinding-protection, since behind a proxy the host
// is another one and no page in a browser knows a token.
var serverScenarios = map[string][]string{
	"0.1.16": {"server-initialize", "ping", "tools-list", "server-sse-multiple-streams"},
	"0.2.0-alpha.12": {
		"server-initialize", "server-session-lifecycle", "server-stateless", "ping", "tools-list", "server-sse-multiple-streams",
		"http-header-validation", "input-required-result-unsupported-methods",
	},
}

// TestServerConformance runs the public server scenarios, on request: they need npm and the network.
func TestServerConformance(t *testing.T) {
	t.Parallel()
	if os.Getenv("PARLEY_MCP_CONFORMANCE") != "1" {
		t.Skip("set PARLEY_MCP_CONFORMANCE=1 to run the server scenarios; they need npm and the network")
	}
	w := newWorld(t)
	target, err := url.Parse(w.url)
	if err != nil {
		t.Fatal(err)
	}
	// The scenarios know no token: a proxy adds it.
	proxy := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Set("Authorization", "Bearer bound")
	}})
	t.Cleanup(func() { proxy.CloseClientConnections(); proxy.Close() })
	if res, err := http.Get(proxy.URL + "/v1/agents/ops/mcp"); err != nil || res.StatusCode == http.StatusUnauthorized {
		t.Fatalf("the proxy adds no token: %v %v", res, err)
	} else if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	for version, ids := range serverScenarios {
		dir := npmIn(t, "@modelcontextprotocol/conformance@"+version, "node@22")
		for _, id := range ids {
			t.Run(version+" "+id, func(t *testing.T) {
				out, err := run(t, dir, nil, "conformance", "server", "--url", proxy.URL+"/v1/agents/ops/mcp", "--scenario", id)
				t.Logf("%s", out)
				for line := range strings.Lines(out) { // a scenario fails where a check needs a tool of a model server
					if why, ok := strings.CutPrefix(strings.TrimSpace(line), "Error: "); ok && !strings.HasPrefix(why, "Not testable: ") {
						t.Error(why)
					}
				}
				if err != nil && !strings.Contains(out, "Not testable: ") || !strings.Contains(out, "SUCCESS") {
					t.Error(err)
				}
			})
		}
	}
}
