package channels_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/core"
	"parley/core/turn"
	"parley/render"
)

type heard struct {
	mu    sync.Mutex
	words []string
}

func (h *heard) say(s string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.words = append(h.words, s)
}

func (h *heard) Delivery(channel string, d channels.Delivered) { h.say(channel + " " + string(d)) }
func (h *heard) Reading(channel string, d core.Doing)          { h.say(channel + " " + string(d)) }

func TestObserver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &heard{}
		s := newStand(t, render.Dialect{}, func(_ *channels.Channel, c *channels.Config, _ *stand) { c.Observer = h })
		texter(s, "done", nil)
		s.Fail(
			channeltest.Failing{Err: &channels.SendError{Err: errors.New("502")}},
			channeltest.Failing{Err: &channels.SendError{Permanent: true, Err: errors.New("403")}},
		)
		s.turns.Put(core.Out{Kind: core.OutReply, Conversation: home, Run: "r1"})
		s.turns.Put(core.Out{Kind: core.OutReply, Conversation: home, Run: "r2"})
		<-time.After(time.Hour) // of the bubble's clock
		synctest.Wait()
		if want := []string{"chat retry", "chat dropped", "chat sent"}; !slices.Equal(h.words, want) {
			t.Errorf("heard %q, want %q", h.words, want)
		}
		known := false
		s.turns.OnAccept = func(context.Context, core.Message) (turn.Accepted, error) {
			defer func() { known = true }()
			return turn.Accepted{Duplicate: known, Did: core.DoUnclear}, nil
		}
		m := core.Message{ID: "m1", Conversation: home, From: "p:1", Text: "hello", Order: s.Next(), Addressed: true}
		for range 2 { // the second time it is known already
			if _, err := s.Say(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := len(h.words); n != 4 || h.words[3] != "chat unclear" {
			t.Errorf("heard %q, want one reading", h.words)
		}
	})
}
