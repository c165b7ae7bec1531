package openapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/core/tool"
	"parley/core/tool/openapi"
	"parley/core/tool/schema"
)

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	ok := document("get", "/p", `"summary":"x"`)
	good := openapi.Config{Name: "api", BaseURL: "https://x.test", Document: ok}
	with := func(change func(*openapi.Config)) openapi.Config {
		c := good
		change(&c)
		return c
	}
	doc := func(s string) openapi.Config { return with(func(c *openapi.Config) { c.Document = []byte(s) }) }
	op := func(rest string) openapi.Config {
		return with(func(c *openapi.Config) { c.Document = document("post", "/p", rest) })
	}
	body := func(schema string) openapi.Config {
		return op(`"requestBody":{"content":{"application/json":{"schema":` + schema + `}}}`)
	}
	for _, c := range []struct {
		name string
		c    openapi.Config
		want string
	}{
		{"no name", with(func(c *openapi.Config) { c.Name = "" }), "name: want 1 to 32"},
		{"a bad name", with(func(c *openapi.Config) { c.Name = "a.b" }), "name: want"},
		{"a bad policy", with(func(c *openapi.Config) { c.Approval.Default = "no" }), `approval.default: "no" is not never, always or destructive`},
		{"a reserved header", with(func(c *openapi.Config) { c.Headers = map[string]string{"parley-actor": "x"} }), "headers.parley-actor: it is set with each call"},
		{"a broken header", with(func(c *openapi.Config) { c.Headers = map[string]string{"X-A": "a\nb"} }), "headers.X-A: it cannot be sent"},
		{"a base that is none", with(func(c *openapi.Config) { c.BaseURL = "shop.test" }), `the server "shop.test" is no address`},
		{"a base with a password", with(func(c *openapi.Config) { c.BaseURL = "https://u:p@x.test" }), "has a user"},
		{"no base", with(func(c *openapi.Config) { c.BaseURL = "" }), "set baseURL"},
		{"no file", with(func(c *openapi.Config) { c.Document, c.Spec = nil, "testdata/none.yaml" }), "read testdata/none.yaml"},
		{"no document", with(func(c *openapi.Config) { c.Document, c.Spec = nil, "" }), "load OpenAPI source api"},
		{"empty", doc(" "), "neither JSON nor YAML"}, {"text", doc("hello"), "want an object"}, {"broken JSON", doc(`{"openapi":`), "no JSON"},
		{"broken YAML", doc("a: [\n"), "neither JSON nor YAML"}, {"swagger", doc("swagger: '2.0'"), "Swagger 2.0"}, {"3.2", doc("openapi: 3.2.0"), `not "3.2.0"`},
		{"no operations", doc("openapi: 3.1.0\npaths: {}"), "has no operations"},
		{"another document", body(`{"$ref":"other.yaml#/X"}`), `"other.yaml#/X" refers to another document`},
		{"another host", body(`{"items":{"$ref":"https://evil.test/x.json"}}`), "refers to another document"},
		{"a file", body(`{"$ref":"/etc/passwd"}`), "refers to another document"},
		{"nothing", body(`{"properties":{"a":{"$ref":"#/components/schemas/None"}}}`), `"#/components/schemas/None" refers to nothing`},
		{"another document's parameter", op(`"parameters":[{"$ref":"other.yaml#/p"}]`), "external reference"},
		{"no such parameter", op(`"parameters":[{"$ref":"#/components/parameters/none"}]`), "none"},
		{"another document's path", doc(`{"openapi":"3.1.0","paths":{"/p":{"$ref":"other.yaml"}}}`), "external reference"},
		{"a path that refers to itself", doc(`{"openapi":"3.1.0","paths":{"/p":{"$ref":"#/paths/~1p"}}}`), ""},
		{"a parameter of nowhere", op(`"parameters":[{"name":"x","in":"body"}]`), "body"},
		{"a server that is none", with(func(c *openapi.Config) {
			c.BaseURL, c.Document = "", []byte(`{"openapi":"3.1.0","servers":[{"url":"ftp://x"}],"paths":{"/p":{"get":{}}}}`)
		}), `the server "ftp://x" is no address`},
		{"a bomb", doc("openapi: 3.1.0\na: &a [" + strings.Repeat("x,", 9) + "]\nb: &b [" + strings.Repeat("*a,", 9) + "]\nc: &c [" + strings.Repeat("*b,", 99) + "]\nd: &d [" + strings.Repeat("*c,", 99) + "]\ne: [" + strings.Repeat("*d,", 99) + "]\n"), "neither JSON nor YAML"},
	} {
		_, err := openapi.New(t.Context(), c.c)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "load OpenAPI source ") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := openapi.New(t.Context(), good); err != nil {
		t.Error(err)
	}
}

