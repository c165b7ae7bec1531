package core

import (
	"slices"
	"time"
)

// HumanInput is what an agent's configuration says about waiting for people. The zero value is not
// valid; DefaultHumanInput is.
type HumanInput struct {
	// Expires is how long an input waits; 0 is for ever.
	Expires   time.Duration
	Approvers []PersonID
	// ApproversOnly leaves the asker out of those who may answer.
	ApproversOnly bool
	// ResumeOnExpire closes only the expired call and lets the turn go on; else the turn is closed.
	ResumeOnExpire bool
	// SupersededByAnyone lets a message of somebody who may not answer supersede.
	SupersededByAnyone bool
	// NearMissSupersedes reads only exact answers and lets all else supersede.
	NearMissSupersedes bool
	// Bound demands a reply, mention or button in shared conversations.
	Bound bool
	// Notify are conversations that get a copy of every prompt.
	Notify []ConversationID
}

// DefaultHumanInput waits seven days for the asker or, where there are any, an approver.
func DefaultHumanInput() HumanInput { return HumanInput{Expires: 7 * 24 * time.Hour} }

// Audience is who may answer an input of a run that asker started, by today's configuration, sorted
// and without doubles. It may be empty, and empty means nobody.
func (h HumanInput) Audience(asker PersonID) []PersonID {
	out := slices.Clone(h.Approvers)
	if !h.ApproversOnly && asker != "" {
		out = append(out, asker)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// MayAnswer reports whether who may settle the input: they were in its frozen audience and are in
// today's. An empty list never means anybody.
func MayAnswer(in Input, today HumanInput, who PersonID) bool {
	return who != "" && slices.Contains(in.Responders.Audience, who) &&
		slices.Contains(today.Audience(in.Responders.Asker), who)
}

// MayAbort reports whether who may end the run: its asker or someone who may answer.
func MayAbort(run Run, today HumanInput, who PersonID) bool {
	return who != "" && (who == run.Asker() || slices.Contains(today.Audience(run.Asker()), who))
}

// Role is what who is to the run, for the record: asker or approver.
func Role(asker, who PersonID) string {
	if who == asker {
		return "asker"
	}
	return "approver"
}
