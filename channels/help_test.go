package channels_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/core"
	"parley/render"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	errStore = errors.New("disk full")
	home     = core.NewConversation("ops", "chat", "room")
)

// stand is a hub with one fake platform and a fake engine, running until the test ends.
type stand struct {
	*channeltest.Fake
	turns *channeltest.Turns
	hub   *channels.Hub
	stop  func() error
}

// newStand starts it; it is called inside a synctest bubble.
func newStand(t *testing.T, d render.Dialect, change func(*channels.Channel, *channels.Config, *stand)) *stand {
	t.Helper()
	s := &stand{Fake: channeltest.NewFake("chat", d), turns: channeltest.NewTurns(time.Now)}
	c := channels.Channel{Adapter: s.Fake, Access: channels.Access{Public: true}}
	cfg := channels.Config{Turns: s.turns, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&c, &cfg, s)
	}
	cfg.Channels = append([]channels.Channel{c}, cfg.Channels...)
	hub, err := channels.NewHub(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.hub = hub
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- hub.Run(ctx) }()
	stopped := false
	s.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-done
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("the hub ended with %v", err)
		}
	})
	return s
}

// pass lets virtual time pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func message(text string) core.Message {
	return core.Message{Conversation: home, From: "p:1", Text: text, Addressed: true}
}

func texts(shown []channeltest.Shown) (out []string) {
	for _, s := range shown {
		out = append(out, s.Part.Text)
	}
	return out
}
