package discord

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/discord/discordtest"
	"parley/core"
)

func TestConnectHearAndEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		if r.a.Ready() == nil {
			t.Error("ready before it runs")
		}
		r.start()
		r.ready()
		r.say("hello")
		if m := r.sink.Only(t); m.Text != "hello" || m.Conversation != conversation(r.room) {
			t.Errorf("%+v", m)
		}
		if got := r.srv.Identifies(); len(got) != 1 || got[0].Intents != 1|1<<9|1<<12|1<<15 {
			t.Errorf("identified %+v", got)
		}
		if !strings.Contains(r.srv.Commands(), `"cancel"`) {
			t.Errorf("commands %s", r.srv.Commands())
		}
		if err := r.Stop(); err != nil || r.a.Ready() == nil {
			t.Errorf("ended with %v, ready %v", err, r.a.Ready())
		}
		synctest.Wait()
		if r.srv.Connected() != 0 {
			t.Error("a connection is left")
		}
	})
}

// Heartbeats go on, the first within an interval, and an extra one comes when asked for.
func TestHeartbeats(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		after(41250 * time.Millisecond)
		if n := r.srv.Beats(); n != 1 {
			t.Errorf("%d heartbeats in the first interval", n)
		}
		r.srv.AskBeat()
		synctest.Wait()
		if n := r.srv.Beats(); n != 2 {
			t.Errorf("%d heartbeats after it was asked for one", n)
		}
		after(10 * time.Minute)
		r.ready()
		if n := len(r.srv.Identifies()) + len(r.srv.Resumes()); n != 1 {
			t.Errorf("connected %d times", n)
		}
	})
}

// Every way in which a connection can end: the adapter is back, with the old session where there is one, and
// nothing that was said meanwhile is missing or there twice.
func TestConnectionsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		end    func(*discordtest.Server)
		resume bool
	}{
		"op 7":           {(*discordtest.Server).Reconnect, true},
		"op 9 for now":   {func(s *discordtest.Server) { s.Invalidate(true) }, true},
		"op 9 for good":  {func(s *discordtest.Server) { s.Invalidate(false) }, false},
		"without a word": {func(s *discordtest.Server) { s.Hangup(0) }, true},
		"zombie":         {(*discordtest.Server).Mute, true},
		"1000":           {func(s *discordtest.Server) { s.Hangup(1000) }, true},
		"1001":           {func(s *discordtest.Server) { s.Hangup(1001) }, true},
		"4000":           {func(s *discordtest.Server) { s.Hangup(4000) }, true},
		"4007":           {func(s *discordtest.Server) { s.Hangup(4007) }, false},
		"4008":           {func(s *discordtest.Server) { s.Hangup(4008) }, true},
		"4009":           {func(s *discordtest.Server) { s.Hangup(4009) }, false},
		"forgotten":      {func(s *discordtest.Server) { s.Forget(); s.Hangup(4000) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				r.waiting = []discordtest.ID{r.room}
				r.start()
				r.say("before")
				c.end(r.srv)
				synctest.Wait()
				said := r.srv.Say(ana, r.room, "<@4242> meanwhile")
				after(3 * time.Minute)
				r.ready()
				r.say("after")
				if got := r.sink.Texts(); got != "before|meanwhile|after" {
					t.Errorf("heard %q (%s)\n%s", got, said, r.log)
				}
				resumes := r.srv.Resumes()
				if c.resume && (len(resumes) == 0 || len(r.srv.Identifies()) != 1 || resumes[0].Path != "/resume" || !resumes[len(resumes)-1].OK) {
					t.Errorf("not resumed: %+v, identified %d times", resumes, len(r.srv.Identifies()))
				}
				if !c.resume && len(r.srv.Identifies()) != 2 {
					t.Errorf("identified %d times, resumed %+v", len(r.srv.Identifies()), resumes)
				}
			})
		})
	}
}

// Connections that never come about: each is given up in bounded time and the next one works.
func TestConnectionsThatDoNotBegin(t *testing.T) {
	for name, plan := range map[string]discordtest.Plan{
		"no Hello":          {NoHello: true},
		"no READY":          {NoReady: true},
		"op 7 before READY": {Reconnect: true},
		"op 9 at Identify":  {Invalid: true},
		"502":               {Refuse: 502},
		"429":               {Refuse: 429},
		"4000 at Identify":  {Close: 4000},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				r.srv.Next(plan, plan)
				r.start()
				if r.a.Ready() == nil {
					t.Error("ready too early")
				}
				after(4 * time.Minute)
				r.ready()
				r.say("hello")
				r.sink.Only(t)
				for i, one := range r.srv.Identifies() {
					if i > 0 && one.At.Sub(r.srv.Identifies()[i-1].At) < 5*time.Second {
						t.Error("identified twice within five seconds")
					}
				}
			})
		})
	}
}

