package discord

import (
	"context"
	"testing"

	"parley/channels/discord/discordtest"
	"parley/core"
)

func TestFind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.srv.Meet(ben)
		hidden := r.srv.Channel(r.guild)
		r.srv.Deny(hidden, 50001)
		for _, c := range []struct {
			who  core.PersonID
			want string // "-" for the chat with ben
		}{
			{"discord:42", r.dm.String()}, {"discord:43", "-"}, {personID(snowflake(r.room)), r.room.String()},
			{personID(snowflake(hidden)), hidden.String()}, {"discord:77", ""}, {"discord:x", ""}, {"slack:U1", ""},
		} {
			var before core.Place
			for i := range 2 {
				got, err := r.a.Find(context.Background(), c.who)
				if (err == nil) != (c.want != "") || err != nil && !sendErr(t, err).Permanent || i > 0 && got != before {
					t.Errorf("%s is found at %q, %v", c.who, got, err)
				}
				if c.want == "-" {
					c.want = r.srv.DM(ben).String()
				}
				if before = got; string(got) != c.want {
					t.Errorf("%s is found at %q, want %q", c.who, got, c.want)
				}
			}
		}
		if n := len(r.srv.Calls(discordtest.RouteOpenChat)); n != 4 { // ana, ben, and twice nobody
			t.Errorf("%d chats were asked for", n)
		}
		r.start() // now the channels are known
		before := len(r.srv.Calls(""))
		if got, err := r.a.Find(context.Background(), personID(snowflake(r.room))); err != nil || string(got) != r.room.String() || len(r.srv.Calls("")) != before {
			t.Errorf("a channel that the gateway told of: %q, %v", got, err)
		}
		r.srv.Close()
		if _, err := r.a.Find(context.Background(), "discord:99"); sendErr(t, err).Permanent {
			t.Errorf("a Discord that is down: %v", err)
		}
	})
}
