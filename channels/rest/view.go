package rest

import (
	"encoding/json"
	"time"

	"parley/channels"
	"parley/core"
)

// runView is a run as a client sees it.
type runView struct {
	// ID is "" while the message waits for its turn: the status is then queued.
	ID           core.RunID     `json:"id,omitempty"`
	Agent        core.AgentID   `json:"agent"`
	Conversation string         `json:"conversation"`
	Parent       core.RunID     `json:"parent,omitempty"`
	Status       core.RunStatus `json:"status"`
	From         core.PersonID  `json:"from,omitempty"`
	// Text is what the agent said when it last stopped, Reason why it failed or was closed, SetAside why it
	// cannot go on.
	Text     string `json:"text,omitempty"`
	Reason   string `json:"reason,omitempty"`
	SetAside string `json:"setAside,omitempty"`
	// Inputs are what it and the runs below it wait on, in order.
	Inputs    []inputView `json:"inputs"`
	Steps     int         `json:"steps"`
	Usage     usageView   `json:"usage"`
	CreatedAt *time.Time  `json:"createdAt,omitempty"`
	EndedAt   *time.Time  `json:"endedAt,omitempty"`
}

type usageView struct {
	Requests int `json:"requests"`
	Input    int `json:"input"`
	Output   int `json:"output"`
}

// queued is the status of a message that waits for its turn.
const queued core.RunStatus = "queued"

func agentOf(run core.Run) core.AgentID {
	if run.Agent == "" {
		return run.Conversation.Agent()
	}
	return run.Agent
}

func viewRun(run core.Run, waiting []core.Input) runView {
	v := runView{
		ID: run.ID, Agent: agentOf(run), Conversation: shown(run.Conversation), Parent: run.Parent, Status: run.Status, From: run.Asker(),
		Text: run.Text, Reason: run.Reason, SetAside: run.SetAside, Inputs: viewInputs(waiting), Steps: run.Steps,
		Usage: usageView(run.Usage), CreatedAt: when(run.CreatedAt), EndedAt: when(run.EndedAt),
	}
	return v
}

func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// The views of an input are those that webhooks send too.
type (
	inputView   = channels.InputView
	settledView = channels.SettledView
)

func viewInputs(all []core.Input) []inputView {
	out := make([]inputView, 0, len(all))
	for _, in := range all {
		out = append(out, viewInput(in))
	}
	return out
}

// Show is an input as the interface shows it, as JSON.
func Show(in core.Input) ([]byte, error) { return json.Marshal(viewInput(in)) }

func viewInput(in core.Input) inputView { return channels.ViewInput(in) }
