package core

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Form is a flat form, its fields in the order of the schema. A form without fields is a confirmation.
type Form struct{ Fields []FormField }

// FormField is one field of a form.
type FormField struct {
	Name        string
	Title       string
	Description string
	Type        FieldType
	// Enum are the choices of an enum or multi-enum: values as they are kept, labels as they are shown.
	Enum     []Option
	Required bool
	// Default is the schema's default, checked to fit; nil for none.
	Default json.RawMessage
	// Format is a JSON Schema format of a string; those that Check does not know are ignored.
	Format string
	// Pattern is an unanchored RE2 expression, "" for none.
	Pattern string
	// Min and Max bound a number; MinExclusive and MaxExclusive leave the bound itself out.
	Min, Max                   *float64
	MinExclusive, MaxExclusive bool
	MultipleOf                 *float64
	// MinLength and MaxLength bound a string, in characters.
	MinLength, MaxLength *int
	// MinItems and MaxItems bound how many of a multi-enum are chosen.
	MinItems, MaxItems *int
	// Secret fields are masked, and never asked where others read along.
	Secret bool
}

// FieldType is what a form field takes.
type FieldType string

// The field types. The value of an enum is a string, of a multi-enum a list of strings.
const (
	FieldString    FieldType = "string"
	FieldInteger   FieldType = "integer"
	FieldNumber    FieldType = "number"
	FieldBoolean   FieldType = "boolean"
	FieldEnum      FieldType = "enum"
	FieldMultiEnum FieldType = "multi-enum"
)

// Label is what a person reads for the field: its title, or its name.
func (f FormField) Label() string {
	if strings.TrimSpace(f.Title) != "" {
		return f.Title
	}
	return f.Name
}

// Field finds a field by name.
func (f Form) Field(name string) (FormField, bool) {
	i := slices.IndexFunc(f.Fields, func(x FormField) bool { return x.Name == name })
	if i < 0 {
		return FormField{}, false
	}
	return f.Fields[i], true
}

// HasSecret reports whether the form must not be asked where others read along.
func (f Form) HasSecret() bool {
	return slices.ContainsFunc(f.Fields, func(x FormField) bool { return x.Secret })
}

// ParseForm reads a flat JSON Schema object: strings, numbers, booleans, enums (enum and enumNames, or
// oneOf/anyOf of const and title) and arrays of an enum. Everything that cannot be asked for in a chat
// is refused; the error lists all problems, one a line. No schema and no properties are a confirmation.
func ParseForm(schema json.RawMessage) (Form, error) {
	if len(bytes.TrimSpace(schema)) == 0 {
		return Form{}, nil
	}
	root, err := members(schema)
	if err != nil {
		return Form{}, fmt.Errorf("form: %w", err)
	}
	p := formParser{}
	p.root(root)
	if len(p.problems) > 0 {
		return Form{}, errors.New("form: " + strings.Join(p.problems, "\nform: "))
	}
	return p.form, nil
}

type formParser struct {
	form     Form
	problems []string
}

func (p *formParser) bad(where, format string, args ...any) {
	if where != "" {
		where = "field " + strconv.Quote(where) + ": "
	}
	p.problems = append(p.problems, where+fmt.Sprintf(format, args...))
}

// structural are the keywords whose meaning a flat form cannot have; all others that are unknown only annotate.
var structural = []string{
	"$ref", "$dynamicRef", "allOf", "not", "if", "then", "else", "dependentSchemas", "dependentRequired",
	"dependencies", "patternProperties", "unevaluatedProperties", "propertyNames", "minProperties", "maxProperties",
	"prefixItems", "contains", "unevaluatedItems",
}

func (p *formParser) root(root []member) {
	var required json.RawMessage
	for _, m := range root {
		switch {
		case m.key == "type":
			if text(m.value) != "object" {
				p.bad("", "the type is %s, want object", m.value)
			}
		case m.key == "properties":
			fields, err := members(m.value)
			if err != nil {
				p.bad("", "properties: %v", err)
			}
			for _, f := range fields {
				p.form.Fields = append(p.form.Fields, p.field(f))
			}
		case m.key == "required":
			required = m.value
		case m.key == "additionalProperties":
			if jsonType(m.value) != "boolean" {
				p.bad("", "additionalProperties must be true or false")
			}
		case slices.Contains(structural, m.key), m.key == "oneOf", m.key == "anyOf", m.key == "enum", m.key == "const", m.key == "items":
			p.bad("", "%s cannot be asked for: want a flat object of properties", m.key)
		}
	}
	if required != nil {
		p.required(required)
	}
}

func (p *formParser) required(raw json.RawMessage) {
	var names []string
	if jsonType(raw) != "array" || json.Unmarshal(raw, &names) != nil {
		p.bad("", "required must be a list of names")
		return
	}
	for _, name := range names {
		i := slices.IndexFunc(p.form.Fields, func(f FormField) bool { return f.Name == name })
		if i < 0 {
			p.bad("", "required names %q, which is no property", name)
			continue
		}
		p.form.Fields[i].Required = true
	}
}
