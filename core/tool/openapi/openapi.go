// Package openapi makes tools of the operations of an OpenAPI document, 3.0 or 3.1, JSON or YAML.
//
// Each operation is one tool, named by its operationId or its method and path: its parameters are arguments
// by their names, its body is the argument body. GET, HEAD and OPTIONS are reads; all others are actions,
// which need approval where the source's Approval says so. A document of more operations than a model
// should be shown (MaxListed) offers two tools instead: find_operations, which searches, and call_operation,
// whose policy judges the operation that its arguments name. Every operation can be looked up by its own
// name all the same.
//
// A call is one request. It carries the headers of the configuration, and for the API to trust:
// Idempotency-Key, Parley-Actor (the asker) and, where a person approved it, Parley-Approval, a JSON object
// {input, by, at}. Characters that a header does not carry are percent-encoded in them. No argument can set
// these, nor those of the configuration, nor Authorization, Host and their like; a cookie only by a name
// that the document declares. An argument in the path stays in its place.
//
// What the API answers with an error status is the call's failure, with status and body, for the model to
// act on. A request that was not sent is tool.ErrNotStarted, one of which nobody knows how it ended
// tool.ErrUnknownOutcome. Redirects of actions are not followed, those of reads within one origin only.
//
// Loading reads the document alone: references to other documents are refused. A Source never changes and is
// safe for concurrent use.
package openapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"parley/core"
	"parley/core/tool"
	"parley/core/tool/outbound"
)

// Config says where a source's document is and how its operations are called.
type Config struct {
	// Name is the source's, 1 to 32 letters, digits, _ or -.
	Name string
	// Spec is the path or the http address of the document; Document is the document itself, instead.
	Spec     string
	Document []byte
	// BaseURL is where requests go; "" is the document's first server. It beats all servers of the document.
	BaseURL string
	// Headers go with every request to the origin of the base, credentials among them.
	Headers  map[string]string
	Approval tool.Approval
	// Client sends the requests; nil is an outbound.Client that reaches public addresses only.
	Client *http.Client
	// MaxListed is how many operations are offered each by itself; 0 is 40.
	MaxListed int
}

// DefaultMaxListed is the MaxListed of a Config that sets none.
const DefaultMaxListed = 40

// Source is a loaded document. It is a set of tools: List and Lookup are what an agent's tools need.
type Source struct {
	name     string
	base     *url.URL
	headers  map[string]string // by their canonical names
	hide     *strings.Replacer
	approval tool.Approval
	client   *http.Client
	digest   string
	ops      []*operation // by name
	byName   map[string]*operation
	offered  []tool.Tool
	tools    map[string]tool.Tool
	index    func() *index
}