// A document at an address: servers are relative to it, and it is fetched like any other request.
func TestLoadFromAddress(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/docs/spec.yaml" {
			_, _ = fmt.Fprint(w, "openapi: 3.0.0\nservers: [{url: ../v1}]\npaths:\n  /p: {get: {operationId: op, responses: {200: {description: ok}}}}\n")
			return
		}
		if r.URL.Path == "/docs/none" {
			http.NotFound(w, r)
		}
	})
	s := load(t, openapi.Config{Spec: a.URL + "/docs/spec.yaml", Client: client(t), Headers: map[string]string{"X-Key": "k"}})
	if _, err := run(t, s, "api__op", `{}`); err != nil {
		t.Fatal(err)
	}
	got := a.got()
	if got[1].uri != "/v1/p" || got[0].header.Get("X-Key") != "" || got[1].header.Get("X-Key") != "k" {
		t.Errorf("%+v", got)
	}
	if _, err := openapi.New(t.Context(), openapi.Config{Name: "api", Spec: a.URL + "/docs/none", Client: client(t)}); err == nil || !strings.Contains(err.Error(), "404") {
		t.Error(err)
	}
	if _, err := openapi.New(t.Context(), openapi.Config{Name: "api", Spec: a.URL + "/docs/spec.yaml"}); err == nil || !strings.Contains(err.Error(), "outbound.allowPrivate") {
		t.Error(err)
	}
}

// The credentials of a source do not go to another server that its document names for an operation.
func TestHeadersGoToTheBaseOnly(t *testing.T) {
	t.Parallel()
	a, other := newAPI(t, nil), newAPI(t, nil)
	doc := []byte(`{"openapi":"3.1.0","servers":[{"url":"` + a.URL + `"}],"paths":{"/p":{"get":{"operationId":"here"}},
		"/q":{"get":{"operationId":"there","servers":[{"url":"` + other.URL + `"}]}}}}`)
	c := openapi.Config{Document: doc, Client: client(t), Headers: map[string]string{"X-Key": "k"}}
	s := load(t, c)
	for _, name := range []string{"api__here", "api__there"} {
		if _, err := run(t, s, name, `{}`); err != nil {
			t.Fatal(err)
		}
	}
	if a.got()[0].header.Get("X-Key") != "k" || other.got()[0].header.Get("X-Key") != "" {
		t.Error("the key went elsewhere")
	}
	c.BaseURL = a.URL
	if _, err := run(t, load(t, c), "api__there", `{}`); err != nil || len(other.got()) != 1 {
		t.Errorf("baseURL does not beat the document's servers: %v", err)
	}
}

