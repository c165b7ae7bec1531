package modeltest

import (
	"strings"
	"testing"

	"parley/core/model"
)

// verbatims are replies that say "It is noon." at last, with fields that only their server knows.
func (x *suite) verbatims() []Reply {
	call := `{"id":"call_that_is_longer_than_other_services_take_it_0001","type":"function","index":0,"function":{"name":"clock__now","arguments":"{ }"},"extra_content":{"google":{"thought_signature":"c2ln"}}}`
	switch {
	case x.dialect == Messages:
		return []Reply{
			Blocks("tool_use", `{"type":"thinking","thinking":"hm <b> é \u2028","signature":"EqQBCgIYAhIM"}`, `{"type":"redacted_thinking","data":"Emg="}`,
				`{"type":"text","text":"Let me see.","citations":null}`,
				`{"type":"tool_use","id":"toolu_that_is_longer_than_other_services_take_it_0001","name":"clock__now","input":{"n":1.00000000000000000001,"z":"a","b":{}},"caller":{"type":"direct"}}`),
			Blocks("end_turn", `{"type":"thinking","thinking":"","signature":"EqQBCgIYAhIN"}`, `{"type":"text","text":"It is "}`, `{"type":"text","text":"noon.","citations":null}`),
		}
	case x.stream:
		return []Reply{
			Raw(`{"role":"assistant","content":null,"reasoning_content":"hm <b> é \u2028","extra_content":{"google":{"thought":true}},"tool_calls":[`+call+`]}`, "tool_calls"),
			Raw(`{"role":"assistant","content":"It is noon.","score":1.00000000000000000001,"reasoning_details":[{"type":"reasoning.encrypted","data":"x","index":0}]}`, "stop"),
		}
	}
	return []Reply{
		Raw(`{"role":"assistant","content":null,"reasoning_content":"hm <b> é \u2028","tool_calls":[`+call+`]}`, "tool_calls"),
		Raw(`{"role":"assistant","content":[{"type":"text","text":"It is "},{"type":"text","text":"noon."}],"annotations":[],"score":1.00000000000000000001,"reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]}`, "stop"),
	}
}

func (x *suite) verbatim(t *testing.T) {
	s, k := x.start(t, InOrder(append(x.verbatims(), Say("Bye."))...))
	s.Verbatim = true
	k.End(k.Next(t), Endings[0])
	if got := k.Next(t); got.Text != "It is noon." {
		t.Errorf("text of parts: %q", got.Text)
	}
	k.Say("thanks, that is all")
	k.Next(t)
	noRefusals(t, s)
}

// steps are replies of three, two and two calls of clock__now whose ids are missing or doubled.
func (x *suite) steps() []Reply {
	if x.dialect == Messages {
		call := func(id string) string { return `{"type":"tool_use",` + id + `"name":"clock__now","input":{}}` }
		thinking := `{"type":"thinking","thinking":"kept","signature":"c2ln"}`
		return []Reply{
			Blocks("end_turn", thinking, call(""), call(`"id":"",`), call(`"id":null,`)),
			Blocks("tool_use", thinking, call(`"id":"a",`), call(`"id":"a",`)),
			Blocks("tool_use", thinking, call(`"id":"a",`), call(`"id":"b",`)),
		}
	}
	call := func(id string) string {
		return `{` + id + `"type":"function","function":{"name":"clock__now","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s` + strings.Repeat("s", len(id)) + `"}}}`
	}
	message := func(calls ...string) Reply {
		return Raw(`{"role":"assistant","content":null,"reasoning_content":"kept","tool_calls":[`+strings.Join(calls, ",")+`]}`, "stop")
	}
	return []Reply{
		message(call(""), call(`"id":"",`), call(`"id":null,`)),
		message(call(`"id":"a",`), call(`"id":"a",`)),
		message(call(`"id":"a",`), call(`"id":7,`)),
	}
}

func (x *suite) ids(t *testing.T) {
	s, k := x.start(t, InOrder(append(x.steps(), Say("Done."))...))
	seen := map[string]bool{}
	for range 3 {
		resp := k.Next(t)
		for _, c := range resp.Calls {
			if c.ID == "" || seen[c.ID] {
				t.Errorf("call id %q is empty or was there before", c.ID)
			}
			seen[c.ID] = true
		}
		k.End(resp, Endings[0])
	}
	k.Next(t)
	noRefusals(t, s)
	if len(seen) != 7 {
		t.Errorf("%d calls, want 7", len(seen))
	}
	for _, m := range s.Requests()[3].Messages {
		if m.Role == "assistant" && (!strings.Contains(string(m.Raw), `"kept"`) || !strings.Contains(string(m.Raw), `signature"`)) {
			t.Errorf("mending an id dropped what the provider sent: %s", m.Raw)
		}
	}
}

// stopping is a reply with the reason why it ends.
type stopping struct {
	name  string
	reply Reply
	stop  model.Stop
	text  string
}

