package turn

import (
	"fmt"
	"strings"

	"parley/core"
)

// The options of the question about a call that may have run, in the order they are shown.
const (
	unknownStop  = "stop"
	unknownDone  = "done"
	unknownAgain = "again"
)

// wantUnknown asks a person what to do about a call that was started and whose end is not known.
func wantUnknown(s *state, mark string) *want {
	return &want{
		kind: core.KindQuestion, purpose: core.PurposeUnknown, mark: mark,
		message: fmt.Sprintf("%s was started and then interrupted. It may or may not have run.", s.row.Tool),
		questions: []core.Question{{
			ID: "outcome", Prompt: "What should I do?",
			Options: []core.Option{
				{Value: unknownStop, Label: "Stop here"},
				{Value: unknownDone, Label: "Treat it as done"},
				{Value: unknownAgain, Label: "Run it again"},
			},
		}},
	}
}

// wantAgain asks again for an approval whose call is no longer the one that was shown. Its message is the
// difference.
func (b *batch) wantAgain(s *state, mark string) *want {
	w := &want{kind: core.KindApproval, purpose: core.PurposeChanged, mark: mark}
	t, ok := b.d.agent.lookup(s.row.Tool)
	if !ok {
		w.message = "The tool is gone."
		return w
	}
	spec := t.Spec()
	var lines []string
	if spec.Target != s.row.Target {
		lines = append(lines, fmt.Sprintf("It went to %q and now goes to %q.", s.row.Target, spec.Target))
	}
	if core.Digest(string(spec.Schema)) != s.row.Schema {
		lines = append(lines, "The description of its arguments changed; the arguments themselves are the same.")
	}
	w.message = strings.Join(lines, "\n")
	return w
}

// adopt binds a call to the tool as the person was shown it when they approved it again. What changed since
// then is asked again too.
func (b *batch) adopt(s *state, shown core.Input) {
	row := *s.row
	row.Spec, row.Target, row.Schema = shown.Spec, shown.Target, shown.Digest
	row.Hash = core.CallHash(row.Tool, row.Arguments, row.Spec)
	s.row = &row
	b.d.put(s.row)
}

// afterUnknown does what the person decided about a call that may have run.
func (b *batch) afterUnknown(s *state, in core.Input, live bool) error {
	if in.State == core.InputExpired { // nobody said anything: only this call closes
		b.finish(s, live, core.CallExpired, core.ResultInterrupted(*s.row))
		return nil
	}
	choice := unknownStop
	if a := in.Settled.Answer; in.State == core.InputAccepted && a != nil && len(a.Choices) == 1 && len(a.Choices[0].Values) == 1 {
		choice = a.Choices[0].Values[0]
	}
	switch choice {
	case unknownDone:
		b.finish(s, live, core.CallExecuted, core.ResultAssumed(in))
	case unknownAgain:
		s.again = true
	default:
		b.finish(s, live, core.CallCancelled, core.ResultInterrupted(*s.row).After(in))
		return &stoppedError{by: core.Closing{By: in.Settled.By, Via: in.Settled.Via, At: in.Settled.At}}
	}
	return nil
}

// stoppedError ends the run because a person said to stop at a call that may have run.
type stoppedError struct{ by core.Closing }

func (e *stoppedError) Error() string { return "stopped by " + string(e.by.By) }
