package core

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// field reads one property.
func (p *formParser) field(m member) FormField {
	f, before := FormField{Name: m.key}, len(p.problems)
	if strings.TrimSpace(m.key) == "" {
		p.bad("", "a property has no name")
	}
	keys, err := members(m.value)
	if err != nil {
		p.bad(f.Name, "%v", err)
		return f
	}
	schema := map[string]json.RawMessage{}
	for _, k := range keys {
		schema[k.key] = k.value
		if slices.Contains(structural, k.key) || k.key == "properties" || k.key == "additionalProperties" {
			p.bad(f.Name, "%s cannot be asked for: a form is flat", k.key)
		}
	}
	f.Title, f.Description = p.str(f.Name, schema, "title"), p.str(f.Name, schema, "description")
	p.kind(&f, schema)
	p.limits(&f, schema)
	p.secret(&f, schema)
	if d, ok := schema["default"]; ok && len(p.problems) == before {
		if reason := f.Check(d); reason != "" {
			p.bad(f.Name, "its default does not fit: %s", reason)
		}
		f.Default = d
	}
	return f
}

// kind finds the type, with the choices of an enum.
func (p *formParser) kind(f *FormField, schema map[string]json.RawMessage) {
	t := p.str(f.Name, schema, "type")
	options, isEnum := p.options(f.Name, schema)
	switch {
	case isEnum && (t == "string" || t == ""):
		f.Type, f.Enum = FieldEnum, options
	case isEnum:
		p.bad(f.Name, "only strings can be an enum, not %s", t)
	case t == "array":
		p.multi(f, schema["items"])
	case t == "string", t == "integer", t == "number", t == "boolean":
		f.Type = FieldType(t)
	case t == "object":
		p.bad(f.Name, "nested objects cannot be asked for: a form is flat")
	case t == "":
		p.bad(f.Name, "it has no type: want string, integer, number, boolean or an array of an enum")
	default:
		p.bad(f.Name, "type %q cannot be asked for: want string, integer, number, boolean or an array of an enum", t)
	}
}

var errStructural = errors.New("a form is flat")

func (p *formParser) multi(f *FormField, items json.RawMessage) {
	keys, err := members(items)
	schema := map[string]json.RawMessage{}
	for _, k := range keys {
		schema[k.key] = k.value
		if slices.Contains(structural, k.key) {
			err = errStructural
		}
	}
	t := text(schema["type"])
	options, ok := p.options(f.Name, schema)
	if err != nil || !ok || t != "string" && t != "" {
		p.bad(f.Name, "arrays can be asked for only of an enum of strings")
		return
	}
	f.Type, f.Enum = FieldMultiEnum, options
}

// options reads enum with enumNames, const, or oneOf/anyOf of const and title. ok: there is one of them.
func (p *formParser) options(name string, schema map[string]json.RawMessage) (out []Option, ok bool) {
	var values, labels []json.RawMessage
	if one, has := schema["const"]; has {
		values, ok = []json.RawMessage{one}, true
	}
	if enum, has := schema["enum"]; has {
		values, labels, ok = list(enum), list(schema["enumNames"]), true
		if len(labels) > 0 && len(labels) != len(values) {
			p.bad(name, "enumNames has %d names for %d values", len(labels), len(values))
			return nil, true
		}
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		if alternatives, has := schema[key]; has {
			return p.titled(name, p.alternatives(name, key, alternatives)), true
		}
	}
	if !ok {
		return nil, false
	}
	for i, v := range values {
		o := Option{Value: text(v), Label: text(v)}
		if i < len(labels) && strings.TrimSpace(text(labels[i])) != "" {
			o.Label = text(labels[i])
		}
		if jsonType(v) != "string" {
			p.bad(name, "the choice %s is no string", v)
		}
		out = append(out, o)
	}
	p.distinct(name, out)
	return out, true
}

func (p *formParser) alternatives(name, key string, raw json.RawMessage) []json.RawMessage {
	l := list(raw)
	if l == nil {
		p.bad(name, "%s must be a list of {const, title}", key)
	}
	return l
}

