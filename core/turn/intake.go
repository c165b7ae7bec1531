package turn

import (
	"encoding/json"

	"parley/core"
	"parley/core/journal"
	"parley/core/model"
)

const intakeCall core.CallID = "intake"

// verdict is what intake:ask records: whether to ask, and what.
type verdict struct {
	Ask       bool            `json:"ask"`
	Preamble  string          `json:"preamble,omitempty"`
	Questions []core.Question `json:"questions,omitempty"`
}

// intake asks the author's questions before the first model request. It spends intake:ask and, on turns
// that ask, intake:answers; a run that began without an intake spends nothing.
func (d *driver) intake() error {
	switch next := d.j.Next(); {
	case d != d.root, next != "" && next != "intake:ask", next == "" && (d.agent.Intake == nil || d.j.Len() > 0):
		return nil
	}
	live := !d.j.Replaying()
	v, err := journal.Do(d.j, "intake:ask", d.intakeVerdict)
	if err != nil || !v.Ask {
		return err
	}
	s := &state{
		row: d.calls[intakeCall], dec: decision{Kind: core.CallAsk, Preamble: v.Preamble, Set: v.Questions},
		want: &want{kind: core.KindQuestion, purpose: core.PurposeIntake, message: v.Preamble, questions: v.Questions, wait: "intake:answers"},
	}
	if live {
		s.row = intakeRow(d.run.ID, v)
		d.put(s.row)
	}
	b := &batch{d: d, calls: []*state{s}}
	if err := b.awaitAll(b.calls); err != nil {
		return err
	}
	b.resp = intakeReply(*s.row)
	d.msgs = append(d.msgs, b.transcript()...)
	return nil
}

func (d *driver) intakeVerdict() (verdict, error) {
	asked := false
	err := d.e.store.View(d.hard, d.claim.Conversation, func(r Reader) error {
		conv, err := r.Conversation()
		asked = conv.Asked
		return err
	})
	in := d.agent.Intake
	if err != nil || asked && !in.EveryTurn {
		return verdict{}, err
	}
	return verdict{Ask: true, Preamble: in.Preamble, Questions: in.Questions}, nil
}

func intakeRow(run core.RunID, v verdict) *core.Call {
	args, err := json.Marshal(map[string]any{"questions": v.Questions})
	if err != nil {
		args = json.RawMessage(`{}`) // strings and booleans always encode
	}
	return &core.Call{
		Run: run, ID: intakeCall, Provider: string(intakeCall), Tool: "ask", Type: core.ToolAction, Kind: core.CallAsk,
		Status: core.CallPending, Arguments: args, Hash: core.CallHash("ask", args, ""),
	}
}

// intakeReply is the intake as the model sees it: a call of ask that it might have made.
func intakeReply(c core.Call) model.Response {
	return model.Response{Calls: []model.Call{{ID: c.Provider, Name: c.Tool, Arguments: c.Arguments}}}
}
