package program

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestSchemaAndStructsAgree walks both side by side: every key of one is a key of the other.
func TestSchemaAndStructsAgree(t *testing.T) {
	t.Parallel()
	var doc map[string]any
	must(t, json.Unmarshal(configSchema, &doc))
	agree(t, doc, doc, reflect.TypeFor[Config](), "")
}

func agree(t *testing.T, doc, schema map[string]any, typ reflect.Type, at Path) {
	if ref, ok := schema["$ref"].(string); ok {
		schema = doc["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	sub := func(key string) map[string]any { s, _ := schema[key].(map[string]any); return s }
	want := map[reflect.Kind]string{reflect.Bool: "boolean", reflect.Int: "integer", reflect.String: "string", reflect.Slice: "array", reflect.Map: "object", reflect.Struct: "object"}[typ.Kind()]
	if got, is := schema["type"].(string); is && got != want {
		t.Errorf("%s: the schema says %s, the struct %s", at, got, typ)
	}
	_, values := schema["additionalProperties"].(map[string]any) // a map whose keys people choose
	if want == "object" && typ != reflect.TypeFor[Expiry]() && schema["additionalProperties"] != false && !(values && typ.Kind() == reflect.Map) {
		t.Errorf("%s: the schema lets unknown keys pass", at)
	}
	switch {
	case typ == reflect.TypeFor[Expiry]():
		return
	case typ.Kind() == reflect.Slice:
		agree(t, doc, sub("items"), typ.Elem(), at+"[]")
	case typ.Kind() == reflect.Map:
		for _, named := range sub("patternProperties") {
			agree(t, doc, named.(map[string]any), typ.Elem(), at.key("KEY"))
		}
	case typ.Kind() == reflect.Struct:
		fields := map[string]reflect.Type{}
		for i := range typ.NumField() {
			if name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ","); name != "-" {
				fields[name] = typ.Field(i).Type
			}
		}
		props := sub("properties")
		if a, b := slices.Sorted(maps.Keys(fields)), slices.Sorted(maps.Keys(props)); !slices.Equal(a, b) {
			t.Errorf("%s: struct %v, schema %v", at, a, b)
		}
		for name, f := range fields {
			if p, ok := props[name].(map[string]any); ok {
				agree(t, doc, p, f, at.key(name))
			}
		}
	}
}

// TestExampleLoads loads the very file that people copy.
func TestExampleLoads(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "config.example.json")
	cfg, err := loadConfig(path, envOf("PARLEY_TOKEN", "token-1", "PARLEY_TOKEN_ANA", "token-2", "ANTHROPIC_API_KEY", "sk-1", "OPENAI_API_KEY", "sk-2",
		"GEMINI_API_KEY", "sk-3", "GITHUB_TOKEN", "gh-1", "SHOP_TOKEN", "shop-1", "SLACK_BOT_TOKEN", "xoxb-1", "SLACK_APP_TOKEN", "xapp-1",
		"TELEGRAM_BOT_TOKEN", "123456:ABC", "DISCORD_BOT_TOKEN", "discord-1", "OTLP_TOKEN", "otlp-1", "PARLEY_WEBHOOK_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
	must(t, err)
	ops := cfg.Agents["ops"]
	if len(cfg.Models) == 0 || len(cfg.Channels) != 3 || len(ops.MCPServers) == 0 || len(ops.OpenAPI) == 0 || len(ops.Agents) == 0 || len(cfg.Warnings) > 0 {
		t.Errorf("the example leaves out what there is, or warns: %+v", cfg)
	}
	data, err := os.ReadFile(path)
	must(t, err)
	var value any
	must(t, json.Unmarshal(data, &value))
	schema, err := compiledSchema()
	must(t, err)
	must(t, schema.Validate(value))
}

func FuzzConfig(f *testing.F) {
	f.Add(`{"models":{"m":{"provider":"openai","model":"x","apiKey":"${K}"}},"agents":{"a":{"model":"m"}}}`)
	f.Add(`{"agents":{"a":{"humanInput":{"expiresInSeconds":null,"approvers":["telegram:1"]}}},"channels":[{}]}`)
	f.Add(`{"a":{"a":1,"A":1},"b":[[[1e400]]]}`)
	f.Add(`"${"`)
	example, err := os.ReadFile(filepath.Join("..", "..", "config.example.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(example))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "file:") {
			return // a fuzzed file name may be a device
		}
		cfg, problems, err := parseConfig([]byte(text), dir, envOf("K", "v"))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if len(problems) == 0 {
			for id, a := range cfg.Agents {
				if _, ok := cfg.Models[a.Model]; !ok {
					t.Errorf("%q: agent %s has no model", text, id)
				}
				if e := a.human(cfg, id).Expires; e < 0 || a.HumanInput.OnExpire == "approve" {
					t.Errorf("%q: agent %s waits %v", text, id, e)
				}
			}
		}
		if !slices.IsSortedFunc(problems, func(a, b Problem) int { return strings.Compare(string(a.Path), string(b.Path)) }) {
			t.Errorf("%q: problems out of order: %v", text, problems)
		}
	})
}
