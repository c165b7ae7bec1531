package schema_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"parley/core/tool/schema"
)

const drop = `{"type":"object","properties":{
	"name":{"type":"string","minLength":1},"force":{"type":"boolean","default":false},
	"days":{"type":"integer","default":7},"at":{"type":"string","format":"date"}},
	"required":["name"],"additionalProperties":false}`

const nested = `{"$defs":{"line":{"properties":{"sku":{"type":"string"},"amount":{"type":"integer","default":1}}}},
	"properties":{"body":{"$ref":"#/$defs/line"},"lines":{"type":"array","items":{"$ref":"#/$defs/line"}}}}`

func TestPrepare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, args, want string }{
		{drop, `{"name":"staging"}`, `{"name":"staging","force":false,"days":7}`},
		{drop, " {\n\"days\": 3, \"name\": \"x\" } ", `{"days":3,"name":"x","force":false}`},
		{drop, `{"force":true,"days":0,"name":"<b>"}`, `{"force":true,"days":0,"name":"<b>"}`},
		{drop, `{"name":"x","days":7.0}`, `{"name":"x","days":7.0,"force":false}`},
		{``, ``, `{}`},
		{``, `  `, `{}`},
		{`{"properties":{"a":{"default":{"x":[1, 2]}},"b":true}}`, `{}`, `{"a":{"x":[1,2]}}`},
		// Defaults below: of objects and items that are there, by reference, and of a default itself.
		{nested, `{"body":{"sku":"a"}}`, `{"body":{"sku":"a","amount":1}}`},
		{nested, `{"body":{"amount":2,"<k>":"é"},"lines":[{"sku":"a"}, {"amount":3}, 7]}`, `{"body":{"amount":2,"<k>":"é"},"lines":[{"sku":"a","amount":1},{"amount":3},7]}`},
		{nested, `{"body":"text"}`, `{"body":"text"}`},
		{`{"properties":{"a":{"default":{},"properties":{"b":{"default":1}}}}}`, `{}`, `{"a":{"b":1}}`},
		{`{"properties":{"a":{"anyOf":[{"properties":{"b":{"default":1}}},{"type":"object"}]}}}`, `{"a":{}}`, `{"a":{}}`},
		{`{"properties":{"l":{"$ref":"#"},"r":{"$ref":"#"},"n":{"default":0}}}`, `{"l":{"l":{}},"r":{"n":1}}`, `{"l":{"l":{"n":0},"n":0},"r":{"n":1},"n":0}`},
		{`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`, `{}`, `{}`},
		{`{"type":"object"}`, `{"n":12345678901234567890123}`, `{"n":12345678901234567890123}`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/definitions/n"}}}`, `{"a":1}`, `{"a":1}`},
		{`{"properties":{"a":{"type":"string","pattern":"^(?=x)"}}}`, `{"a":"y"}`, `{"a":"y"}`}, // not RE2: the tool's to check
	} {
		got, problems := schema.Prepare(json.RawMessage(c.schema), json.RawMessage(c.args))
		if problems != nil || string(got) != c.want {
			t.Errorf("%s: %s, %q; want %s", c.args, got, problems, c.want)
		}
	}
}

