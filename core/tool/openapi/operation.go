package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"parley/core"
	"parley/core/tool/schema"
)

// operation is one operation as a tool.
type operation struct {
	name                 string // the tool's, without the source
	id                   string // operationId as the document writes it
	method, path         string
	summary, description string
	tags                 []string
	server               *url.URL
	foreign              bool // its server is not the source's own: it gets no configured headers
	idempotent           bool
	params               []param
	body                 *body
	schema               func() json.RawMessage
}

// param is a parameter. arg is its name among the arguments.
type param struct {
	arg, name, in, style string
	explode, required    bool
	encoded              bool // as JSON, since the document gives it a content type
	description          string
	schema               any
}

// body is a request body. arg is its name among the arguments.
type body struct {
	arg, media, description string
	required                bool
	schema                  any
	encoding                map[string]*openapi3.Encoding
	fields                  map[string]map[string]any // the schemas of a form's fields
}

func (o *operation) call() string { return o.method + " " + o.path }

func (o *operation) read() bool {
	return o.method == "GET" || o.method == "HEAD" || o.method == "OPTIONS"
}

// builder makes the operations of a document.
type builder struct {
	doc      *document
	source   string
	base     *url.URL // where the configuration or the document sends requests
	fixed    bool     // the configuration names base, which no server of the document changes
	specURL  *url.URL // nil for a file
	reserved func(header string) bool
}

// operations lists all operations in the order of path and method.
func (b *builder) operations() ([]*operation, error) {
	var all []*operation
	paths := b.doc.doc.Paths.Map()
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := paths[path]
		for _, verb := range verbs {
			op := item.GetOperation(strings.ToUpper(verb))
			if op == nil {
				continue
			}
			o, err := b.operation(path, strings.ToUpper(verb), item, op)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", strings.ToUpper(verb), path, err)
			}
			all = append(all, o)
		}
	}
	name(all, maxName-len(b.source)-len("__"))
	return all, nil
}

func (b *builder) operation(path, method string, item *openapi3.PathItem, op *openapi3.Operation) (*operation, error) {
	o := &operation{
		id: op.OperationID, method: method, path: path, tags: op.Tags,
		summary: strings.TrimSpace(op.Summary), description: strings.TrimSpace(op.Description),
	}
	o.idempotent = o.read() || op.Extensions["x-idempotent"] == true
	if err := b.server(o, item, op); err != nil {
		return nil, err
	}
	args := names{}
	if err := b.parameters(o, args, item, op); err != nil {
		return nil, err
	}
	if op.RequestBody != nil && op.RequestBody.Value != nil {
		o.body = b.body(op.RequestBody.Value, args)
	}
	o.schema = sync.OnceValue(func() json.RawMessage { return usable(b.doc.arguments(o)) })
	return o, nil
}

// server finds where an operation is sent to.
func (b *builder) server(o *operation, item *openapi3.PathItem, op *openapi3.Operation) error {
	o.server = b.base
	var own openapi3.Servers
	if op.Servers != nil {
		own = *op.Servers
	}
	if len(own) == 0 {
		own = item.Servers
	}
	if b.fixed || len(own) == 0 {
		return nil
	}
	u, err := serverURL(own[0].URL, b.specURL)
	if err != nil {
		return err
	}
	o.server, o.foreign = u, !sameOrigin(u, b.base)
	return nil
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host)
}

// serverURL reads the address of a server, relative to the document's own where it is.
func serverURL(s string, spec *url.URL) (*url.URL, error) {
	u, err := url.Parse(s)
	if err == nil && spec != nil {
		u = spec.ResolveReference(u)
	}
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf("the server %q is no address: set baseURL", s)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the server address of %s has a user, a query or a fragment: set baseURL without them, and headers for credentials", u.Host)
	}
	return u, nil
}

var placeholder = regexp.MustCompile(`\{([^{}]*)\}`)

// parameters collects what an operation takes beside its body. Those of the operation beat those of its
// path; one that the runtime or the configuration sets is no argument.
func (b *builder) parameters(o *operation, args names, item *openapi3.PathItem, op *openapi3.Operation) error {
	at := map[string]int{}
	for _, ref := range append(slices.Clone(item.Parameters), op.Parameters...) {
		if ref == nil || ref.Value == nil || ref.Value.Name == "" {
			continue
		}
		p, err := b.parameter(ref.Value)
		if err != nil {
			return err
		}
		if p.in == "path" && !strings.Contains(o.path, "{"+p.name+"}") || p.in == "header" && (b.reserved(p.name) || !token.MatchString(p.name)) {
			continue
		}
		if p.in == "cookie" && !token.MatchString(p.name) {
			continue
		}
		key := p.in + " " + p.name
		if i, again := at[key]; again {
			o.params[i] = p
			continue
		}
		at[key] = len(o.params)
		o.params = append(o.params, p)
	}
	for _, m := range placeholder.FindAllStringSubmatch(o.path, -1) {
		if _, ok := at["path "+m[1]]; !ok {
			at["path "+m[1]] = len(o.params)
			o.params = append(o.params, param{name: m[1], in: "path", style: "simple", required: true, schema: map[string]any{"type": "string"}})
		}
	}
	for i := range o.params {
		o.params[i].arg = args.take(o.params[i].name, o.params[i].in)
	}
	return nil
}

// token is a name that a header or a cookie may have.
var token = regexp.MustCompile("^[a-zA-Z0-9!#$%&'*+.^_`|~-]+$")

