package telegram

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/telegram/telegramtest"
)

// serve runs the program over the rig's adapter, which streams, until the test ends.
func (r *rig) serve() {
	stage := channeltest.NewStage(r.t)
	r.t.Cleanup(stage.Stop)
	stage.Start(r.a)
}

func textsOf(sent []telegramtest.Message) string {
	var out []string
	for _, m := range sent {
		out = append(out, m.Text)
	}
	return strings.Join(out, "\n--\n")
}

// A reply grows in one message, by edits that keep to the limit of a chat; its prompt is a message below it,
// and what is said there answers the prompt.
func TestReplyIsStreamed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, noDrafts)
		r.serve()
		r.srv.Say(ana, dm, "go")
		after(2 * time.Second)
		sent := r.srv.Sent(dm)
		if len(sent) != 1 || !strings.HasPrefix(sent[0].Text, "There are") || !strings.HasSuffix(sent[0].Text, " …") {
			t.Fatalf("after 2 s the chat shows:\n%s", textsOf(sent))
		}
		after(10 * time.Second)
		sent = r.srv.Sent(dm)
		if len(sent) != 2 || sent[0].Text != "There are two ways to go on from here" || !strings.Contains(sent[1].Text, "Which way?") {
			t.Fatalf("the chat shows:\n%s", textsOf(sent))
		}
		if n := len(r.srv.Calls("editMessageText")); n < 2 || n > 5 {
			t.Errorf("%d edits for a reply of 4.5 s", n)
		}
		r.srv.Say(ana, dm, "2", telegramtest.Reply(sent[0].ID)) // not to the prompt: no answer
		after(10 * time.Second)
		if all := textsOf(r.srv.Sent(dm)); strings.Contains(all, "So it is") {
			t.Fatalf("a reply to the streamed message answered:\n%s", all)
		}
		r.srv.Say(ana, dm, "2")
		after(10 * time.Second)
		sent = r.srv.Sent(dm)
		last := sent[len(sent)-1].Text
		if last != "So it is. I went there and came back" || strings.Count(textsOf(sent), "So it is") != 1 || strings.Contains(textsOf(sent), "…") {
			t.Errorf("the chat shows:\n%s", textsOf(sent))
		}
	})
}

// The message that grew was deleted: the reply is sent whole.
func TestStreamedReplyIsDeleted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, noDrafts)
		r.serve()
		r.srv.Say(ana, dm, "go")
		after(2 * time.Second)
		r.srv.Delete(dm, r.srv.Sent(dm)[0].ID)
		after(10 * time.Second)
		sent := r.srv.Sent(dm)
		if len(sent) != 2 || sent[0].Text != "There are two ways to go on from here" || !strings.Contains(sent[1].Text, "Which way?") {
			t.Errorf("the chat shows:\n%s", textsOf(sent))
		}
	})
}

func noDrafts(s *telegramtest.Config, _ *Config) { s.NoDrafts = true }

// stream is a chat of Telegram where replies are streamed.
type stream struct {
	*rig
	at telegramtest.Where
}

func (s *stream) Adapter() channels.Adapter {
	s.a = mustNew(s.t, s.cfg)
	return s.a
}

func (s *stream) Say(text string) {
	if s.at != dm {
		text = "@relay_bot " + text
	}
	s.srv.Say(ana, s.at, text)
	synctest.Wait()
}

func (s *stream) Shown() (out []string) {
	for _, m := range s.srv.Sent(s.at) {
		out = append(out, m.Text)
	}
	return out
}

func (s *stream) Whole(shown, words string) bool { return shown == strings.ReplaceAll(words, "**", "") }

// In a direct chat a reply is drafted; in a group, and where the server knows no drafts, it is edited. Either way
// it ends in one message, whenever the program is stopped.
func TestStreams(t *testing.T) {
	t.Parallel()
	agent := func(_ *telegramtest.Config, c *Config) { c.Agent = channeltest.Agent }
	for name, open := range map[string]func(t *testing.T) channeltest.Streamer{
		"draft":   func(t *testing.T) channeltest.Streamer { return &stream{newRig(t, agent), dm} },
		"by edit": func(t *testing.T) channeltest.Streamer { return &stream{newRig(t, agent, noDrafts), dm} },
		"group": func(t *testing.T) channeltest.Streamer {
			r := newRig(t, agent, hearsAll)
			return &stream{r, r.srv.Supergroup(-1001)}
		},
	} {
		t.Run(name, func(t *testing.T) { channeltest.Streams(t, open) })
	}
}

// A draft is seen while the reply is written, and gone with the message that it becomes.
func TestReplyIsDrafted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.serve()
		r.srv.Say(ana, dm, "go")
		after(2 * time.Second)
		d, ok := r.srv.Draft(dm)
		if !ok || !strings.HasPrefix(d.Text, "There are") || !strings.HasSuffix(d.Text, " …") || len(r.srv.Sent(dm)) != 0 {
			t.Fatalf("after 2 s the draft is %+v, and the chat shows %q", d, textsOf(r.srv.Sent(dm)))
		}
		after(10 * time.Second)
		sent := r.srv.Sent(dm)
		if _, ok := r.srv.Draft(dm); ok || len(sent) != 2 || sent[0].Text != "There are two ways to go on from here" || sent[0].Edits != 0 {
			t.Errorf("a draft stands: %v; the chat shows %q", ok, textsOf(sent))
		}
		calls := r.srv.Calls("sendMessageDraft")
		if n := len(calls); n < 3 || n > 5 {
			t.Errorf("%d drafts for a reply of 4.5 s", n)
		}
		for _, c := range calls {
			if c.Params["draft_id"] != calls[0].Params["draft_id"] || c.Status != 200 {
				t.Errorf("drawn with %v: %d", c.Params, c.Status)
			}
		}
	})
}

// Whatever fails, the chat ends with one message of all the words.
func TestADraftThatFails(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]telegramtest.Fault{
		"refused":      {Status: 400, Description: "Bad Request: drafts are not allowed", Times: 99},
		"blocked":      {Status: 403, Description: telegramtest.Blocked},
		"too many":     {Status: 429, RetryAfter: 2},
		"down":         {Status: 502, Body: "<html>", Times: 99},
		"broken":       {Reset: true, Applied: true, Times: 2},
		"not answered": {Hang: true, Applied: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				r.serve()
				r.srv.Fail("sendMessageDraft", f)
				r.srv.Say(ana, dm, "go")
				after(time.Minute)
				sent := r.srv.Sent(dm)
				if len(sent) != 2 || sent[0].Text != "There are two ways to go on from here" || !strings.Contains(sent[1].Text, channeltest.StageAsks) {
					t.Errorf("the chat shows %q", textsOf(sent))
				}
			})
		})
	}
}

func TestDelete(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		sent := r.send(dm, part("x"))
		for range 2 { // twice is no failure
			if err := r.a.Delete(t.Context(), to(dm), sent.Message); err != nil {
				t.Error(err)
			}
		}
		if got := r.srv.Sent(dm); len(got) != 0 {
			t.Errorf("the chat shows %q", textsOf(got))
		}
		said := r.srv.Say(ana, r.srv.Supergroup(-1001), "theirs")
		if err := r.a.Delete(t.Context(), to(dm), messageID(-1001, said)); err == nil {
			t.Error("a person's message was deleted")
		}
	})
}
