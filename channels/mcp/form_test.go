package mcp

import (
	"encoding/json"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core"
	"parley/core/coretest"
)

// FuzzElicitResult: whatever a client answers to an ask, consent is only what says so, and what is made of it is
// something the engine can judge.
func FuzzElicitResult(f *testing.F) {
	for _, content := range []string{
		`{"approve":true}`, `{"approve":"true"}`, `{"approve":1,"confirm":[true]}`, `{"confirm":true,"reason":"x"}`, `{"done":false}`, `{"q1":"A","q1_text":"b"}`,
		`{"q1":["A"],"q1_text":" "}`, `{"":null}`, `null`, `[]`, `{"approve":true,"approve":false}`,
	} {
		for _, action := range []string{"accept", "decline", "cancel", "Accept", ""} {
			f.Add(action, content, false)
			f.Add(action, content, true)
		}
	}
	inputs := coretest.Inputs()
	f.Fuzz(func(t *testing.T, action, content string, opened bool) {
		res := &sdk.ElicitResult{Action: action}
		if json.Unmarshal([]byte(content), &res.Content) != nil {
			return
		}
		for _, in := range inputs {
			r := read(in, ask{Input: in.ID, Opened: opened}, res)
			if r.submission == nil {
				continue
			}
			if r.submission.Content != nil && !json.Valid(r.submission.Content) {
				t.Fatalf("%s: content %s", in.ID, r.submission.Content)
			}
			ans, err := core.Resolve(in, *r.submission)
			if err != nil || ans.Action != core.ActionAccept {
				continue
			}
			said := map[core.Kind]string{core.KindApproval: fieldApprove, core.KindURL: fieldDone}[in.Kind]
			if in.Confirmation() {
				said = fieldConfirm
			}
			if action != "accept" || said != "" && res.Content[said] != true || in.Kind == core.KindURL && !opened {
				t.Fatalf("%s: accepted by %q %s", in.ID, action, content)
			}
		}
	})
}
