package core

import "encoding/json"

// Action is what a person does to an input.
type Action string

// The actions. Cancel ends the input's run.
const (
	ActionAccept  Action = "accept"
	ActionDecline Action = "decline"
	ActionSkip    Action = "skip"
	ActionCancel  Action = "cancel"
)

// Submission is an answer as it comes in by a door that names the input: REST, Go, MCP, a button.
// Content is JSON: true or false for an approval, confirmation or URL step; a label, a value, a list of
// them, free text or {"<question id or text>": answer} (optionally below "answers") for a question; the
// fields for a form. A nil Content with ActionAccept is true.
type Submission struct {
	Action  Action          `json:"action"`
	Content json.RawMessage `json:"content,omitempty"`
	Reason  string          `json:"reason,omitempty"`
}

// Answer is a submission or a reading resolved against the stored request: what is kept.
type Answer struct {
	Action  Action                     `json:"action"` // accept, decline or skip
	Choices []Choice                   `json:"choices,omitempty"`
	Fields  map[string]json.RawMessage `json:"fields,omitempty"`
	Reason  string                     `json:"reason,omitempty"`
}

// State is the state the answer puts its input in.
func (a Answer) State() InputState {
	switch a.Action {
	case ActionAccept:
		return InputAccepted
	case ActionSkip:
		return InputSkipped
	default:
		return InputDeclined
	}
}
