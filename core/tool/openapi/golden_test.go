package openapi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/core/tool"
	"parley/core/tool/openapi"
	"parley/core/tool/schema"
)

var update = flag.Bool("update", false, "write the golden files")

// load makes a source of a document, or fails the test.
func load(t testing.TB, c openapi.Config) *openapi.Source {
	t.Helper()
	if c.Name == "" {
		c.Name = "api"
	}
	s, err := openapi.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The tools of documents, with their schemas as the model gets them.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*[0-9].[jy]*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		s := load(t, openapi.Config{Spec: f})
		var out bytes.Buffer
		for _, spec := range s.List() {
			verdict := tool.Decide(spec.Policy, json.RawMessage(`{}`))
			line, err := json.MarshalIndent(map[string]any{
				"name": spec.FullName(), "description": spec.Description, "type": spec.Type, "idempotent": spec.Idempotent,
				"target": spec.Target, "approval": verdict.Rule, "schema": spec.Schema,
			}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			out.Write(append(line, '\n'))
			if _, err := schema.Compile(spec.Schema); err != nil {
				t.Errorf("%s: %v", spec.FullName(), err)
			}
		}
		golden := strings.TrimSuffix(f, filepath.Ext(f)) + ".golden"
		if *update {
			if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%s: the tools changed; if that is meant, run with -update\n%s", f, out.String())
		}
	}
}

// The same document and another order of the same names make the same tools.
func TestSpecsAreStable(t *testing.T) {
	t.Parallel()
	first := load(t, openapi.Config{Spec: "testdata/shop30.yaml"}).List()
	for range 5 {
		for i, spec := range load(t, openapi.Config{Spec: "testdata/shop30.yaml"}).List() {
			if spec.FullName() != first[i].FullName() || !bytes.Equal(spec.Schema, first[i].Schema) || spec.Target != first[i].Target {
				t.Fatalf("%s changed: %s, %s", spec.FullName(), spec.Schema, first[i].Schema)
			}
		}
	}
}
