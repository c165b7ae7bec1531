package channels_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/core"
	"parley/render"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	ended := func(state core.InputState, via string) *core.Input {
		in := pending()
		in.State = state
		in.Settled = &core.Settled{By: "p:1", Via: via, At: time.Unix(1_800_000_000, 0)}
		return in
	}
	for _, c := range []struct {
		name  string
		edits bool
		in    *core.Input
		line  bool // a line of its own is said
	}{
		{"edited", true, ended(core.InputAccepted, "chat"), false},
		{"no edits, answered here", false, ended(core.InputAccepted, "chat"), false},
		{"no edits, answered elsewhere", false, ended(core.InputAccepted, "rest"), true},
		{"no edits, superseded", false, ended(core.InputSuperseded, "chat"), true},
		{"no edits, expired: has a note", false, ended(core.InputExpired, ""), false},
		{"no edits, cancelled: has a note", false, ended(core.InputCancelled, "rest"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStand(t, render.Dialect{Edits: c.edits}, nil)
				texter(s, "", pending())
				s.turns.Put(core.Out{Kind: core.OutPrompt, Conversation: home, Input: "i1"})
				synctest.Wait()
				c.in.Prompts = []core.Prompt{
					{Conversation: home, Messages: []string{s.Shown("room")[0].ID}},
					{Conversation: "ops|work|elsewhere", Messages: []string{"x"}},
				}
				texter(s, "", c.in)
				s.turns.Put(core.Out{Kind: core.OutEdit, Conversation: home, Edits: []core.InputID{"i1"}})
				synctest.Wait()
				shown := s.Shown("room")
				if got := shown[0].Edits; (got == 1) != c.edits {
					t.Errorf("edited %d times", got)
				}
				if got := len(shown) == 2; got != c.line {
					t.Errorf("shown %q", texts(shown))
				}
				if len(s.turns.Rows()) != 0 {
					t.Error("the row is left")
				}
				c.in.Prompts[0].ClosedAt = time.Now()
				s.turns.Put(core.Out{Kind: core.OutEdit, Conversation: home, Edits: []core.InputID{"i1"}})
				synctest.Wait()
				if again := s.Shown("room"); len(again) != len(shown) {
					t.Errorf("said twice: %q", texts(again))
				}
			})
		})
	}
}

func TestEditOfAMessageThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, render.Dialect{Edits: true}, nil)
		in := pending()
		in.State, in.Prompts = core.InputExpired, []core.Prompt{{Conversation: home, Messages: []string{"gone"}}}
		texter(s, "", in)
		s.turns.Put(core.Out{Kind: core.OutEdit, Conversation: home, Edits: []core.InputID{"i1"}})
		synctest.Wait()
		if len(s.turns.Rows()) != 0 || len(s.turns.Failures()) != 0 {
			t.Errorf("rows %v, failures %v", s.turns.Rows(), s.turns.Failures())
		}
	})
}

// edit is a row that brings i1 up to date and says nothing else.
func edit() core.Out {
	return core.Out{Kind: core.OutEdit, Conversation: home, Edits: []core.InputID{"i1"}}
}

func TestEditsComeBeforeWhatTheRowSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, render.Dialect{}, nil)
		in := pending()
		in.State, in.Settled = core.InputSuperseded, &core.Settled{By: "p:1", Via: "chat"}
		in.Prompts = []core.Prompt{{Conversation: home, Messages: []string{"b1"}}}
		texter(s, "here is more", in)
		s.Fail(channeltest.Failing{}, channeltest.Failing{Err: &channels.SendError{Err: errors.New("502")}})
		row := edit()
		row.Kind, row.Run = core.OutReply, "r2"
		s.turns.Put(row)
		pass(time.Minute)
		got := s.Shown("room")
		if want := []channels.Voice{channels.VoiceNote, channels.VoiceSay}; !slices.Equal(voices(got), want) {
			t.Errorf("shown %q", texts(got))
		}
	})
}

func TestEditThatFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		fails  int
		err    error
		edited bool
		after  time.Duration // when the row's own words are shown at the latest
	}{
		{"passing", 1, &channels.SendError{Err: errors.New("502")}, true, 2 * time.Second},
		{"asked to wait", 1, &channels.SendError{After: 30 * time.Second, Err: errors.New("429")}, true, 31 * time.Second},
		{"unsure", 1, &channels.SendError{Unsure: true, Err: errors.New("eof")}, true, 2 * time.Second},
		{"refused, then plain", 1, &channels.SendError{Refused: true, Err: errors.New("entities")}, true, time.Second},
		{"refused", 2, &channels.SendError{Refused: true, Err: errors.New("entities")}, false, time.Second},
		{"too old to edit", 1, channels.ErrCannotEdit, false, time.Second},
		{"over and over", 100, &channels.SendError{Err: errors.New("502")}, false, 5 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStand(t, render.Dialect{Edits: true}, nil)
				texter(s, "", pending())
				s.turns.Put(core.Out{Kind: core.OutPrompt, Conversation: home, Input: "i1"})
				synctest.Wait()
				in := pending()
				in.State, in.Settled = core.InputSuperseded, &core.Settled{By: "p:1", Via: "chat"}
				in.Prompts = []core.Prompt{{Conversation: home, Messages: []string{s.Shown("room")[0].ID}}}
				texter(s, "the words", in)
				s.FailEdits(c.fails, c.err)
				row := edit()
				row.Kind, row.Run = core.OutReply, "r2"
				s.turns.Put(row)
				pass(c.after)
				got := s.Shown("room")
				if last := got[len(got)-1].Part.Text; !strings.Contains(last, "the words") {
					t.Errorf("shown %q", texts(got))
				}
				if edited := got[0].Edits > 0; edited != c.edited {
					t.Errorf("edited: %v", edited)
				}
				if line := len(got) == 3; line != errors.Is(c.err, channels.ErrCannotEdit) {
					t.Errorf("shown %q", texts(got))
				}
			})
		})
	}
}

func TestPromptsOfEarlierQuestionsLoseTheirButtons(t *testing.T) {
	t.Parallel()
	for _, buttons := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newStand(t, render.Dialect{Edits: true, Buttons: buttons}, nil)
			in := pending()
			for step := range 3 {
				in.Draft.Step = step
				texter(s, "", in)
				s.turns.Put(core.Out{Kind: core.OutPrompt, Conversation: home, Input: "i1", Step: step})
				synctest.Wait()
				shown := s.Shown("room")
				in.Prompts = append(in.Prompts, core.Prompt{Conversation: home, Step: step, Messages: []string{shown[len(shown)-1].ID}})
			}
			in.State, in.Settled = core.InputDeclined, &core.Settled{By: "p:1", Via: "chat"}
			texter(s, "", in)
			s.turns.Put(edit())
			synctest.Wait()
			for i, shown := range s.Shown("room") {
				if got := shown.Edits == 1; got != (buttons || i == 2) {
					t.Errorf("buttons %v: prompt %d was edited %d times", buttons, i, shown.Edits)
				}
				if buttons && len(shown.Part.Buttons) > 0 {
					t.Errorf("prompt %d has buttons", i)
				}
			}
		})
	}
}

func TestGlance(t *testing.T) {
	t.Parallel()
	for _, edits := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newStand(t, render.Dialect{Edits: edits}, nil)
			in := pending()
			texter(s, "", in)
			s.turns.Put(core.Out{Kind: core.OutPrompt, Conversation: home, Input: "i1"})
			synctest.Wait()
			in.State, in.Settled = core.InputAccepted, &core.Settled{By: "p:1", Via: "rest"}
			in.Prompts = []core.Prompt{{Conversation: home, Messages: []string{s.Shown("room")[0].ID}}}
			s.turns.Glance(edit())
			synctest.Wait()
			if shown := s.Shown("room"); len(shown) != 1 || (shown[0].Edits == 1) != edits {
				t.Errorf("edits %v: shown %q, edited %d times", edits, texts(shown), shown[0].Edits)
			}
			s.FailEdits(1, errors.New("eof"))
			s.turns.Glance(edit())
			synctest.Wait()
			if n := len(s.turns.Receipts()) + len(s.turns.Failures()); n != 1 {
				t.Errorf("%d receipts and failures, want that of the prompt alone", n)
			}
		})
	}
}
