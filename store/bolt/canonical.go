package bolt

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// canonical gives a value, in place, the form it has after a round through JSON, and reports whether it
// surely has it: where it cannot tell, the row is decoded when it is first read. Nobody else may hold the
// value's memory.
func canonical(v reflect.Value) bool {
	f, ok := former(v.Type())
	return ok && (f == nil || f(v))
}

// form is canonical for one type; nil: every value is as it should be.
type form func(reflect.Value) bool

type known struct {
	form form
	ok   bool // values of the type can be judged at all
}

var formers sync.Map // by type

func former(t reflect.Type) (form, bool) {
	if k, ok := formers.Load(t); ok {
		return k.(known).form, k.(known).ok
	}
	f, ok := newForm(t, "")
	formers.Store(t, known{f, ok})
	return f, ok
}

var ownJSON = []reflect.Type{
	reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextMarshaler](),
	reflect.TypeFor[encoding.TextUnmarshaler](), reflect.TypeFor[interface{ IsZero() bool }](),
}

// newForm makes the form of a type as it stands in a field with these options. ok is false for a type that
// is encoded in a way of its own.
func newForm(t reflect.Type, options string) (f form, ok bool) {
	omitted := strings.Contains(options, "omitempty")
	switch {
	case strings.Contains(options, "string"):
		return nil, false
	case t == reflect.TypeFor[time.Time]():
		return timeForm, true
	case t == reflect.TypeFor[json.RawMessage]():
		return func(v reflect.Value) bool { return rawForm(v, omitted) }, true
	}
	for _, own := range ownJSON {
		if t.Implements(own) || reflect.PointerTo(t).Implements(own) {
			return nil, false
		}
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint64:
		return nil, true
	case reflect.String:
		return func(v reflect.Value) bool { return utf8.ValidString(v.String()) }, true
	case reflect.Struct:
		return structForm(t)
	case reflect.Slice:
		return sliceForm(t, omitted)
	case reflect.Map:
		return mapForm(t, omitted)
	case reflect.Pointer:
		inner, ok := newForm(t.Elem(), "")
		return func(v reflect.Value) bool { return v.IsNil() || inner == nil || inner(v.Elem()) }, ok && t.Elem().Kind() != reflect.Pointer
	}
	return nil, false
}

// timeForm drops what a stored time does not have: the reading of the monotonic clock, another name of UTC.
func timeForm(v reflect.Value) bool {
	t := v.Addr().Interface().(*time.Time)
	*t = t.Round(0)
	_, offset := t.Zone()
	if offset == 0 {
		*t = t.UTC()
		return true
	}
	return t.Location() == time.Local && offset%60 == 0 && !t.IsZero()
}

// rawForm accepts JSON that is written without white space: it is stored as it stands.
func rawForm(v reflect.Value, omitted bool) bool {
	raw := v.Bytes()
	if len(raw) == 0 {
		v.SetZero()
		return omitted
	}
	quoted := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && c <= ' ':
			return false
		}
	}
	return string(raw) != "null"
}

func structForm(t reflect.Type) (form, bool) {
	type field struct {
		at   int
		form form
	}
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		if !f.IsExported() || f.Anonymous {
			return nil, false
		}
		if tag == "-" { // not stored
			fields = append(fields, field{i, func(v reflect.Value) bool { v.SetZero(); return true }})
			continue
		}
		_, options, _ := strings.Cut(tag, ",")
		inner, ok := newForm(f.Type, options)
		if !ok {
			return nil, false
		}
		if inner != nil {
			fields = append(fields, field{i, inner})
		}
	}
	return func(v reflect.Value) bool {
		for _, f := range fields {
			if !f.form(v.Field(f.at)) {
				return false
			}
		}
		return true
	}, true
}

func sliceForm(t reflect.Type, omitted bool) (form, bool) {
	inner, ok := newForm(t.Elem(), "")
	return func(v reflect.Value) bool {
		n := v.Len()
		if n == 0 && omitted {
			v.SetZero()
		}
		for i := 0; inner != nil && i < n; i++ {
			if !inner(v.Index(i)) {
				return false
			}
		}
		return true
	}, ok && t.Elem().Kind() != reflect.Uint8
}

func mapForm(t reflect.Type, omitted bool) (form, bool) {
	inner, ok := newForm(t.Elem(), "")
	return func(v reflect.Value) bool {
		if v.Len() == 0 && omitted {
			v.SetZero()
		}
		for all := v.MapRange(); all.Next(); {
			if !utf8.ValidString(all.Key().String()) {
				return false
			}
			if inner == nil {
				continue
			}
			e := reflect.New(t.Elem()).Elem()
			e.Set(all.Value())
			if !inner(e) {
				return false
			}
			v.SetMapIndex(all.Key(), e)
		}
		return true
	}, ok && t.Key().Kind() == reflect.String
}