func (b *builder) parameter(v *openapi3.Parameter) (param, error) {
	m, err := v.SerializationMethod()
	if err != nil {
		return param{}, fmt.Errorf("parameter %s: %w", v.Name, err)
	}
	p := param{name: v.Name, in: v.In, style: m.Style, explode: m.Explode, required: v.Required || v.In == "path", description: v.Description}
	ref := v.Schema
	if ref == nil {
		for _, media := range slices.Sorted(maps.Keys(v.Content)) {
			p.encoded, ref = true, v.Content[media].Schema
			break
		}
	}
	p.schema = b.raw(ref)
	return p, nil
}

// raw is the schema that a stub stands for.
func (b *builder) raw(ref *openapi3.SchemaRef) any {
	if ref == nil || ref.Value == nil {
		return true
	}
	n, ok := ref.Value.Extensions[stub].(float64)
	if !ok || int(n) < 0 || int(n) >= len(b.doc.schemas) {
		return true
	}
	return b.doc.schemas[int(n)]
}

// body chooses the content type in which a body is sent: JSON where it may be, then what has fields, then
// text.
func (b *builder) body(v *openapi3.RequestBody, args names) *body {
	if len(v.Content) == 0 {
		return nil
	}
	all := slices.Sorted(maps.Keys(v.Content))
	slices.SortStableFunc(all, func(x, y string) int { return rank(x) - rank(y) })
	media := all[0]
	out := &body{media: media, required: v.Required, description: v.Description, encoding: map[string]*openapi3.Encoding{}}
	if m := v.Content[media]; m != nil {
		out.schema, out.encoding = b.raw(m.Schema), m.Encoding
	}
	if rank(media) == 2 {
		out.fields = b.doc.fields(out.schema)
	}
	if rank(media) == 3 {
		out.schema = map[string]any{"type": "string"}
		if out.description == "" {
			out.description = "The body as text, sent as " + media + "."
		}
	}
	if media == "*/*" || media == "application/*" {
		out.media = "application/json"
	} else if strings.Contains(media, "*") {
		out.media = "text/plain"
	}
	out.arg = args.take("body", "request")
	return out
}

func rank(media string) int {
	base, _, _ := strings.Cut(media, ";")
	base = strings.ToLower(strings.TrimSpace(base))
	switch {
	case base == "application/json", base == "*/*", base == "application/*", strings.HasSuffix(base, "+json"):
		return 0
	case base == "application/x-www-form-urlencoded":
		return 1
	case base == "multipart/form-data":
		return 2
	default:
		return 3
	}
}

// names are the names of one operation's arguments, each of which a model takes.
type names map[string]bool

func (n names) take(name, in string) string {
	base := notInName.ReplaceAllString(name, "_")
	base = strings.Trim(base[:min(len(base), 48)], "_")
	if base == "" {
		base = in
	}
	arg := base
	for i := 1; n[arg]; i++ {
		if arg = base + "_" + in; i > 1 {
			arg += strconv.Itoa(i)
		}
	}
	n[arg] = true
	return arg
}

// maxName is the greatest length of a tool's full name.
const maxName = 64

var notInTool = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// name gives every operation a name of its own, at most room long, that does not depend on the others'
// order. Where two want the same, or one is too long, both get a digest of method and path.
func name(all []*operation, room int) {
	wanted := map[string]int{}
	for _, o := range all {
		id := o.id
		if id == "" {
			id = strings.ToLower(o.method) + "_" + strings.Trim(placeholder.ReplaceAllString(o.path, "$1"), "/")
		}
		o.name = strings.Trim(notInTool.ReplaceAllString(id, "_"), "_")
		if o.name == "" {
			o.name = strings.ToLower(o.method)
		}
		wanted[o.name]++
	}
	taken := map[string]bool{}
	for _, o := range all {
		if wanted[o.name] == 1 && len(o.name) <= room {
			taken[o.name] = true
		}
	}
	for _, o := range all {
		if wanted[o.name] == 1 && len(o.name) <= room {
			continue
		}
		digest := notInTool.ReplaceAllString(core.Digest(o.method, o.path), "")
		for n := 6; ; n++ {
			suffix := "_" + digest[len(digest)-min(n, len(digest)):]
			short := o.name[:max(0, min(len(o.name), room-len(suffix)))] + suffix
			if !taken[short] || n > len(digest) {
				o.name, taken[short] = short, true
				break
			}
		}
	}
}

// usable writes a schema that the checker takes and whose defaults fit. One that it does not take loses
// what is said about its values: the API checks them.
func usable(s map[string]any) json.RawMessage {
	raw, err := json.Marshal(s)
	var c *schema.Checker
	if err == nil {
		c, err = schema.Compile(raw)
	}
	if err != nil {
		open := map[string]any{}
		for arg, v := range object(s["properties"]) {
			open[arg] = copyOf(object(v), "description")
		}
		s["properties"] = open
		delete(s, "$defs")
		raw, _ = json.Marshal(s) // texts alone
		return raw
	}
	_, problems := c.Prepare(json.RawMessage(`{}`))
	changed := false
	for arg, v := range object(s["properties"]) {
		bad := func(p string) bool { return strings.HasPrefix(p, "/"+arg+":") || strings.HasPrefix(p, "/"+arg+"/") }
		if slices.ContainsFunc(problems, bad) {
			delete(object(v), "default")
			changed = true
		}
	}
	if changed {
		raw, _ = json.Marshal(s) // as before, less the defaults
	}
	return raw
}
