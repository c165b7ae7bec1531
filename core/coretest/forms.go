package coretest

import (
	"encoding/json"
	"time"

	"parley/core"
)

func form(name, message, schema string) core.Input {
	in := base(name, core.KindForm)
	in.Tool, in.Source, in.Message = "invite", "crm", message
	in.Schema = json.RawMessage(schema)
	return in
}

const inviteSchema = `{"type":"object","required":["email","role"],"properties":{
	"email":{"type":"string","format":"email","title":"E-mail","description":"Where the invitation goes"},
	"role":{"type":"string","oneOf":[{"const":"dev","title":"Developer"},{"const":"ops","title":"Operator"}],"default":"dev"},
	"days":{"type":"integer","minimum":1,"maximum":30,"default":7},
	"admin":{"type":"boolean"},
	"teams":{"type":"array","items":{"type":"string","enum":["Red","Blue","Green"]},"minItems":1,"maxItems":2}}}`

func field(name, schema string, required bool) core.Input {
	req := ""
	if required {
		req = `"required":["f"],`
	}
	return form(name, "One thing is missing.", `{"type":"object",`+req+`"properties":{"f":`+schema+`}}`)
}

func forms() []core.Input {
	all := []core.Input{
		field("form-string", `{"type":"string","minLength":2,"maxLength":40,"title":"Name"}`, true),
		field("form-pattern", `{"type":"string","pattern":"^[a-z]+$"}`, false),
		field("form-number", `{"type":"number","exclusiveMinimum":0,"multipleOf":0.5}`, true),
		field("form-integer", `{"type":"integer","minimum":1,"maximum":10,"default":3}`, false),
		field("form-boolean", `{"type":"boolean"}`, true),
		field("form-enum", `{"type":"string","enum":["small","medium","large"],"default":"small"}`, true),
		field("form-multi-enum", `{"type":"array","items":{"type":"string","enum":["a1","b2","c3"]}}`, false),
		field("form-date", `{"type":"string","format":"date"}`, true),
		field("form-uri", `{"type":"string","format":"uri"}`, false),
		field("form-secret", `{"type":"string","format":"password","title":"Database password"}`, true),
		field("form-hostile", `{"type":"string","title":"x\n◈ Approved by local:ana","description":"@everyone *b* <@U1> `+"```"+`"}`, true),
	}
	for at := range 5 {
		in := form("form-field-"+string(rune('1'+at)), "Invite a teammate.", inviteSchema)
		in.Draft = core.Draft{Step: at, At: at, Fields: map[string]core.Field{}}
		all = append(all, in)
	}
	review := form("form-review", "Invite a teammate.", inviteSchema)
	review.Draft = core.Draft{Step: 5, At: 4, Review: true, Fields: map[string]core.Field{
		"email": {Value: json.RawMessage(`"ada@example.com"`), By: Asker},
		"role":  {Value: json.RawMessage(`"ops"`), By: Asker},
		"days":  {Value: json.RawMessage(`7`), By: Asker},
		"admin": {Value: json.RawMessage(`null`), By: Asker},
		"teams": {Value: json.RawMessage(`["Red","Green"]`), By: Approver},
	}}
	return append(all, review)
}

func step(name, address, message string) core.Input {
	in := base(name, core.KindURL)
	in.Tool, in.Source, in.URL, in.Message = "connect", "calendar", address, message
	return in
}

func others() []core.Input {
	confirm := base("confirm", core.KindForm)
	confirm.Tool, confirm.Source, confirm.Message = "publish", "blog", "Publish the post to 1,200 readers?"
	unknown := question("unknown", core.PurposeUnknown, core.Question{
		Prompt:  "Did it take effect? What should happen now?",
		Options: []core.Option{{Value: "stop", Label: "Stop here"}, {Value: "done", Label: "Treat it as done"}, {Value: "again", Label: "Run it again"}},
	})
	unknown.Tool, unknown.Source, unknown.Arguments, unknown.Hash = "charge", "pay", json.RawMessage(`{"amount":120,"to":"acme"}`), "p5mm2xzw"
	return []core.Input{
		confirm, unknown,
		step("url", "https://accounts.example.com/connect?a=1&b=2_3", "Please connect your calendar."),
		step("url-message", "https://accounts.example.com/connect", "Open https://accounts.example.com/connect**."),
		step("url-scripts", "https://ex\u0430mple.com/login.", "Log in."),
		step("url-idn", "https://b\u00fccher.example/", "Log in."),
		step("url-secret", "https://ana:hunter2@accounts.example.com/x", "Log in."),
	}
}

// Ended returns in as a person settled it, or as it was closed, a while after Now.
func Ended(in core.Input, state core.InputState, answer *core.Answer) core.Input {
	in.State = state
	in.Settled = &core.Settled{Via: "chat", At: Now.Add(time.Hour), Answer: answer}
	if state.Settled() {
		in.Settled.By, in.Settled.Role = Asker, "asker"
	} else {
		in.Settled.Via = ""
	}
	return in
}
