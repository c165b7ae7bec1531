package slack

import (
	"context"
	"testing"

	"parley/channels"
	"parley/channels/slack/slacktest"
	"parley/core"
)

func TestFind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, func(s *slacktest.Config, _ *Config) {})
		r.srv.AddUser(slacktest.User{ID: "UCLEO"})
		r.srv.AddUser(slacktest.User{ID: "UGONE", Deleted: true})
		for _, c := range []struct {
			who  core.PersonID
			want core.Place
		}{
			{"slack:UCLEO", "DCLEO"}, {who("UCLEO"), "DCLEO"}, {who(ana), "DANA"}, {"slack:UGONE", ""}, {"slack:UNOBODY", ""},
			{"slack:T0/", ""}, {"discord:42", ""}, {"slack:@cleo", ""},
		} {
			for range 2 {
				got, err := r.a.Find(context.Background(), c.who)
				if got != c.want || (err == nil) != (c.want != "") || err != nil && !sendErr(t, err).Permanent {
					t.Errorf("%s is found at %q, %v, want %q", c.who, got, err, c.want)
				}
			}
		}
		if n := len(r.srv.Calls("conversations.open")); n != 6 { // cleo, ana, and twice each who cannot be written to
			t.Errorf("asked %d times", n)
		}
	})
}

// A right that the app lacks does not come by waiting; a Slack that is down is asked again.
func TestFindFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, func(s *slacktest.Config, _ *Config) { s.Scopes = []string{"chat:write"} })
		if _, err := r.a.Find(context.Background(), who(ana)); !sendErr(t, err).Permanent {
			t.Errorf("without im:write: %v", err)
		}
		r.srv.Close()
		if _, err := r.a.Find(context.Background(), who(ana)); sendErr(t, err).Permanent {
			t.Errorf("a Slack that is down: %v", err)
		}
	})
}

func TestWhisper(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		root := r.srv.Say(ana, ops, slacktest.Mention("hi"))
		at := channels.Target{Place: placeOf(ops.Channel, root)}
		if err := r.a.Whisper(context.Background(), at, who(ana), "https://x.example/?a=1&b=<2>"); err != nil {
			t.Fatal(err)
		}
		if err := r.a.Whisper(context.Background(), at, who(ben), "not here"); !sendErr(t, err).Permanent {
			t.Errorf("to somebody who is not there: %v", err)
		}
		notes := r.srv.Notes()
		if len(notes) != 1 || notes[0].User != ana || notes[0].Thread != root || notes[0].Text != "https://x.example/?a=1&amp;b=&lt;2&gt;" {
			t.Errorf("whispered %+v", notes)
		}
	})
}
