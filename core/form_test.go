package core_test

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/core"
)

func form(t *testing.T, schema string) core.Form {
	t.Helper()
	f, err := core.ParseForm(json.RawMessage(schema))
	if err != nil {
		t.Fatalf("ParseForm: %v", err)
	}
	return f
}

func TestParseFormKeepsTheOrderOfTheDocument(t *testing.T) {
	t.Parallel()
	f := form(t, `{"type":"object","properties":{"zeta":{"type":"string"},"alpha":{"type":"integer"},"mid":{"type":"boolean"}},"required":["alpha"]}`)
	var names []string
	for _, x := range f.Fields {
		names = append(names, x.Name)
	}
	if got := strings.Join(names, " "); got != "zeta alpha mid" {
		t.Errorf("fields in order %q", got)
	}
	if !f.Fields[1].Required || f.Fields[0].Required {
		t.Error("required is not what the schema says")
	}
}

func TestParseFormEnums(t *testing.T) {
	t.Parallel()
	two := []core.Option{{Value: "s", Label: "Small"}, {Value: "l", Label: "Large"}}
	for name, schema := range map[string]string{
		"enumNames": `{"type":"string","enum":["s","l"],"enumNames":["Small","Large"]}`,
		"oneOf":     `{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]}`,
		"anyOf":     `{"type":"string","anyOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]}`,
		"list":      `{"type":"array","items":{"anyOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]}}`,
		"list enum": `{"type":"array","items":{"type":"string","enum":["s","l"],"enumNames":["Small","Large"]}}`,
	} {
		f := form(t, `{"properties":{"size":`+schema+`}}`).Fields[0]
		want := core.FieldEnum
		if strings.HasPrefix(name, "list") {
			want = core.FieldMultiEnum
		}
		if f.Type != want || len(f.Enum) != 2 || f.Enum[0] != two[0] || f.Enum[1] != two[1] {
			t.Errorf("%s: %s of %v", name, f.Type, f.Enum)
		}
	}
}

func TestParseFormConfirmation(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{``, ` `, `{}`, `{"type":"object"}`, `{"type":"object","properties":{}}`} {
		if f := form(t, schema); len(f.Fields) != 0 {
			t.Errorf("%q: %d fields", schema, len(f.Fields))
		}
	}
}

func TestParseFormSecret(t *testing.T) {
	t.Parallel()
	f := form(t, `{"properties":{"a":{"type":"string","writeOnly":true},"b":{"type":"string","format":"password"},
		"api_key":{"type":"string"},"email":{"type":"string"},"tokens":{"type":"integer"}}}`)
	for i, want := range []bool{true, true, true, false, false} {
		if f.Fields[i].Secret != want {
			t.Errorf("%s: secret %v", f.Fields[i].Name, f.Fields[i].Secret)
		}
	}
	if !f.HasSecret() {
		t.Error("the form does not say that it has a secret")
	}
}

func TestParseFormRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, want string }{
		{`[]`, "want a JSON object"},
		{`null`, "want a JSON object"},
		{`{`, "ends too early"},
		{`{} {}`, "nothing after it"},
		{`{"type":"array"}`, "want object"},
		{`{"$ref":"#/x"}`, "$ref"},
		{`{"properties":{"a":{"type":"object","properties":{}}}}`, "nested objects"},
		{`{"properties":{"a":{"$ref":"#/x"}}}`, "$ref"},
		{`{"properties":{"a":{"type":"array","items":{"type":"string"}}}}`, "only of an enum"},
		{`{"properties":{"a":{"type":"array"}}}`, "only of an enum"},
		{`{"properties":{"a":{"type":["string","null"]}}}`, "type must be a string"},
		{`{"properties":{"a":{"type":"string","pattern":"(?=x)"}}}`, "pattern"},
		{`{"properties":{"a":{"type":"string"},"a":{"type":"string"}}}`, "occurs twice"},
		{`{"properties":{"a":{"type":"string","enum":[]}}}`, "no choices"},
		{`{"properties":{"a":{"type":"string","enum":["x","X "]}}}`, "two choices"},
		{`{"properties":{"a":{"enum":[1,2]}}}`, "no string"},
		{`{"properties":{"a":{"enum":["x","y"],"enumNames":["X"]}}}`, "1 names for 2"},
		{`{"properties":{"a":{"oneOf":[{"type":"string"},{"type":"null"}]}}}`, "{const, title}"},
		{`{"properties":{"a":{"type":"integer","default":"1"}}}`, "default does not fit"},
		{`{"properties":{"a":{"type":"integer","minimum":"1"}}}`, "minimum"},
		{`{"properties":{"a":{"type":"string","minLength":-1}}}`, "minLength"},
		{`{"properties":{"a":{"type":"integer","minimum":2,"maximum":1}}}`, "nothing would fit"},
		{`{"properties":{"a":{"type":"string","minLength":2,"maxLength":1}}}`, "nothing would fit"},
		{`{"properties":{"a":{"type":"array","items":{"enum":["x","y"]},"minItems":3}}}`, "2 choices"},
		{`{"properties":{"a":{"type":"number","multipleOf":0}}}`, "multipleOf"},
		{`{"properties":{"a":{"type":"string","oneOf":"x"}}}`, "must be a list"},
		{`{"required":"a"}`, "list of names"},
		{`{"properties":{},"required":["b"]}`, "no property"},
		{`{"properties":{"a":true}}`, "want a JSON object"},
	} {
		if _, err := core.ParseForm(json.RawMessage(c.schema)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.schema, err, c.want)
		}
	}
}

func TestParseFormListsEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := core.ParseForm(json.RawMessage(`{"properties":{"a":{"type":"object"},"b":{"type":"money"},"c":{"type":"string"},"d":{"type":"integer","default":"x"}},"required":["z"]}`))
	for _, want := range []string{`"a"`, `"b"`, `"d"`, `"z"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %s", err, want)
		}
	}
}

func TestFieldCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		schema    string
		fit, dont []string
	}{
		{`{"type":"boolean"}`, []string{`true`, `false`}, []string{`"false"`, `0`, `1`, `""`, `null`, `"yes"`, ``}},
		{`{"type":"integer","minimum":1,"maximum":10}`, []string{`3`, `3.0`, `1e1`, `30e-1`, `1`}, []string{`0`, `11`, `3.5`, `"3"`, `1e9`, `1e999999999999`, `-1`, `null`}},
		{`{"type":"integer"}`, []string{`0`, `-0`, `123456789012345678901234567890`, `1e400`}, []string{`0.1`, `1e-400`, `true`}},
		{`{"type":"number","minimum":0.3,"exclusiveMaximum":0.7}`, []string{`0.3`, `0.30`, `0.69`}, []string{`0.7`, `0.29`, `7e-1`, `"0.5"`}},
		{`{"type":"number","exclusiveMinimum":-1,"maximum":0}`, []string{`-0.5`, `0`}, []string{`-1`, `0.1`, `-2`}},
		{`{"type":"number","multipleOf":0.1}`, []string{`0.3`, `0`, `-1.1`}, []string{`0.35`, `1e-4000`}},
		{`{"type":"string","minLength":2,"maxLength":3}`, []string{`"ab"`, `"äöü"`}, []string{`"a"`, `"abcd"`, `""`, `12`}},
		{`{"type":"string"}`, []string{`""`, `"x"`}, []string{`0`, `false`, `null`, `[]`}},
		{`{"type":"string","pattern":"^[a-z]+$"}`, []string{`"abc"`}, []string{`"aB"`, `""`}},
		{`{"type":"string","enum":["small","large"]}`, []string{`"small"`}, []string{`"Small"`, `"medium"`, `1`, `null`}},
		{`{"type":"array","items":{"enum":["a","b"]},"minItems":1,"maxItems":2}`, []string{`["a"]`, `["b","a"]`}, []string{`[]`, `["a","a"]`, `["c"]`, `"a"`, `[1]`, `null`}},
		{`{"type":"string","format":"email"}`, []string{`"ana@example.test"`, `"a.b+c@ex-ample.com"`}, []string{`"ada@"`, `"ada at example.com"`, `"Ada <ada@example.com>"`, `" ada@example.com"`, `"a@b c"`, `""`}},
		{`{"type":"string","format":"uri"}`, []string{`"https://example.com/a?b=1&c=2"`, `"mailto:a@b.c"`, `"urn:x:y"`}, []string{`"example.com"`, `"https://"`, `"https://a b"`, `"/a"`, `""`}},
		{`{"type":"string","format":"date"}`, []string{`"2026-12-24"`, `"2028-02-29"`}, []string{`"2026-02-30"`, `"24.12.2026"`, `"2026-2-3"`}},
		{`{"type":"string","format":"date-time"}`, []string{`"2026-12-24T18:30:00Z"`, `"2026-12-24T18:30:00.5+02:00"`}, []string{`"2026-12-24"`, `"2026-12-24 18:30:00"`, `"2026-12-24T18:30:00,5Z"`}},
		{`{"type":"string","format":"time"}`, []string{`"18:30:00Z"`}, []string{`"18:30"`, `"25:00:00Z"`}},
		{`{"type":"string","format":"uuid"}`, []string{`"123e4567-e89b-12d3-a456-426614174000"`}, []string{`"123e4567e89b12d3a456426614174000"`, `"g23e4567-e89b-12d3-a456-426614174000"`}},
		{`{"type":"string","format":"ipv4"}`, []string{`"192.0.2.1"`}, []string{`"192.0.2"`, `"::1"`, `"192.0.2.256"`}},
		{`{"type":"string","format":"ipv6"}`, []string{`"2001:db8::1"`}, []string{`"fe80::1%eth0"`, `"192.0.2.1"`}},
		{`{"type":"string","format":"hostname"}`, []string{`"www.example.com"`}, []string{`"-a.com"`, `"a..b"`, `"a_b"`, `""`}},
		{`{"type":"string","format":"colour"}`, []string{`"anything"`}, []string{`1`}},
	} {
		f := form(t, `{"properties":{"f":`+c.schema+`}}`).Fields[0]
		for _, v := range c.fit {
			if reason := f.Check(json.RawMessage(v)); reason != "" {
				t.Errorf("%s: %s: %s", c.schema, v, reason)
			}
		}
		for _, v := range c.dont {
			if f.Check(json.RawMessage(v)) == "" {
				t.Errorf("%s: %s fits", c.schema, v)
			}
		}
	}
}

func TestFormCheckListsAll(t *testing.T) {
	t.Parallel()
	f := form(t, `{"properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"boolean"}},"required":["a","b"]}`)
	got := f.Check(map[string]json.RawMessage{"a": json.RawMessage(`"x"`), "z": json.RawMessage(`1`), "y": json.RawMessage(`1`)})
	var names []string
	for _, e := range got {
		names = append(names, e.Field)
	}
	if s := strings.Join(names, " "); s != "a b y z" {
		t.Errorf("bad fields %q, want a b y z", s)
	}
	if bad := f.Check(map[string]json.RawMessage{"a": json.RawMessage(`0`), "b": json.RawMessage(`""`), "c": json.RawMessage(`false`)}); bad != nil {
		t.Errorf("falsy values are values: %v", bad)
	}
}

func TestSameJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":[true,null]}`, `{ "b":[true,null], "a":1.0 }`, true},
		{`1e2`, `100`, true}, {`-0`, `0`, true}, {`0.10`, `1e-1`, true}, {`"\u0041"`, `"A"`, true},
		{`"1"`, `1`, false}, {`[1,2]`, `[2,1]`, false}, {`{"a":1}`, `{"a":1,"b":null}`, false},
		{`0`, `false`, false}, {`12345678901234567890`, `12345678901234567891`, false},
		{`{`, `{`, true}, {`{`, `{}`, false}, {`1e99999999999`, `1e99999999999`, true},
	} {
		if got := core.SameJSON(json.RawMessage(c.a), json.RawMessage(c.b)); got != c.same {
			t.Errorf("SameJSON(%s, %s) = %v", c.a, c.b, got)
		}
	}
}

