package modeltest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"parley/core/model"
)

// foreign sends what other providers and the engine itself made: ids and names that are not allowed here,
// ids used twice, arguments that are no object, replies that say nothing, words that are none.
func (x *suite) foreign(t *testing.T) {
	s, k := x.start(t, InOrder(CallTools("", now), Say("ok")))
	calls := func(arguments string, ids ...string) {
		a := model.Message{Role: model.RoleAssistant, Provider: "elsewhere", Raw: json.RawMessage(`{"not":"ours"}`), Text: " \n"}
		for _, id := range ids {
			a.Calls = append(a.Calls, model.Call{ID: id, Name: "files.read/one", Arguments: json.RawMessage(arguments)})
		}
		k.Request.Messages = append(k.Request.Messages, a)
		k.End(model.Response{Calls: a.Calls}, Ending{Content: "result", IsError: true}, Ending{Content: " ", IsError: true}, Ending{})
	}
	k.Request.Messages = append([]model.Message{{Role: model.RoleAssistant, Text: "Hello, I am new here."}}, k.Request.Messages...)
	calls(`{"a":1}`, "intake")
	calls(``, "intake")
	calls(`null`, "toolu:01/ä", strings.Repeat("x", 60), "z")
	k.Say("  ")
	calls(`[1,"<é>"]`, "call00001")
	calls("{\"a\":\"caf\xe9", "call00002")
	k.Request.Messages = append(k.Request.Messages, model.Message{Role: model.RoleAssistant})
	k.Say("go on")
	k.Say("please \xff")
	k.End(k.Next(t), Endings[0])
	k.Next(t)
	noRefusals(t, s)
	sent := s.Requests()[1]
	made, results := map[string]string{}, 0
	for _, m := range sent.Messages {
		for _, c := range m.Calls {
			made[c.ID] = c.Arguments
			if c.Name != now.Name && c.Name[:11] != "files_read_" {
				t.Errorf("a call of %q", c.Name)
			}
			if !json.Valid([]byte(c.Arguments)) {
				t.Errorf("arguments %q", c.Arguments)
			}
		}
		if m.Role == "tool" {
			results++
		}
	}
	if len(made) != 8 || results != 8 {
		t.Errorf("%d calls, %d results, want 8", len(made), results)
	}
}

// long sends a history of many turns.
func (x *suite) long(t *testing.T) {
	s, k := x.start(t, func(r Request) Reply {
		if r.Last().Role == "user" {
			return CallTools("", Call{ID: fmt.Sprintf("a%d", r.Nth), Name: drop.Name, Arguments: drop.Arguments}, Call{ID: fmt.Sprintf("b%d", r.Nth), Name: now.Name, Arguments: "{}"})
		}
		return Say("Done.")
	})
	s.Verbatim = true
	for i := range 20 {
		k.End(k.Next(t), Endings[i%len(Endings)], Endings[(i+3)%len(Endings)])
		k.Next(t)
		k.Say(strings.Repeat("and again ", 20))
	}
	noRefusals(t, s)
	all := k.Request.Messages
	k.Request.Messages = model.Compact(all, model.Tokens(all...)/3)
	if len(k.Request.Messages) > len(all)/2 || k.Request.Messages[0].Text != model.LeftOut {
		t.Errorf("%d of %d messages after compaction", len(k.Request.Messages), len(all))
	}
	k.Next(t)
	noRefusals(t, s)
}

// malformed has a model call tools that do not exist, with arguments that are not right.
func (x *suite) malformed(t *testing.T) {
	replies := []Reply{
		CallTools("", Call{ID: "a", Name: "invented", Arguments: `{"x":[1,{"y":null}]}`}),
		CallTools("", Call{ID: "b", Name: drop.Name, Arguments: `{"name":7,"more":"\u2028"}`}),
	}
	if x.dialect == Messages {
		replies = append(replies, Blocks("tool_use", `{"type":"tool_use","id":"c","name":"db__drop","input":"staging"}`, `{"type":"tool_use","id":"d","name":"größe","input":null}`))
	} else {
		replies = append(replies, CallTools("", Call{ID: "c", Name: drop.Name, Arguments: `{"name":"stag`}, Call{ID: "d", Name: "x", Arguments: `"staging"`}))
	}
	replies = append(replies, Say("I give up."))
	s, k := x.start(t, InOrder(replies...))
	var got []string
	for range 3 {
		resp := k.Next(t)
		for _, c := range resp.Calls {
			got = append(got, c.Name)
		}
		k.End(resp, Ending{Content: "The arguments do not fit.", IsError: true})
	}
	k.Next(t)
	noRefusals(t, s)
	if len(got) != 4 || got[0] != "invented" || got[2] != drop.Name {
		t.Errorf("calls of %q", got)
	}
}

// pictures sends pictures where they are taken, and names them where they are not.
func (x *suite) pictures(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\nno more than this")
	s, k := x.start(t, InOrder(Say("A cat."), Say("Two cats.")))
	k.Request.Messages[0].Images = []model.Image{{Name: "cat.png", Type: "image/png", Data: png}, {Name: "page.pdf", Type: "application/pdf", Data: png}}
	k.Next(t)
	k.Request.Messages = append(k.Request.Messages, model.Message{Role: model.RoleUser, Images: []model.Image{{Name: "two.jpg", Type: "image/jpeg", Data: png}}})
	k.Next(t)
	noRefusals(t, s)
	sent := s.Requests()[1].Messages
	first, last := sent[1], sent[len(sent)-1]
	if !strings.Contains(first.Content, "page.pdf") || !strings.HasPrefix(first.Content, "delete the staging database") {
		t.Errorf("the first message is %q", first.Content)
	}
	for i, m := range []Message{first, last} {
		name := []string{"cat.png", "two.jpg"}[i]
		if shown := m.Images == 1; shown == strings.Contains(m.Content, name) {
			t.Errorf("%s: %d pictures with the text %q", name, m.Images, m.Content)
		}
	}
}
