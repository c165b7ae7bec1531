package channels_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/core"
	"parley/core/coretest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// viewed are an input of every kind, and every way to end.
func viewed() []core.Input {
	end := func(in core.Input, state core.InputState, a *core.Answer) core.Input {
		in.State = state
		in.Settled = &core.Settled{By: coretest.Approver, Via: "rest", Role: "approver", At: coretest.Now.Add(time.Minute), Answer: a}
		return in
	}
	secret := coretest.Input("approval-secrets")
	declined := end(secret, core.InputDeclined, &core.Answer{Action: core.ActionDecline, Reason: "not with password=hunter2222"})
	set := core.Input{
		ID: "set", Conversation: core.NewConversation("ops", "tg", "42"), Agent: "child", Run: "r2", Call: "c2", Kind: core.KindQuestion,
		State: core.InputPending, Purpose: core.PurposeAsk, CreatedAt: coretest.Now,
		Questions: []core.Question{
			{ID: "region", Prompt: "Where?", Options: []core.Option{{Value: "eu", Label: "Europe"}, {Value: "us", Label: "America"}}, Defaults: []string{"eu"}},
			{ID: "size", Prompt: "How big?", Options: []core.Option{{Value: "s", Label: "Small"}, {Value: "l", Label: "Large"}}, Multi: true, Defaults: []string{}},
			{ID: "note", Prompt: "Anything else?", FreeText: true},
		},
	}
	answered := end(set, core.InputAccepted, &core.Answer{Action: core.ActionAccept, Choices: []core.Choice{
		{Question: "region", Values: []string{"eu"}, Defaulted: true}, {Question: "size", Values: []string{"s", "l"}}, {Question: "note", Values: []string{}, Text: "no"},
	}})
	skipped := end(set, core.InputSkipped, &core.Answer{Action: core.ActionSkip, Choices: []core.Choice{{Question: "region", Values: []string{"eu"}, Defaulted: true, Skipped: true}}})
	form := set
	form.ID, form.Kind, form.Purpose, form.Questions = "form", core.KindForm, "", nil
	form.Schema = json.RawMessage(`{"type":"object","properties":{"user":{"type":"string"},"key":{"type":"string","writeOnly":true}}}`)
	filled := end(form, core.InputAccepted, &core.Answer{Action: core.ActionAccept, Fields: map[string]json.RawMessage{"user": json.RawMessage(`"ana"`), "key": json.RawMessage(`"abc123"`)}})
	step := set
	step.ID, step.Kind, step.Purpose, step.Questions, step.URL = "step", core.KindURL, "", nil, "https://ana:pw@id.example/go?x=<1>&y=2"
	expired := set
	expired.State, expired.Settled = core.InputExpired, &core.Settled{At: coretest.Now.Add(time.Hour)}
	return []core.Input{secret, declined, set, answered, skipped, expired, form, filled, step, end(step, core.InputAccepted, &core.Answer{Action: core.ActionAccept})}
}

// TestInputView pins the shape that other programs read: a name once given is never changed or taken out.
func TestInputView(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	for _, in := range viewed() {
		raw, err := json.Marshal(channels.ViewInput(in))
		if err == nil {
			err = json.Indent(&got, raw, "", "  ")
		}
		if err != nil {
			t.Fatal(err)
		}
		got.WriteByte('\n')
	}
	const file = "testdata/inputview.golden"
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the shape of an input changed; -update writes it anew. It is\n%s", got.Bytes())
	}
	for _, secret := range []string{"hunter2222", "abc123", "qqqq1111"} {
		if strings.Contains(got.String(), secret) {
			t.Errorf("%q is shown", secret)
		}
	}
}

// TestInputViewNames are the fields that the contract promises.
func TestInputViewNames(t *testing.T) {
	t.Parallel()
	promised := []string{
		"id", "kind", "state", "message", "tool", "source", "arguments", "hash", "questions", "schema", "url", "responders", "runId", "callId",
		"agent", "conversation", "createdAt", "expiresAt", "settled",
	}
	in := coretest.Input("approval-secrets")
	in.Message, in.Questions, in.Schema, in.URL, in.Agent = "why", []core.Question{{ID: "q"}}, json.RawMessage(`{}`), "https://id.example", "ops"
	in.Settled = &core.Settled{At: coretest.Now, Answer: &core.Answer{Action: core.ActionAccept}}
	raw, err := json.Marshal(channels.ViewInput(in))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	for _, name := range promised {
		if _, ok := got[name]; !ok {
			t.Errorf("there is no %q in %s", name, raw)
		}
	}
	settled, _ := got["settled"].(map[string]any)
	for _, name := range []string{"state", "at", "content", "defaulted", "skipped"} {
		if _, ok := settled[name]; !ok {
			t.Errorf("there is no settled.%s in %s", name, raw)
		}
	}
}

func TestMaskURL(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(viewed(), func(in core.Input) bool { return in.Kind == core.KindURL })
	v := channels.ViewInput(viewed()[i])
	var open, told string
	if json.Unmarshal(v.URL, &open) != nil || open != viewed()[i].URL {
		t.Errorf("to be opened: %s", v.URL)
	}
	if json.Unmarshal(v.MaskURL().URL, &told) != nil || strings.Contains(told, "pw") || !strings.HasSuffix(told, "@id.example/go?x=<1>&y=2") {
		t.Errorf("told: %s", v.MaskURL().URL)
	}
}