// PR-11: arguments that are no object never reach a policy or a tool.
func TestPR11PrepareRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{`null`, "null: send one JSON object"},
		{`[]`, "a list: send one JSON object"},
		{`"x"`, "a string"}, {`7`, "a number"}, {`true`, "a boolean"},
		{`{`, "not valid JSON"}, {`{"name":}`, "not valid JSON"}, {`{"name":"x"}}`, "not valid JSON"}, {`{"name":"x"} {}`, "something follows"},
		{`name=x`, "not valid JSON"},
		{"{\"name\":\"\xff\"}", "not valid UTF-8"},
		{`{"name":"x","name":"y"}`, "/name occurs twice"},
		{`{"name":"x","at":[{"a":1,"a":2}]}`, "/at/0/a occurs twice"},
		{`{"name":"x","days":1e999999999}`, "/days: the number 1e999999999 is out of range"},
		{`{}`, "'name'"},
		{`{"name":""}`, "/name: "},
		{`{"name":"x","days":"3"}`, "/days: got string, want integer"},
		{`{"name":"x","force":"false"}`, "/force: got string, want boolean"},
		{`{"name":"x","at":"2026-02-30"}`, "/at: "},
		{`{"name":"x","extra":1}`, "'extra'"},
	} {
		got, problems := schema.Prepare(json.RawMessage(drop), json.RawMessage(c.args))
		if got != nil || !strings.Contains(strings.Join(problems, "\n"), c.want) {
			t.Errorf("%s: %s, %q; want %q", c.args, got, problems, c.want)
		}
	}
}

func TestPrepareListsEveryProblem(t *testing.T) {
	t.Parallel()
	_, problems := schema.Prepare(json.RawMessage(drop), json.RawMessage(`{"days":"x","force":0,"at":1}`))
	if len(problems) != 4 {
		t.Errorf("problems %q, want 4", problems)
	}
	var many strings.Builder
	for range 50 {
		many.WriteString(`"x",`)
	}
	args := `{"a":[` + strings.TrimSuffix(many.String(), ",") + `]}`
	_, problems = schema.Prepare(json.RawMessage(`{"properties":{"a":{"items":{"type":"integer"}}}}`), json.RawMessage(args))
	if len(problems) != 21 || problems[20] != "and 30 more" {
		t.Errorf("%d problems, the last %q", len(problems), problems[len(problems)-1])
	}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		`[]`, `true`, `{`, `{"type":7}`, `{"$ref":"https://example.com/x.json"}`, `{"$ref":"file:///etc/passwd"}`,
		`{"$ref":"#/nowhere"}`, `{"$schema":"https://example.com/mine"}`, `{"a":1,"a":2}`, `{"minimum":1e999999999}`,
	} {
		if _, err := schema.Compile(json.RawMessage(bad)); err == nil {
			t.Errorf("%s compiles", bad)
		}
		if got, problems := schema.Prepare(json.RawMessage(bad), json.RawMessage(`{}`)); got != nil || len(problems) != 1 {
			t.Errorf("%s: %s, %q", bad, got, problems)
		}
	}
}

func TestCheckersAreKeptAndShared(t *testing.T) {
	t.Parallel()
	s := json.RawMessage(`{"type":"object","properties":{"shared":{"type":"integer"}}}`)
	first, err := schema.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			c, err := schema.Compile(s)
			if err != nil {
				t.Error(err)
				return
			}
			if c != first {
				t.Error("compiled again")
			}
			if _, problems := c.Prepare(json.RawMessage(`{"shared":"x"}`)); len(problems) != 1 {
				t.Errorf("problems %q", problems)
			}
		})
	}
	wg.Wait()
}

func FuzzPrepare(f *testing.F) {
	for _, s := range []string{`{"name":"x"}`, ``, `null`, `{"name":"x","days":1e5}`, `{"name":"x","a":{"b":[1,{}]}}`, `{"a":1,"a":2}`} {
		f.Add(drop, s)
		f.Add(`{}`, s)
	}
	f.Fuzz(func(t *testing.T, s, args string) {
		frozen, problems := schema.Prepare(json.RawMessage(s), json.RawMessage(args))
		if (frozen == nil) == (problems == nil) {
			t.Fatalf("frozen %q and problems %q", frozen, problems)
		}
		if frozen == nil {
			return
		}
		if !json.Valid(frozen) || frozen[0] != '{' {
			t.Fatalf("frozen %q is no JSON object", frozen)
		}
		again, problems := schema.Prepare(json.RawMessage(s), frozen)
		if problems != nil || string(again) != string(frozen) {
			t.Fatalf("frozen %q became %q, %q", frozen, again, problems)
		}
	})
}