// Close codes that come again at every try end Run, and say what to do.
func TestFatalCloseCodes(t *testing.T) {
	for code, hint := range map[int]string{4004: "botToken", 4010: "shard", 4011: "2,500", 4012: "version", 4013: "intents"} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				r.srv.Next(discordtest.Plan{Close: code})
				r.start()
				r.isPermanent(hint)
				if n := len(r.srv.Identifies()); n != 1 {
					t.Errorf("identified %d times", n)
				}
			})
		})
	}
}

func (r *rig) isPermanent(hint string) {
	r.t.Helper()
	err, over := r.Over()
	if !over {
		r.t.Fatalf("it goes on:\n%s", r.log)
	}
	var p *channels.Permanent
	if !errors.As(err, &p) || p.Channel != "guild" || !strings.Contains(p.Hint, hint) {
		r.t.Errorf("ended with %v, want a Permanent that says %q", err, hint)
	}
}

// A token that the API refuses is not tried at the gateway.
func TestBadToken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, func(_ *discordtest.Config, c *Config) { c.Token = "wrong.token.altogether" })
		r.start()
		r.isPermanent("botToken")
		if len(r.srv.Identifies()) != 0 {
			t.Error("spent a session start")
		}
	})
}

// CF-02: without the intent the bot runs by mentions, replies and buttons, and says so; a message whose text
// it may not read neither answers nor supersedes.
func TestWithoutMessageContent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, contentOff)
		r.start()
		r.ready()
		r.logged("Message Content Intent is off")
		r.logged("level=ERROR")
		if got := r.srv.Identifies(); len(got) != 1 || got[0].Intents&(1<<15) != 0 {
			t.Errorf("identified %+v", got)
		}
		r.srv.Say(ana, r.room, "yes")
		r.srv.Say(ana, r.room, "look", discordtest.File("a.txt"))
		synctest.Wait()
		if got := r.sink.Got(); len(got) != 0 {
			t.Fatalf("heard %+v", got)
		}
		prompt := r.send(r.room, part("Deploy?"))
		_, id, _ := parseMessageID(prompt.Message)
		r.say("yes")
		r.srv.Say(ana, r.room, "no", discordtest.Reply(discordtest.ID(id)))
		synctest.Wait()
		r.srv.Say(ana, r.dm, "maybe")
		synctest.Wait()
		if got := r.sink.Texts(); got != "yes|no|maybe" {
			t.Errorf("heard %q", got)
		}
	})
}

// CF-02: the portal says yes and the gateway no: the bot goes on without, and says so.
func TestIntentRefusedByTheGateway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.srv.Next(discordtest.Plan{Close: 4014})
		r.start()
		after(time.Minute)
		r.ready()
		r.logged("Message Content Intent is off")
		got := r.srv.Identifies()
		if len(got) != 2 || got[0].Intents&(1<<15) == 0 || got[1].Intents&(1<<15) != 0 {
			t.Errorf("identified %+v", got)
		}
		r.srv.Next(discordtest.Plan{Close: 4014})
		r.srv.Invalidate(false)
		after(time.Minute)
		r.isPermanent("Privileged Gateway Intents")
	})
}

// With no session start left the bot waits: one more would cost the operator the token.
func TestSpentSessionStarts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, func(s *discordtest.Config, _ *Config) { s.Starts = 1 })
		r.start()
		r.ready()
		r.srv.Invalidate(false)
		after(10 * time.Minute)
		if len(r.srv.Identifies()) != 1 {
			t.Fatalf("identified %d times", len(r.srv.Identifies()))
		}
		if err := r.a.Ready(); err == nil || !strings.Contains(err.Error(), "session starts") {
			t.Errorf("ready says %v", err)
		}
	})
}

// The order of 400 messages holds within a channel, and a conversation that is stuck holds up nobody else.
func TestOrderOf400Messages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		release := make(chan struct{})
		r.sink.Refuse(func(m core.Message) error {
			if m.Text == "stuck" {
				<-release
			}
			return nil
		})
		r.start()
		r.srv.Say(ana, r.dm, "stuck")
		var want []string
		for i := range 400 {
			text := fmt.Sprintf("n%d", i)
			want = append(want, text)
			r.srv.Say(ana, r.room, "<@4242> "+text)
		}
		synctest.Wait()
		if got := r.sink.Texts(); got != strings.Join(want, "|") {
			t.Errorf("heard %q", got)
		}
		after(5 * time.Minute)
		r.ready()
		close(release)
		synctest.Wait()
		if !strings.HasSuffix(r.sink.Texts(), "|stuck") {
			t.Error("the stuck one is lost")
		}
	})
}