var sourceName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,32}$`)

// New loads a source. The error says what in the configuration or the document is to be mended.
func New(ctx context.Context, c Config) (*Source, error) {
	s, err := load(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("load OpenAPI source %s: %w", c.Name, err)
	}
	return s, nil
}

func load(ctx context.Context, c Config) (*Source, error) {
	s := &Source{name: c.Name, approval: c.Approval, client: c.Client, headers: map[string]string{}}
	if !sourceName.MatchString(c.Name) {
		return nil, errors.New("name: want 1 to 32 letters, digits, _ or -")
	}
	if err := c.Approval.Check(); err != nil {
		return nil, fmt.Errorf("approval.%w", err)
	}
	if err := s.setHeaders(c.Headers); err != nil {
		return nil, err
	}
	s.hide = hider(s.headers)
	if s.client == nil {
		s.client = outbound.Client(outbound.Config{})
	}
	data := c.Document
	if data == nil {
		var err error
		if data, err = read(ctx, s.client, c.Spec); err != nil {
			return nil, fmt.Errorf("read %s: %w", shown(c.Spec), bare(err))
		}
	}
	doc, err := parse(data)
	if err != nil {
		return nil, err
	}
	s.digest = doc.digest
	b := &builder{doc: doc, source: c.Name, reserved: s.reserved}
	if err := s.setBase(c, b); err != nil {
		return nil, err
	}
	if s.ops, err = b.operations(); err != nil {
		return nil, err
	}
	if len(s.ops) == 0 {
		return nil, errors.New("the document has no operations")
	}
	s.offer(c.MaxListed)
	return s, nil
}

// setHeaders takes over the configured headers. Those of the runtime are its own.
func (s *Source) setHeaders(headers map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		key := http.CanonicalHeaderKey(name)
		switch {
		case !token.MatchString(name) || control(headers[name]):
			return fmt.Errorf("headers.%s: it cannot be sent as a header", name)
		case key == headerKey, strings.HasPrefix(key, "Parley-"), key == "Content-Length", key == "Transfer-Encoding", key == "Content-Type":
			return fmt.Errorf("headers.%s: it is set with each call and cannot be configured", name)
		}
		s.headers[key] = headers[name]
	}
	return nil
}

// reserved reports whether a header is not for arguments.
func (s *Source) reserved(name string) bool {
	_, configured := s.headers[http.CanonicalHeaderKey(name)]
	return configured || untouched(name)
}

// setBase finds where requests go.
func (s *Source) setBase(c Config, b *builder) error {
	if c.Document == nil && isURL(c.Spec) {
		b.specURL, _ = url.Parse(c.Spec) // as isURL did
	}
	var err error
	switch servers := b.doc.doc.Servers; {
	case c.BaseURL != "":
		b.fixed = true
		if s.base, err = serverURL(c.BaseURL, nil); err != nil {
			return fmt.Errorf("baseURL: %w", err)
		}
	case len(servers) > 0:
		s.base, err = serverURL(servers[0].URL, b.specURL)
	default:
		s.base, err = serverURL("/", b.specURL)
	}
	b.base = s.base
	return err
}

// offer makes the tools: one an operation, or the two that stand for many.
func (s *Source) offer(most int) {
	if most <= 0 {
		most = DefaultMaxListed
	}
	slices.SortFunc(s.ops, func(a, b *operation) int { return strings.Compare(a.name, b.name) })
	s.byName, s.tools = map[string]*operation{}, map[string]tool.Tool{}
	s.approval = byToolName(s.approval, s.ops)
	for _, o := range s.ops {
		s.byName[o.name] = o
		s.tools[s.name+"__"+o.name] = &operationTool{s, o}
	}
	s.index = newIndex(s.ops)
	many := []tool.Tool{&findTool{s}, &callTool{s}}
	for _, t := range many { // also where few are offered: a call of a larger document may still wait
		if name := t.Spec().FullName(); s.tools[name] == nil {
			s.tools[name] = t
		}
	}
	if len(s.ops) > most {
		s.offered = many
		for _, t := range many {
			s.tools[t.Spec().FullName()] = t
		}
		return
	}
	for _, o := range s.ops {
		s.offered = append(s.offered, s.tools[s.name+"__"+o.name])
	}
}

// byToolName lets the rules for tools name operations as the document does, too.
func byToolName(a tool.Approval, ops []*operation) tool.Approval {
	rules := maps.Clone(a.Tools)
	for _, o := range ops {
		if word, ok := a.Tools[o.id]; ok && o.id != o.name {
			if _, own := a.Tools[o.name]; !own {
				rules[o.name] = word
			}
		}
	}
	for _, o := range ops {
		if o.id != o.name && !slices.ContainsFunc(ops, func(x *operation) bool { return x.name == o.id }) {
			delete(rules, o.id)
		}
	}
	a.Tools = rules
	return a
}

// List are the specs of the tools that are offered to the model, by name.
func (s *Source) List() []tool.Spec {
	out := make([]tool.Spec, len(s.offered))
	for i, t := range s.offered {
		out[i] = t.Spec()
	}
	return out
}

// Tools are the tools that are offered to the model, by name.
func (s *Source) Tools() []tool.Tool { return slices.Clone(s.offered) }

// Lookup finds a tool by its full name, an operation also where it is not offered by itself.
func (s *Source) Lookup(name string) (tool.Tool, bool) {
	t, ok := s.tools[name]
	return t, ok
}

// Traits are what a policy judges each operation by, whether it is offered by itself or not.
func (s *Source) Traits() []tool.Traits {
	out := make([]tool.Traits, len(s.ops))
	for i, o := range s.ops {
		out[i] = traits(o)
	}
	return out
}

// Unmatched lists the rules of the source's approval that match no operation, by their path.
func (s *Source) Unmatched() []string {
	return slices.DeleteFunc(tool.Unmatched(s.approval, s.Traits()), func(rule string) bool {
		return rule == "tools."+nameFind || rule == "tools."+nameCall
	})
}

func traits(o *operation) tool.Traits {
	return tool.Traits{Kind: tool.SourceOpenAPI, Tool: o.name, Method: o.method}
}

// operationTool is one operation.
type operationTool struct {
	source *Source
	op     *operation
}

// Spec is the operation as a tool.
func (t *operationTool) Spec() tool.Spec {
	o, s := t.op, t.source
	spec := tool.Spec{
		Source: s.name, Name: o.name, Description: describe(o), Schema: o.schema(), Type: core.ToolAction,
		Idempotent: o.idempotent, Target: o.method + " " + strings.TrimSuffix(o.server.String(), "/") + o.path,
		Policy: tool.PolicyFor(s.approval, traits(o)), ApproversOnly: s.approval.ApproversOnly(),
	}
	if o.read() {
		spec.Type = core.ToolRead
	}
	return spec
}

// Call sends the request of the operation.
func (t *operationTool) Call(ctx *tool.Context, arguments json.RawMessage) (string, error) {
	return t.source.call(ctx, t.op, tool.Judge(t.source.approval, traits(t.op)), arguments)
}

func describe(o *operation) string {
	text := o.summary
	if o.description != "" && o.description != o.summary {
		text = strings.TrimSpace(text + "\n\n" + cut(o.description, maxText))
	}
	return strings.TrimSpace(text + "\n\n" + o.call())
}
