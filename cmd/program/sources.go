package program

import (
	"context"
	"errors"
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

// sourceError is a source that cannot be made, at its place in the definition of its agent.
type sourceError struct {
	at  Path
	err error
}

func (e *sourceError) Error() string { return string(e.at) + ": " + e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

// buildSources makes the sources of an agent. The error joins a *sourceError for each that cannot be made.
func buildSources(ctx context.Context, cfg *Config, id string, a AgentConfig, e *effects, client *http.Client, log *slog.Logger) (sources, error) {
	var out sources
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
	if err := errors.Join(out.addMCP(cfg, id, a, client, log), out.addOpenAPI(ctx, cfg, a, client, log)); err != nil {
		return out, err
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

func (s *sources) addMCP(cfg *Config, id string, a AgentConfig, client *http.Client, log *slog.Logger) error {
	var errs []error
	for i, m := range a.MCPServers {
		source, err := mcp.New(mcp.Config{
			Name: m.Name, URL: m.URL, Headers: reveal(m.Headers), HTTPClient: client, Command: m.Command,
			Dir: cfg.dir, Env: reveal(m.Env), Inherit: os.Environ(), Approval: m.Approval.build(), Log: log, OAuth: cfg.login(id, m),
		})
		if err != nil {
			errs = append(errs, &sourceError{Path("mcpServers").index(i), err})
			continue
		}
		s.set, s.run = append(s.set, source), append(s.run, source)
	}
	return errors.Join(errs...)
}

func (s *sources) addOpenAPI(ctx context.Context, cfg *Config, a AgentConfig, client *http.Client, log *slog.Logger) error {
	var errs []error
	for i, o := range a.OpenAPI {
		source, err := buildOpenAPI(ctx, cfg, o, client)
		if err != nil {
			errs = append(errs, &sourceError{Path("openapi").index(i), err})
			continue
		}
		for _, rule := range source.Unmatched() {
			log.Warn("a rule of the approval policy matches no tool", "source", o.Name, "rule", rule)
		}
		s.set, s.loaded = append(s.set, source), append(s.loaded, source)
	}
	return errors.Join(errs...)
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

func buildOpenAPI(ctx context.Context, cfg *Config, o OpenAPIConfig, client *http.Client) (*openapi.Source, error) {
	spec := o.Spec
	if !strings.Contains(spec, "://") && !filepath.IsAbs(spec) {
		spec = filepath.Join(cfg.dir, spec)
	}
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	return openapi.New(ctx, openapi.Config{
		Name: o.Name, Spec: spec, BaseURL: o.BaseURL, Headers: reveal(o.Headers), Approval: o.Approval.build(), Client: client,
	})
}
