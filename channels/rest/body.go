package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/core"
)

// maxDepth bounds the nesting of a body.
const maxDepth = 64

// readBody takes a whole body of JSON.
func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, &Problem{Status: http.StatusUnsupportedMediaType, Code: "media_type", Detail: "send JSON with Content-Type: application/json"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &Problem{Status: http.StatusRequestEntityTooLarge, Code: "too_large", Detail: fmt.Sprintf("a body may have %d bytes", most)}
	case err != nil:
		return nil, badFields("the body could not be read to its end")
	case !utf8.Valid(body):
		return nil, badFields("the body is not UTF-8")
	}
	return body, nil
}

// decode reads a body into a struct: one JSON object, no key unknown, doubled or in another case, nothing
// behind it. Values are not coerced.
func decode(body []byte, into any) error {
	keys, err := keysOf(body)
	if err != nil {
		return badFields("the body is no JSON object: " + err.Error())
	}
	known := fieldNames(reflect.TypeOf(into).Elem())
	var bad []core.FieldError
	for i, k := range keys {
		switch {
		case !slices.Contains(known, k):
			bad = append(bad, core.FieldError{Field: k, Reason: "is not known here: want " + strings.Join(known, ", ")})
		case slices.Contains(keys[:i], k):
			bad = append(bad, core.FieldError{Field: k, Reason: "is there twice"})
		}
	}
	if len(bad) > 0 {
		return badFields("the body has keys that do not fit", bad...)
	}
	err = json.Unmarshal(body, into)
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &typ):
		return badFields("the body has a value of the wrong type", core.FieldError{Field: typ.Field, Reason: "is " + typ.Value + ": want " + wantedType(typ.Type)})
	case err != nil:
		return badFields("the body does not fit: " + err.Error())
	}
	return nil
}

func wantedType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a list"
	default:
		return "an object"
	}
}

func fieldNames(t reflect.Type) []string {
	var out []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out = append(out, name)
	}
	return out
}

// keysOf are the keys of an object's top level; the error says why the body is none. Objects within must not
// double a key either: two readers could take two different ones.
func keysOf(body []byte) ([]string, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	t, err := d.Token()
	if err != nil {
		return nil, plain(err)
	}
	if t != json.Delim('{') {
		return nil, errors.New("it begins otherwise")
	}
	var keys []string
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return nil, plain(err)
		}
		keys = append(keys, k.(string)) // a key is a string, or Token fails
		if err := distinct(d, 1); err != nil {
			return nil, err
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, plain(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something stands behind it")
	}
	return keys, nil
}

// distinct steps over the next value and refuses doubled keys and deep nesting in it.
func distinct(d *json.Decoder, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("it is nested deeper than %d", maxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return plain(err)
	}
	open, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			k, err := d.Token()
			if err != nil {
				return plain(err)
			}
			if name := k.(string); seen[name] {
				return fmt.Errorf("the key %q is there twice", name)
			} else {
				seen[name] = true
			}
		}
		if err := distinct(d, depth+1); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return plain(err)
	}
	return nil
}

func plain(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends too early")
	}
	return err
}
