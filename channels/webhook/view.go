package webhook

import (
	"encoding/json"
	"fmt"
	"time"

	"parley/channels"
	"parley/core"
)

// The events that a hook may be told of.
const (
	Requested = "input.requested"
	Resolved  = "input.resolved"
)

// payload is the body of a message. Sequence grows with every event of the store.
type payload struct {
	Type      string             `json:"type"`
	Timestamp time.Time          `json:"timestamp"`
	Sequence  uint64             `json:"sequence"`
	Data      channels.InputView `json:"data"`
}

// kindOf is the type of message that an event becomes, "" for none.
func kindOf(ev core.Event) string {
	switch ev.Type {
	case core.EventApproval, core.EventElicitation:
		return Requested
	case core.EventInputResolved:
		return Resolved
	}
	return ""
}

// compose writes the body of an event about an input. A request tells of the input as it was asked, also
// where it has ended since: another message tells of that.
func compose(ev core.Event, in core.Input) ([]byte, error) {
	kind := kindOf(ev)
	if kind == Requested {
		in.State, in.Settled = core.InputPending, nil
	}
	body, err := json.Marshal(payload{Type: kind, Timestamp: ev.At, Sequence: ev.Seq, Data: channels.ViewInput(in).MaskURL()})
	if err != nil {
		return nil, fmt.Errorf("write the message of event %d: %w", ev.Seq, err)
	}
	return body, nil
}
