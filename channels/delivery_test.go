package channels_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/core"
	"parley/core/turn"
	"parley/render"
)

// texter shows the text of a run as given, a line a part, and the prompt of its input.
func texter(s *stand, text string, in *core.Input) {
	s.turns.OnShow = func(row core.Out) (turn.Shown, error) {
		shown := turn.Shown{Row: row, Run: core.Run{ID: row.Run, Text: text}, Input: in}
		if len(row.Edits) > 0 {
			shown.Edits = []core.Input{*in}
		}
		return shown, nil
	}
}

func pending() *core.Input {
	return &core.Input{
		ID: "i1", Conversation: home, Run: "r1", Kind: core.KindApproval, State: core.InputPending,
		Message: "Drop it?", Tool: "drop", Source: "db",
		Responders: core.Responders{Audience: []core.PersonID{"p:1"}, Asker: "p:1"},
	}
}

func voices(shown []channeltest.Shown) (out []channels.Voice) {
	for _, s := range shown {
		out = append(out, s.Voice)
	}
	return out
}

func TestReplyEndsWithItsPrompt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		in         *core.Input
		want       []channels.Voice
	}{
		{"reply", "done", nil, []channels.Voice{channels.VoiceSay}},
		{"reply and prompt", "about to", pending(), []channels.Voice{channels.VoiceSay, channels.VoiceAsk}},
		{"empty reply", " \n", pending(), []channels.Voice{channels.VoiceAsk}},
		{"nothing", "", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStand(t, render.Dialect{}, nil)
				texter(s, c.text, c.in)
				s.turns.Put(core.Out{Kind: core.OutReply, Conversation: home, Run: "r1"})
				synctest.Wait()
				shown := s.Shown("room")
				if got := voices(shown); !slices.Equal(got, c.want) {
					t.Fatalf("shown %v, want %v", got, c.want)
				}
				r := s.turns.Receipts()
				if len(r) != 1 {
					t.Fatalf("%d receipts", len(r))
				}
				if c.want == nil {
					return
				}
				last := shown[len(shown)-1]
				want := []string{last.ID}
				if !slices.Equal(r[0].Messages, want) || r[0].Order != last.Order || r[0].Prompted != (c.in != nil) {
					t.Errorf("receipt %+v, want only the prompt %s at %d", r[0], last.ID, last.Order)
				}
			})
		})
	}
}

func TestPromptThatMovedOnIsNotShown(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*core.Input){
		"ended": func(in *core.Input) { in.State = core.InputAccepted },
		"next":  func(in *core.Input) { in.Draft.Step = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStand(t, render.Dialect{}, nil)
				in := pending()
				change(in)
				texter(s, "", in)
				s.turns.Put(core.Out{Kind: core.OutPrompt, Conversation: home, Input: "i1"})
				synctest.Wait()
				if got := s.Shown("room"); len(got) != 0 || len(s.turns.Rows()) != 0 {
					t.Errorf("shown %q, left %d rows", texts(got), len(s.turns.Rows()))
				}
			})
		})
	}
}

func TestRowsOfAConversationStayInOrderAndOthersGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, render.Dialect{}, nil)
		s.Fail(channeltest.Failing{Err: &channels.SendError{After: 30 * time.Second, Err: errors.New("429")}})
		for i := range 5 {
			s.turns.Put(core.Out{Kind: core.OutReply, Conversation: home, Run: core.RunID(fmt.Sprint(i))})
			synctest.Wait()
		}
		s.turns.Put(core.Out{Kind: core.OutReply, Conversation: core.NewConversation("ops", "chat", "other"), Run: "x"})
		synctest.Wait()
		if got := len(s.Shown("other")); got != 1 || len(s.Shown("room")) != 0 {
			t.Fatalf("other shows %d, room %q", got, texts(s.Shown("room")))
		}
		pass(29 * time.Second)
		if got := s.Shown("room"); len(got) != 0 {
			t.Fatalf("sent before the platform's time: %q", texts(got))
		}
		pass(2 * time.Second)
		want := []string{"reply 0", "reply 1", "reply 2", "reply 3", "reply 4"}
		if got := texts(s.Shown("room")); !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
	})
}

