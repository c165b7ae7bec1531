package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"parley/core"
	"parley/core/turn"
	"parley/render"
)

// streamed are the events that clients get; those of the audit stay in the log.
var streamed = []core.EventType{
	core.EventRunStarted, core.EventText, core.EventToolCall, core.EventApproval, core.EventElicitation,
	core.EventInputRequired, core.EventInputResolved, core.EventRunFinished,
}

func isGone(err error) bool { return errors.Is(err, turn.ErrNotFound) }

// frameView is the data of a frame. Run is the run to answer, also where it comes through the stream of one
// above it; ID is the tool call's, for an approval and an elicitation.
type frameView struct {
	Run          core.RunID      `json:"runId"`
	Parent       core.RunID      `json:"parent,omitempty"`
	ID           core.CallID     `json:"id,omitempty"`
	Input        core.InputID    `json:"inputId,omitempty"`
	Agent        core.AgentID    `json:"agent,omitempty"`
	Conversation string          `json:"conversation,omitempty"`
	From         core.PersonID   `json:"from,omitempty"`
	Status       core.RunStatus  `json:"status,omitempty"`
	Text         string          `json:"text,omitempty"`
	Reason       string          `json:"reason,omitempty"`
	ToolName     string          `json:"toolName,omitempty"`
	ToolType     core.ToolType   `json:"toolType,omitempty"`
	Arguments    json.RawMessage `json:"input,omitempty"`
	Masked       []string        `json:"masked,omitempty"`
	Hash         string          `json:"hash,omitempty"`
	Request      *inputView      `json:"request,omitempty"`
	Settled      *settledView    `json:"settled,omitempty"`
}

// frame is an event as it is written to a stream. What the rows no longer have is left out.
func frame(ctx context.Context, rows Rows, ev core.Event) ([]byte, error) {
	v := frameView{Run: ev.Run, ID: ev.Call, Input: ev.Input}
	var err error
	switch ev.Type {
	case core.EventText:
		var d struct{ Text string }
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return nil, fmt.Errorf("event %d: %w", ev.Seq, err)
		}
		v.Text = d.Text
	case core.EventRunStarted, core.EventRunFinished:
		err = v.run(ctx, rows, ev)
	case core.EventToolCall:
		err = v.call(ctx, rows, ev)
	case core.EventApproval, core.EventElicitation, core.EventInputRequired, core.EventInputResolved:
		err = v.input(ctx, rows, ev)
	}
	if err != nil && !isGone(err) {
		return nil, err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("event %d: %w", ev.Seq, err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "id: %d\nevent: %s\ndata: %s\n\n", ev.Seq, ev.Type, data)
	return b.Bytes(), nil
}

func (v *frameView) run(ctx context.Context, rows Rows, ev core.Event) error {
	run, err := rows.RunByID(ctx, ev.Run)
	if err != nil {
		return err
	}
	v.Parent, v.Agent, v.Conversation, v.From = run.Parent, agentOf(run), shown(run.Conversation), run.Asker()
	if ev.Type == core.EventRunFinished {
		v.Status, v.Text, v.Reason = run.Status, run.Text, run.Reason
	}
	return nil
}

func (v *frameView) call(ctx context.Context, rows Rows, ev core.Event) error {
	c, redact, err := rows.CallOf(ctx, ev.Run, ev.Call)
	if err != nil {
		return err
	}
	v.ToolName, v.ToolType, v.Hash = c.Tool, c.Type, c.Hash
	v.Arguments, v.Masked = render.MaskedJSON(c.Arguments, redact)
	return nil
}

func (v *frameView) input(ctx context.Context, rows Rows, ev core.Event) error {
	in, err := rows.Input(ctx, ev.Input)
	if err != nil {
		return err
	}
	view := viewInput(in)
	switch ev.Type {
	case core.EventApproval:
		v.ToolName, v.Arguments, v.Masked, v.Hash = in.Tool, view.Arguments, view.Masked, in.Hash
		if in.Source != "" {
			v.ToolName = in.Source + "__" + in.Tool
		}
	case core.EventElicitation:
		view.Settled = nil // it is what was asked
		view.State = core.InputPending
		v.Request = &view
	case core.EventInputResolved:
		v.Settled = view.Settled
	}
	return nil
}