func (x *suite) stops(t *testing.T) {
	cases := []stopping{
		{"end", Say("Hello."), model.StopEnd, "Hello."},
		{"nothing said", Say(""), model.StopEnd, ""},
		{"blank", Say(" \n"), model.StopEnd, " \n"},
		{"length", Stop("Hel", model.StopLength), model.StopLength, "Hel"},
		{"refusal", Refuse("I cannot help with that."), model.StopRefuse, "I cannot help with that."},
	}
	if x.dialect == Messages {
		cases = append(cases, messagesStops()...)
	} else {
		cases = append(cases, chatStops()...)
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, k := x.start(t, InOrder(tt.reply, Say("Next.")))
			resp := k.Next(t)
			if resp.Stop != tt.stop || resp.Text != tt.text {
				t.Errorf("got %q %q, want %q %q", resp.Stop, resp.Text, tt.stop, tt.text)
			}
			if strings.HasPrefix(tt.name, "cut ") && len(resp.Calls) > 0 && strings.HasSuffix(string(resp.Calls[len(resp.Calls)-1].Arguments), "}") {
				t.Errorf("a call that was cut off has the arguments %s", resp.Calls[len(resp.Calls)-1].Arguments)
			}
			if tt.stop == model.StopRefuse && len(resp.Calls) > 0 {
				t.Errorf("a refused reply makes calls: %+v", resp.Calls)
			}
			k.End(resp, Endings[0])
			k.Say("go on please")
			k.Next(t) // whatever was kept of the reply is taken back
			noRefusals(t, s)
		})
	}
}

func chatStops() []stopping {
	assistant := func(content string) map[string]any { return map[string]any{"role": "assistant", "content": content} }
	calls := func(arguments string) string {
		return `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"clock__now","arguments":"` + arguments + `"},"extra_content":{"google":{"thought_signature":"c2ln"}}}]}`
	}
	return []stopping{
		{"no reason", Answer(assistant("Hello."), ""), model.StopEnd, "Hello."},
		{"length with another word", Answer(assistant("Hel"), "max_tokens"), model.StopLength, "Hel"},
		{"content filter", Raw(`{"role":"assistant","content":null}`, "content_filter"), model.StopRefuse, ""},
		{"filtered in a call", Raw(calls("{}"), "content_filter"), model.StopRefuse, ""},
		{"filtered before the arguments", Raw(calls(""), "content_filter"), model.StopRefuse, ""},
		{"refused with a call", Raw(strings.Replace(calls("{}"), `"content":null`, `"content":null,"refusal":"No."`, 1), "stop"), model.StopRefuse, "No."},
		{"stop with calls", Raw(calls("{}"), "stop"), model.StopTools, ""},
		{"length with calls", Raw(calls("{}"), "length"), model.StopTools, ""},
		{"cut before the arguments", Raw(calls(""), "length"), model.StopTools, ""},
		{"empty list of calls", Raw(`{"role":"assistant","content":"Hi","tool_calls":[]}`, "stop"), model.StopEnd, "Hi"},
		{"no role", Raw(`{"content":"Hi"}`, "stop"), model.StopEnd, "Hi"},
	}
}

func messagesStops() []stopping {
	const text, call = `{"type":"text","text":"Hi"}`, `{"type":"tool_use","id":"c","name":"clock__now","input":{"a":{"b":1}}}`
	const thinking, empty = `{"type":"thinking","thinking":"hm","signature":"c2ln"}`, `{"type":"tool_use","id":"d","name":"clock__now","input":{}}`
	return []stopping{
		{"no reason", Blocks("", text), model.StopEnd, "Hi"},
		{"unknown reason", Blocks("tired", text), model.StopEnd, "Hi"},
		{"stop sequence", Blocks("stop_sequence", text), model.StopEnd, "Hi"},
		{"context full", Blocks("model_context_window_exceeded", text), model.StopLength, "Hi"},
		{"thought alone", Blocks("max_tokens", thinking), model.StopLength, ""},
		{"end with calls", Blocks("end_turn", thinking, call), model.StopTools, ""},
		{"cut in a call", Blocks("max_tokens", thinking, text, call), model.StopTools, "Hi"},
		{"cut before the input", Blocks("max_tokens", call, empty), model.StopTools, ""},
		{"refused in a call", Blocks("refusal", text, call), model.StopRefuse, "Hi"},
		{"refused at once", Blocks("refusal"), model.StopRefuse, ""},
		{"apart", Blocks("end_turn", text, thinking, text), model.StopEnd, "Hi\n\nHi"},
		{"blank among text", Blocks("end_turn", thinking, `{"type":"text","text":""}`, text, `{"type":"text","text":"\n"}`), model.StopEnd, "Hi\n"},
		{"unknown block", Blocks("end_turn", `{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":"x"}}`, text), model.StopEnd, "Hi"},
	}
}