func TestFailures(t *testing.T) {
	t.Parallel()
	unsure := &channels.SendError{Unsure: true, Err: errors.New("connection broke")}
	refused := &channels.SendError{Refused: true, Err: errors.New("bad entities")}
	for _, c := range []struct {
		name    string
		with    []channeltest.Failing
		copies  int // how often the text is shown in the end
		left    int
		dropped bool
	}{
		{"passing", []channeltest.Failing{{Err: &channels.SendError{Err: errors.New("502")}}}, 1, 0, false},
		{"unsure, not shown", []channeltest.Failing{{Err: unsure}}, 1, 0, false},
		{"unsure, shown", []channeltest.Failing{{Err: unsure, Lost: true}}, 2, 0, false},
		{"unsure twice counts as sent", []channeltest.Failing{{Err: unsure, Lost: true}, {Err: unsure, Lost: true}, {Err: unsure}}, 2, 0, false},
		{"a plain error is unsure", []channeltest.Failing{{Err: errors.New("eof"), Lost: true}, {Err: errors.New("eof"), Lost: true}}, 2, 0, false},
		{"refused, then plain", []channeltest.Failing{{Err: refused}}, 1, 0, false},
		{"refused twice", []channeltest.Failing{{Err: refused}, {Err: refused}}, 0, 0, true},
		{"permanent", []channeltest.Failing{{Err: &channels.SendError{Permanent: true, Err: errors.New("blocked")}}}, 0, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStand(t, render.Dialect{}, nil)
				s.Fail(c.with...)
				s.turns.Put(core.Out{Kind: core.OutReply, Conversation: home, Run: "r1"})
				pass(time.Minute)
				if got := texts(s.Shown("room")); len(got) != c.copies {
					t.Errorf("shown %q, want %d", got, c.copies)
				}
				if got := len(s.turns.Rows()); got != c.left {
					t.Errorf("%d rows left", got)
				}
				fails := s.turns.Failures()
				if got := len(fails) > 0 && fails[len(fails)-1].Permanent; got != c.dropped {
					t.Errorf("dropped: %v", got)
				}
			})
		})
	}
}

func TestPromptOfUnknownPlaceTakesNoAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, render.Dialect{}, nil)
		texter(s, "", pending())
		broke := channeltest.Failing{Err: &channels.SendError{Unsure: true, Err: errors.New("connection broke")}}
		s.Fail(broke, broke)
		s.turns.Put(core.Out{Kind: core.OutPrompt, Conversation: home, Input: "i1"})
		pass(time.Minute)
		r := s.turns.Receipts()
		if len(r) != 1 || r[0].Prompted || r[0].Order != 0 || len(r[0].Messages) != 0 {
			t.Errorf("receipts %+v", r)
		}
	})
}

func TestRetryGoesOnAfterThePartsThatWereSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, render.Dialect{}, nil)
		texter(s, "about to", pending())
		s.Fail(channeltest.Failing{}, channeltest.Failing{Err: &channels.SendError{Err: errors.New("502")}})
		s.turns.Put(core.Out{Kind: core.OutReply, Conversation: home, Run: "r1", ReplyTo: "m1"})
		pass(time.Minute)
		shown := s.Shown("room")
		if got := voices(shown); !slices.Equal(got, []channels.Voice{channels.VoiceSay, channels.VoiceAsk}) {
			t.Fatalf("shown %v", got)
		}
		if shown[0].ReplyTo != "m1" || shown[1].ReplyTo != "" || shown[0].Key == shown[1].Key {
			t.Errorf("targets %+v", shown)
		}
		if r := s.turns.Receipts(); len(r) != 1 || !slices.Equal(r[0].Messages, []string{shown[1].ID}) {
			t.Errorf("receipts %+v", r)
		}
	})
}

func TestConversationThatMoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, render.Dialect{}, nil)
		s.Fail(channeltest.Failing{Err: &channels.SendError{Moved: "hall", Err: errors.New("upgraded")}})
		s.turns.Put(core.Out{Kind: core.OutReply, Conversation: home, Run: "r1"})
		s.turns.Put(core.Out{Kind: core.OutReply, Conversation: home, Run: "r2"})
		synctest.Wait()
		if got := texts(s.Shown("hall")); !slices.Equal(got, []string{"reply r1", "reply r2"}) {
			t.Errorf("hall shows %q, room %q", got, texts(s.Shown("room")))
		}
	})
}

func TestReceiptIsStoredAgainRatherThanTheRowSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, render.Dialect{}, nil)
		tries := 0
		s.turns.OnSent = func(core.Out, core.Receipt) error {
			if tries++; tries < 4 {
				return errStore
			}
			return nil
		}
		s.turns.Put(core.Out{Kind: core.OutReply, Conversation: home, Run: "r1"})
		pass(time.Minute)
		if got := texts(s.Shown("room")); len(got) != 1 || tries != 4 || len(s.turns.Rows()) != 0 {
			t.Errorf("shown %q after %d tries", got, tries)
		}
	})
}

func TestStopLetsASendFinishWithinTheGrace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		after time.Duration
		left  int
	}{{time.Second, 0}, {time.Hour, 1}} {
		t.Run(c.after.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStand(t, render.Dialect{}, nil)
				release := s.Hold()
				s.turns.Put(core.Out{Kind: core.OutReply, Conversation: home, Run: "r1"})
				synctest.Wait()
				timer := time.AfterFunc(c.after, release)
				defer timer.Stop()
				at := time.Now()
				if err := s.stop(); err != nil {
					t.Error(err)
				}
				if took := time.Since(at); took > 5*time.Second {
					t.Errorf("stopping took %v", took)
				}
				if got := s.turns.Rows(); len(got) != c.left || len(s.turns.Failures()) != 0 {
					t.Errorf("%d rows left, failures %v", len(got), s.turns.Failures())
				}
			})
		})
	}
}

func TestAnAttemptThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, render.Dialect{}, nil)
		release := s.Hold()
		s.turns.Put(core.Out{Kind: core.OutReply, Conversation: home, Run: "r1"})
		pass(time.Minute)
		if len(s.turns.Failures()) != 0 {
			t.Fatal("given up within a minute")
		}
		pass(90 * time.Second)
		if f := s.turns.Failures(); len(f) != 1 || !f[0].Unsure {
			t.Errorf("failures %+v", f)
		}
		release()
		pass(time.Minute)
		if got := texts(s.Shown("room")); !slices.Equal(got, []string{"reply r1"}) {
			t.Errorf("shown %q", got)
		}
	})
}

func TestRowOfAnEarlierProcessIsMarkedAsACopy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, render.Dialect{}, nil)
		texter(s, "", pending())
		old := time.Now().Add(-time.Hour)
		s.turns.Put(core.Out{Kind: core.OutPrompt, Conversation: home, Input: "i1", CreatedAt: old})
		s.turns.Put(core.Out{Kind: core.OutPrompt, Conversation: home, Input: "i1"})
		synctest.Wait()
		got := texts(s.Shown("room"))
		if len(got) != 2 || got[0] == got[1] {
			t.Errorf("shown %q, want the first marked as a copy", got)
		}
	})
}

func TestTroubleWithOneRow(t *testing.T) {
	t.Parallel()
	for name, show := range map[string]func(core.Out) (turn.Shown, error){
		"panics":  func(core.Out) (turn.Shown, error) { panic("poisoned") },
		"is gone": func(core.Out) (turn.Shown, error) { return turn.Shown{}, fmt.Errorf("show: %w", turn.ErrNotFound) },
		"fails":   func(core.Out) (turn.Shown, error) { return turn.Shown{}, errStore },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStand(t, render.Dialect{}, nil)
				s.turns.OnShow = func(row core.Out) (turn.Shown, error) {
					if row.Run == "bad" {
						return show(row)
					}
					return turn.Shown{Row: row, Run: core.Run{Text: "fine"}}, nil
				}
				s.turns.Put(core.Out{Kind: core.OutReply, Conversation: home, Run: "bad"})
				s.turns.Put(core.Out{Kind: core.OutReply, Conversation: core.NewConversation("ops", "chat", "other"), Run: "good"})
				pass(3 * time.Second)
				if got := texts(s.Shown("other")); !slices.Equal(got, []string{"fine"}) {
					t.Errorf("other shows %q", got)
				}
				if got := len(s.turns.Rows()); (got == 0) != (name == "is gone") {
					t.Errorf("%d rows left", got)
				}
			})
		})
	}
}

func TestParallelIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, render.Dialect{}, func(_ *channels.Channel, cfg *channels.Config, _ *stand) { cfg.Parallel = 4 })
		release := s.Hold()
		for i := range 40 {
			c := core.NewConversation("ops", "chat", core.Place(fmt.Sprint("p", i)))
			s.turns.Put(core.Out{Kind: core.OutReply, Conversation: c, Run: "r"})
		}
		synctest.Wait()
		if n := s.Held(); n != 4 {
			t.Errorf("%d sends at once, want 4", n)
		}
		release()
		pass(time.Second)
		if left := s.turns.Rows(); len(left) != 0 {
			t.Errorf("%d rows are left, the first %+v", len(left), left[0])
		}
	})
}

func TestTypingStopsBeforeAPromptIsSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		typed, hold := 0, make(chan struct{})
		s := newStand(t, render.Dialect{}, func(_ *channels.Channel, _ *channels.Config, s *stand) {
			s.OnTyping = func(channels.Target) {
				typed++
				<-hold
			}
		})
		synctest.Wait()
		s.turns.SetWorking(home)
		if _, err := s.Say(t.Context(), message("go")); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if typed != 1 {
			t.Fatalf("typing was called %d times", typed)
		}
		s.turns.Put(core.Out{Kind: core.OutReply, Conversation: home, Run: "r1"})
		synctest.Wait()
		if got := s.Shown("room"); len(got) != 0 {
			t.Fatal("the row was sent under a call to typing")
		}
		close(hold)
		synctest.Wait()
		if got := s.Shown("room"); len(got) != 1 {
			t.Fatalf("shown %q", texts(got))
		}
		pass(10 * time.Second)
		if typed < 3 {
			t.Errorf("the indicator was not renewed while the run went on: %d", typed)
		}
		s.turns.SetWorking()
		before := typed
		pass(10 * time.Second)
		if typed != before {
			t.Error("typing goes on after the run has stopped")
		}
	})
}
