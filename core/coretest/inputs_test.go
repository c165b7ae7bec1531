package coretest

import (
	"testing"

	"parley/core"
)

func TestFixturesCouldBeAsked(t *testing.T) {
	t.Parallel()
	seen := map[core.InputID]bool{}
	for _, in := range Inputs() {
		if seen[in.ID] || len(in.ID) > 32 {
			t.Errorf("%s: its name is taken or too long", in.ID)
		}
		seen[in.ID] = true
		if !core.MayAnswer(in, core.HumanInput{Approvers: []core.PersonID{Approver}}, Asker) {
			t.Errorf("%s: its asker may not answer", in.ID)
		}
		if _, err := core.ParseForm(in.Schema); err != nil {
			t.Errorf("%s: %v", in.ID, err)
		}
		if in.Kind == core.KindQuestion {
			for _, reason := range core.CheckQuestions(in.Questions, in.Purpose == core.PurposeAsk, nil) {
				t.Errorf("%s: %s", in.ID, reason)
			}
		}
		if got := Input(string(in.ID)); got.ID != in.ID {
			t.Errorf("Input(%s) is %s", in.ID, got.ID)
		}
	}
}
