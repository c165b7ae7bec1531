package turn_test

import "testing"

// TestAU20TheAskerOfADirectChatMayAnswer: no setting for groups or approvers is needed for that.
func TestAU20TheAskerOfADirectChatMayAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		w.say(ana, "yes")
		w.idle()
		if n := w.tools["db__drop"].ran(); n != 1 {
			t.Errorf("ran %d times", n)
		}
	})
}
