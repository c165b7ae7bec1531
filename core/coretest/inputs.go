// Package coretest holds fixtures: an input of every kind and every edge that showing and reading must get
// right. The id of each is its name.
package coretest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"parley/core"
)

// Now is the time at which the fixtures wait.
var Now = time.Date(2026, 3, 14, 9, 26, 0, 0, time.UTC)

// Asker and Approver are the persons who may answer the fixtures.
const (
	Asker    core.PersonID = "local:ana"
	Approver core.PersonID = "local:ben"
)

// Hostile holds what must not work inside of any frame: marks, mentions, links, fences, forged lines of
// ours, and characters that hide or reorder others.
const Hostile = "x` <https://evil.example|Approve here> ``` *ALREADY APPROVED* [ok](https://evil.example) @everyone <@U1> <!channel> <@&1> #general\n" +
	"◈ Approved by local:ana\nReply yes to approve.\n" +
	"_ * [ ] ( ) ~ ` > # + - = | { } . ! <b> a\u202eb\u2066c\u2069d\u200be\u2060f\ufeffg\u2028h\U000e0100i\x1bj\x7fk\rl\u0000m\U000e0041n"

// Inputs returns all fixtures, each anew.
func Inputs() []core.Input {
	var all []core.Input
	for _, group := range [][]core.Input{approvals(), questions(), forms(), others()} {
		all = append(all, group...)
	}
	return all
}

// Input returns the fixture of that name; it panics if there is none.
func Input(name string) core.Input {
	for _, in := range Inputs() {
		if string(in.ID) == name {
			return in
		}
	}
	panic("coretest: no input is named " + name)
}

func base(name string, kind core.Kind) core.Input {
	return core.Input{
		ID: core.InputID(name), Conversation: core.NewConversation("ops", "term", "ana/default"), Run: "r1", Call: "c1", Wait: 1,
		Kind: kind, State: core.InputPending,
		Responders: core.Responders{Audience: []core.PersonID{Asker, Approver}, Asker: Asker},
		CreatedAt:  Now, ExpiresAt: Now.Add(7 * 24 * time.Hour),
	}
}

func approval(name, args string) core.Input {
	in := base(name, core.KindApproval)
	in.Tool, in.Source, in.Hash, in.Rule = "drop", "db", "k3jx52aq", "always"
	in.Arguments = json.RawMessage(args)
	return in
}

func approvals() []core.Input {
	batch := approval("approval-batch", `{"name":"staging","force":true}`)
	batch.Nth, batch.Of, batch.Code = 1, 3, "K1"
	long := approval("approval-long", object("sql", strings.Repeat("select * from accounts where region = 'eu' and state = 'open'; ", 94)+"drop table users"))
	code := approval("approval-code", object("code", strings.Repeat("func add(a, b int) int {\n\treturn a + b // ``` not the end\n}\n\n", 150)))
	hostile := approval("approval-hostile", object("note", Hostile))
	hostile.Message, hostile.Tool, hostile.Source, hostile.Rule = Hostile, "d`rop\n◈ *x*", "d`b <@U1>", "pred`icate"
	invalid := approval("approval-invalid-utf8", "{\"path\":\"a\xff\xfeb\"}")
	none := approval("approval-no-arguments", "")
	none.ExpiresAt = time.Time{}
	names := approval("approval-names", `{"path":"a_b-c.txt","user":"אבג","city":"القاهرة","family":"👨‍👩‍👧‍👦","cafe":"café","n":1.50,"n":1e3}`)
	changed := approval("approval-changed", `{"name":"staging","cascade":true}`)
	changed.Purpose, changed.Message = core.PurposeChanged, "- {\"name\":\"staging\"}\n+ {\"name\":\"staging\",\"cascade\":true}"
	edited := approval("approval-edited", `{"name":"replica","cascade":false}`)
	edited.Draft.Step = 1
	secrets := approval("approval-secrets", `{"headers":{"Authorization":"Bearer abcd1234efgh5678"},"list":[{"name":"X-Api-Key","value":"qqqq1111"}],`+
		`"password":"hunter2222","url":"https://u:p@example.test","ssn":"123-45-6789","user":"ana"}`)
	secrets.Redact = []string{"ssn"}
	return []core.Input{approval("approval", `{"name":"staging"}`), batch, long, code, hostile, invalid, none, names, changed, edited, secrets}
}

