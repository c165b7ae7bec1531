package model

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func user(text string) Message { return Message{Role: RoleUser, Text: text} }

func reply(ids ...string) Message {
	m := Message{Role: RoleAssistant, Text: "working"}
	for _, id := range ids {
		m.Calls = append(m.Calls, Call{ID: id, Name: "tool", Arguments: json.RawMessage(`{}`)})
	}
	return m
}

func result(id string) Message {
	return Message{Role: RoleTool, Result: &Result{CallID: id, Name: "tool", Content: "done"}}
}

func TestValid(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		messages []Message
		want     string // part of the error, "" if valid
	}{
		{"nothing", nil, ""},
		{"talk", []Message{user("a"), reply(), user("b")}, ""},
		{"PR-01 two calls, two results", []Message{user("a"), reply("x", "y"), result("x"), result("y"), reply()}, ""},
		{"PR-01 one result missing", []Message{user("a"), reply("x", "y"), result("x"), reply()}, `message 3: call "y" (tool) has no result`},
		{"PR-03 results before the next message", []Message{user("a"), reply("x", "y"), result("x"), result("y"), user("b")}, ""},
		{"PR-03 the message came first", []Message{user("a"), reply("x", "y"), user("b"), result("x"), result("y")}, `a "user" message stands in its place`},
		{"PR-07 doubled result", []Message{user("a"), reply("x"), result("x"), result("x")}, "or the second one"},
		{"doubled within a batch", []Message{reply("x", "y"), result("x"), result("x")}, `belongs`},
		{"order", []Message{reply("x", "y"), result("y"), result("x")}, `the result of call "y" stands where that of call "x"`},
		{"no result at the end", []Message{user("a"), reply("x")}, `after message 1: call "x" (tool) has no result`},
		{"result of nothing", []Message{user("a"), result("x")}, "no reply directly before"},
		{"same id in two replies", []Message{reply("x"), result("x"), reply("x"), result("x")}, ""},
		{"doubled id in one reply", []Message{reply("x", "x"), result("x"), result("x")}, `two calls with the id "x"`},
		{"empty id", []Message{reply(""), result("")}, "has no id"},
		{"tool message without result", []Message{{Role: RoleTool}}, "without a result"},
		{"result is nil where owed", []Message{reply("x"), {Role: RoleTool}}, "has no result"},
		{"calls in a result", []Message{reply("x"), {Role: RoleTool, Result: &Result{CallID: "x"}, Calls: []Call{{ID: "z"}}}}, "carries calls"},
		{"other tool's name", []Message{reply("x"), {Role: RoleTool, Result: &Result{CallID: "x", Name: "rm"}}}, `names the tool "rm"`},
		{"calls of a user", []Message{{Role: RoleUser, Calls: []Call{{ID: "x"}}}}, "calls in a user message"},
		{"result in a user message", []Message{{Role: RoleUser, Result: &Result{}}}, "a result in a user message"},
		{"no role", []Message{{Text: "a"}}, "unknown role"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := Valid(tt.messages)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestMend(t *testing.T) {
	t.Parallel()
	history := []Message{user("a"), reply("x", "call00001"), result("x"), result("call00001")}
	in := []Call{{ID: ""}, {ID: "x"}, {ID: "new"}, {ID: "new"}, {ID: ""}}
	var got []string
	for _, c := range Mend(in, history) {
		got = append(got, c.ID)
	}
	want := []string{"call00002", "call00003", "new", "call00004", "call00005"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if in[0].ID != "" {
		t.Error("the calls given were changed")
	}
}

func TestCallIsStoredAsItIs(t *testing.T) {
	t.Parallel()
	for _, arguments := range []string{`{"a":1}`, `[]`, `null`, `"text"`, `false`, `0`, ``, ` `, `{"a":`, `not json`, `{"a":1}{`} {
		in := Response{Stop: StopTools, Calls: []Call{{ID: "x", Name: "tool", Arguments: json.RawMessage(arguments)}}}
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatalf("store arguments %q: %v", arguments, err)
		}
		var out Response
		if err := json.Unmarshal(b, &out); err != nil {
			t.Fatalf("read arguments %q back: %v", arguments, err)
		}
		if got := string(out.Calls[0].Arguments); got != arguments {
			t.Errorf("arguments %q came back as %q", arguments, got)
		}
	}
	none, err := json.Marshal(Call{Name: "tool"})
	if err != nil || string(none) != `{"name":"tool"}` {
		t.Errorf("a call without arguments is %s, %v", none, err)
	}
}
