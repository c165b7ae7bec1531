package core

import (
	"encoding/json"
	"time"
)

// EventType names what happened.
type EventType string

// The events. Those of the audit are kept with the rest and not streamed.
const (
	EventRunStarted    EventType = "run_started"
	EventText          EventType = "text"
	EventToolCall      EventType = "tool_call"
	EventApproval      EventType = "approval"
	EventElicitation   EventType = "elicitation"
	EventInputRequired EventType = "input_required"
	EventInputResolved EventType = "input_resolved"
	EventRunFinished   EventType = "run_finished"

	EventAnswered      EventType = "audit_answered"  // an answer, as typed and as read
	EventRefused       EventType = "audit_refused"   // someone who may not answered
	EventUnclear       EventType = "audit_unclear"   // near to an answer
	EventChanged       EventType = "audit_changed"   // a person changed the arguments of a call: both versions
	EventDiscarded     EventType = "audit_discarded" // a signal of the wrong shape
	EventRevealed      EventType = "audit_revealed"  // a responder looked at the masked values of a call
	EventUndeliverable EventType = "undeliverable"   // a prompt that could not be shown
	EventSetAside      EventType = "set_aside"       // a run kept for the operator
)

// Event is one row of the log, written in the commit that makes it true.
type Event struct {
	Seq          uint64          `json:"seq"` // given by the store, grows
	Type         EventType       `json:"type"`
	At           time.Time       `json:"at"`
	Conversation ConversationID  `json:"conversation"`
	Run          RunID           `json:"run,omitempty"`
	Call         CallID          `json:"call,omitempty"`
	Input        InputID         `json:"input,omitempty"`
	By           PersonID        `json:"by,omitempty"`
	Via          string          `json:"via,omitempty"`
	Data         json.RawMessage `json:"data,omitempty"`
}
