package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/core/model"
	"parley/core/model/modeltest"
)

const (
	thinking = `{"type":"thinking","thinking":"hm","signature":"c2ln"}`
	text     = `{"type":"text","text":"Hi"}`
	call     = `{"type":"tool_use","id":"toolu_1","name":"clock__now","input":{"a":1}}`
)

func TestOtherModelGetsNeutralParts(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServerOf(t, modeltest.Messages, modeltest.InOrder(modeltest.Blocks("tool_use", thinking, text, call), modeltest.Say("ok"), modeltest.Say("ok")))
	k := &modeltest.Talk{Model: open(t, s)}
	k.Say("hello")
	k.End(k.Next(t), modeltest.Endings[0])
	first := k.Request.Messages
	k.Next(t)
	other, err := New(Config{Model: "another", APIKey: modeltest.Key, BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	// To the server a signature of another model would be wrong, and a call without its thinking, too: it has
	// another id there.
	k.Model, k.Request.Messages = other, append([]model.Message(nil), first...)
	k.Request.Messages[1].Calls = []model.Call{{ID: "neutral", Name: "clock__now", Arguments: json.RawMessage(`{"a":`)}}
	k.Request.Messages[2].Result = &model.Result{CallID: "neutral", Content: "x"}
	k.Next(t)
	for i, keeps := range []bool{true, false} {
		sent := s.Requests()[i+1].Messages[1]
		if got := strings.Contains(string(sent.Raw), "c2ln"); got != keeps || sent.Content != "Hi" {
			t.Errorf("request %d: thinking sent: %v, want %v; text %q", i+2, got, keeps, sent.Content)
		}
		if want := []string{`{"a":1}`, `{"not_json":"{\"a\":"}`}[i]; len(sent.Calls) != 1 || sent.Calls[0].Arguments != want {
			t.Errorf("request %d: calls %+v, want arguments %s", i+2, sent.Calls, want)
		}
	}
}

func TestPausedTurnIsContinued(t *testing.T) {
	t.Parallel()
	const search = `{"type":"server_tool_use","id":"srv","name":"web_search","input":{"q":"noon"}}`
	for _, stream := range []bool{false, true} {
		s := modeltest.NewServerOf(t, modeltest.Messages, modeltest.InOrder(
			modeltest.Blocks("pause_turn", thinking, text, search), modeltest.Blocks("pause_turn", text), modeltest.Blocks("tool_use", text, call), modeltest.Say("Bye.")))
		k := &modeltest.Talk{Model: open(t, s), Stream: stream}
		k.Say("hello")
		resp := k.Next(t)
		if resp.Text != "Hi\n\nHiHi" || len(resp.Calls) != 1 || resp.Stop != model.StopTools || resp.Usage.Requests != 3 || resp.Usage.Output != 21 {
			t.Errorf("%+v", resp)
		}
		k.End(resp, modeltest.Endings[0])
		k.Next(t)
		for _, r := range s.Refusals() {
			t.Error(r)
		}
		if got := s.Requests()[3].Messages[1]; !strings.Contains(string(got.Raw), "c2ln") || len(got.Calls) != 1 {
			t.Errorf("the parts went back as %s", got.Raw)
		}
	}
}

func TestPausesEnd(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]modeltest.Reply{
		"for ever": modeltest.Blocks("pause_turn", text), "with nothing": modeltest.Blocks("pause_turn"), "with thoughts alone": modeltest.Blocks("pause_turn", thinking),
	} {
		s := modeltest.NewServerOf(t, modeltest.Messages, func(modeltest.Request) modeltest.Reply { return reply })
		k := &modeltest.Talk{Model: open(t, s)}
		k.Say("hello")
		resp := k.Next(t)
		if n := len(s.Requests()); n > maxPauses+1 || resp.Stop != model.StopLength {
			t.Errorf("%s: %d requests, %+v", name, n, resp)
		}
	}
	s := modeltest.NewServerOf(t, modeltest.Messages, modeltest.InOrder(modeltest.Blocks("pause_turn", text, call)))
	k := &modeltest.Talk{Model: open(t, s)}
	k.Say("hello")
	if resp := k.Next(t); resp.Stop != model.StopTools || len(s.Requests()) != 1 {
		t.Errorf("a pause with a call: %+v", resp)
	}
}

// TestStoredMessageThatLostItsCalls has calls and raw message that do not belong together.
func TestStoredMessageThatLostItsCalls(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{"role":"assistant","content":[` + text + `]}`, `{"content":[{}]}`, `{"content":7}`, `null`, `[]`, `{"content":[` + call + `,` + call + `]}`} {
		s := modeltest.NewServerOf(t, modeltest.Messages, modeltest.InOrder(modeltest.Say("ok")))
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

func TestUserTurnIsOneMessage(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServerOf(t, modeltest.Messages, modeltest.InOrder(modeltest.Say("ok")))
	k := &modeltest.Talk{Model: open(t, s)}
	k.Request.Messages = []model.Message{
		{Role: model.RoleUser, Text: "one"}, {Role: model.RoleUser, Text: " "},
		{Role: model.RoleAssistant, Calls: []model.Call{{ID: "a", Name: "t"}, {ID: "b", Name: "t"}}},
		{Role: model.RoleTool, Result: &model.Result{CallID: "a", IsError: true}},
		{Role: model.RoleTool, Result: &model.Result{CallID: "b"}},
		{Role: model.RoleUser, Text: "two"}, {Role: model.RoleUser, Text: "three"},
		{Role: model.RoleAssistant, Text: "\n"},
		{Role: model.RoleAssistant, Text: "four"},
	}
	k.Next(t)
	var sent struct {
		System   json.RawMessage
		Messages []struct {
			Role    string
			Content []struct {
				Type, Text string
				IsError    bool `json:"is_error"`
				Content    []struct{ Text string }
			}
		}
	}
	if err := json.Unmarshal(s.Requests()[0].Body, &sent); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range sent.Messages {
		var blocks []string
		for _, b := range m.Content {
			inner := b.Text
			for _, c := range b.Content {
				inner += c.Text
			}
			blocks = append(blocks, b.Type+" "+inner)
		}
		got = append(got, m.Role+": "+strings.Join(blocks, ", "))
	}
	want := "user: text one, text " + noText + "\nassistant: tool_use , tool_use \nuser: tool_result " + failedQuiet + ", tool_result , text two, text three\nassistant: text four\nuser: text " + goOn
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("sent\n%s\nwant\n%s", s, want)
	}
	if sent.System != nil {
		t.Errorf("a system prompt of nothing: %s", sent.System)
	}
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		``:                                     `{"properties":{},"type":"object"}`,
		`null`:                                 `{"properties":{},"type":"object"}`,
		`{"type":["object","null"]}`:           `{"properties":{},"type":"object"}`,
		`{"properties":null,"required":["a"]}`: `{"properties":{},"required":["a"],"type":"object"}`,
		`{"type":"object","properties":{"a":{"oneOf":[{"const":1.10}]}},"anyOf":[],"x-y":[1e2]}`: `{"properties":{"a":{"oneOf":[{"const":1.10}]}},"type":"object","x-y":[1e2]}`,
		`[]`: "error", `"object"`: "error", `{`: "error",
	} {
		p, err := describe(model.ToolSpec{Name: "tool", Schema: json.RawMessage(schema)})
		if want == "error" {
			if err == nil || !strings.Contains(err.Error(), `"tool"`) {
				t.Errorf("schema %s: error %v, want one that names the tool", schema, err)
			}
			continue
		}
		b, merr := json.Marshal(p.InputSchema)
		if err != nil || merr != nil || string(b) != want {
			t.Errorf("schema %s goes as %s (%v, %v), want %s", schema, b, err, merr, want)
		}
	}
}
