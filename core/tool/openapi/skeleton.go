package openapi

import (
	"maps"
	"strings"
)

// stub is where the skeleton keeps the number of the schema that it stands for.
const stub = "x-parley-schema"

// verbs are the operations of a path item, in the order in which tools are made.
var verbs = []string{"get", "head", "options", "post", "put", "patch", "delete", "trace"}

// skeleton is the document without what no tool needs (responses, examples, callbacks) and with a stub in
// the place of each schema: the loader has a fraction of the work, and an odd schema cannot fail it.
func (d *document) skeleton(version string) map[string]any {
	out := map[string]any{"openapi": version, "info": map[string]any{"title": "", "version": ""}}
	out["servers"] = servers(d.root["servers"])
	paths := map[string]any{}
	for path, item := range object(d.root["paths"]) {
		if strings.HasPrefix(path, "/") {
			paths[path] = d.pathItem(item, 0)
		}
	}
	out["paths"] = paths
	components := object(d.root["components"])
	parameters, bodies := map[string]any{}, map[string]any{}
	for name, p := range object(components["parameters"]) {
		parameters[name] = d.parameter(p)
	}
	for name, b := range object(components["requestBodies"]) {
		bodies[name] = d.body(b)
	}
	out["components"] = map[string]any{"parameters": parameters, "requestBodies": bodies}
	return out
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// copyOf keeps some keys of an object.
func copyOf(m map[string]any, keys ...string) map[string]any {
	out := map[string]any{}
	for _, k := range keys {
		if v, ok := m[k]; ok && v != nil {
			out[k] = v
		}
	}
	return out
}

// sound takes out what is not of the type that its key has: authors write required: "true".
func sound(m map[string]any) map[string]any {
	for k, v := range m {
		_, isText := v.(string)
		_, isBool := v.(bool)
		flag := k == "required" || k == "explode"
		switch {
		case flag && isText:
			m[k] = v == "true"
		case flag && !isBool, !flag && !isText:
			delete(m, k)
		}
	}
	return m
}

func servers(v any) []any {
	out := []any{}
	for _, s := range list(v) {
		if u, ok := object(s)["url"].(string); ok {
			out = append(out, map[string]any{"url": expand(u, object(object(s)["variables"]))})
		}
	}
	return out
}

// expand fills the variables of a server's address with their defaults.
func expand(address string, variables map[string]any) string {
	for name, v := range variables {
		if s, ok := object(v)["default"].(string); ok {
			address = strings.ReplaceAll(address, "{"+name+"}", s)
		}
	}
	return address
}

// pathItem follows the reference of a path item itself, since its target may be of any place.
func (d *document) pathItem(v any, depth int) map[string]any {
	item := object(v)
	if ref, ok := item["$ref"].(string); ok {
		to, err := d.lookup(ref)
		if err != nil || depth > maxRefs {
			return copyOf(item, "$ref") // which the loader refuses with its name
		}
		merged := maps.Clone(object(to))
		if merged == nil {
			merged = map[string]any{}
		}
		for k, own := range item {
			if k != "$ref" {
				merged[k] = own
			}
		}
		return d.pathItem(merged, depth+1)
	}
	out := map[string]any{}
	if p := d.parameters(item["parameters"]); len(p) > 0 {
		out["parameters"] = p
	}
	if s := servers(item["servers"]); len(s) > 0 {
		out["servers"] = s
	}
	for _, verb := range verbs {
		if op := object(item[verb]); op != nil {
			out[verb] = d.operation(op)
		}
	}
	return out
}

// maxRefs bounds a chain of references.
const maxRefs = 20

func (d *document) operation(op map[string]any) map[string]any {
	out := map[string]any{"responses": map[string]any{}}
	for _, k := range []string{"operationId", "summary", "description"} {
		if s, ok := op[k].(string); ok {
			out[k] = s
		}
	}
	tags := []any{}
	for _, t := range list(op["tags"]) {
		if s, ok := t.(string); ok {
			tags = append(tags, s)
		}
	}
	out["tags"] = tags
	if b, ok := op["x-idempotent"].(bool); ok {
		out["x-idempotent"] = b
	}
	if p := d.parameters(op["parameters"]); len(p) > 0 {
		out["parameters"] = p
	}
	if s := servers(op["servers"]); len(s) > 0 {
		out["servers"] = s
	}
	if op["requestBody"] != nil {
		out["requestBody"] = d.body(op["requestBody"])
	}
	return out
}

func (d *document) parameters(v any) []any {
	out := []any{}
	for _, p := range list(v) {
		out = append(out, d.parameter(p))
	}
	return out
}

func (d *document) parameter(v any) map[string]any {
	p := object(v)
	if _, ok := p["$ref"]; ok {
		return copyOf(p, "$ref")
	}
	out := sound(copyOf(p, "name", "in", "description", "required", "style", "explode"))
	if s, ok := p["schema"]; ok {
		out["schema"] = d.schema(s)
	}
	if c := object(p["content"]); c != nil {
		out["content"] = d.content(c)
	}
	return out
}

func (d *document) body(v any) map[string]any {
	b := object(v)
	if _, ok := b["$ref"]; ok {
		return copyOf(b, "$ref")
	}
	out := sound(copyOf(b, "description", "required"))
	out["content"] = d.content(object(b["content"]))
	return out
}

func (d *document) content(c map[string]any) map[string]any {
	out := map[string]any{}
	for media, v := range c {
		m := map[string]any{}
		if s, ok := object(v)["schema"]; ok {
			m["schema"] = d.schema(s)
		}
		encodings := map[string]any{}
		for name, e := range object(object(v)["encoding"]) {
			encodings[name] = sound(copyOf(object(e), "contentType", "style", "explode"))
		}
		m["encoding"] = encodings
		out[media] = m
	}
	return out
}

// schema keeps a schema and returns its stub.
func (d *document) schema(v any) map[string]any {
	d.schemas = append(d.schemas, v)
	return map[string]any{stub: len(d.schemas) - 1}
}