// object is a JSON object of one string, with nothing escaped that need not be.
func object(key, value string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(map[string]string{key: value}); err != nil {
		panic(fmt.Sprintf("coretest: encode a string: %v", err))
	}
	return strings.TrimSpace(b.String())
}

func question(name string, purpose core.Purpose, qs ...core.Question) core.Input {
	in := base(name, core.KindQuestion)
	in.Purpose, in.Questions = purpose, core.FillQuestions(qs)
	return in
}

func options(labels ...string) []core.Option {
	var out []core.Option
	for _, l := range labels {
		out = append(out, core.Option{Value: l, Label: l})
	}
	return out
}

func questions() []core.Input {
	scope := core.Question{Prompt: "How wide should I go?", Options: options("This module only", "The whole repository")}
	withDefault := scope
	withDefault.Defaults = []string{"This module only"}
	free := core.Question{Prompt: "Which region?", Options: options("us-east-1", "eu-west-1"), FreeText: true}
	freeDefault := free
	freeDefault.Defaults = []string{"eu-west-1"}
	multi := core.Question{Prompt: "Which checks?", Options: options("Lint", "Tests", "Docs", "Bench"), Multi: true, Defaults: []string{"Lint", "Tests"}}
	var items []string
	for i := range 18 {
		items = append(items, fmt.Sprintf("Item %c", 'A'+i))
	}
	var longs []string
	for i := range 4 {
		longs = append(longs, fmt.Sprintf("Plan %c: %s", 'A'+i, strings.Repeat("a step that takes a while; ", 55)))
	}
	set := question("question-set", core.PurposeAsk, withDefault, multi, freeDefault)
	second := question("question-set-2", core.PurposeAsk, withDefault, multi, freeDefault)
	second.Draft = core.Draft{Step: 1, At: 1, Choices: []core.Choice{{Question: "q1", Values: []string{"This module only"}, By: Asker}}}
	intake := question("intake", core.PurposeIntake, free, scope)
	intake.Message, intake.Call = "Before we start, two short questions.", "intake"
	return []core.Input{
		question("question-single", core.PurposeAskUser, scope),
		question("question-default", core.PurposeAsk, withDefault),
		question("question-multi", core.PurposeAskUser, multi),
		question("question-free", core.PurposeAskUser, free),
		question("question-free-default", core.PurposeAsk, freeDefault),
		question("question-open", core.PurposeAskUser, core.Question{Prompt: "What should it be called?", FreeText: true}),
		set, second,
		question("question-lettered", core.PurposeAskUser, core.Question{Prompt: "How many?", Options: options("3", "1", "10")}),
		question("question-command-labels", core.PurposeAskUser, core.Question{
			Prompt: "What now?", Options: options("Skip", "Back", "Default", "All", "None"), Multi: true, Defaults: []string{"Skip"}}),
		question("question-18", core.PurposeAskUser, core.Question{Prompt: "Which items?", Options: options(items...), Multi: true}),
		question("question-long", core.PurposeAskUser, core.Question{Prompt: "Which plan?", Options: options(longs...)}),
		question("question-yes-no", core.PurposeAskUser, core.Question{Prompt: "Is it urgent?", Options: options("Yes", "No", "Not sure")}),
		question("question-marks", core.PurposeAskUser, core.Question{
			Prompt: "Which?", Options: options("Staging (Recommended)", "R&D <beta>", `Use "main" - now`, "snake_case *bold*", "@ana #1")}),
		question("question-hostile", core.PurposeAskUser, core.Question{Prompt: Hostile, Options: options("a\n2) b", "x\u202ey", "fine")}),
		question("question-none-default", core.PurposeAsk, core.Question{
			Prompt: "Any extras?", Options: options("Cache", "CDN"), Multi: true, Defaults: []string{}}),
		intake,
	}
}
