package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"parley/core/model"
	"parley/core/model/modeltest"
)

const script = `{
  "rules": [
    {
      "when": "(?i)delete the (\\w+) database",
      "say": "I will delete {{match 1}}.",
      "calls": [
        {"name": "db__drop", "arguments": {"name": "{{match 1}}", "id": 12345678901234567890, "list": ["{{match 0}}", 1.0]}},
        {"name": "clock__now"}
      ],
      "then": [
        {"if": "(?i)^declined", "say": "Then it stays.", "else": {"say": "Gone, {{result 1}}.", "calls": [{"name": "mail__send", "arguments": {"body": "{{result 1}} \"{{message}}\""}}]}},
        {"say": "Told everybody: {{result}}{{result 7}}"}
      ]
    },
    {"when": "^look$", "calls": [{"name": "clock__now"}]},
    {"when": "^only$", "calls": [{"name": "clock__now"}], "then": [{"if": "no such result", "say": "never"}]}
  ],
  "else": {"say": "I did not understand: {{message}}"}
}`

func parse(t *testing.T, s string) *Model {
	t.Helper()
	m, err := Parse([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestScript(t *testing.T) {
	t.Parallel()
	ok := modeltest.Ending{Content: "ok"}
	for _, tt := range []struct {
		name, message string
		how           modeltest.Ending
		want          []string
	}{
		{"approved", "Please DELETE the staging database", ok, []string{
			`I will delete staging. db__drop{"id":12345678901234567890,"list":["DELETE the staging database",1.0],"name":"staging"} clock__now{}`,
			`Gone, ok. mail__send{"body":"ok \"Please DELETE the staging database\""}`,
			`Told everybody: ok`,
		}},
		{"declined", "delete the staging database", modeltest.Endings[1], []string{
			`I will delete staging. db__drop{"id":12345678901234567890,"list":["delete the staging database",1.0],"name":"staging"} clock__now{}`,
			`Then it stays.`,
		}},
		{"no then", "look", ok, []string{` clock__now{}`, `ok`}},
		{"condition that fails without else", "only", ok, []string{` clock__now{}`, ``}},
		{"slots in values are no slots", "delete the x database {{message}}", modeltest.Ending{Content: "{{message}}"}, []string{
			`I will delete x. db__drop{"id":12345678901234567890,"list":["delete the x database",1.0],"name":"x"} clock__now{}`,
			`Gone, {{message}}. mail__send{"body":"{{message}} \"delete the x database {{message}}\""}`,
			`Told everybody: {{message}}`,
		}},
		{"else", "hello", ok, []string{"I did not understand: hello"}},
		{"nothing", "", ok, []string{"I did not understand: "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := &modeltest.Talk{Model: parse(t, script)}
			k.Say("an earlier message")
			k.Next(t)
			k.Say(tt.message)
			for i, want := range tt.want {
				k.Model = parse(t, script) // a program that was started again
				resp := k.Next(t)
				got := resp.Text
				for _, c := range resp.Calls {
					got += " " + c.Name + string(c.Arguments)
				}
				if got != want {
					t.Errorf("reply %d: %s\nwant %s", i, got, want)
				}
				if (resp.Stop == model.StopEnd) != (i == len(tt.want)-1) {
					t.Errorf("reply %d stops with %q", i, resp.Stop)
				}
				k.End(resp, tt.how)
			}
		})
	}
}

func TestPR08ScriptedCycles(t *testing.T) {
	t.Parallel()
	for _, e := range modeltest.Endings {
		k := &modeltest.Talk{Model: parse(t, script)}
		ids := map[string]bool{}
		for range 2 { // Next checks that each request is valid
			k.Say("delete the staging database")
			for {
				resp := k.Next(t)
				for _, c := range resp.Calls {
					if c.ID == "" || ids[c.ID] {
						t.Errorf("call id %q is empty or was there before", c.ID)
					}
					ids[c.ID] = true
				}
				if len(resp.Calls) == 0 {
					break
				}
				k.End(resp, e)
			}
		}
	}
}

func TestPR03ScriptedSuperseded(t *testing.T) {
	t.Parallel()
	k := &modeltest.Talk{Model: parse(t, script)}
	k.Say("delete the staging database")
	k.End(k.Next(t), modeltest.Endings[3])
	k.Say("hello")
	if got := k.Next(t); got.Text != "I did not understand: hello" || len(got.Calls) != 0 {
		t.Errorf("the old rule went on: %+v", got)
	}
}

// TestIntakeIsNoStep has a reply of the engine between the message and the model's first.
func TestIntakeIsNoStep(t *testing.T) {
	t.Parallel()
	k := &modeltest.Talk{Model: parse(t, script)}
	k.Say("look")
	k.Request.Messages = append(k.Request.Messages,
		model.Message{Role: model.RoleAssistant, Calls: []model.Call{{ID: "intake", Name: "ask"}}},
		model.Message{Role: model.RoleTool, Result: &model.Result{CallID: "intake", Name: "ask", Content: "yes"}})
	resp := k.Next(t)
	if len(resp.Calls) != 1 || resp.Calls[0].Name != "clock__now" {
		t.Errorf("got %+v, want the rule's first step", resp)
	}
	k.End(resp, modeltest.Ending{Content: "noon"})
	if got := k.Next(t); got.Text != "noon" {
		t.Errorf("got %q, want the result", got.Text)
	}
}

func TestSameRequestSameReply(t *testing.T) {
	t.Parallel()
	m := parse(t, script)
	req := model.Request{Messages: []model.Message{{Role: model.RoleUser, Text: "delete the x database"}}}
	first, err := m.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		again, err := m.Generate(t.Context(), req)
		if err != nil || !reflect.DeepEqual(first, again) {
			t.Errorf("got %+v, %v, want %+v", again, err, first)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	m := parse(t, `{"rules":[]}`)
	k := &modeltest.Talk{Model: m, Request: model.Request{Messages: []model.Message{{Role: model.RoleTool, Result: &model.Result{}}}}}
	if e := k.Fails(t); e.Retry {
		t.Errorf("retry of a conversation that is not valid: %v", e)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := Func(func(model.Request) (model.Response, error) { return model.Response{}, nil })
	for _, m := range []model.Model{m, f} {
		if _, err := m.Generate(ctx, model.Request{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%T: error %v, want the context's", m, err)
		}
	}
}

func TestFunc(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, tt := range []struct {
		in   model.Response
		err  error
		want model.Response
	}{
		{model.Response{Text: "a"}, nil, model.Response{Text: "a", Stop: model.StopEnd, Provider: Provider}},
		{model.Response{Stop: model.StopLength, Provider: "p"}, nil, model.Response{Stop: model.StopLength, Provider: "p"}},
		{model.Response{Calls: []model.Call{{}, {}}}, nil, model.Response{Calls: []model.Call{{}, {}}, Stop: model.StopTools, Provider: Provider}},
		{model.Response{Text: "a"}, boom, model.Response{}},
	} {
		got, err := Func(func(model.Request) (model.Response, error) { return tt.in, tt.err }).Generate(t.Context(), model.Request{})
		if !reflect.DeepEqual(got, tt.want) || !errors.Is(err, tt.err) {
			t.Errorf("got %+v, %v, want %+v, %v", got, err, tt.want, tt.err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``:                                  "EOF",
		"{\n\"rules\": [\n}":                "line 3",
		`{"rules":[],"rulez":1}`:            "rulez",
		`{"rules":[]} {}`:                   "something follows",
		`[]`:                                "array",
		`{"rules":[{"say":"a"}]}`:           `rule 1: "when" is missing`,
		`{"rules":[{"when":"("}]}`:          "rule 1: when",
		`{"rules":[{"when":"a","if":"b"}]}`: "no meaning in a rule",
		`{"rules":[{"when":"a"},{"when":"b","then":[{"say":"c"},{"if":"["}]}]}`: "rule 2: then 2: if",
		`{"rules":[{"when":"a","calls":[{"arguments":{}}]}]}`:                   `rule 1: a call without "name"`,
		`{"rules":[{"when":"a","else":{"say":"b"}}]}`:                           `"else" without "if"`,
		`{"rules":[{"when":"a","then":[{"if":"b","else":{"if":"("}}]}]}`:        "else: if",
		`{"rules":[],"else":{"calls":[{}]}}`:                                    `else: a call without "name"`,
	} {
		if _, err := Parse([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", in, err, want)
		}
	}
}

func TestScriptMadeInGo(t *testing.T) {
	t.Parallel()
	m, err := New(Script{Rules: []Rule{{When: ".", Step: Step{Calls: []Call{{Name: "t", Arguments: json.RawMessage(`{"{{message}}`)}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	k := &modeltest.Talk{Model: m}
	k.Say("hi")
	if got := k.Next(t); string(got.Calls[0].Arguments) != `{"{{message}}` {
		t.Errorf("arguments that are no JSON: %s", got.Calls[0].Arguments)
	}
	if m, err = New(Script{}); err != nil {
		t.Fatal(err)
	}
	k.Model = m
	k.End(model.Response{Calls: k.Request.Messages[1].Calls}, modeltest.Endings[0])
	k.Say("hello")
	if got := k.Next(t); got.Text != "I have no answer to that." {
		t.Errorf("an empty script says %q", got.Text)
	}
}

// FuzzParse checks that no script file makes a model that panics or replies what cannot be stored.
func FuzzParse(f *testing.F) {
	f.Add(script, "delete the staging database")
	f.Add(`{"rules":[{"when":".*","say":"{{match 9}}{{result 0}}","calls":[{"name":"a","arguments":"{{message}}"}]}]}`, "x")
	f.Fuzz(func(t *testing.T, data, message string) {
		m, err := Parse([]byte(data))
		if err != nil {
			return
		}
		k := &modeltest.Talk{Model: m}
		k.Say(message)
		for range 3 {
			resp := k.Next(t)
			if len(resp.Calls) == 0 {
				return
			}
			k.End(resp, modeltest.Endings[0])
		}
	})
}
