package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"parley/core/model"
)

// Open returns the model under test as a client of the server, with its key.
type Open func(t *testing.T, s *Server) model.Model

// Run checks a provider of the Chat Completions dialect.
func Run(t *testing.T, open Open) {
	t.Run("PR-01 each of two parallel calls has its result", func(t *testing.T) { t.Parallel(); runEndings(t, open) })
	t.Run("PR-03 superseded calls have results before the new message", func(t *testing.T) { t.Parallel(); runSuperseded(t, open) })
	t.Run("PR-07 an approved call has one result", func(t *testing.T) { t.Parallel(); runApproved(t, open) })
	t.Run("PR-08 ask, approve, run, finish; ask, decline, finish", func(t *testing.T) { t.Parallel(); runCycle(t, open) })
	t.Run("own message goes back verbatim", func(t *testing.T) { t.Parallel(); runVerbatim(t, open) })
	t.Run("ids are mended", func(t *testing.T) { t.Parallel(); runIDs(t, open) })
	t.Run("stops", func(t *testing.T) { t.Parallel(); runStops(t, open) })
	t.Run("failures", func(t *testing.T) { t.Parallel(); runFailures(t, open) })
	t.Run("a stopped request", func(t *testing.T) { t.Parallel(); runStopped(t, open) })
	t.Run("a conversation that is not valid is not sent", func(t *testing.T) { t.Parallel(); runInvalid(t, open) })
}

// tools are what the suite offers.
var tools = []model.ToolSpec{
	{Name: "db__drop", Description: "Deletes a database.", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)},
	{Name: "clock__now"},
}

// drop and now are calls as the server sends them.
var (
	drop = Call{ID: "call_drop", Name: "db__drop", Arguments: `{"name":"staging"}`}
	now  = Call{ID: "call_now", Name: "clock__now", Arguments: `{}`}
)

func start(t *testing.T, open Open, script Script) (*Server, *Talk) {
	t.Helper()
	s := NewServer(t, script)
	k := &Talk{Model: open(t, s), Request: model.Request{System: "Be brief.", Tools: tools}}
	k.Say("delete the staging database")
	return s, k
}

// noRefusals checks that every request was valid.
func noRefusals(t *testing.T, s *Server) {
	t.Helper()
	for _, r := range s.Refusals() {
		t.Errorf("the server refused a request: %s", r)
	}
}

func runEndings(t *testing.T, open Open) {
	for i, x := range Endings {
		y := Endings[(i+1)%len(Endings)]
		t.Run(x.Name+", "+y.Name, func(t *testing.T) {
			t.Parallel()
			s, k := start(t, open, InOrder(CallTools("On it.", drop, now), Say("Done.")))
			s.Verbatim = true
			resp := k.Next(t)
			if len(resp.Calls) != 2 || resp.Calls[0].Name != drop.Name || string(resp.Calls[0].Arguments) != drop.Arguments || resp.Text != "On it." {
				t.Fatalf("reply %+v", resp)
			}
			k.End(resp, x, y)
			if got := k.Next(t); got.Text != "Done." || got.Stop != model.StopEnd {
				t.Errorf("last reply %+v", got)
			}
			noRefusals(t, s)
			got := s.Requests()[1].Messages
			for j, e := range []Ending{x, y} {
				m := got[len(got)-2+j]
				if want := strings.ToValidUTF8(e.Content, "\uFFFD"); m.Role != "tool" || m.ToolCallID != []Call{drop, now}[j].ID || m.Content != want {
					t.Errorf("result %d is %+v, want %q", j, m, want)
				}
			}
		})
	}
}

func runSuperseded(t *testing.T, open Open) {
	s, k := start(t, open, InOrder(CallTools("", drop, now), Say("Staging holds test data.")))
	k.End(k.Next(t), Ending{Content: "Not answered: the user sent a new message instead"})
	k.Say("what does it do?")
	k.Next(t)
	noRefusals(t, s)
	var roles []string
	for _, m := range s.Requests()[1].Messages {
		roles = append(roles, m.Role)
	}
	if got := strings.Join(roles, " "); got != "system user assistant tool tool user" {
		t.Errorf("sent %s", got)
	}
}

func runApproved(t *testing.T, open Open) {
	s, k := start(t, open, InOrder(CallTools("", drop), CallTools("", now), Say("Done.")))
	k.End(k.Next(t), Endings[0])
	k.End(k.Next(t), Endings[0])
	k.Next(t)
	noRefusals(t, s)
	results := map[string]int{}
	for _, m := range s.Requests()[2].Messages {
		if m.Role == "tool" {
			results[m.ToolCallID]++
		}
	}
	if len(results) != 2 || results[drop.ID] != 1 || results[now.ID] != 1 {
		t.Errorf("results by call: %v, want one each", results)
	}
}

func runCycle(t *testing.T, open Open) {
	again := drop
	again.ID = "call_again"
	s, k := start(t, open, InOrder(CallTools("", drop), Say("Deleted."), CallTools("", again), Say("It stays.")))
	s.Verbatim = true
	for _, e := range Endings[:2] {
		k.End(k.Next(t), e)
		if got := k.Next(t); got.Text == "" {
			t.Errorf("after %s: empty reply", e.Name)
		}
		k.Say("and now delete production")
	}
	noRefusals(t, s)
	first := s.Requests()[0]
	if first.Messages[0].Role != "system" || first.Messages[0].Content != "Be brief." || len(first.Tools) != 2 || first.Tools[0].Description != tools[0].Description {
		t.Errorf("first request: %+v", first)
	}
}

