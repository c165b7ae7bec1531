package channels_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/core"
	"parley/core/turn"
	"parley/render"
)

// editing is a platform that takes a part of 400 units and edits.
var editing = render.Dialect{Name: "editing", Edits: true, Limit: 400}

// writer is a stand whose run r1 is being written.
type writer struct {
	*stand
	t      *testing.T
	shared bool
	asks   *core.Input
}

// newWriter streams on a platform of that dialect.
func newWriter(t *testing.T, d render.Dialect, change func(*channels.Channel, *channels.Config, *stand)) *writer {
	t.Helper()
	w := &writer{t: t}
	w.stand = newStand(t, d, func(c *channels.Channel, cfg *channels.Config, s *stand) {
		c.Streams = true
		s.turns.OnShow = func(row core.Out) (turn.Shown, error) {
			run := core.Run{ID: row.Run, Text: row.Text, Message: core.Message{ID: "m1"}}
			shown := turn.Shown{Row: row, Run: run, Conversation: core.Conversation{ID: row.Conversation, Shared: w.shared}}
			if row.Input != "" {
				shown.Input = w.asks
			}
			return shown, nil
		}
		if change != nil {
			change(c, cfg, s)
		}
	})
	return w
}

// write has the reply of a run come that far, and a look see it.
func (w *writer) write(run core.RunID, text string) {
	w.turns.Write(turn.Partial{Conversation: home, Run: run, Text: text})
	pass(300 * time.Millisecond)
}

// stop ends the run with a row.
func (w *writer) stops(row core.Out) {
	w.turns.Unwrite(home)
	row.Conversation = home
	w.turns.Put(row)
	synctest.Wait()
}

func (w *writer) want(want ...string) {
	w.t.Helper()
	if got := texts(w.Shown("room")); !slices.Equal(got, want) {
		w.t.Errorf("shown %q, want %q", got, want)
	}
}

func inWriting(t *testing.T, f func(t *testing.T, w *writer)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { f(t, newWriter(t, editing, nil)) })
}

func TestReplyGrowsInOneMessage(t *testing.T) {
	inWriting(t, func(t *testing.T, w *writer) {
		w.write("r1", "It")
		w.want() // a quick reply is not streamed
		pass(time.Second)
		w.want("It …")
		w.write("r1", "It is")
		w.write("r1", "It is four")
		pass(time.Second)
		w.want("It is four …")
		w.stops(core.Out{Kind: core.OutReply, Run: "r1", Text: "It is four."})
		w.want("It is four.")
		s := w.Shown("room")[0]
		if s.ReplyTo != "m1" || s.Voice != channels.VoiceSay || s.Edits != 2 {
			t.Errorf("the message is %+v", s)
		}
		if r := w.turns.Receipts(); len(r) != 1 || !slices.Equal(r[0].Messages, []string{s.ID}) {
			t.Errorf("receipts %+v, want the message %s", r, s.ID)
		}
		w.write("r2", "Then")
		pass(time.Second)
		w.stops(core.Out{Kind: core.OutReply, Run: "r2", Text: "Then five."})
		w.want("It is four.", "Then five.")
	})
}

func TestQuickReplyIsSentOnce(t *testing.T) {
	inWriting(t, func(t *testing.T, w *writer) {
		w.write("r1", "It is four.")
		w.stops(core.Out{Kind: core.OutReply, Run: "r1", Text: "It is four."})
		pass(time.Minute)
		w.want("It is four.")
		if n := w.Shown("room")[0].Edits; n != 0 {
			t.Errorf("%d edits", n)
		}
	})
}

func TestStreamedMessageIsNoPrompt(t *testing.T) {
	inWriting(t, func(t *testing.T, w *writer) {
		w.asks = pending()
		long := strings.Repeat("word", 130)
		w.write("r1", long)
		pass(time.Second)
		if got := w.Shown("room"); len(got) != 1 || !strings.HasSuffix(got[0].Part.Text, " …") || len([]rune(got[0].Part.Text)) > 400 {
			t.Fatalf("shown %q", texts(got))
		}
		w.stops(core.Out{Kind: core.OutReply, Run: "r1", Text: long, Input: "i1"})
		got := w.Shown("room")
		say := []channels.Voice{channels.VoiceSay, channels.VoiceSay, channels.VoiceAsk}
		if v := voices(got); !slices.Equal(v[:3], say) {
			t.Fatalf("voices %v", v)
		}
		if whole := got[0].Part.Text + got[1].Part.Text; strings.Count(whole, "word") != 130 || strings.Contains(whole, "…") {
			t.Errorf("the words are %q", whole)
		}
		r := w.turns.Receipts()
		if len(r) != 1 || !r[0].Prompted || slices.Contains(r[0].Messages, got[0].ID) || r[0].Order != got[len(got)-1].Order {
			t.Errorf("receipt %+v", r)
		}
	})
}

