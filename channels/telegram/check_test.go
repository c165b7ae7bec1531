package telegram_test

import (
	"log/slog"
	"strings"
	"testing"

	"parley/channels"
	"parley/channels/telegram"
	"parley/channels/telegram/telegramtest"
	"parley/core"
)

// TestCheck: each thing that can be wrong has a line of its own with what to do about it.
func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil  func(*telegramtest.Server)
		places []core.Place
		level  channels.Level
		what   string
	}{
		"all well":        {func(*telegramtest.Server) {}, nil, channels.LevelOK, "updates can be polled"},
		"privacy mode":    {func(*telegramtest.Server) {}, nil, channels.LevelWarn, "privacy mode is on"},
		"a bad token":     {func(s *telegramtest.Server) { s.Fail("getMe", telegramtest.Fault{Status: 401}) }, nil, channels.LevelFail, "cannot be used"},
		"a rival poller":  {func(s *telegramtest.Server) { s.Fail("getUpdates", telegramtest.Fault{Status: 409}) }, nil, channels.LevelFail, "another program polls"},
		"a place unknown": {func(*telegramtest.Server) {}, []core.Place{"-100999"}, channels.LevelFail, "chat -100999 cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, err := telegramtest.Start(telegramtest.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close()
			c.spoil(srv)
			a, err := telegram.New(telegram.Config{
				Name: "tg", Agent: "ops", Token: srv.Token(), APIURL: srv.URL, Places: c.places, Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range a.Check(t.Context()) {
				if strings.Contains(f.What, srv.Token()) || strings.Contains(f.Fix, srv.Token()) {
					t.Errorf("a finding holds the token: %+v", f)
				}
				if f.Level == c.level && strings.Contains(f.What, c.what) {
					if f.Level != channels.LevelOK && f.Fix == "" {
						t.Errorf("nothing says what to do: %+v", f)
					}
					return
				}
			}
			t.Errorf("no finding %q", c.what)
		})
	}
}
