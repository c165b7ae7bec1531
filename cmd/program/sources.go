package program

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/core/tool"
	"parley/core/tool/js"
	"parley/core/tool/mcp"
	"parley/core/tool/openapi"
	"parley/core/tool/outbound"
)

// sources are where an agent's tools come from, with those that must run to keep their lists.
type sources struct {
	set    tool.Set
	run    []*mcp.Source
	loaded []*openapi.Source
}

// loadTime bounds fetching an OpenAPI document.
const loadTime = 30 * time.Second

// outboundClient makes the requests of tools: it reaches public addresses and those that the configuration
// allows. A tool call may take long; its source bounds it.
func outboundClient(cfg *Config) *http.Client {
	return outbound.Client(outbound.Config{AllowPrivate: cfg.Outbound.AllowPrivate, Timeout: -1})
}

// buildSources makes the sources of the agent id.
func buildSources(cfg *Config, id string, e *effects, client *http.Client, log *slog.Logger) (sources, error) {
	var out sources
	a := cfg.Agents[id]
	own, err := ownTools(cfg.tools[id], a)
	if err != nil {
		return out, err
	}
	out.set = append(out.set, own)
	if slices.Contains(a.Builtins, "demo") {
		registry, err := tool.NewRegistry(demoTools(e)...)
		if err != nil {
			return out, err
		}
		out.set = append(out.set, registry)
	}
	for _, m := range a.MCPServers {
		source, err := mcp.New(mcp.Config{
			Name: m.Name, URL: m.URL, Headers: reveal(m.Headers), HTTPClient: client, Command: m.Command,
			Dir: cfg.dir, Env: reveal(m.Env), Inherit: os.Environ(), Approval: m.Approval.build(), Log: log,
		})
		if err != nil {
			return out, err
		}
		out.set, out.run = append(out.set, source), append(out.run, source)
	}
	for _, o := range a.OpenAPI {
		source, err := buildOpenAPI(cfg, o, client)
		if err != nil {
			return out, fmt.Errorf("openapi source %s: %w", o.Name, err)
		}
		for _, rule := range source.Unmatched() {
			log.Warn("a rule of the approval policy matches no tool", "source", o.Name, "rule", rule)
		}
		out.set, out.loaded = append(out.set, source), append(out.loaded, source)
	}
	if slices.Contains(a.Builtins, js.Name) {
		registry, err := tool.NewRegistry(js.New(js.Config{Tools: out.set}))
		if err != nil {
			return out, err
		}
		out.set = append(out.set, registry)
	}
	return out, nil
}

// ownTools holds the tools in Go that the program brings. None may pass for one of a configured source.
func ownTools(tools []tool.Tool, a AgentConfig) (*tool.Registry, error) {
	for _, t := range tools {
		source := t.Spec().Source
		taken := slices.ContainsFunc(a.MCPServers, func(m MCPConfig) bool { return m.Name == source }) ||
			slices.ContainsFunc(a.OpenAPI, func(o OpenAPIConfig) bool { return o.Name == source })
		if taken {
			return nil, fmt.Errorf("tool %s: the configuration has a source named %s too: rename one", t.Spec().FullName(), source)
		}
	}
	return tool.NewRegistry(tools...)
}

func buildOpenAPI(cfg *Config, o OpenAPIConfig, client *http.Client) (*openapi.Source, error) {
	spec := o.Spec
	if !strings.Contains(spec, "://") && !filepath.IsAbs(spec) {
		spec = filepath.Join(cfg.dir, spec)
	}
	ctx, cancel := context.WithTimeout(context.Background(), loadTime)
	defer cancel()
	return openapi.New(ctx, openapi.Config{
		Name: o.Name, Spec: spec, BaseURL: o.BaseURL, Headers: reveal(o.Headers), Approval: o.Approval.build(), Client: client,
	})
}
