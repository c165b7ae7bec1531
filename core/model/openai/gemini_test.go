package openai

import (
	"strings"
	"testing"

	"parley/core/model"
	"parley/core/model/modeltest"
)

func TestGeminiAddress(t *testing.T) {
	t.Parallel()
	c, err := NewGemini(Config{Model: "gemini-3"})
	if err != nil || c.far.Host != "generativelanguage.googleapis.com" {
		t.Errorf("the host is %q (%v)", c.far.Host, err)
	}
	if _, err := NewGemini(Config{}); err == nil {
		t.Error("no model is no error")
	}
}

// TestOnlyGeminiGetsTheWord has a call that no model made, as an intake is.
func TestOnlyGeminiGetsTheWord(t *testing.T) {
	t.Parallel()
	for _, d := range []modeltest.Dialect{modeltest.Chat, modeltest.Gemini} {
		s := modeltest.NewServerOf(t, d, modeltest.InOrder(modeltest.Say("ok")))
		build := New
		if d == modeltest.Gemini {
			build = NewGemini
		}
		c, err := build(Config{Model: "fake", APIKey: modeltest.Key, BaseURL: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		k := &modeltest.Talk{Model: c}
		k.Say("hello")
		k.Request.Messages = append(k.Request.Messages, model.Message{Role: model.RoleAssistant, Calls: []model.Call{{ID: "intake", Name: "ask"}, {ID: "b", Name: "ask"}}})
		k.End(model.Response{Calls: k.Request.Messages[1].Calls}, modeltest.Endings[0])
		k.Next(t)
		if n := strings.Count(string(s.Requests()[0].Body), unsigned); n != map[modeltest.Dialect]int{modeltest.Chat: 0, modeltest.Gemini: 1}[d] {
			t.Errorf("%v: the word stands there %d times", d, n)
		}
	}
}

// TestCallsWithoutTheirSignature shows what the strict server is for: a client that is not Google's, with
// a history that is not its own.
func TestCallsWithoutTheirSignature(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServerOf(t, modeltest.Gemini, modeltest.InOrder(modeltest.CallTools("", modeltest.Call{Name: "t", Arguments: "{}"})))
	k := &modeltest.Talk{Model: open(t, s)}
	k.Say("hello")
	resp := k.Next(t)
	if resp.Stop != model.StopTools || resp.Calls[0].ID == "" {
		t.Errorf("%+v", resp)
	}
	k.End(resp, modeltest.Endings[0])
	k.Request.Messages[1].Provider = "elsewhere"
	if e := k.Fails(t); e.Retry || !strings.Contains(s.Refusals()[0], "missing a thought_signature") {
		t.Errorf("%v, %v", e, s.Refusals())
	}
}
