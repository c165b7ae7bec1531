package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// converter turns schemas of a document into JSON Schema 2020-12 for arguments: references go to $defs,
// which are collected, so that cycles stay as they are; what 3.0 says in its own way is said in the new
// one; what only answers hold (readOnly) and what only documents need is left out, and so is what is
// written so badly that no checker would take it.
type converter struct {
	doc   *document
	most  int // definitions; what refers to more of them may be anything
	defs  map[string]any
	names map[string]string // by reference
	queue []pending         // definitions still to be converted, those nearest to the arguments first
}

type pending struct {
	name string
	from any
}

// The keywords by what they hold.
var (
	holdsOne  = []string{"not", "items", "additionalProperties", "contains", "propertyNames", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties"}
	holdsList = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	holdsMap  = []string{"properties", "patternProperties", "dependentSchemas"}
	counts    = []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"}
	numbers   = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
	texts     = []string{"title", "description", "format", "pattern", "contentMediaType", "contentEncoding"}
	flags     = []string{"uniqueItems", "writeOnly", "deprecated"}
	types     = []string{"null", "boolean", "object", "array", "number", "string", "integer"}
)

// maxText bounds a description.
const maxText = 1000

func (c *converter) convert(v any) any {
	if b, ok := v.(bool); ok {
		return b
	}
	in := object(v)
	if in == nil {
		return true
	}
	out := map[string]any{}
	if ref, ok := in["$ref"].(string); ok {
		name, ok := c.ref(ref)
		if !ok {
			return true
		}
		out["$ref"] = "#/$defs/" + name
	}
	c.plain(in, out)
	for _, k := range holdsOne {
		if s, ok := in[k]; ok && schemaLike(s) {
			out[k] = c.convert(s)
		}
	}
	for _, k := range holdsList {
		if l := list(in[k]); len(l) > 0 {
			all := make([]any, len(l))
			for i, s := range l {
				all[i] = c.convert(s)
			}
			out[k] = all
		}
	}
	for _, k := range holdsMap {
		if m := object(in[k]); len(m) > 0 {
			out[k] = c.members(k, m, out)
		}
	}
	return nullable(in, out)
}

func schemaLike(v any) bool {
	_, isBool := v.(bool)
	return isBool || object(v) != nil
}

// members converts the schemas of an object's members. What is readOnly is no argument.
func (c *converter) members(keyword string, m, out map[string]any) map[string]any {
	all := make(map[string]any, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) { // in order: names in $defs depend on it
		s := m[name]
		if keyword == "properties" && c.readOnly(s) {
			required := slices.DeleteFunc(slices.Clone(list(out["required"])), func(r any) bool { return r == name })
			if out["required"] = required; len(required) == 0 {
				delete(out, "required")
			}
			continue
		}
		if keyword == "patternProperties" {
			if _, err := regexp.Compile(name); err != nil {
				continue
			}
		}
		all[name] = c.convert(s)
	}
	return all
}

func (c *converter) readOnly(v any) bool {
	return object(v)["readOnly"] == true || c.doc.follow(v)["readOnly"] == true
}

var notInName = regexp.MustCompile(`[^a-zA-Z0-9_.-]+`)

// ref returns the name in $defs of what a reference points to, and sees to it that it will be there.
func (c *converter) ref(ref string) (name string, ok bool) {
	if name, ok := c.names[ref]; ok {
		return name, true
	}
	to, err := c.doc.lookup(ref)
	if err != nil || len(c.defs) >= c.most {
		return "", false // the former does not happen: loading refuses such documents
	}
	base := notInName.ReplaceAllString(ref[strings.LastIndexByte(ref, '/')+1:], "_")
	name = base
	for n := 2; ; n++ {
		if _, taken := c.defs[name]; !taken {
			break
		}
		name = base + "_" + strconv.Itoa(n)
	}
	c.names[ref], c.defs[name] = name, true
	if !c.loops(ref) {
		c.queue = append(c.queue, pending{name, to})
	}
	return name, true
}

// definitions converts what was referred to, and what that refers to.
func (c *converter) definitions() map[string]any {
	for len(c.queue) > 0 {
		next := c.queue[0]
		c.queue = c.queue[1:]
		c.defs[next.name] = c.convert(next.from)
	}
	return c.defs
}

// loops reports whether a reference leads to itself without anything on the way: it says nothing.
func (c *converter) loops(ref string) bool {
	for range maxRefs {
		to, err := c.doc.lookup(ref)
		next, ok := object(to)["$ref"].(string)
		if err != nil || !ok {
			return false
		}
		ref = next
	}
	return true
}

// plain takes over the keywords that hold no schema, where they hold what they should.
func (c *converter) plain(in, out map[string]any) {
	for _, k := range texts {
		if s, ok := in[k].(string); ok {
			out[k] = cut(s, maxText)
		}
	}
	for _, k := range flags {
		if in[k] == true {
			out[k] = true
		}
	}
	for _, k := range counts {
		if n, ok := in[k].(json.Number); ok {
			if i, err := strconv.ParseUint(n.String(), 10, 32); err == nil {
				out[k] = i
			}
		}
	}
	bounds(in, out)
	if t := typeOf(in["type"]); t != nil {
		out["type"] = t
	}
	if e, ok := in["enum"].([]any); ok && len(e) > 0 {
		out["enum"] = distinct(e)
	}
	for _, k := range []string{"const", "default"} {
		if v, ok := in[k]; ok {
			out[k] = v
		}
	}
	required := []any{}
	for _, r := range list(in["required"]) { // 3.0's authors write true here
		if s, ok := r.(string); ok && !slices.Contains(required, any(s)) {
			required = append(required, s)
		}
	}
	if len(required) > 0 {
		out["required"] = required
	}
}

// bounds says 3.0's exclusive limits, which are booleans, as numbers.
func bounds(in, out map[string]any) {
	for _, k := range numbers {
		if n, ok := in[k].(json.Number); ok && finite(n) {
			out[k] = n
		}
	}
	if n, ok := in["multipleOf"].(json.Number); ok && finite(n) {
		if f, err := n.Float64(); err == nil && f > 0 {
			out["multipleOf"] = n
		}
	}
	for limit, exclusive := range map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"} {
		if in[exclusive] == true && out[limit] != nil {
			out[exclusive] = out[limit]
			delete(out, limit)
		}
	}
}