func TestStreamIsThrottled(t *testing.T) {
	t.Parallel()
	for shared, most := range map[bool]int{false: 60, true: 20} {
		t.Run(fmt.Sprint("shared ", shared), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWriter(t, editing, nil)
				w.shared = shared
				text := ""
				for range 600 {
					text += "a"
					w.turns.Write(turn.Partial{Conversation: home, Run: "r1", Text: text[:min(len(text), 300)]})
					pass(100 * time.Millisecond)
				}
				calls := 1 + w.Shown("room")[0].Edits
				// The text stands still after 30 s.
				if calls > most/2+1 || calls < most/2-4 {
					t.Errorf("%d calls in 30 s, want about %d", calls, most/2)
				}
			})
		})
	}
}

func TestStreamWaitsAsLongAsThePlatformSays(t *testing.T) {
	inWriting(t, func(t *testing.T, w *writer) {
		w.Fail(channeltest.Failing{Err: &channels.SendError{After: 20 * time.Second, Err: errors.New("429")}})
		w.write("r1", "It is")
		pass(15 * time.Second)
		w.want()
		pass(10 * time.Second)
		w.want("It is …")
		w.EditErrs(&channels.SendError{After: 30 * time.Second, Err: errors.New("429")})
		w.write("r1", "It is four")
		pass(25 * time.Second)
		w.want("It is …")
		pass(10 * time.Second)
		w.want("It is four …")
	})
}

func TestStreamThatCannotGoOn(t *testing.T) {
	t.Parallel()
	permanent := &channels.SendError{Permanent: true, Err: errors.New("gone")}
	passing := &channels.SendError{Err: errors.New("502")}
	for _, c := range []struct {
		name  string
		send  *channeltest.Failing
		edits []error // of the growing message
		last  []error // of the row's edit
		want  []string
	}{
		{"all goes well", nil, nil, nil, []string{"It is four."}},
		{"cannot be edited while it grows", nil, []error{channels.ErrCannotEdit}, nil, []string{"It is four."}},
		{"cannot be edited by the row", nil, nil, []error{channels.ErrCannotEdit}, []string{"It is four."}},
		{"is gone", nil, nil, []error{permanent}, []string{"It is four."}},
		{"the edit fails for a while", nil, nil, []error{passing, passing}, []string{"It is four."}},
		{"the edit fails all along", nil, nil, []error{passing, passing, passing, passing}, []string{"It is four."}},
		{"edits while it grows fail", nil, slices.Repeat([]error{passing}, 3), nil, []string{"It is four."}},
		{"its form is refused", nil, []error{&channels.SendError{Refused: true, Err: errors.New("form")}}, nil, []string{"It is four."}},
		{"nobody knows where it is", &channeltest.Failing{Err: errors.New("eof"), Lost: true}, nil, nil, []string{"It …", "It is four."}},
		{"the chat refuses it", &channeltest.Failing{Err: permanent}, nil, nil, []string{"It is four."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWriter(t, editing, nil)
				if c.send != nil {
					w.Fail(*c.send)
				}
				w.write("r1", "It")
				pass(2 * time.Second)
				w.EditErrs(c.edits...)
				w.write("r1", "It is")
				pass(10 * time.Second)
				if got := texts(w.Shown("room")); len(got) > 1 {
					t.Errorf("shown %q before the row", got)
				}
				w.EditErrs(c.last...)
				w.stops(core.Out{Kind: core.OutReply, Run: "r1", Text: "It is four."})
				pass(time.Minute)
				w.want(c.want...)
				if rows := w.turns.Rows(); len(rows) != 0 {
					t.Errorf("%d rows left", len(rows))
				}
			})
		})
	}
}