// titled reads the alternatives of a oneOf: each {const, title} and nothing that would constrain.
func (p *formParser) titled(name string, alternatives []json.RawMessage) []Option {
	var out []Option
	for _, a := range alternatives {
		var o Option
		var has bool
		keys, err := members(a)
		for _, k := range keys {
			switch k.key {
			case "const":
				o.Value, has = text(k.value), jsonType(k.value) == "string"
			case "title":
				o.Label = text(k.value)
			}
		}
		if err != nil || !has {
			p.bad(name, "the alternative %s is no {const, title} of a string", a)
			continue
		}
		if strings.TrimSpace(o.Label) == "" {
			o.Label = o.Value
		}
		out = append(out, o)
	}
	p.distinct(name, out)
	return out
}

// distinct refuses choices that a reply could not tell apart.
func (p *formParser) distinct(name string, options []Option) {
	if len(options) == 0 {
		p.bad(name, "it has no choices")
	}
	for i, o := range options {
		if strings.TrimSpace(o.Label) == "" {
			p.bad(name, "choice %d is empty", i+1)
		}
		for _, earlier := range options[:i] {
			same := o.Value == earlier.Value || foldPlain(o.Label) == foldPlain(earlier.Label)
			if same || o.Value == earlier.Label || o.Label == earlier.Value {
				p.bad(name, "two choices are %q", o.Label)
				break
			}
		}
	}
}

func (p *formParser) limits(f *FormField, schema map[string]json.RawMessage) {
	f.Min, f.Max = p.num(f.Name, schema, "minimum"), p.num(f.Name, schema, "maximum")
	if v := p.num(f.Name, schema, "exclusiveMinimum"); v != nil && (f.Min == nil || *v >= *f.Min) {
		f.Min, f.MinExclusive = v, true
	}
	if v := p.num(f.Name, schema, "exclusiveMaximum"); v != nil && (f.Max == nil || *v <= *f.Max) {
		f.Max, f.MaxExclusive = v, true
	}
	f.MultipleOf = p.num(f.Name, schema, "multipleOf")
	if f.MultipleOf != nil && *f.MultipleOf <= 0 {
		p.bad(f.Name, "multipleOf must be greater than 0")
	}
	f.MinLength, f.MaxLength = p.count(f.Name, schema, "minLength"), p.count(f.Name, schema, "maxLength")
	f.MinItems, f.MaxItems = p.count(f.Name, schema, "minItems"), p.count(f.Name, schema, "maxItems")
	if crossed(f.Min, f.Max) || crossed(f.MinLength, f.MaxLength) || crossed(f.MinItems, f.MaxItems) {
		p.bad(f.Name, "its least is greater than its most: nothing would fit")
	}
	if n := len(f.Enum); f.Type == FieldMultiEnum && f.MinItems != nil && *f.MinItems > n {
		p.bad(f.Name, "minItems is %d, but it has %d choices", *f.MinItems, n)
	}
	f.Format, f.Pattern = p.str(f.Name, schema, "format"), p.str(f.Name, schema, "pattern")
	if _, err := regexp.Compile(f.Pattern); err != nil {
		p.bad(f.Name, "the pattern %q cannot be used: %v", f.Pattern, err)
	}
}

func crossed[N int | float64](least, most *N) bool {
	return least != nil && most != nil && *least > *most
}

// secret marks fields that the schema says are secret, or whose name does.
func (p *formParser) secret(f *FormField, schema map[string]json.RawMessage) {
	writeOnly := string(schema["writeOnly"])
	f.Secret = writeOnly == "true" || f.Format == "password" || SecretName(f.Name) &&
		(f.Type == FieldString || f.Type == FieldInteger && !countsTokens(f.Name)) // a PIN, not max_tokens
}

func (p *formParser) str(name string, schema map[string]json.RawMessage, key string) string {
	raw, ok := schema[key]
	if ok && jsonType(raw) != "string" {
		p.bad(name, "%s must be a string, not %s", key, raw)
	}
	return text(raw)
}

func (p *formParser) num(name string, schema map[string]json.RawMessage, key string) *float64 {
	raw, ok := schema[key]
	if !ok {
		return nil
	}
	v, err := strconv.ParseFloat(string(raw), 64)
	if jsonType(raw) != "number" || err != nil {
		p.bad(name, "%s must be a number, not %s", key, raw)
		return nil
	}
	return &v
}

func (p *formParser) count(name string, schema map[string]json.RawMessage, key string) *int {
	v := p.num(name, schema, key)
	if v == nil {
		return nil
	}
	n := int(*v)
	if float64(n) != *v || n < 0 {
		p.bad(name, "%s must be a whole number from 0", key)
		return nil
	}
	return &n
}
