package tool_test

import (
	"encoding/json"
	"testing"

	"parley/core/tool"
)

type labelled string

func (n labelled) Spec() tool.Spec {
	return tool.Spec{Source: "s", Name: string(n), Schema: json.RawMessage(`{"type":"object"}`)}
}

func (n labelled) Call(*tool.Context, json.RawMessage) (string, error) { return string(n), nil }

func TestSetJoinsSources(t *testing.T) {
	t.Parallel()
	one, err := tool.NewRegistry(labelled("a"), labelled("b"))
	if err != nil {
		t.Fatal(err)
	}
	two, err := tool.NewRegistry(labelled("c"))
	if err != nil {
		t.Fatal(err)
	}
	set := tool.Set{one, two}
	if got := set.List(); len(got) != 3 || got[2].Name != "c" {
		t.Errorf("list %v", got)
	}
	if _, ok := set.Lookup("s__c"); !ok {
		t.Error("a tool of the second source is not found")
	}
	if _, ok := set.Lookup("s__d"); ok {
		t.Error("a tool of no source is found")
	}
}
