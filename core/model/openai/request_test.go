package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/core/model"
	"parley/core/model/modeltest"
)

func TestOtherModelGetsNeutralParts(t *testing.T) {
	t.Parallel()
	raw := `{"role":"assistant","content":null,"secret_state":"x","tool_calls":[{"id":"a","type":"function","function":{"name":"clock__now","arguments":"{\"a\":"}}]}`
	s := modeltest.NewServer(t, modeltest.InOrder(modeltest.Raw(raw, "stop"), modeltest.Say("ok"), modeltest.Say("ok")))
	k := &modeltest.Talk{Model: open(t, s)}
	k.Say("hello")
	k.End(k.Next(t), modeltest.Endings[0])
	first := k.Request.Messages
	k.Next(t)
	other, err := New(Config{Model: "another", APIKey: modeltest.Key, BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	k.Model, k.Request.Messages = other, first
	k.Next(t)
	for i, keeps := range []bool{true, false} {
		sent := s.Requests()[i+1].Messages[1]
		if got := strings.Contains(string(sent.Raw), "secret_state"); got != keeps {
			t.Errorf("request %d: provider's own state sent: %v, want %v", i+2, got, keeps)
		}
		if want := []string{`{"a":`, `{"not_json":"{\"a\":"}`}[i]; len(sent.Calls) != 1 || sent.Calls[0].Arguments != want {
			t.Errorf("request %d: calls %+v, want arguments %s", i+2, sent.Calls, want)
		}
	}
}

// TestForeignHistory sends what other providers and the engine itself made: ids and names that are not
// allowed here, ids used twice, calls without arguments, replies that say nothing.
func TestForeignHistory(t *testing.T) {
	t.Parallel()
	calls := func(ids ...string) (m []model.Message) {
		a := model.Message{Role: model.RoleAssistant, Provider: "elsewhere", Raw: json.RawMessage(`{"not":"ours"}`)}
		for _, id := range ids {
			a.Calls = append(a.Calls, model.Call{ID: id, Name: "files.read/one", Arguments: json.RawMessage(`{"a":1}`)})
		}
		m = append(m, a)
		for _, id := range ids {
			m = append(m, model.Message{Role: model.RoleTool, Result: &model.Result{CallID: id, Content: "result of " + id}})
		}
		return m
	}
	s := modeltest.NewServer(t, modeltest.InOrder(modeltest.Say("ok")))
	k := &modeltest.Talk{Model: open(t, s), Request: model.Request{Tools: []model.ToolSpec{{Name: "files.read/one"}}}}
	k.Say("hello")
	for _, ids := range [][]string{{"intake"}, {"intake"}, {"toolu:01/ä", strings.Repeat("x", 60)}, {"call00001"}} {
		k.Request.Messages = append(k.Request.Messages, calls(ids...)...)
	}
	k.Request.Messages = append(k.Request.Messages, model.Message{Role: model.RoleAssistant})
	k.Say("go on")
	k.Next(t)
	for _, r := range s.Refusals() {
		t.Error(r)
	}
	var contents []string
	sent := s.Requests()[0]
	byID := map[string]string{}
	for _, m := range sent.Messages {
		for _, c := range m.Calls {
			byID[c.ID] = c.Name
			if c.Name != sent.Tools[0].Name {
				t.Errorf("call of %q, the tool is offered as %q", c.Name, sent.Tools[0].Name)
			}
		}
		if m.Role == "tool" {
			contents = append(contents, m.Content)
		}
	}
	if len(byID) != 5 || strings.Join(contents, "|") != "result of intake|result of intake|result of toolu:01/ä|result of "+strings.Repeat("x", 60)+"|result of call00001" {
		t.Errorf("%d calls, results %q", len(byID), contents)
	}
}

// TestStoredMessageThatLostItsCalls has calls and raw message that do not belong together.
func TestStoredMessageThatLostItsCalls(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{"role":"assistant","content":"a"}`, `{"role":"assistant","tool_calls":{}}`, `null`, `[]`, `{"tool_calls":[1]}`, `{"tool_calls":[{"function":3}]}`} {
		s := modeltest.NewServer(t, modeltest.InOrder(modeltest.Say("ok")))
		c := open(t, s).(*Client)
		k := &modeltest.Talk{Model: c}
		k.Say("hello")
		k.Request.Messages = append(k.Request.Messages,
			model.Message{Role: model.RoleAssistant, Provider: c.provider, Raw: json.RawMessage(raw), Calls: []model.Call{{ID: "x", Name: "tool"}}},
			model.Message{Role: model.RoleTool, Result: &model.Result{CallID: "x"}})
		k.Next(t)
		if len(s.Refusals()) > 0 {
			t.Errorf("%s: %v", raw, s.Refusals())
		}
	}
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		``:   `{"type":"object","properties":{}}`,
		`{}`: `{"type":"object","properties":{}}`,
		`{"type":"object","properties":{"a":{"const":1.10}},"x-y":[1e2]}`: `{"type":"object","properties":{"a":{"const":1.10}},"x-y":[1e2]}`,
		`[]`: "error", `"object"`: "error", `{`: "error",
	} {
		f, err := function(model.ToolSpec{Name: "tool", Schema: json.RawMessage(schema)})
		if want == "error" {
			if err == nil || !strings.Contains(err.Error(), `"tool"`) {
				t.Errorf("schema %s: error %v, want one that names the tool", schema, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("schema %s: %v", schema, err)
			continue
		}
		b, err := json.Marshal(map[string]any(f.Parameters))
		if err != nil || len(b) != len(want) {
			t.Errorf("schema %s goes as %s (%v), want %s", schema, b, err, want)
		}
	}
	c, err := New(Config{Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Generate(t.Context(), model.Request{Tools: []model.ToolSpec{{Name: "tool", Schema: json.RawMessage(`1`)}}})
	if err == nil || !strings.Contains(err.Error(), `tool "tool"`) {
		t.Errorf("a wrong schema gives %v", err)
	}
}
