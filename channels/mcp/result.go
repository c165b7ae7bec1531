package mcp

import (
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core"
)

// outcome is the result of a call for programs.
type outcome struct {
	Run          core.RunID     `json:"runId"`
	Status       core.RunStatus `json:"status"`
	Conversation string         `json:"conversation"`
	Text         string         `json:"text,omitempty"`
	Reason       string         `json:"reason,omitempty"`
	// Waiting is what the turn waits on, in order.
	Waiting []waitingView `json:"waiting"`
	// Notes say what became of what was asked here.
	Notes []string `json:"notes"`
}

type waitingView struct {
	ID         core.InputID    `json:"id"`
	Kind       core.Kind       `json:"kind"`
	Tool       string          `json:"tool,omitempty"`
	Responders []core.PersonID `json:"responders"`
}

// result is how a call ends: with what the agent said, and what it waits for that must be answered elsewhere.
func (c *call) result(run core.Run, waiting []core.Input) *sdk.CallToolResult {
	_, channel, place := c.conv.Parts()
	o := outcome{
		Run: run.ID, Status: run.Status, Conversation: channel + ":" + string(place), Text: run.Text, Reason: run.Reason,
		Waiting: []waitingView{}, Notes: append([]string{}, c.notes...),
	}
	text := []string{}
	if run.Text != "" {
		text = append(text, run.Text)
	}
	res := &sdk.CallToolResult{}
	switch {
	case run.SetAside != "":
		text, res.IsError = append(text, "The turn cannot go on and is kept for the operator: "+run.SetAside), true
	case run.Status == core.RunInputRequired:
		text = append(text, waitingText(waiting, c.notes))
	case run.Status == core.RunRunning:
		text = append(text, "The turn still runs (run "+string(run.ID)+"): its reply is not here yet.")
	case run.Status != core.RunCompleted:
		text, res.IsError = append(text, "The turn ended as "+string(run.Status)+". "+run.Reason), run.Status == core.RunFailed
	}
	for _, in := range waiting {
		v := waitingView{ID: in.ID, Kind: in.Kind, Responders: in.Responders.Audience}
		if in.Tool != "" {
			v.Tool = toolName(in)
		}
		o.Waiting = append(o.Waiting, v)
	}
	res.Content = []sdk.Content{&sdk.TextContent{Text: strings.TrimSpace(strings.Join(text, "\n\n"))}}
	res.StructuredContent = o
	return res
}

func waitingText(waiting []core.Input, notes []string) string {
	var b strings.Builder
	b.WriteString("The turn waits for a person, and goes on once it is answered elsewhere (chat, inbox or HTTP):")
	for _, in := range waiting {
		b.WriteString("\n- " + waits(in))
	}
	for _, n := range notes {
		b.WriteString("\nNote: " + n)
	}
	return b.String()
}
