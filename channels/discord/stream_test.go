package discord

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/discord/discordtest"
	"parley/core"
)

// stream is a channel of Discord where replies are streamed.
type stream struct {
	*rig
	at discordtest.ID
}

func (s *stream) Adapter() channels.Adapter {
	s.a = mustNew(s.t, s.cfg)
	return s.a
}

func (s *stream) Say(text string) {
	if s.at == s.room {
		text = "<@" + discordtest.BotID.String() + "> " + text
	}
	s.srv.Say(ana, s.at, text)
	synctest.Wait()
}

func (s *stream) Shown() (out []string) {
	for _, m := range s.srv.Sent(s.at) {
		out = append(out, m.Content)
	}
	return out
}

func (s *stream) Whole(shown, words string) bool { return unescape(shown) == words }

func newStream(t *testing.T) *stream {
	r := newRig(t, func(s *discordtest.Config, c *Config) {
		s.Now, c.Clock, s.PerFive, c.Agent, c.Inputs = time.Now, time.Now, 5, channeltest.Agent, nil
	})
	return &stream{r, r.dm}
}

// A reply is edited as it is written, and ends in one message, whenever the program is stopped.
func TestStreams(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) channeltest.Streamer{
		"direct chat": func(t *testing.T) channeltest.Streamer { return newStream(t) },
		"channel": func(t *testing.T) channeltest.Streamer {
			s := newStream(t)
			s.at = s.room
			return s
		},
	} {
		t.Run(name, func(t *testing.T) { channeltest.Streams(t, open) })
	}
}

// Whatever fails, the channel ends with one message of all the words.
func TestAStreamThatFails(t *testing.T) {
	t.Parallel()
	type f = discordtest.Fault
	for name, faults := range map[string]map[string][]f{
		"nobody knows whether it began": {discordtest.RouteSend: {{Applied: true, Reset: true}}},
		"it is not answered":            {discordtest.RouteSend: {{Applied: true, Hang: true}}},
		"down":                          {discordtest.RouteSend: {{Status: 502, Body: "<html>", Times: 2}}},
		"too many":                      {discordtest.RouteSend: {{Status: 429, RetryAfter: 2}}},
		"too many edits":                {discordtest.RouteEdit: {{Status: 429, RetryAfter: 2, Times: 2}}},
		"edits fail":                    {discordtest.RouteEdit: {{Status: 500, Times: 4}}},
		"it cannot be edited":           {discordtest.RouteEdit: {{Status: 403, Code: 50005, Times: 99}}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, stage := newStream(t), channeltest.NewStage(t)
				defer stage.Stop()
				stage.Start(s.Adapter())
				for route, list := range faults {
					s.srv.Fail(route, list...)
				}
				s.Say("go")
				after(2 * time.Minute)
				shown := s.Shown()
				if len(shown) != 2 || !s.Whole(shown[0], channeltest.FirstWords) || !strings.Contains(shown[1], channeltest.StageAsks) {
					t.Errorf("the channel shows %q", shown)
				}
			})
		})
	}
}

func TestDelete(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		sent := r.send(r.dm, part("x"))
		for range 2 { // twice is no failure
			if err := r.a.Delete(t.Context(), to(r.dm), sent.Message); err != nil {
				t.Error(err)
			}
		}
		if got := r.srv.Sent(r.dm); len(got) != 0 {
			t.Errorf("the chat shows %+v", got)
		}
		theirs := r.srv.Say(ana, r.dm, "theirs")
		if err := r.a.Delete(t.Context(), to(r.dm), messageID(snowflake(r.dm), snowflake(theirs))); err == nil {
			t.Error("a person's message was deleted")
		}
		if err := r.a.Delete(t.Context(), channels.Target{Place: core.Place("1")}, "x"); err == nil {
			t.Error("a message of no channel was deleted")
		}
	})
}
