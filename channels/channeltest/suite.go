package channeltest

import (
	"slices"
	"testing"

	"parley/core"
)

// scenario is one conversation that every platform has to carry.
type scenario struct {
	name  string
	needs func(Caps) bool // nil: every platform can
	human func(Platform) core.HumanInput
	run   func(*World)
}

func group(c Caps) bool { return c.Group }

// bobApproves makes bob the one who may approve beside the asker.
func bobApproves(p Platform) core.HumanInput {
	h := core.DefaultHumanInput()
	h.Approvers = []core.PersonID{p.Person(Bob)}
	return h
}

// Suite runs every scenario that the platform is able to carry, and fails unless these are so many cells of the
// table: what a platform can do does not shrink unseen. open makes a platform for one of them.
func Suite(t *testing.T, cells int, open func(testing.TB) Platform) {
	has, caps := 0, open(t).Caps()
	for _, s := range scenarios {
		if s.needs != nil && !s.needs(caps) {
			t.Logf("the platform cannot carry %s", s.name)
			continue
		}
		has++
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := open(t)
			human := core.DefaultHumanInput()
			if s.human != nil {
				human = s.human(p)
			}
			s.run(NewWorld(t, p, human))
		})
	}
	if has != cells {
		t.Errorf("the platform carries %d of %d scenarios, want %d", has, len(scenarios), cells)
	}
}

// alice says something in her direct chat.
func (w *World) alice(text string) string {
	w.t.Helper()
	return w.Say(w.t, Saying{Who: Alice, Room: Direct, Text: text})
}

// inGroup lets somebody speak to the bot in the group.
func (w *World) inGroup(who, text string) string {
	w.t.Helper()
	return w.Say(w.t, Saying{Who: who, Room: Group, Text: text})
}

// did fails the test unless the tools did exactly this.
func (w *World) did(want ...string) {
	w.t.Helper()
	if got := w.Effects.Done(); !slices.Equal(got, want) {
		w.t.Errorf("the tools did %q, want %q", got, want)
	}
}

// ended fails the test unless the input ended like this.
func (w *World) ended(in core.Input, want core.InputState) {
	w.t.Helper()
	if got := w.Input(in.ID); got.State != want {
		w.t.Errorf("input %s is %s, want %s", in.ID, got.State, want)
	}
}

// seen is the message of a prompt as its room shows it now; the zero value where the platform does not tell
// ids.
func (w *World) seen(room Room, in core.Input) Seen {
	w.t.Helper()
	p, _ := core.HomePrompt(w.Input(in.ID))
	for _, s := range w.Shown(room) {
		if len(p.Messages) > 0 && s.ID == p.Messages[len(p.Messages)-1] {
			return s
		}
	}
	return Seen{}
}
