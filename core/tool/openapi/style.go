package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// decode reads one argument, numbers as they are written.
func decode(raw json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

// text is a value as it stands in a path, a query or a header. What has parts of its own is JSON.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return fmt.Sprint(v)
	default:
		return compact(v)
	}
}

// compact is JSON without the escapes that only HTML needs.
func compact(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "" // values that were JSON encode
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// escape percent-encodes all but letters, digits and -._~, so that no value can leave its place.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// verbatim is the escaping of headers, which have none.
func verbatim(s string) string { return s }

// items are the parts of a list or an object as style "simple" writes them: a,b or k,v,k,v or k=v,k=v.
func items(v any, explode bool, esc func(string) string) []string {
	switch v := v.(type) {
	case []any:
		out := make([]string, len(v))
		for i, e := range v {
			out[i] = esc(text(e))
		}
		return out
	case map[string]any:
		var out []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if explode {
				out = append(out, esc(k)+"="+esc(text(v[k])))
			} else {
				out = append(out, esc(k), esc(text(v[k])))
			}
		}
		return out
	default:
		return []string{esc(text(v))}
	}
}

// simple writes a value in a path segment or a header.
func (p param) simple(v any, esc func(string) string) string {
	if p.encoded {
		return esc(compact(v))
	}
	switch p.style {
	case "label":
		sep := ","
		if p.explode {
			sep = "."
		}
		return "." + strings.Join(items(v, p.explode, esc), sep)
	case "matrix":
		return p.matrix(v, esc)
	default:
		return strings.Join(items(v, p.explode, esc), ",")
	}
}

// matrix writes ;name=value.
func (p param) matrix(v any, esc func(string) string) string {
	name := ";" + esc(p.name)
	if !p.explode {
		return name + "=" + strings.Join(items(v, false, esc), ",")
	}
	switch v := v.(type) {
	case []any:
		var b strings.Builder
		for _, e := range v {
			b.WriteString(name + "=" + esc(text(e)))
		}
		return b.String()
	case map[string]any:
		return ";" + strings.Join(items(v, true, esc), ";")
	default:
		return name + "=" + esc(text(v))
	}
}

// form writes a value as name=value pairs, each already escaped.
func (p param) form(v any) []string {
	if p.encoded {
		return []string{escape(p.name) + "=" + escape(compact(v))}
	}
	name := escape(p.name)
	m, isObject := v.(map[string]any)
	l, isList := v.([]any)
	switch {
	case p.style == "deepObject" && (isObject || isList):
		return deep(p.name, v)
	case isList && p.explode:
		out := make([]string, len(l))
		for i, e := range l {
			out[i] = name + "=" + escape(text(e))
		}
		return out
	case isObject && p.explode:
		return items(m, true, escape)
	case isList && len(l) == 0:
		return nil
	}
	sep := map[string]string{"spaceDelimited": "%20", "pipeDelimited": "%7C"}[p.style]
	if sep == "" {
		sep = ","
	}
	return []string{name + "=" + strings.Join(items(v, false, escape), sep)}
}

// deep writes name[key][key]=value.
func deep(name string, v any) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, deep(name+"["+k+"]", v[k])...)
		}
	case []any:
		for _, e := range v {
			out = append(out, deep(name+"[]", e)...)
		}
	default:
		out = append(out, escape(name)+"="+escape(text(v)))
	}
	return out
}
