package core_test

import (
	"encoding/json"
	"testing"

	"parley/core"
)

func TestMayAnswer(t *testing.T) {
	t.Parallel()
	today := core.HumanInput{Approvers: []core.PersonID{"telegram:7", "telegram:8"}}
	in := core.Input{Responders: core.Responders{Asker: "telegram:42", Audience: []core.PersonID{"telegram:42", "telegram:7", "telegram:9"}}}
	approversOnly := today
	approversOnly.ApproversOnly = true
	for _, c := range []struct {
		name  string
		in    core.Input
		today core.HumanInput
		who   core.PersonID
		may   bool
	}{
		{"the asker", in, today, "telegram:42", true},
		{"an approver then and now", in, today, "telegram:7", true},
		{"an approver only now", in, today, "telegram:8", false},
		{"an approver only then", in, today, "telegram:9", false},
		{"a stranger", in, today, "telegram:1", false},
		{"the same number elsewhere", in, today, "discord:42", false},
		{"nobody", in, today, "", false},
		{"the asker, left out today", in, approversOnly, "telegram:42", false},
		{"an approver, with the asker left out", in, approversOnly, "telegram:7", true},
		{"an empty audience", core.Input{Responders: core.Responders{Asker: "telegram:42"}}, today, "telegram:42", false},
		{"an empty configuration", core.Input{Responders: core.Responders{Audience: []core.PersonID{"telegram:7"}}}, core.HumanInput{}, "telegram:7", false},
		{"nobody among nobody", core.Input{Responders: core.Responders{Audience: []core.PersonID{""}}}, core.HumanInput{Approvers: []core.PersonID{""}}, "", false},
	} {
		if got := core.MayAnswer(c.in, c.today, c.who); got != c.may {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestMayAbortAndRole(t *testing.T) {
	t.Parallel()
	run := core.Run{Message: core.Message{From: "telegram:42"}}
	only := core.HumanInput{Approvers: []core.PersonID{"telegram:7"}, ApproversOnly: true}
	for who, may := range map[core.PersonID]bool{"telegram:42": true, "telegram:7": true, "telegram:1": false, "": false} {
		if got := core.MayAbort(run, only, who); got != may {
			t.Errorf("%q may abort: %v", who, got)
		}
	}
	if core.Role("a:1", "a:1") != "asker" || core.Role("a:1", "a:2") != "approver" {
		t.Error("roles are mixed up")
	}
}

func TestConversationID(t *testing.T) {
	t.Parallel()
	c := core.NewConversation("ops", "tg", "-1001|36/2")
	agent, channel, place := c.Parts()
	if agent != "ops" || channel != "tg" || place != "-1001|36/2" || c.Agent() != "ops" || c.Channel() != "tg" {
		t.Errorf("%q is %q, %q, %q", c, agent, channel, place)
	}
	if core.PersonID("telegram:42").Surface() != "telegram" {
		t.Error("the surface of a person is not its platform")
	}
}

func TestSecretNames(t *testing.T) {
	t.Parallel()
	got := core.SecretNames(json.RawMessage(`{"properties":{"b":{"writeOnly":true},"a":{"properties":{"pin":{"format":"password"}}},"c":{"type":"string"},"l":{"items":{"properties":{"b":{"writeOnly":true}}}}}}`))
	if len(got) != 2 || got[0] != "b" || got[1] != "pin" {
		t.Errorf("secret %q", got)
	}
	if got := core.SecretNames(json.RawMessage(`{`)); got != nil {
		t.Errorf("secret %q of no schema", got)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	if core.Digest("ab", "c") == core.Digest("a", "bc") || core.Digest("a") == core.Digest("a", "") {
		t.Error("two lists of parts share a digest")
	}
	if d := core.Digest("x"); len(d) != 16 || d != core.Digest("x") {
		t.Errorf("digest %q", d)
	}
}
