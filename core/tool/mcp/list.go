package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core"
	"parley/core/tool"
	"parley/core/tool/schema"
)

// What is taken of a list; a server that goes beyond it loses the rest.
const (
	maxTools       = 10_000
	maxPages       = 1_000
	maxSchema      = 256 << 10
	maxDescription = 8 << 10
)

// errAnswered marks failures that are the server's own answer: the connection works.
var errAnswered = errors.New("the server gave no list")

// list asks for the tools and replaces those known. Where it fails, they stay.
func (s *Source) list(ctx context.Context, x *session) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Connect)
	defer cancel()
	var listed []*sdk.Tool
	if caps := x.cs.InitializeResult().Capabilities; caps != nil && caps.Tools != nil {
		var err error
		if listed, err = pages(ctx, x.cs); err != nil {
			if login := needsLogin(err); login != nil {
				err = login
			}
			return fmt.Errorf("list the tools of MCP server %s: %w", s.cfg.Name, &hidden{err, s.hide})
		}
	}
	s.take(listed)
	return nil
}

func pages(ctx context.Context, cs *sdk.ClientSession) (all []*sdk.Tool, err error) {
	seen := map[string]bool{}
	p := &sdk.ListToolsParams{}
	for range maxPages {
		w := &wire{method: methodList}
		page, err := cs.ListTools(withWire(ctx, w), p)
		if err != nil {
			if w.answered.Load() && ctx.Err() == nil {
				err = fmt.Errorf("%w: %w", errAnswered, err)
			}
			return nil, err
		}
		all = append(all, page.Tools...)
		if page.NextCursor == "" || len(all) >= maxTools {
			return all, nil
		}
		if seen[page.NextCursor] {
			return nil, fmt.Errorf("%w: the list comes back to page %q", errAnswered, shortened(page.NextCursor, 100))
		}
		seen[page.NextCursor] = true
		p = &sdk.ListToolsParams{Cursor: page.NextCursor}
	}
	return nil, fmt.Errorf("%w: the list has more than %d pages", errAnswered, maxPages)
}

// take makes the listed tools those of the source.
func (s *Source) take(listed []*sdk.Tool) {
	if len(listed) > maxTools {
		s.warnOnce("the MCP server has too many tools: the last are left out", "most", maxTools)
		listed = listed[:maxTools]
	}
	tools := map[string]*mcpTool{}
	for _, l := range listed {
		t, err := s.newTool(l)
		if err == nil && tools[t.spec.FullName()] != nil {
			err = errors.New("there is one of that name already")
		}
		if err != nil {
			s.warnOnce("a tool of the MCP server is left out", "tool", shortened(l.Name, 100), "err", s.hide(err.Error()))
			continue
		}
		tools[t.spec.FullName()] = t
	}
	specs := make([]tool.Spec, 0, len(tools))
	traits := make([]tool.Traits, 0, len(tools))
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		specs, traits = append(specs, tools[name].spec), append(traits, tools[name].traits)
	}
	for _, rule := range tool.Unmatched(s.cfg.Approval, traits) {
		s.warnOnce("an approval rule matches no tool of the MCP server; it applies as soon as there is one", "rule", rule)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools, s.specs, s.listed = tools, specs, true
	s.notify()
}

// warnOnce warns, but not at every list.
func (s *Source) warnOnce(text string, about ...any) {
	key := fmt.Sprint(text, about)
	s.mu.Lock()
	said := s.warned[key]
	if len(s.warned) < maxTools {
		s.warned[key] = true
	}
	s.mu.Unlock()
	if !said {
		s.log.Warn(text, about...)
	}
}

// newTool reads one listed tool.
func (s *Source) newTool(l *sdk.Tool) (*mcpTool, error) {
	if strings.TrimSpace(l.Name) == "" {
		return nil, errors.New("it has no name")
	}
	args, err := argumentSchema(l.InputSchema)
	if err != nil {
		return nil, err
	}
	t := &mcpTool{source: s, name: l.Name, traits: s.traitsOf(l)}
	description := l.Description
	if strings.TrimSpace(description) == "" {
		description = l.Title
	}
	t.spec = tool.Spec{
		Source: s.name, Name: toolName(s.name, l.Name), Description: shortened(description, maxDescription),
		Schema: args, Type: core.ToolAction, Target: s.target, ApproversOnly: s.cfg.Approval.ApproversOnly(),
	}
	if a := l.Annotations; a != nil {
		if a.ReadOnlyHint {
			t.spec.Type = core.ToolRead
		}
		t.spec.Idempotent = a.ReadOnlyHint || a.IdempotentHint
	}
	t.spec.Policy = tool.PolicyFor(s.cfg.Approval, t.traits)
	return t, nil
}

// traitsOf is what a policy knows about a tool. A rule names it as the server does, or as the model does
// where that differs.
func (s *Source) traitsOf(l *sdk.Tool) tool.Traits {
	t := tool.Traits{Kind: tool.SourceMCP, Tool: l.Name}
	if a := l.Annotations; a != nil {
		t.ReadOnly, t.Destructive = &a.ReadOnlyHint, a.DestructiveHint
	}
	if _, ok := s.cfg.Approval.Tools[l.Name]; !ok {
		if name := toolName(s.name, l.Name); name != l.Name {
			if _, ok := s.cfg.Approval.Tools[name]; ok {
				t.Tool = name
			}
		}
	}
	return t
}

// argumentSchema is a tool's schema in one form whatever the order its keys came in: it is compared at
// dispatch. None is an object of anything.
func argumentSchema(listed any) (json.RawMessage, error) {
	if listed == nil {
		return json.RawMessage(`{"type":"object"}`), nil
	}
	raw, err := json.Marshal(listed)
	if err != nil {
		return nil, fmt.Errorf("its schema cannot be read: %w", err)
	}
	var object map[string]json.RawMessage
	switch {
	case len(raw) > maxSchema:
		return nil, fmt.Errorf("its schema has %d bytes, want at most %d", len(raw), maxSchema)
	case json.Unmarshal(raw, &object) != nil || object == nil:
		return nil, errors.New("its schema is no JSON object")
	case object["type"] == nil:
		object["type"] = json.RawMessage(`"object"`)
		raw = encoded(object, raw)
	case plainText(object["type"]) != "object":
		return nil, errors.New("its schema is of no object")
	}
	raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	if _, err := schema.Compile(raw); err != nil {
		return nil, fmt.Errorf("its schema cannot be used: %w", err)
	}
	return raw, nil
}

// shortened is a text of at most so many bytes, in whole characters.
func shortened(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