func finite(n json.Number) bool {
	f, err := n.Float64()
	return err == nil && f > -1e300 && f < 1e300 && (f == 0 || f > 1e-300 || f < -1e-300)
}

func typeOf(v any) any {
	switch v := v.(type) {
	case string:
		if slices.Contains(types, v) {
			return v
		}
	case []any:
		var out []any
		for _, t := range v {
			if s, ok := t.(string); ok && slices.Contains(types, s) && !slices.Contains(out, any(s)) {
				out = append(out, s)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

func distinct(values []any) []any {
	var out []any
	seen := map[string]bool{}
	for _, v := range values {
		key := fmt.Sprintf("%T%v", v, v)
		if !seen[key] {
			seen[key] = true
			out = append(out, v)
		}
	}
	return out
}

// nullable says 3.0's nullable as a type.
func nullable(in, out map[string]any) any {
	if in["nullable"] != true {
		return out
	}
	if t, ok := out["type"].(string); ok && t != "null" {
		out["type"] = []any{t, "null"}
		if e, ok := out["enum"].([]any); ok && !slices.Contains(e, any(nil)) {
			out["enum"] = append(slices.Clone(e), nil)
		}
		if _, has := out["const"]; !has && !constrained(out) {
			return out
		}
		out["type"] = t
	}
	if len(out) == 0 {
		return out
	}
	outer := map[string]any{}
	for _, k := range []string{"description", "title", "default", "deprecated", "writeOnly"} {
		if v, ok := out[k]; ok {
			outer[k] = v
			delete(out, k)
		}
	}
	outer["anyOf"] = []any{out, map[string]any{"type": "null"}}
	return outer
}

// constrained reports whether keywords that judge every type would refuse null.
func constrained(s map[string]any) bool {
	for _, k := range []string{"allOf", "anyOf", "oneOf", "not", "$ref", "if"} {
		if _, ok := s[k]; ok {
			return true
		}
	}
	return false
}

// The bounds of one tool's schema: documents whose schemas all lead to one another would fill a model's
// context with one tool.
const maxSchema = 50_000

var maxDefs = []int{200, 60, 20, 6, 0}

// arguments is the schema of an operation's arguments, with as many definitions as its bound lets in.
func (d *document) arguments(op *operation) map[string]any {
	var out map[string]any
	for _, most := range maxDefs {
		out = d.bounded(op, most)
		if raw, err := json.Marshal(out); err == nil && len(raw) <= maxSchema {
			break
		}
	}
	return out
}

func (d *document) bounded(op *operation, most int) map[string]any {
	c := &converter{doc: d, most: most, defs: map[string]any{}, names: map[string]string{}}
	properties, required := map[string]any{}, []any{}
	for _, p := range op.params {
		properties[p.arg] = c.described(p.schema, p.description)
		if p.required {
			required = append(required, p.arg)
		}
	}
	if b := op.body; b != nil {
		properties[b.arg] = c.described(b.schema, b.description)
		if b.required {
			required = append(required, b.arg)
		}
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	if defs := c.definitions(); len(defs) > 0 {
		out["$defs"] = defs
	}
	return out
}

// described converts the schema of one argument, with the description of the parameter where it has none
// itself. A default that its own schema would refuse is left out: the API applies its own.
func (c *converter) described(v any, description string) any {
	out, ok := c.convert(v).(map[string]any)
	if !ok {
		out = map[string]any{}
	}
	if _, has := out["description"]; !has && description != "" {
		out["description"] = cut(description, maxText)
	}
	if d, has := out["default"]; has && !fits(d, out) {
		delete(out, "default")
	}
	return out
}

// fits reports whether a default is surely of its schema's type and values.
func fits(v any, s map[string]any) bool {
	if _, ref := s["$ref"]; ref {
		return false
	}
	if e, ok := s["enum"].([]any); ok && !slices.ContainsFunc(e, func(x any) bool { return fmt.Sprintf("%T%v", x, x) == fmt.Sprintf("%T%v", v, v) }) {
		return false
	}
	want := list(s["type"])
	if t, ok := s["type"].(string); ok {
		want = []any{t}
	}
	return slices.ContainsFunc(want, func(t any) bool { return is(v, t) })
}

func is(v, kind any) bool {
	switch v := v.(type) {
	case nil:
		return kind == "null"
	case bool:
		return kind == "boolean"
	case string:
		return kind == "string"
	case json.Number:
		return kind == "number" || kind == "integer" && !strings.ContainsAny(v.String(), ".eE")
	case []any:
		return kind == "array"
	default:
		return kind == "object"
	}
}

// cut shortens a text to n bytes at most, at a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
