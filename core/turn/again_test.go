package turn_test

import (
	"errors"
	"testing"

	"parley/core"
	"parley/parse"
)

// TestACancelAgainIsTheSame: of what is cancelled already it does nothing, of what ended otherwise it is a conflict.
func TestACancelAgainIsTheSame(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		in := w.waiting()[0]
		for range 2 {
			got, err := w.e.Settle(t.Context(), settlement(in, ana, core.ActionCancel))
			if err != nil {
				t.Fatal(err)
			}
			if got, err = w.e.Input(t.Context(), got.ID); err != nil || got.State != core.InputCancelled {
				t.Fatalf("%+v, %v", got, err)
			}
		}
		var no *core.AnswerError
		if _, err := w.e.Settle(t.Context(), settlement(in, cleo, core.ActionCancel)); !errors.As(err, &no) || no.Code != core.AnswerForbidden {
			t.Errorf("somebody else: %v", err)
		}
		w.idle()
		w.model = script(calls("", `db__drop {}`))
		w.say(ana, "again")
		in = w.waiting()[0]
		if _, err := w.e.Settle(t.Context(), settlement(in, ana, core.ActionDecline)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.e.Settle(t.Context(), settlement(in, ana, core.ActionCancel)); !errors.As(err, &no) || no.Code != core.AnswerConflict {
			t.Errorf("of a declined one: %v", err)
		}
	})
}

// TestAnEditedApprovalWantsItsHash: without the hash of what stands there now nobody approves it by name.
func TestAnEditedApprovalWantsItsHash(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.read = func(in core.Input, m core.Message, _ core.HumanInput) core.Reading {
			return parse.Read(parse.Prompt{Input: in}, m.Text)
		}
		w.model = script(calls("", `db__drop {"name":"a"}`))
		w.start()
		w.say(ana, "go")
		before := w.waiting()[0]
		change := settlement(before, ana, "")
		change.Typed = "edit name=b"
		if _, err := w.e.Settle(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		now := w.waiting()[0]
		for _, hash := range []string{"", before.Hash} {
			s := settlement(now, ana, core.ActionAccept)
			s.Hash = hash
			var no *core.AnswerError
			if _, err := w.e.Settle(t.Context(), s); !errors.As(err, &no) || no.Code != core.AnswerConflict || no.Current.Hash != now.Hash {
				t.Errorf("hash %q: %v", hash, err)
			}
		}
		s := settlement(now, ana, core.ActionAccept)
		s.Hash = now.Hash
		if got, err := w.e.Settle(t.Context(), s); err != nil || got.State != core.InputAccepted || now.Hash == before.Hash {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
