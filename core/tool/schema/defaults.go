package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// deepest is how far into a schema defaults are looked for, references not counted.
const deepest = 32

// filler adds the defaults of one schema to the values it describes: those of its properties, of what is
// below them, and of the items of its lists. What stands in anyOf, oneOf, allOf or if adds nothing, since there
// a default of one branch may not fit another.
type filler struct {
	properties []described // in the order of the schema
	items      *filler
}

// described is a property, which may have a default of its own and some below it.
type described struct {
	name  string
	value json.RawMessage // nil without one of its own
	below *filler
}

// fillers reads the defaults of a document. A schema that refers to itself gives a filler that does.
type fillers struct {
	root  json.RawMessage
	byRef map[string]*filler
}

// of returns the filler of a schema of the document, nil where there is nothing to fill.
func (fs *fillers) of(schema json.RawMessage, depth int) *filler {
	var s struct {
		Ref        string          `json:"$ref"`
		Properties json.RawMessage `json:"properties"`
		Items      json.RawMessage `json:"items"`
	}
	if depth > deepest || json.Unmarshal(schema, &s) != nil {
		return nil // true or false, or not what it should be
	}
	if s.Ref != "" {
		return fs.referred(s.Ref)
	}
	var f filler
	for _, p := range keys(s.Properties) {
		d := described{name: p.name, value: fs.defaultOf(p.value, 0), below: fs.of(p.value, depth+1)}
		if d.value != nil || d.below != nil {
			f.properties = append(f.properties, d)
		}
	}
	f.items = fs.of(s.Items, depth+1)
	if len(f.properties) == 0 && f.items == nil {
		return nil
	}
	return &f
}

func (fs *fillers) referred(ref string) *filler {
	if f, ok := fs.byRef[ref]; ok {
		return f
	}
	f := &filler{} // known before what it holds is, since that may refer back
	fs.byRef[ref] = f
	if target := fs.of(resolve(fs.root, ref), 0); target != nil {
		*f = *target
	}
	return f
}

// defaultOf is a schema's default, its own or that of what it refers to.
func (fs *fillers) defaultOf(schema json.RawMessage, depth int) json.RawMessage {
	var s map[string]json.RawMessage
	if depth > deepest || json.Unmarshal(schema, &s) != nil {
		return nil
	}
	if d, ok := s["default"]; ok {
		return d
	}
	var ref string
	if json.Unmarshal(s["$ref"], &ref) != nil {
		return nil
	}
	return fs.defaultOf(resolve(fs.root, ref), depth+1)
}

// resolve follows a reference within the document, nil for any other.
func resolve(root json.RawMessage, ref string) json.RawMessage {
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := root
	for rest != "" {
		var token string
		token, rest, _ = strings.Cut(strings.TrimPrefix(rest, "/"), "/")
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		var m map[string]json.RawMessage
		if json.Unmarshal(at, &m) != nil {
			return nil
		}
		if at = m[token]; at == nil {
			return nil
		}
	}
	return at
}

// write writes a value compactly, with the defaults of the properties that are not there. A nil filler adds
// none.
func (f *filler) write(b *bytes.Buffer, raw json.RawMessage) error {
	raw = bytes.TrimSpace(raw)
	switch {
	case f != nil && len(f.properties) > 0 && len(raw) > 0 && raw[0] == '{':
		return f.object(b, raw)
	case f != nil && f.items != nil && len(raw) > 0 && raw[0] == '[':
		return f.list(b, raw)
	}
	return json.Compact(b, raw)
}

func (f *filler) object(b *bytes.Buffer, raw json.RawMessage) error {
	have := keys(raw)
	b.WriteByte('{')
	first := true
	add := func(name string, value json.RawMessage, below *filler) error {
		if !first {
			b.WriteByte(',')
		}
		first = false
		enc := json.NewEncoder(b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(name); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1) // the encoder's line break
		b.WriteByte(':')
		return below.write(b, value)
	}
	for _, p := range have {
		var below *filler
		if i := slices.IndexFunc(f.properties, func(d described) bool { return d.name == p.name }); i >= 0 {
			below = f.properties[i].below
		}
		if err := add(p.name, p.value, below); err != nil {
			return err
		}
	}
	for _, d := range f.properties {
		if d.value == nil || slices.ContainsFunc(have, func(p property) bool { return p.name == d.name }) {
			continue
		}
		if err := add(d.name, d.value, d.below); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func (f *filler) list(b *bytes.Buffer, raw json.RawMessage) error {
	var all []json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	b.WriteByte('[')
	for i, v := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := f.items.write(b, v); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

// property is a key of an object and its value.
type property struct {
	name  string
	value json.RawMessage
}

// keys takes a JSON object apart in document order; nil if it is none.
func keys(raw json.RawMessage) []property {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var out []property
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil
		}
		p := property{name: t.(string)} // the decoder lets no other token stand for a key
		if dec.Decode(&p.value) != nil {
			return nil
		}
		out = append(out, p)
	}
	return out
}