// Schemas that loop, contradict themselves or are written badly still make a tool that can be called.
func TestOddSchemas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, value string }{
		{`{"$ref":"#/components/schemas/Self"}`, `{"a":1}`}, {`{"$ref":"#/components/schemas/Ping"}`, `1`}, {`{"$ref":"#/components/schemas/All"}`, `null`},
		{`{"type":"any","minLength":-1,"required":true,"enum":[],"multipleOf":0,"minimum":"x","properties":[],"items":[{}]}`, `"x"`},
		{`{"type":["string","file"],"pattern":"^(?!x)","enum":["a","a"]}`, `"a"`},
		{`{"type":"string","pattern":"(","patternProperties":{"(":{}}}`, `"a"`},
		{`{"nullable":true,"type":"string","enum":["a"]}`, `null`}, {`{"nullable":true,"$ref":"#/components/schemas/Text"}`, `null`},
		{`{"nullable":true,"type":"object","allOf":[{"type":"object"}]}`, `null`}, {`{"nullable":true}`, `7`},
		{`{"type":"string","$schema":"http://example.test/mine","$id":"x","$anchor":"y","$dynamicRef":"#z"}`, `"x"`},
		{`{"minimum":1e999}`, `5`},
	} {
		doc := document("post", "/p", `"requestBody":{"content":{"application/json":{"schema":`+c.schema+`}}}`)
		doc = append(doc[:len(doc)-1], `,"components":{"schemas":{"Self":{"$ref":"#/components/schemas/Self"},"Ping":{"$ref":"#/components/schemas/Pong"},
			"Pong":{"$ref":"#/components/schemas/Ping"},"All":{"nullable":true,"allOf":[{"$ref":"#/components/schemas/Self"}]},"Text":{"type":"string"}}}}`...)
		s := load(t, openapi.Config{Document: doc, BaseURL: "https://x.test"})
		if _, problems := schema.Prepare(s.List()[0].Schema, json.RawMessage(`{"body":`+c.value+`}`)); len(problems) > 0 {
			t.Errorf("%s: %q, schema %s", c.schema, problems, s.List()[0].Schema)
		}
	}
}

// Flags in quotes and descriptions that are numbers do not spoil a document.
func TestOddParameters(t *testing.T) {
	t.Parallel()
	s := load(t, openapi.Config{BaseURL: "https://x.test", Document: document("get", "/p", `"parameters":[
		{"name":"a","in":"query","required":"true","description":7,"style":[],"schema":{"type":"string"}},{"name":"b","in":"query","required":"yes","explode":"no"},{"name":7,"in":"query"}]`)})
	if got := string(s.List()[0].Schema); got != `{"additionalProperties":false,"properties":{"a":{"type":"string"},"b":{}},"required":["a"],"type":"object"}` {
		t.Error(got)
	}
}

// A default that its own schema refuses would make every call fail.
func TestDefaultsThatDoNotFitAreLeftOut(t *testing.T) {
	t.Parallel()
	var ps []string
	for i, s := range []string{`"type":"integer","default":"x"`, `"type":"string","minLength":3,"default":"x"`, `"type":"string","enum":["a"],"default":"b"`, `"type":"integer","default":7`} {
		ps = append(ps, fmt.Sprintf(`{"name":"p%d","in":"query","schema":{%s}}`, i, s))
	}
	s := load(t, openapi.Config{Document: document("get", "/p", `"parameters":[`+strings.Join(ps, ",")+`]`), BaseURL: "https://x.test"})
	frozen, problems := schema.Prepare(s.List()[0].Schema, nil)
	if string(frozen) != `{"p3":7}` {
		t.Errorf("%s, %q", frozen, problems)
	}
}

// large is a document of n operations, two schemas each, with cycles.
func large(n int) []byte {
	var paths, schemas []string
	for i := range n {
		method := []string{"get", "post", "delete", "put"}[i%4]
		paths = append(paths, fmt.Sprintf(`"/things/%d/{id}":{"%s":{"operationId":"thing%d/%s","summary":"%s thing number %d","description":"%s","tags":["t%d"],
			"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}},{"name":"page","in":"query","schema":{"type":"integer","default":1}}],
			"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/A%d"}}}},
			"responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"$ref":"#/components/schemas/B%d"},"example":%s}}}}}}`,
			i, method, i, method, method, i, strings.Repeat("It does a thing. ", 20), i%20, i, i, `{"a":[`+strings.Repeat(`{"id":1,"name":"x"},`, 50)+`{}]}`))
		for _, kind := range []string{"A", "B"} {
			var props []string
			for p := range 20 {
				props = append(props, fmt.Sprintf(`"p%d":{"type":"string","nullable":true,"description":"Property %d of a thing."}`, p, p))
			}
			schemas = append(schemas, fmt.Sprintf(`"%s%d":{"type":"object","properties":{%s,"next":{"$ref":"#/components/schemas/%s%d"}}}`, kind, i, strings.Join(props, ","), kind, (i/10*10+(i+1)%10)%n))
		}
	}
	return []byte(`{"openapi":"3.0.3","info":{"title":"t","version":"1"},"paths":{` + strings.Join(paths, ",") + `},"components":{"schemas":{` + strings.Join(schemas, ",") + `}}}`)
}

