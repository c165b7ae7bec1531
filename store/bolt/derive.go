package bolt

import (
	"bytes"
	"slices"

	"parley/core"
)

// entry is one index entry that follows from a row.
type entry struct {
	b    *bucket
	k, v []byte
}

func (e entry) in(list []entry) bool {
	return slices.ContainsFunc(list, func(o entry) bool {
		return o.b == e.b && bytes.Equal(o.k, e.k) && bytes.Equal(o.v, e.v)
	})
}

// stateCodes are the letters by which indexes name a state.
var stateCodes = map[core.InputState]byte{
	core.InputPending: 'p', core.InputAccepted: 'a', core.InputDeclined: 'd', core.InputSkipped: 's',
	core.InputCancelled: 'c', core.InputSuperseded: 'u', core.InputExpired: 'e',
}

func callKey(run core.RunID, call core.CallID) []byte {
	return key(nil).str(string(run)).id(string(call))
}

func promptKey(conv core.ConversationID, message string) []byte {
	return key(nil).str(string(conv)).id(message)
}

func seenKey(conv core.ConversationID, message string) []byte {
	return key(nil).str(string(conv)).id(message)
}

// position is an input's place in every list: by creation, then by id.
func position(in core.Input) key { return key(nil).time(in.CreatedAt).id(string(in.ID)) }

func inputEntries(in core.Input) []entry {
	id, state := key(nil).id(string(in.ID)), stateCodes[in.State]
	place := append(key{state}, position(in)...)
	out := []entry{
		{b: bInputState, k: place},
		{b: bInputAgent, k: key(nil).str(string(in.Conversation.Agent())).raw(place)},
		{b: bInputConv, k: key(nil).str(string(in.Conversation)).raw(place)},
	}
	add := func(e entry) {
		if !e.in(out) {
			out = append(out, e)
		}
	}
	if in.Agent != "" { // the agent that asks, which the conversation's may have delegated to
		add(entry{b: bInputAgent, k: key(nil).str(string(in.Agent)).raw(place)})
	}
	for _, p := range in.Responders.Audience {
		add(entry{b: bInputWho, k: key(nil).str(string(p)).raw(place)})
	}
	if in.Pending() && !in.ExpiresAt.IsZero() {
		add(entry{b: bInputDue, k: key(nil).time(in.ExpiresAt).raw(id)})
	}
	for _, p := range in.Prompts {
		for _, m := range p.Messages {
			add(entry{b: bPrompt, k: promptKey(p.Conversation, m), v: id})
		}
	}
	return out
}

// runEntries index an ended run by its end; by its beginning, should its end not be known. A child stays
// as long as its root and goes with it.
func runEntries(r core.Run) []entry {
	if r.Status.Open() || r.Parent != "" {
		return nil
	}
	at := r.EndedAt
	if at.IsZero() {
		at = r.CreatedAt
	}
	return []entry{{b: bEnded, k: key(nil).time(at).id(string(r.ID))}}
}

func eventEntries(e core.Event) []entry {
	return []entry{{b: bEventRun, k: key(nil).str(string(e.Run)).seq(e.Seq)}}
}

func seenEntries(k, at []byte) []entry {
	return []entry{{b: bSeenAge, k: key(nil).raw(at).raw(k)}}
}

func claimEntries(conv core.ConversationID, row claimRow) []entry {
	switch {
	case row.Token != "":
		return []entry{{b: bHeld, k: key(nil).str(row.Instance).nano(row.Due).id(string(conv))}}
	case row.Due != 0:
		return []entry{{b: bDue, k: key(nil).nano(row.Due).id(string(conv))}}
	}
	return nil
}

// headEntries index the oldest row of a conversation's outbox.
func headEntries(o core.Out) []entry {
	k := key(nil).str(o.Conversation.Channel()).nano(nextNanos(o)).seq(o.Seq)
	return []entry{{b: bOutHead, k: k, v: key(nil).id(string(o.Conversation))}}
}

// nextNanos is when a row may be sent; 0 is at once.
func nextNanos(o core.Out) int64 {
	if o.NextAt.IsZero() {
		return 0
	}
	return nanos(o.NextAt)
}
