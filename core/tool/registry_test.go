package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/core/tool"
)

type named tool.Spec

func (n named) Spec() tool.Spec                                     { return tool.Spec(n) }
func (n named) Call(*tool.Context, json.RawMessage) (string, error) { return "", nil }

func spec(source, name string) named {
	return named{Source: source, Name: name, Schema: json.RawMessage(`{"type":"object"}`)}
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	r, err := tool.NewRegistry(spec("db", "drop"), spec("", "clock"), spec("api", "get"), spec("db", "ask"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range r.List() {
		names = append(names, s.FullName())
	}
	if got := strings.Join(names, " "); got != "api__get clock db__ask db__drop" {
		t.Errorf("listed %q", got)
	}
	if got, ok := r.Lookup("db__drop"); !ok || got.Spec().Name != "drop" {
		t.Error("a tool is not found by its full name")
	}
	if _, ok := r.Lookup("drop"); ok {
		t.Error("a tool is found by its short name")
	}
}

func TestRegistryRefuses(t *testing.T) {
	t.Parallel()
	for want, bad := range map[string]named{
		"already":        spec("db", "drop"),
		"reserved":       spec("", "ask"),
		"is reserved":    spec("", "ask_user"),
		"no name":        spec("db", ""),
		"1 to 64":        spec("db", strings.Repeat("x", 61)),
		"letters":        spec("db", "drop table"),
		"no JSON object": {Source: "db", Name: "x", Schema: json.RawMessage(`[]`)},
		"JSON object":    {Source: "db", Name: "x"},
		"its schema":     {Source: "db", Name: "x", Schema: json.RawMessage(`null`)},
	} {
		if _, err := tool.NewRegistry(spec("db", "drop"), bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
