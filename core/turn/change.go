package turn

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"parley/core"
)

// change sets arguments of a call that waits for approval, as a person asked for, and shows the changed call
// in full: it is asked again, and both versions stay in the audit. What does not fit the tool's schema changes
// nothing.
func (a *act) change(in core.Input, r core.Reading, m core.Message, via string) error {
	refuse := func(why string) error {
		return a.out(core.Out{Kind: core.OutNote, Note: core.NoteChangeRefused, Text: why, Run: in.Run, Input: in.ID, Step: in.Draft.Step, Person: m.From, ReplyTo: m.ID, Lang: m.Lang})
	}
	call, err := a.callOf(in)
	if err != nil {
		return err
	}
	agent, ok := a.e.agents(in.Agent)
	if !ok || in.Kind != core.KindApproval || call == nil {
		return refuse("only a call that waits for approval can be changed")
	}
	t, ok := agent.lookup(call.Tool)
	if !ok {
		return refuse("the tool is gone")
	}
	args, err := core.ChangeArguments(in.Arguments, r.Changes)
	if err != nil {
		return refuse(err.Error())
	}
	spec := t.Spec()
	frozen, problems := a.e.deps.Prepare(spec.Schema, args)
	switch {
	case len(problems) > 0:
		return refuse(strings.Join(problems, "; "))
	case core.SameJSON(frozen, in.Arguments):
		return refuse("these are the arguments as they stand")
	}
	was := in.Arguments
	call.Arguments, call.Changed = frozen, true
	call.Hash = core.CallHash(call.Tool, frozen, call.Spec)
	in.Arguments, in.Hash = frozen, core.CallHash(call.Tool, frozen, cmp.Or(in.Spec, call.Spec))
	in.Draft.Step++
	return errors.Join(
		a.tx.PutCall(*call), a.putInput(in),
		a.event(core.Event{Type: core.EventChanged, Run: in.Run, Call: in.Call, Input: in.ID, By: m.From, Via: via, Data: data(struct {
			Was json.RawMessage `json:"was"`
			Now json.RawMessage `json:"now"`
			Raw string          `json:"raw"`
		}{was, frozen, m.Text})}),
		a.prompt(in),
	)
}

// callOf is the call that an input belongs to, nil if it is gone.
func (a *act) callOf(in core.Input) (*core.Call, error) {
	calls, err := a.tx.Calls(in.Run)
	for i := range calls {
		if calls[i].ID == in.Call {
			return &calls[i], err
		}
	}
	return nil, err
}