// Events that cannot be read change nothing: what comes after them is heard.
func TestMalformedEvents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		for _, raw := range []string{`{`, `[]`, `{"op":"x"}`, `{"op":0}`, `{"op":99,"d":{}}`, `null`, ``, `{"op":0,"t":"READY","s":9,"d":"no"}`} {
			r.srv.Raw([]byte(raw))
		}
		for _, d := range []any{nil, 7, "x", []any{}, map[string]any{}, map[string]any{"id": "no number", "channel_id": "1"}, map[string]any{"id": -1}, map[string]any{"author": 5}} {
			for _, kind := range []string{"MESSAGE_CREATE", "INTERACTION_CREATE", "GUILD_CREATE", "THREAD_LIST_SYNC", "CHANNEL_CREATE", "THREAD_MEMBERS_UPDATE", "WHATEVER"} {
				r.srv.Dispatch(kind, d)
			}
		}
		r.say("hello")
		if got := r.sink.Texts(); got != "hello" {
			t.Errorf("heard %q\n%s", got, r.log)
		}
		after(time.Hour)
		r.say("still there?")
		if got := r.sink.Texts(); got != "hello|still there?" {
			t.Errorf("heard %q", got)
		}
	})
}

// A component that the library does not know takes nobody's message away, and no process down.
func TestUnknownComponents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.say("hello", discordtest.Field("components", []any{map[string]any{"type": 99, "components": []any{map[string]any{"type": 23}}}}))
		if m := r.sink.Only(t); m.Text != "hello" {
			t.Errorf("%+v", m)
		}
	})
}

// The end of the program drains what was received.
func TestEndDrains(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		hold := make(chan struct{})
		r.sink.Refuse(func(core.Message) error { <-hold; return nil })
		r.srv.Say(ana, r.dm, "one")
		r.srv.Say(ana, r.dm, "two")
		synctest.Wait()
		r.Cancel()
		synctest.Wait()
		close(hold)
		if err := r.Result(); err != nil {
			t.Error(err)
		}
		if got := r.sink.Texts(); got != "one|two" {
			t.Errorf("handed in %q", got)
		}
	})
}

// A server that has a part of the API alone is enough, and so is one that is away at the start.
func TestLesserServers(t *testing.T) {
	for name, faults := range map[string]map[string]discordtest.Fault{
		"no application": {discordtest.RouteApplication: {Status: 404, Times: 99}},
		"broken there":   {discordtest.RouteApplication: {Status: 501, Times: 99}},
		"no gateway/bot": {discordtest.RouteGatewayBot: {Status: 404, Times: 99}, discordtest.RouteCommands: {Status: 405, Times: 99}},
		"away":           {"": {Reset: true, Times: 5}},
		"limited":        {discordtest.RouteGatewayBot: {Status: 429, RetryAfter: 20, Times: 2}},
		"no gateway":     {discordtest.RouteGatewayBot: {Status: 500, Times: 3}, discordtest.RouteGateway: {Status: 200, Body: `{"url":"nonsense"}`, Times: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				for route, f := range faults {
					r.srv.Fail(route, f)
				}
				r.start()
				after(2 * time.Minute)
				r.ready()
				r.say("hello")
				r.sink.Only(t)
			})
		})
	}
}

// A gateway whose address is configured needs nobody to tell it.
func TestConfiguredGateway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, func(_ *discordtest.Config, c *Config) { c.GatewayURL = "ws://elsewhere.test/gw?compress=no" })
		r.srv.Fail(discordtest.RouteGatewayBot, discordtest.Fault{Status: 500, Times: 99})
		r.srv.Fail(discordtest.RouteGateway, discordtest.Fault{Status: 500, Times: 99})
		r.start()
		r.ready()
	})
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	good := Config{Name: "guild", Agent: "ops", Token: "Bot a.b.c"}
	if a := mustNew(t, good); a.api.token() != "a.b.c" || a.api.base != DefaultAPI+"/" || a.Name() != "guild" || a.Redelivers() || a.String() != "discord channel guild" {
		t.Errorf("%+v", a)
	}
	for want, change := range map[string]func(*Config){
		"a name and an agent": func(c *Config) { c.Name = "" },
		"botToken is empty":   func(c *Config) { c.Token = " Bot " },
		"a character":         func(c *Config) { c.Token = "a b" },
		"apiURL":              func(c *Config) { c.APIURL = "discord.com" },
		"apiURL: ":            func(c *Config) { c.APIURL = "https://user:pw@x/api" },
		"gatewayURL":          func(c *Config) { c.GatewayURL = "https://gateway.discord.gg" },
	} {
		c := good
		change(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pw") {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