func TestRunThatStopsWithOtherWords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row  core.Out
		want string // is in the message below the one that grew
	}{
		"aborted":                     {core.Out{Kind: core.OutNote, Note: core.NoteAborted, Run: "r1", Person: "p:1"}, "p:1"},
		"asks":                        {core.Out{Kind: core.OutReply, Run: "r1", Input: "i1"}, "Drop it?"},
		"asks while its call goes on": {core.Out{Kind: core.OutPrompt, Run: "r1", Input: "i1"}, "Drop it?"},
		"the next":                    {core.Out{Kind: core.OutReply, Run: "r2", Text: "Next."}, "Next."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWriter(t, editing, nil)
				w.asks = pending()
				w.write("r1", "Let me see")
				pass(2 * time.Second)
				w.stops(c.row)
				got := texts(w.Shown("room"))
				if len(got) != 2 || got[0] != "Let me see" || !strings.Contains(got[1], c.want) {
					t.Errorf("shown %q", got)
				}
			})
		})
	}
}

func TestRetriedReplyReplacesWhatWasShown(t *testing.T) {
	inWriting(t, func(t *testing.T, w *writer) {
		w.write("r1", "It is fo")
		pass(2 * time.Second)
		w.write("r1", "")
		pass(2 * time.Second)
		w.want("It is fo …")
		w.write("r1", "Four")
		pass(2 * time.Second)
		w.want("Four …")
	})
}

func TestNotesDoNotEndTheStream(t *testing.T) {
	inWriting(t, func(t *testing.T, w *writer) {
		w.write("r1", "It")
		pass(2 * time.Second)
		w.turns.Put(core.Out{Kind: core.OutReply, Conversation: home, Run: "r0", Text: "A line."})
		synctest.Wait()
		w.write("r1", "It is")
		pass(2 * time.Second)
		w.want("It is …", "A line.")
		w.stops(core.Out{Kind: core.OutReply, Run: "r1", Text: "It is four."})
		w.want("It is four.", "A line.")
	})
}

func TestStreamStandsBackForRows(t *testing.T) {
	inWriting(t, func(t *testing.T, w *writer) {
		w.Fail(channeltest.Failing{Err: &channels.SendError{After: 30 * time.Second, Err: errors.New("429")}})
		w.stops(core.Out{Kind: core.OutReply, Run: "r0", Text: "First."})
		w.write("r1", "Second")
		pass(20 * time.Second)
		w.want()
		pass(20 * time.Second)
		w.want("First.", "Second …")
		release := w.Hold()
		w.turns.Put(core.Out{Kind: core.OutReply, Conversation: home, Run: "r0", Text: "A line."})
		w.write("r1", "Second and")
		pass(10 * time.Second)
		if n := w.Shown("room")[1].Edits; n != 0 {
			t.Errorf("edited while a row was being sent")
		}
		release()
		pass(time.Second)
		w.want("First.", "Second and …", "A line.")
	})
}

func TestStreamOfADeadProcess(t *testing.T) {
	inWriting(t, func(t *testing.T, w *writer) {
		w.write("r1", "It is")
		pass(2 * time.Second)
		if err := w.stop(); err != nil {
			t.Fatal(err)
		}
		hub, err := channels.NewHub(channels.Config{Turns: w.turns, Now: time.Now, Channels: []channels.Channel{{Adapter: w.Fake, Streams: true}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- hub.Run(ctx) }()
		w.stops(core.Out{Kind: core.OutReply, Run: "r1", Text: "It is four."})
		w.want("It is …", "It is four.")
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestNothingIsStreamed(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*channels.Channel, *render.Dialect){
		"off":      func(c *channels.Channel, _ *render.Dialect) { c.Streams = false },
		"no edits": func(_ *channels.Channel, d *render.Dialect) { d.Edits = false },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, on := editing, channels.Channel{Streams: true}
				set(&on, &d)
				w := newWriter(t, d, func(c *channels.Channel, _ *channels.Config, _ *stand) { c.Streams = on.Streams })
				w.write("r1", "It is")
				pass(10 * time.Second)
				w.want()
			})
		})
	}
}

func TestNoTypingWhileAReplyGrows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		typed := 0
		w := newWriter(t, editing, func(_ *channels.Channel, _ *channels.Config, s *stand) {
			s.OnTyping = func(channels.Target) { typed++ }
		})
		w.turns.SetWorking(home)
		w.write("r1", "It")
		pass(10 * time.Second)
		before := typed
		pass(20 * time.Second)
		if typed != before {
			t.Errorf("typing was shown %d times", typed-before)
		}
		w.stops(core.Out{Kind: core.OutReply, Run: "r1", Text: "It is four."})
		pass(20 * time.Second)
		if typed == before {
			t.Error("typing is not shown any more")
		}
	})
}