// A document of a thousand operations loads in two seconds, a real one given by PARLEY_OPENAPI too.
func TestLargeDocumentsLoadInTime(t *testing.T) {
	t.Parallel()
	docs := map[string][]byte{"generated": large(1000)}
	if name := os.Getenv("PARLEY_OPENAPI"); name != "" {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		docs[filepath.Base(name)] = b
	}
	for name, doc := range docs {
		var s *openapi.Source
		took := time.Hour
		for try := 0; try < 3 && took > 2*time.Second*slower; try++ { // other tests may hold the processor
			start := time.Now()
			s = load(t, openapi.Config{Document: doc, BaseURL: "https://x.test"})
			took = time.Since(start)
		}
		if n := len(s.Traits()); n < 1000 || len(s.List()) != 2 {
			t.Errorf("%s: %d operations, %d tools", name, n, len(s.List()))
		}
		if took > 2*time.Second*slower {
			t.Errorf("%s: %d bytes took %v", name, len(doc), took)
		}
		for i, trait := range s.Traits() {
			if name == "generated" && i%50 > 0 {
				continue // all alike
			}
			op, _ := s.Lookup("api__" + trait.Tool)
			if _, err := schema.Compile(op.Spec().Schema); err != nil {
				t.Errorf("%s: %s: %v", name, trait.Tool, err)
			}
		}
		t.Logf("%s: %d operations of %d bytes in %v", name, len(s.Traits()), len(doc), took)
	}
}

func BenchmarkLoad(b *testing.B) {
	doc := large(1000)
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		load(b, openapi.Config{Document: doc, BaseURL: "https://x.test"})
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(document("get", "/p/{v}", `"parameters":[`+parameter("v", "path", `,"style":"matrix"`)+`]`))
	f.Add([]byte(`{"openapi":"3.0.0","paths":{"/p":{"post":{"requestBody":{"content":{"*/*":{"schema":{"nullable":true,"type":"integer","minimum":1,"exclusiveMinimum":true}}}}}}}}`))
	f.Add([]byte("openapi: 3.1.0\npaths: {/p: {get: {parameters: [{name: x, in: query, schema: {$ref: '#/x'}}]}}}\nx: {allOf: [{$ref: '#/x'}]}"))
	f.Add([]byte("a: &a {b: *a}"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		s, err := openapi.New(t.Context(), openapi.Config{Name: "api", Document: doc, BaseURL: "https://x.test"})
		if err != nil {
			return
		}
		names := map[string]bool{}
		for _, spec := range s.List() {
			if _, err := tool.NewRegistry(mustLookup(t, s, spec.FullName())); err != nil || names[spec.FullName()] {
				t.Errorf("%s: %v", spec.FullName(), err)
			}
			names[spec.FullName()] = true
			if _, err := schema.Compile(spec.Schema); err != nil {
				t.Errorf("%s: %v: %s", spec.FullName(), err, spec.Schema)
			}
		}
	})
}

func mustLookup(t *testing.T, s *openapi.Source, name string) tool.Tool {
	t.Helper()
	found, ok := s.Lookup(name)
	if !ok {
		t.Fatalf("%s is listed and not found", name)
	}
	return found
}
