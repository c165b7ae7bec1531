package channels_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/core"
	"parley/render"
)

// slowList is an engine whose second list of the outbox is old by the time it is handed over.
type slowList struct {
	channels.Turns
	lists   atomic.Int32
	release func()
}

func (s *slowList) Outbox(ctx context.Context, channel string, limit int) ([]core.Out, time.Time, error) {
	rows, next, err := s.Turns.Outbox(ctx, channel, limit)
	if len(rows) > 0 && s.lists.Add(1) == 2 {
		s.release()
		<-time.After(time.Second) // meanwhile the row is sent, and its receipt stored
	}
	return rows, next, err
}

// A row that was sent while the outbox was being listed is not sent a second time.
func TestAnOldListSendsNothingTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		list := &slowList{}
		s := newStand(t, render.Dialect{}, func(_ *channels.Channel, cfg *channels.Config, s *stand) {
			list.Turns, list.release = cfg.Turns, s.Hold()
			cfg.Turns = list
		})
		s.turns.Put(core.Out{Kind: core.OutReply, Conversation: home, Run: "r1"})
		synctest.Wait() // it is being sent
		s.turns.Put(core.Out{Kind: core.OutReply, Conversation: home, Run: "r2"})
		pass(time.Minute)
		if got := texts(s.Shown("room")); len(got) != 2 || got[0] != "reply r1" || got[1] != "reply r2" {
			t.Errorf("shown %q, want each once", got)
		}
		if list.lists.Load() < 2 {
			t.Error("the outbox was not listed while the row was being sent")
		}
	})
}