func runVerbatim(t *testing.T, open Open) {
	extras := []string{
		`{"role":"assistant","content":null,"reasoning_content":"hm <b> é \u2028","tool_calls":[{"id":"call_1","type":"function","index":0,"function":{"name":"clock__now","arguments":"{ }"},"extra_content":{"google":{"thought_signature":"c2ln"}}}]}`,
		`{"role":"assistant","content":[{"type":"text","text":"It is "},{"type":"text","text":"noon."}],"annotations":[],"score":1.00000000000000000001,"reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]}`,
	}
	s, k := start(t, open, InOrder(Raw(extras[0], "tool_calls"), Raw(extras[1], "stop"), Say("Bye.")))
	s.Verbatim = true
	k.End(k.Next(t), Endings[0])
	if got := k.Next(t); got.Text != "It is noon." {
		t.Errorf("text of parts: %q", got.Text)
	}
	k.Say("thanks, that is all")
	k.Next(t)
	noRefusals(t, s)
}

func runIDs(t *testing.T, open Open) {
	call := func(id string) string {
		return `{` + id + `"type":"function","function":{"name":"clock__now","arguments":"{}"},"extra_content":{"signature":"` + strings.Repeat("s", len(id)) + `"}}`
	}
	message := func(calls ...string) Reply {
		return Raw(`{"role":"assistant","content":null,"reasoning_content":"kept","tool_calls":[`+strings.Join(calls, ",")+`]}`, "stop")
	}
	s, k := start(t, open, InOrder(
		message(call(""), call(`"id":"",`), call(`"id":null,`)),
		message(call(`"id":"a",`), call(`"id":"a",`)),
		message(call(`"id":"a",`), call(`"id":7,`)),
		Say("Done.")))
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
		if m.Role == "assistant" && (!strings.Contains(string(m.Raw), `"reasoning_content":"kept"`) || !strings.Contains(string(m.Raw), `"signature"`)) {
			t.Errorf("mending an id dropped what the provider sent: %s", m.Raw)
		}
	}
}

func runStops(t *testing.T, open Open) {
	assistant := func(content string) map[string]any { return map[string]any{"role": "assistant", "content": content} }
	calls := map[string]any{"role": "assistant", "content": nil, "tool_calls": wire([]Call{now})}
	for _, tt := range []struct {
		name  string
		reply Reply
		stop  model.Stop
		text  string
	}{
		{"end", Say("Hello."), model.StopEnd, "Hello."},
		{"nothing said", Say(""), model.StopEnd, ""},
		{"no reason", Answer(assistant("Hello."), ""), model.StopEnd, "Hello."},
		{"length", Answer(assistant("Hel"), "length"), model.StopLength, "Hel"},
		{"refusal", Refuse("I cannot help with that."), model.StopRefuse, "I cannot help with that."},
		{"content filter", Raw(`{"role":"assistant","content":null}`, "content_filter"), model.StopRefuse, ""},
		{"stop with calls", Answer(calls, "stop"), model.StopTools, ""},
		{"length with calls", Answer(calls, "length"), model.StopTools, ""},
		{"empty list of calls", Raw(`{"role":"assistant","content":"Hi","tool_calls":[]}`, "stop"), model.StopEnd, "Hi"},
		{"no role", Raw(`{"content":"Hi"}`, "stop"), model.StopEnd, "Hi"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, k := start(t, open, InOrder(tt.reply, Say("Next.")))
			resp := k.Next(t)
			if resp.Stop != tt.stop || resp.Text != tt.text {
				t.Errorf("got %q %q, want %q %q", resp.Stop, resp.Text, tt.stop, tt.text)
			}
			k.End(resp, Endings[0])
			k.Say("go on please")
			k.Next(t) // whatever was kept of the reply is taken back
			noRefusals(t, s)
		})
	}
}

func runStopped(t *testing.T, open Open) {
	ctx, cancel := context.WithCancel(t.Context())
	_, k := start(t, open, func(Request) Reply {
		cancel()
		return Hold(make(chan struct{}), Say("too late"))
	})
	_, err := k.Model.Generate(ctx, k.Request)
	var e *model.Error
	if !errors.As(err, &e) || e.Retry || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want an *Error without retry that wraps context.Canceled", err)
	}
}

func runInvalid(t *testing.T, open Open) {
	s, k := start(t, open, InOrder(CallTools("", drop, now), Say("not to be seen")))
	resp := k.Next(t)
	valid := k.Request.Messages
	result := func(c model.Call) model.Message {
		return model.Message{Role: model.RoleTool, Result: &model.Result{CallID: c.ID, Name: c.Name, Content: "done"}}
	}
	x, y := result(resp.Calls[0]), result(resp.Calls[1])
	for i, added := range [][]model.Message{{}, {x}, {y, x}, {x, x}, {x, y, y}, {{Role: model.RoleUser, Text: "hm?"}}} {
		k.Request.Messages = append(append([]model.Message(nil), valid...), added...)
		if e := k.Fails(t); e.Retry {
			t.Errorf("conversation %d: another try cannot help: %v", i, e)
		}
	}
	if n := len(s.Requests()) + len(s.Refusals()); n != 1 {
		t.Errorf("%d requests were sent, want only the first", n)
	}
}
