package channels_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/core"
	"parley/core/turn"
	"parley/render"
)

const stepURL = "https://accounts.example.com/connect?state=once"

// urlStep is a URL step that waits, of asker p:1, with its row.
func urlStep(s *stand, shared bool) core.Out {
	in := pending()
	in.Kind, in.URL, in.Message = core.KindURL, stepURL, "Open "+stepURL
	s.turns.OnShow = func(row core.Out) (turn.Shown, error) {
		return turn.Shown{Row: row, Input: in, Conversation: core.Conversation{Shared: shared}}, nil
	}
	return core.Out{Kind: core.OutPrompt, Conversation: home, Run: "r1", Input: "i1", ReplyTo: "m1"}
}

func linksOf(shown []channeltest.Shown) string {
	var out []string
	for _, s := range shown {
		out = append(out, s.Part.Text)
		for _, b := range s.Part.Buttons {
			out = append(out, b.URL)
		}
	}
	return strings.Join(out, "\n")
}

// The link of a URL step goes to its asker alone where others read along; where that cannot be done it stands
// in the prompt.
func TestLinkGoesToTheAskerAlone(t *testing.T) {
	t.Parallel()
	atDM := func(core.PersonID) (core.Place, error) { return "dm", nil }
	passing := &channels.SendError{Err: errors.New("busy"), After: time.Second}
	for name, c := range map[string]struct {
		shared   bool
		find     func(core.PersonID) (core.Place, error)
		failing  []channeltest.Failing
		dm, room bool // where the link is in the end
	}{
		"alone":            {find: atDM, room: true},
		"others read":      {shared: true, find: atDM, dm: true},
		"nobody is found":  {shared: true, room: true},
		"refused":          {shared: true, find: atDM, failing: []channeltest.Failing{{Err: &channels.SendError{Permanent: true, Err: errors.New("closed")}}}, room: true},
		"busy for a while": {shared: true, find: atDM, failing: []channeltest.Failing{{Err: passing}, {Err: passing}}, dm: true},
		"the prompt fails": {shared: true, find: atDM, failing: []channeltest.Failing{{}, {Err: passing}}, dm: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStand(t, render.Dialect{Buttons: true}, nil)
				s.OnFind = c.find
				s.Fail(c.failing...)
				s.turns.Put(urlStep(s, c.shared))
				pass(time.Minute)
				dm, room := s.Shown("dm"), s.Shown("room")
				if strings.Contains(linksOf(dm), stepURL) != c.dm || strings.Contains(linksOf(room), stepURL) != c.room {
					t.Errorf("alone:\n%s\nin the room:\n%s", linksOf(dm), linksOf(room))
				}
				if len(room) != 1 || room[0].Voice != channels.VoiceAsk || room[0].ReplyTo != "m1" || c.dm && len(dm) != 1 {
					t.Errorf("in the room %+v, alone %+v", room, dm)
				}
				if r := s.turns.Receipts(); len(r) != 1 || !r[0].Prompted || len(r[0].Messages) != 1 || r[0].Messages[0] != room[0].ID {
					t.Errorf("receipts %+v: want the prompt in the room alone", r)
				}
			})
		})
	}
}

// A copy of a prompt is shown as where others read along: nobody knows who reads it, and its home sees to the link.
func TestACopyHoldsNoLink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, render.Dialect{}, nil)
		s.OnFind = func(core.PersonID) (core.Place, error) { return "dm", nil }
		row := urlStep(s, false)
		row.Conversation = core.NewConversation("ops", "chat", "elsewhere")
		s.turns.Put(row)
		synctest.Wait()
		if shown := s.Shown("elsewhere"); len(shown) != 1 || strings.Contains(linksOf(shown), "/connect") || len(s.Shown("dm")) != 0 {
			t.Errorf("the copy is %q, alone %+v", linksOf(shown), s.Shown("dm"))
		}
	})
}

// A row for a person waits until the platform can say where they are, and holds up nobody else.
func TestARowForAPersonIsForwarded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, render.Dialect{}, nil)
		asked := 0
		s.OnFind = func(who core.PersonID) (core.Place, error) {
			asked++
			switch {
			case who != "p:2":
				return "", &channels.SendError{Permanent: true, Err: errors.New("nobody")}
			case asked < 3:
				return "", errors.New("the platform is down")
			}
			return "dm", nil
		}
		texter(s, "", pending())
		person := core.NewConversation("ops", "chat", "p:2")
		s.turns.Put(core.Out{Kind: core.OutPrompt, Conversation: person, Run: "r1", Input: "i1"})
		s.turns.Put(core.Out{Kind: core.OutPrompt, Conversation: home, Run: "r1", Input: "i1"})
		synctest.Wait()
		if len(s.Shown("room")) != 1 || len(s.Shown("dm")) != 0 {
			t.Fatalf("in the room %d, at the person %d", len(s.Shown("room")), len(s.Shown("dm")))
		}
		pass(time.Minute)
		if len(s.Shown("dm")) != 1 || len(s.Shown("p:2")) != 0 {
			t.Errorf("at the person: %+v", s.Shown("dm"))
		}
		var ended atomic.Bool // the bubble's clock orders nothing between the test and the delivery
		s.turns.OnShow = func(row core.Out) (turn.Shown, error) {
			in := pending()
			if ended.Load() {
				in.State = core.InputExpired
			}
			return turn.Shown{Row: row, Run: core.Run{ID: row.Run}, Input: in}, nil
		}
		s.turns.Put(core.Out{Kind: core.OutPrompt, Conversation: core.NewConversation("ops", "chat", "p:3"), Run: "r1", Input: "i1"})
		synctest.Wait()
		if f := s.turns.Failures(); len(f) == 0 || f[len(f)-1].Permanent || f[len(f)-1].After != 15*time.Minute {
			t.Errorf("failures %+v: want a later try while the prompt waits", f)
		}
		ended.Store(true)
		pass(20 * time.Minute)
		if f := s.turns.Failures(); !f[len(f)-1].Permanent {
			t.Errorf("failures %+v: want the last for good, since the prompt has ended", f)
		}
	})
}

// whisperer shows text to one person in the room.
type whisperer struct {
	*channeltest.Fake
	heard *string
}

func (w whisperer) Whisper(_ context.Context, to channels.Target, who core.PersonID, text string) error {
	*w.heard = string(to.Place) + " " + string(who) + " " + text
	return nil
}

func TestALinkIsWhisperedWhereThereIsNoChat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var heard string
		s := newStand(t, render.Dialect{}, func(c *channels.Channel, _ *channels.Config, s *stand) {
			c.Adapter = whisperer{s.Fake, &heard}
		})
		s.turns.Put(urlStep(s, true))
		synctest.Wait()
		if strings.Contains(linksOf(s.Shown("room")), "/connect") || !strings.HasPrefix(heard, "room p:1 ") || !strings.Contains(heard, stepURL) {
			t.Errorf("whispered %q, in the room:\n%s", heard, linksOf(s.Shown("room")))
		}
	})
}
