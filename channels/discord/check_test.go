package discord

import (
	"context"
	"strings"
	"testing"

	"parley/channels"
	"parley/channels/discord/discordtest"
	"parley/core"
)

// Each thing that can be wrong has a finding of its own, with what to do about it.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		set   rigOption
		ruin  func(*rig)
		level channels.Level
		what  string
		fix   string
	}{
		"token":         {set: func(_ *discordtest.Config, c *Config) { c.Token = "a.b.wrong-wrong" }, level: channels.LevelFail, what: "refuses the bot token", fix: "Reset Token"},
		"client secret": {set: func(_ *discordtest.Config, c *Config) { c.Token = "abcdefgh" }, level: channels.LevelFail, what: "refuses the bot token", fix: "client secret"},
		"unreachable":   {ruin: func(r *rig) { r.srv.Fail(discordtest.RouteMe, discordtest.Fault{Status: 503}) }, level: channels.LevelFail, what: "cannot be reached", fix: "apiURL"},
		"intent":        {set: contentOff, level: channels.LevelWarn, what: "Message Content Intent is off", fix: "Privileged Gateway Intents"},
		"starts spent":  {set: func(s *discordtest.Config, _ *Config) { s.Starts = 1 }, ruin: func(r *rig) { r.start(); _ = r.Stop() }, level: channels.LevelFail, what: "0 of 1000", fix: "wait"},
		"starts few":    {set: func(s *discordtest.Config, _ *Config) { s.Starts = 9 }, level: channels.LevelWarn, what: "9 of 1000", fix: "resets the token"},
		"no gateway": {ruin: func(r *rig) {
			for _, route := range []string{discordtest.RouteGatewayBot, discordtest.RouteGateway} {
				r.srv.Fail(route, discordtest.Fault{Status: 500})
			}
		}, level: channels.LevelFail, what: "gateway's address", fix: "gatewayURL"},
		"not invited":      {ruin: func(r *rig) { r.srv.Deny(r.room, 50001) }, level: channels.LevelFail, what: "not to be seen", fix: "View Channel"},
		"deleted":          {ruin: func(r *rig) { r.srv.Remove(r.room) }, level: channels.LevelFail, what: "not to be seen", fix: "deleted"},
		"may not write":    {ruin: func(r *rig) { r.srv.Overwrite(r.room, "2048") }, level: channels.LevelFail, what: "lacks Send Messages", fix: "give its role"},
		"roles unreadable": {ruin: func(r *rig) { r.srv.Fail(discordtest.RouteRoles, discordtest.Fault{Status: 403}) }, level: channels.LevelWarn, what: "could not be read"},
		"a name":           {set: func(_ *discordtest.Config, c *Config) { c.Places = []core.Place{"#general"} }, level: channels.LevelFail, what: "#general", fix: "Copy Channel ID"},
		"all is well":      {level: channels.LevelOK, what: "is open to the bot"},
		"direct":           {ruin: func(r *rig) { r.a.places = []core.Place{core.Place(r.dm.String())} }, level: channels.LevelOK, what: "is a direct chat"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var options []rigOption
				if c.set != nil {
					options = append(options, c.set)
				}
				r := newRig(t, options...)
				if r.a.places == nil {
					r.a.places = []core.Place{core.Place(r.room.String())}
				}
				if c.ruin != nil {
					c.ruin(r)
				}
				findings := r.a.Check(context.Background())
				for _, f := range findings {
					if f.Level == c.level && strings.Contains(f.What, c.what) && strings.Contains(f.Fix, c.fix) {
						return
					}
				}
				t.Errorf("not found: %+v", findings)
			})
		})
	}
}

// Rights add up as Discord adds them: server, then the channel's rules for everybody, roles, and the bot.
func TestRights(t *testing.T) {
	t.Parallel()
	const view, send, history, threads = 1 << 10, 1 << 11, 1 << 16, 1 << 38
	all := []role{{ID: 5, Permissions: "66560"}, {ID: 6, Permissions: "2048"}, {ID: 7, Permissions: "8"}} // 66560: view and history
	for name, c := range map[string]struct {
		ours  []snowflake
		rules []overwrite
		want  int64
	}{
		"everybody":         {want: view | history},
		"a role":            {ours: []snowflake{6}, want: view | history | send},
		"administrator":     {ours: []snowflake{7}, rules: []overwrite{{ID: 5, Deny: "1024"}}, want: -1},
		"hidden":            {ours: []snowflake{6}, rules: []overwrite{{ID: 5, Deny: "1024"}}, want: history | send},
		"hidden but for us": {ours: []snowflake{6}, rules: []overwrite{{ID: 6, Allow: "1024"}, {ID: 5, Deny: "1024"}}, want: view | history | send},
		"the bot itself":    {ours: []snowflake{6}, rules: []overwrite{{ID: 6, Allow: "274877906944"}, {ID: 42, Deny: "2048"}}, want: view | history | threads},
		"another role":      {rules: []overwrite{{ID: 9, Allow: "2048"}}, want: view | history},
		"unreadable":        {rules: []overwrite{{ID: 5, Allow: "many"}}, want: view | history},
	} {
		if got := rightsOf(42, channel{Guild: 5, Overwrites: c.rules}, all, c.ours); got != c.want {
			t.Errorf("%s: %b, want %b", name, got, c.want)
		}
	}
	if got := missing(view|history, true); len(got) != 1 || got[0] != "Send Messages in Threads" {
		t.Errorf("%q", got)
	}
	if got := missing(0, false); len(got) != 3 {
		t.Errorf("%q", got)
	}
}
