package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"parley/core"
)

// maxDocument bounds what is read of a document.
const maxDocument = 64 << 20

// document is a loaded document. root is its JSON value, from which schemas are taken as they are written;
// doc is what is left of it without them, with every reference resolved.
type document struct {
	root    map[string]any
	doc     *openapi3.T
	schemas []any // by the number that stands in doc in their place
	digest  string
}

// read gets the bytes of a document from a file or an address.
func read(ctx context.Context, client *http.Client, spec string) ([]byte, error) {
	if !isURL(spec) {
		f, err := os.Open(spec)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		return all(f)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, spec, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json, application/yaml, */*;q=0.8")
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered %s", resp.Status)
	}
	return all(resp.Body)
}

func all(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err == nil && len(b) > maxDocument {
		err = fmt.Errorf("the document is longer than %d bytes", maxDocument)
	}
	return b, err
}

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// parse loads a document, JSON or YAML. Nothing but its bytes is read.
func parse(data []byte) (d *document, err error) {
	defer func() {
		if p := recover(); p != nil { // a foreign document must not end the program
			d, err = nil, fmt.Errorf("the document cannot be read: %v", p)
		}
	}()
	root, err := value(data)
	if err != nil {
		return nil, err
	}
	version, _ := root["openapi"].(string)
	if n, ok := root["openapi"].(json.Number); ok { // 3.1 without quotes in YAML
		version = n.String()
	}
	if version != "3.0" && version != "3.1" && !strings.HasPrefix(version, "3.0.") && !strings.HasPrefix(version, "3.1.") {
		if _, old := root["swagger"]; old {
			return nil, errors.New("it is a Swagger 2.0 document: convert it to OpenAPI 3")
		}
		return nil, fmt.Errorf("want an OpenAPI document of version 3.0 or 3.1, not %q", version)
	}
	d = &document{root: root, digest: core.Digest(string(data))}
	if err := d.load(version); err != nil {
		return nil, err
	}
	return d, d.checkRefs()
}

// value reads JSON where it is JSON, else YAML.
func value(data []byte) (map[string]any, error) {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	var v any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil || dec.More() {
		var yamlErr error
		if v, yamlErr = fromYAML(data); yamlErr != nil {
			if len(data) > 0 && data[0] == '{' && err != nil {
				return nil, fmt.Errorf("it is no JSON: %w", err)
			}
			return nil, fmt.Errorf("it is neither JSON nor YAML: %w", yamlErr)
		}
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("it is no OpenAPI document: want an object")
	}
	return m, nil
}

// load hands the skeleton of the document to the loader, which resolves its references.
func (d *document) load(version string) error {
	b, err := json.Marshal(d.skeleton(version))
	if err != nil {
		return err
	}
	d.doc = &openapi3.T{}
	if err := json.Unmarshal(b, d.doc); err != nil {
		return err
	}
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = false
	return loader.ResolveRefsIn(d.doc, nil)
}

// lookup follows a reference within the document.
func (d *document) lookup(ref string) (any, error) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, fmt.Errorf("%q refers to another document: nothing is loaded but this one", ref)
	}
	var at any = d.root
	for i, part := range strings.Split(pointer, "/") {
		if i == 0 {
			if part != "" {
				return nil, fmt.Errorf("%q is no reference that can be followed: want #/…", ref)
			}
			continue
		}
		if plain, err := url.PathUnescape(part); err == nil {
			part = plain
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		next, found := step(at, part)
		if !found {
			return nil, fmt.Errorf("%q refers to nothing in the document", ref)
		}
		at = next
	}
	return at, nil
}

func step(at any, key string) (any, bool) {
	switch at := at.(type) {
	case map[string]any:
		v, ok := at[key]
		return v, ok
	case []any:
		for i, v := range at {
			if fmt.Sprint(i) == key {
				return v, true
			}
		}
	}
	return nil, false
}

// checkRefs follows every reference of the schemas that operations use.
func (d *document) checkRefs() error {
	seen := map[string]bool{}
	queue := append([]any(nil), d.schemas...)
	for len(queue) > 0 {
		v := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		switch v := v.(type) {
		case []any:
			queue = append(queue, v...)
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok && !seen[ref] {
				seen[ref] = true
				to, err := d.lookup(ref)
				if err != nil {
					return err
				}
				queue = append(queue, to)
			}
			for k, e := range v {
				if !literal[k] {
					queue = append(queue, e)
				}
			}
		}
	}
	return nil
}

// literal are the keywords of a schema whose value is no schema, whatever it looks like.
var literal = map[string]bool{"example": true, "examples": true, "enum": true, "const": true, "default": true, "discriminator": true}

// fields are the schemas of an object's properties, references followed.
func (d *document) fields(v any) map[string]map[string]any {
	out := map[string]map[string]any{}
	for name, p := range object(d.follow(v)["properties"]) {
		out[name] = d.follow(p)
	}
	return out
}

// follow returns the schema that a reference leads to, or the schema itself.
func (d *document) follow(v any) map[string]any {
	for range maxRefs {
		ref, ok := object(v)["$ref"].(string)
		if !ok {
			return object(v)
		}
		v, _ = d.lookup(ref) // checked at loading
	}
	return nil
}