func TestDigestsOfCalls(t *testing.T) {
	t.Parallel()
	a, b := json.RawMessage(`{"name":"staging","n":7}`), json.RawMessage(`{"n":7.0,"name":"staging"}`)
	if core.DeniedDigest("db__drop", a) != core.DeniedDigest("db__drop", b) {
		t.Error("a denied call spelt otherwise is another call")
	}
	if core.DeniedDigest("db__drop", a) == core.DeniedDigest("db__make", a) {
		t.Error("another tool has the same denied digest")
	}
	if core.CallHash("db__drop", a, "s") == core.CallHash("db__drop", b, "s") {
		t.Error("the hash of a call is not over its exact bytes")
	}
	if core.CallHash("db__drop", a, "s") == core.CallHash("db__drop", a, "t") {
		t.Error("the hash of a call is not over its spec")
	}
}

func FuzzParseForm(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string","enum":["x","y"]},"b":{"type":"integer","minimum":1}},"required":["a"]}`, `{"a":"x","b":2}`)
	f.Add(`{"properties":{"a":{"type":"number","multipleOf":0.1}}}`, `{"a":1e-30}`)
	f.Fuzz(func(t *testing.T, schema, fields string) {
		form, err := core.ParseForm(json.RawMessage(schema))
		if err != nil {
			if len(form.Fields) > 0 {
				t.Fatal("fields beside an error")
			}
			return
		}
		var m map[string]json.RawMessage
		if json.Unmarshal([]byte(fields), &m) != nil {
			return
		}
		bad := form.Check(m)
		for name := range m {
			if _, ok := form.Field(name); !ok && len(bad) == 0 {
				t.Fatalf("unknown field %q fits", name)
			}
		}
		for _, field := range form.Fields {
			if field.Default != nil && field.Check(field.Default) != "" {
				t.Fatalf("the default of %q does not fit", field.Name)
			}
		}
	})
}
