package channels

import (
	"parley/core"
	"parley/core/turn"
)

// Delivered is how an attempt to send a row of the outbox ended.
type Delivered string

// The ends of an attempt.
const (
	DeliveredSent    Delivered = "sent"
	DeliveredRetry   Delivered = "retry"   // it failed and is tried again
	DeliveredDropped Delivered = "dropped" // the target will not take it
)

// Observer hears what a Hub does, for measuring. Its methods must not block.
type Observer interface {
	// Delivery is told of the end of each attempt to send a row.
	Delivery(channel string, d Delivered)
	// Reading is told what each accepted message led to.
	Reading(channel string, d core.Doing)
}

// nobody observes.
type nobody struct{}

func (nobody) Delivery(string, Delivered) {}
func (nobody) Reading(string, core.Doing) {}

func observerOr(o Observer) Observer {
	if o == nil {
		return nobody{}
	}
	return o
}

func deliveredOf(fail *turn.Failure) Delivered {
	switch {
	case fail == nil:
		return DeliveredSent
	case fail.Permanent:
		return DeliveredDropped
	default:
		return DeliveredRetry
	}
}
