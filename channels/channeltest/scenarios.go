package channeltest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"parley/core"
)

var scenarios = []scenario{
	{name: "TalkAndEcho", run: func(w *World) {
		w.alice("good morning")
		w.Says(Direct, "Heard: good morning")
		w.did()
	}},
	{name: "ApprovalYes", run: func(w *World) {
		w.alice("drop staging")
		in := w.Asked(Direct, 0)
		w.Says(Direct, "staging")
		w.did()
		w.alice("yes")
		w.Says(Direct, "Results:")
		w.did("drop staging")
		w.ended(in, core.InputAccepted)
		w.Still(Direct)
		if w.Caps().Edits {
			w.Until("the prompt shows how it ended", func() bool { s := w.seen(Direct, in); return s.Edited && len(s.Buttons) == 0 })
		}
		w.alice("yes")
		w.Says(Direct, "Heard: yes")
		w.did("drop staging")
	}},
	{name: "ApprovalNo", run: func(w *World) {
		w.alice("drop staging")
		in := w.Asked(Direct, 0)
		w.alice("no")
		w.Says(Direct, "Results:")
		w.ended(in, core.InputDeclined)
		w.did()
	}},
	{name: "NearMissGoesOnWaiting", run: func(w *World) {
		w.alice("drop staging")
		in := w.Asked(Direct, 0)
		before := len(w.Shown(Direct))
		w.alice("sure")
		w.Until("a line of help", func() bool { return len(w.Shown(Direct)) > before })
		w.Still(Direct)
		w.ended(in, core.InputPending)
		w.alice("approve")
		w.Says(Direct, "Results:")
		w.did("drop staging")
	}},
	{name: "QuestionSetWithSeveralChoices", run: func(w *World) {
		w.alice("plan")
		w.Asked(Direct, 0)
		w.alice("2")
		in := w.Asked(Direct, 1)
		w.alice("1 and 3")
		w.Says(Direct, "Results:")
		w.ended(in, core.InputAccepted)
		got := w.Input(in.ID).Settled.Answer.Choices
		if len(got) != 2 || got[0].Values[0] != "tue" || strings.Join(got[1].Values, ",") != "api,docs" {
			w.t.Errorf("answered %+v", got)
		}
	}},
	{name: "FormWithALastLook", run: func(w *World) {
		w.alice("invite")
		w.Asked(Direct, 0)
		w.alice("bob@example.com")
		w.Asked(Direct, 1)
		w.alice("soon")
		w.Still(Direct)
		w.alice("3")
		in := w.Asked(Direct, 2)
		w.did()
		w.alice("yes")
		w.Says(Direct, "Results:")
		w.ended(in, core.InputAccepted)
		w.did("invite bob@example.com for 3")
	}},
	{name: "URLStep", run: func(w *World) {
		w.alice("connect")
		w.Asked(Direct, 0)
		w.Says(Direct, "calendar.example.com")
		w.alice("done")
		w.Says(Direct, "Results:")
		w.did("connect")
	}},
	{name: "ANewMessageSupersedes", run: func(w *World) {
		w.alice("drop staging")
		in := w.Asked(Direct, 0)
		w.alice("what does it do to the replicas?")
		w.Says(Direct, "Heard: what does it do")
		w.Says(Direct, "new message") // the thread shows that it was closed, by an edit or a line
		w.ended(in, core.InputSuperseded)
		w.Still(Direct)
		w.alice("yes")
		w.Says(Direct, "Heard: yes")
		w.did()
	}},
	{name: "ANewMessageSupersedesAnApprovedCall", run: func(w *World) {
		w.alice("drop both")
		first := w.Asked(Direct, 0)
		w.alice("yes")
		w.Until("the second is asked", func() bool { return w.Asked(Direct, 0).ID != first.ID })
		w.alice("what does it do to the replicas?")
		w.Says(Direct, "Heard: what does it do")
		w.Says(Direct, "It did not run: a new message") // of the first, which was approved
		w.ended(first, core.InputAccepted)
		w.Still(Direct)
		w.did()
	}},
	{name: "CancelEndsTheTurn", run: func(w *World) {
		w.alice("drop both")
		in := w.Asked(Direct, 0)
		w.alice("cancel")
		w.Until("nothing waits", func() bool { return w.Waiting(Direct) == 0 })
		w.Still(Direct)
		w.ended(in, core.InputCancelled)
		w.did()
	}},
	{name: "TwoApprovalsRunTogether", run: func(w *World) {
		w.alice("drop both")
		first := w.Asked(Direct, 0)
		w.alice("yes")
		w.Until("the second is asked", func() bool { return w.Asked(Direct, 0).ID != first.ID })
		w.did()
		w.alice("no")
		w.Says(Direct, "Results:")
		w.did("drop one")
	}},
	{name: "RestartBetweenQuestionAndAnswer", run: func(w *World) {
		w.alice("plan")
		w.Asked(Direct, 0)
		w.alice("1")
		w.Asked(Direct, 1)
		w.Restart()
		w.Asked(Direct, 1)
		w.Still(Direct)
		w.alice("all")
		w.Says(Direct, "Results:")
		w.alice("drop staging")
		w.Asked(Direct, 0)
		w.Restart()
		w.Still(Direct)
		w.alice("yes")
		w.Until("the call has run", func() bool { return len(w.Effects.Done()) > 0 })
		w.Still(Direct)
		w.did("drop staging")
	}},
	{name: "RestartBetweenAllSteps", needs: func(c Caps) bool { return c.Stores }, run: func(w *World) {
		restartsBetweenAllSteps(w, func(core.Input) { w.alice("yes") })
	}},
	{name: "RestartBetweenAllStepsOfAPress", needs: func(c Caps) bool { return c.Stores && c.Buttons }, run: func(w *World) {
		restartsBetweenAllSteps(w, func(in core.Input) {
			if s := w.seen(Direct, in); len(s.Buttons) > 0 {
				w.Press(w.t, Alice, Direct, s.ID, s.Buttons[0])
			}
		})
	}},
	{name: "PicturesReachTheModel", needs: func(c Caps) bool { return c.Shows }, run: picturesReachTheModel},
	{name: "NobodyAnsweredInTime", run: func(w *World) {
		w.alice("drop staging")
		in := w.Asked(Direct, 0)
		w.Stop()
		w.clock.Advance(8 * 24 * time.Hour)
		w.Start()
		w.Until("it expires", func() bool { return w.Input(in.ID).State == core.InputExpired })
		w.Still(Direct)
		w.alice("yes")
		w.Still(Direct)
		w.did()
	}},
	{name: "ButtonDoesWhatTypingDoes", needs: func(c Caps) bool { return c.Buttons }, run: func(w *World) {
		w.alice("drop staging")
		in := w.Asked(Direct, 0)
		s := w.seen(Direct, in)
		if len(s.Buttons) == 0 {
			w.t.Fatalf("the prompt has no buttons: %+v", s)
		}
		w.Press(w.t, Alice, Direct, s.ID, s.Buttons[0])
		w.Until("it is settled", func() bool { return w.Input(in.ID).State.Settled() })
		w.Press(w.t, Alice, Direct, s.ID, s.Buttons[0])
		w.Says(Direct, "Results:")
		w.Still(Direct)
		w.did("drop staging")
	}},
	{name: "StrangerChangesNothing", needs: group, run: func(w *World) {
		w.inGroup(Alice, "drop staging")
		in := w.Asked(Group, 0)
		w.inGroup(Mallory, "yes")
		w.inGroup(Mallory, "approve")
		if s := w.seen(Group, in); len(s.Buttons) > 0 {
			w.Press(w.t, Mallory, Group, s.ID, s.Buttons[0])
		}
		w.Still(Group)
		w.ended(in, core.InputPending)
		w.did()
		w.inGroup(Alice, "yes")
		w.Says(Group, "Results:")
		w.did("drop staging")
	}},
	{name: "TwoPeopleTheFirstAnswerCounts", needs: group, human: bobApproves, run: func(w *World) {
		w.inGroup(Alice, "drop staging")
		in := w.Asked(Group, 0)
		w.inGroup(Bob, "no")
		w.inGroup(Alice, "yes")
		w.Says(Group, "Results:")
		w.Still(Group)
		w.ended(in, core.InputDeclined)
		if by := w.Input(in.ID).Settled.By; by != w.Person(Bob) {
			w.t.Errorf("settled by %s", by)
		}
		w.did()
	}},
	{name: "OverheardCountsOnlyAsAnExactAnswer", needs: group, run: func(w *World) {
		w.inGroup(Alice, "drop staging")
		in := w.Asked(Group, 0)
		for _, text := range []string{"what a day", "sure", "lunch?"} {
			w.Say(w.t, Saying{Who: Alice, Room: Group, Text: text, Overheard: true})
		}
		w.Say(w.t, Saying{Who: Mallory, Room: Group, Text: "yes", Overheard: true})
		w.Still(Group)
		w.ended(in, core.InputPending)
		w.Say(w.t, Saying{Who: Alice, Room: Group, Text: "yes", Overheard: true})
		w.Says(Group, "Results:")
		w.did("drop staging")
	}},
	{name: "AnAnswerThatCrossedItsPrompt", needs: func(c Caps) bool { return c.Crossed }, run: func(w *World) {
		w.Say(w.t, Saying{Who: Alice, Room: Direct, Text: "yes", Late: true})
		w.alice("drop staging")
		in := w.Asked(Direct, 0)
		w.Release()
		w.Still(Direct)
		w.ended(in, core.InputPending)
		w.did()
		w.alice("yes")
		w.Says(Direct, "Results:")
		w.did("drop staging")
	}},
	{name: "TwoYesesSentBeforeTheSecondPrompt", needs: func(c Caps) bool { return c.Crossed }, run: func(w *World) {
		w.alice("drop both")
		first := w.Asked(Direct, 0)
		w.Say(w.t, Saying{Who: Alice, Room: Direct, Text: "yes", Late: true})
		w.alice("yes")
		var second core.Input
		w.Until("the second is asked", func() bool { second = w.Asked(Direct, 0); return second.ID != first.ID })
		w.Release()
		w.Still(Direct)
		w.ended(second, core.InputPending)
		w.did()
	}},
	{name: "CommandsAreNoFreeText", needs: func(c Caps) bool { return c.Slash }, run: func(w *World) {
		w.alice("name it")
		in := w.Asked(Direct, 0)
		for _, text := range []string{"/help", "/status"} {
			before := len(w.Shown(Direct))
			w.alice(text)
			w.Until("an answer to "+text, func() bool { return len(w.Shown(Direct)) > before })
			w.Still(Direct)
			w.ended(in, core.InputPending)
		}
		w.alice("Blue heron")
		w.Says(Direct, "Results:")
		w.Still(Direct) // what is said before the receipt of the reply may be a late answer
		if got := w.Input(in.ID).Settled.Answer.Choices; len(got) != 1 || got[0].Text != "Blue heron" {
			w.t.Errorf("answered %+v", got)
		}
		w.alice("drop staging")
		in = w.Asked(Direct, 0)
		w.alice("/cancel")
		w.Until("it is cancelled", func() bool { return w.Input(in.ID).State == core.InputCancelled })
		w.did()
	}},
	{name: "AReplyToAnOldPromptAnswersNothingElse", needs: func(c Caps) bool { return c.Replies }, run: func(w *World) {
		w.alice("drop staging")
		old := w.Asked(Direct, 0)
		w.alice("never mind")
		w.Until("nothing waits", func() bool { return w.Waiting(Direct) == 0 })
		w.Still(Direct)
		w.alice("drop staging")
		var in core.Input
		w.Until("it is asked again", func() bool { in = w.Asked(Direct, 0); return in.ID != old.ID })
		w.Say(w.t, Saying{Who: Alice, Room: Direct, Text: "yes", ReplyTo: w.seen(Direct, old).ID})
		w.Still(Direct)
		w.ended(in, core.InputPending)
		w.did()
		w.Say(w.t, Saying{Who: Alice, Room: Direct, Text: "yes", ReplyTo: w.seen(Direct, in).ID})
		w.Says(Direct, "Results:")
		w.did("drop staging")
	}},
	{name: "AnEditToYesAnswersNothing", needs: func(c Caps) bool { return c.Rewords && c.Slash }, run: func(w *World) {
		w.alice("drop staging")
		in := w.Asked(Direct, 0)
		said := w.alice("sure")
		w.Still(Direct)
		w.Platform.(Rewording).Reword(w.t, Alice, Direct, said, "yes")
		before := len(w.Shown(Direct))
		w.alice("/status") // comes after the edit
		w.Until("an answer to /status", func() bool { return len(w.Shown(Direct)) > before })
		w.Still(Direct)
		w.ended(in, core.InputPending)
		w.did()
		w.alice("yes")
		w.Says(Direct, "Results:")
		w.did("drop staging")
	}},
	{name: "FortyMessagesAtOnce", needs: func(c Caps) bool { return c.AtOnce }, run: fortyAtOnce},
}

// fortyAtOnce: none is lost, none is handled twice, and the platform's order within a person holds.
func fortyAtOnce(w *World) {
	var wg sync.WaitGroup
	for from := range 4 {
		wg.Go(func() {
			for i := range 10 {
				w.alice(fmt.Sprintf("word %d-%d.", from, i))
			}
		})
	}
	wg.Wait()
	w.Until("forty replies", func() bool { return strings.Count(texts(w.Shown(Direct)), "Heard: word") >= 40 })
	w.Still(Direct)
	shown := texts(w.Shown(Direct))
	for from := range 4 {
		last := -1
		for i := range 10 {
			word := fmt.Sprintf("word %d-%d.", from, i)
			at := strings.Index(shown, word)
			if strings.Count(shown, word) != 1 || at < last {
				w.t.Errorf("%q is shown %d times, at %d after %d", word, strings.Count(shown, word), at, last)
			}
			last = at
		}
	}
}
