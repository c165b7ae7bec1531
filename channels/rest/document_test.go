package rest_test

import (
	"bytes"
	"encoding/json"
	"mime"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const documentURL = "https://example.com/openapi.json"

// loaded is the served document and a compiler for the schemas in it.
var loaded = sync.OnceValue(func() (d struct {
	doc      any
	compiler *jsonschema.Compiler
	mu       *sync.Mutex
	schemas  map[string]*jsonschema.Schema
}) {
	raw, err := os.ReadFile("openapi.json")
	if err != nil {
		panic(err)
	}
	if d.doc, err = jsonschema.UnmarshalJSON(bytes.NewReader(raw)); err != nil {
		panic(err)
	}
	d.compiler = jsonschema.NewCompiler()
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(documentURL, d.doc); err != nil {
		panic(err)
	}
	d.mu, d.schemas = &sync.Mutex{}, map[string]*jsonschema.Schema{}
	return d
})

func at(t testing.TB, v any, keys ...string) any {
	t.Helper()
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok || m[k] == nil {
			return nil
		}
		v = m[k]
	}
	return v
}

// template finds the address of the document that a path fits.
func template(t testing.TB, path string) string {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	paths, _ := at(t, loaded().doc, "paths").(map[string]any)
	best := ""
next:
	for p := range paths {
		want := strings.Split(p, "/")
		if len(want) != len(parts) {
			continue
		}
		for i := range want {
			if want[i] != parts[i] && !strings.HasPrefix(want[i], "{") {
				continue next
			}
		}
		if best == "" || !strings.Contains(p, "{") {
			best = p
		}
	}
	return best
}

// checkDocument holds a response against the document: its address, method, status, type and body.
func checkDocument(t testing.TB, method, path string, a answer) {
	t.Helper()
	p := template(t, path)
	operation := at(t, loaded().doc, "paths", p, strings.ToLower(method))
	if p == "" || operation == nil {
		if a.status != 404 && a.status != 405 {
			t.Errorf("%s %s is not in the document and answers %d", method, path, a.status)
		}
		checkSchema(t, "/components/schemas/Problem", a.body)
		return
	}
	status := strconv.Itoa(a.status)
	if at(t, operation, "responses", status) == nil {
		t.Errorf("%s %s: the document has no status %s: %s", method, p, status, a.body)
		return
	}
	if at(t, operation, "responses", status, "content") == nil {
		if len(a.body) > 0 {
			t.Errorf("%s %s: %s has a body: %s", method, p, status, a.body)
		}
		return
	}
	kind, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil || at(t, operation, "responses", status, "content", kind) == nil {
		t.Errorf("%s %s: status %s has the type %q", method, p, status, a.header.Get("Content-Type"))
		return
	}
	if kind == "text/event-stream" {
		return
	}
	esc := strings.NewReplacer("~", "~0", "/", "~1")
	checkSchema(t, strings.Join([]string{"", "paths", esc.Replace(p), strings.ToLower(method), "responses", status, "content", esc.Replace(kind), "schema"}, "/"), a.body)
}

// schemaAt compiles a schema of the document once: the compiler takes one at a time.
func schemaAt(pointer string) (*jsonschema.Schema, error) {
	d := loaded()
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.schemas[pointer]; s != nil {
		return s, nil
	}
	s, err := d.compiler.Compile(documentURL + "#" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(pointer))
	if err == nil {
		d.schemas[pointer] = s
	}
	return s, err
}

func checkSchema(t testing.TB, pointer string, body []byte) {
	t.Helper()
	s, err := schemaAt(pointer)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s does not fit the document: %v", body, err)
	}
}

// TestDocumentIsServed: anybody may read it, and every reference in it leads somewhere.
func TestDocumentIsServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.want(w.do("", "GET", "/v1/openapi.json", nil), 200)
	var doc struct {
		OpenAPI    string
		Components struct{ Schemas map[string]json.RawMessage }
	}
	a.into(t, &doc)
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("openapi %q", doc.OpenAPI)
	}
	for name := range doc.Components.Schemas {
		if _, err := schemaAt("/components/schemas/" + name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
