package slack

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
	"parley/channels/slack/slacktest"
	"parley/core"
)

func TestSocketHandsOverAndAcknowledges(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.srv.Say(ana, dm, "before the start")
		r.start()
		ts := r.srv.Say(ana, dm, "yes &amp; no")
		synctest.Wait()
		if got := r.sink.Texts(); got != "before the start|yes & no" {
			t.Fatalf("handed over %q", got)
		}
		m := r.sink.Got()[1]
		if m.ID != "DANA:"+ts || m.Conversation != conversation(dm) || m.From != who(ana) || m.Order != orderOf(ts) ||
			!m.SentAt.Equal(timeOf(ts)) || m.Shared || !m.Addressed || m.Lang != "de-DE" {
			t.Errorf("message %+v", m)
		}
		if n := r.srv.Unacked(); n != 0 {
			t.Errorf("%d envelopes are not acknowledged", n)
		}
		if err := r.a.Ready(); err != nil {
			t.Error(err)
		}
	})
}

// An envelope is acknowledged once its message is stored, and not before; until then others go on, and are
// acknowledged within three seconds.
func TestAcknowledgedOnlyOnceStored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		release := make(chan struct{})
		r.sink.Refuse(func(m core.Message) error {
			if m.From == who(ana) {
				<-release
			}
			return nil
		})
		r.start()
		for range 100 {
			r.srv.Say(ana, dm, "slow")
		}
		r.srv.Say(ben, bens, "quick")
		after(time.Second)
		if got := r.sink.Texts(); got != "quick" {
			t.Fatalf("handed over %q", got)
		}
		acked := r.srv.Acknowledged()
		if len(acked) != 1 || acked[0].Took > 3*time.Second || r.srv.Unacked() != 100 {
			t.Fatalf("%d acknowledged, %d not", len(acked), r.srv.Unacked())
		}
		close(release)
		synctest.Wait()
		if r.srv.Unacked() != 0 || len(r.sink.Got()) != 101 {
			t.Errorf("%d messages, %d not acknowledged", len(r.sink.Got()), r.srv.Unacked())
		}
	})
}

// TR-07: a store that fails is asked again until it works, in order; Slack's own retries join what waits.
func TestFailedStoreIsAskedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		var broken atomic.Bool
		broken.Store(true)
		r.sink.Refuse(func(m core.Message) error {
			if broken.Load() && m.From == who(ana) {
				return errors.New("disk full")
			}
			return nil
		})
		r.start()
		r.srv.Say(ana, dm, "one")
		r.srv.Say(ana, dm, "two")
		r.srv.Say(ben, bens, "hello")
		after(20 * time.Minute)
		if got := r.sink.Texts(); got != "hello" {
			t.Fatalf("handed over %q", got)
		}
		broken.Store(false)
		after(time.Minute)
		if got := r.sink.Texts(); got != "hello|one|two" || r.sink.Handed() != 3 {
			t.Errorf("handed over %q in %d calls", got, r.sink.Handed())
		}
	})
}

// What nobody can read is acknowledged all the same; a message in an envelope that the library cannot read
// is read nevertheless.
func TestStrangeEnvelopes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		inner := func(more string) string {
			return `{"type":"events_api","envelope_id":"%s","payload":{"type":"event_callback","team_id":"T0HOME","event_id":"Ev1","event":{` + more + `}}}`
		}
		for _, f := range []string{
			inner(`"type":"event_of_the_future","x":1`),
			inner(`"type":"message","user":5`),
			inner(``),
			`{"type":"events_api","envelope_id":"%s","payload":"what"}`,
			`{"type":"events_api","envelope_id":"%s","payload":{"type":"event_callback","event":[]}}`,
			`{"type":"telepathy","envelope_id":"%s","payload":{}}`,
			`{"type":"slash_commands","envelope_id":"%s","payload":{"command":"/yes"}}`,
			`{"type":"interactive","envelope_id":"%s","payload":{"type":"block_actions","user":{"id":"UANA","team_id":"T0HOME"}}}`,
			`{"type":"interactive","envelope_id":"%s","payload":[1]}`,
		} {
			r.srv.Frame(f)
		}
		synctest.Wait()
		if n := r.srv.Unacked(); n != 0 {
			t.Errorf("%d strange envelopes are not acknowledged", n)
		}
		// An element the library does not know inside an actions block.
		r.srv.Frame(inner(`"type":"message","channel":"DANA","channel_type":"im","user":"UANA","text":"hello","ts":"1764000000.000001",` +
			`"blocks":[{"type":"actions","elements":[{"type":"hologram"}]}]`))
		r.srv.Frame(`{"type":"no envelope at all"}`)
		r.srv.Frame(`not even JSON`)
		r.srv.Say(ana, dm, "still here")
		synctest.Wait()
		if got := r.sink.Texts(); got != "hello|still here" {
			t.Errorf("handed over %q", got)
		}
	})
}

// DU-08: one message delivered three times over five minutes, with three event ids, is one.
// DU-10: what comes first as a retry is processed. Never is anything dropped for being one.
func TestRedeliveries(t *testing.T) {
	both(t, func(t *testing.T, how rigOption) {
		r := newRig(t, how)
		if r.cfg.AppToken == "" {
			r.srv.Hold()
		}
		r.srv.Say(ana, dm, "sent while nobody was there")
		after(time.Minute)
		r.start()
		r.srv.Release(false)
		after(time.Second)
		if got := r.sink.Texts(); got != "sent while nobody was there" {
			t.Fatalf("handed over %q", got)
		}
		for range 3 {
			r.srv.Redeliver(1)
			after(100 * time.Second)
		}
		r.restart()
		r.srv.Redeliver(1)
		after(time.Second)
		if len(r.sink.Got()) != 1 || r.srv.Unacked() != 0 || r.srv.ForbadeRetry() {
			t.Errorf("%d messages, %d not acknowledged", len(r.sink.Got()), r.srv.Unacked())
		}
	})
}

// DU-11: app_mention and message of one post are one, in either order and when each comes twice; so are two
// messages of one gesture.
func TestOnePostIsOneMessage(t *testing.T) {
	both(t, func(t *testing.T, how rigOption) {
		for _, swapped := range []bool{false, true} {
			r := newRig(t, how)
			r.srv.Swapped(swapped)
			r.srv.Twice(true)
			r.start()
			r.srv.Say(ana, ops, slacktest.Mention("deploy"))
			r.srv.Say(ana, trio, slacktest.Mention("deploy"))
			r.srv.Say(ana, dm, "yes", slacktest.Field("client_msg_id", "one-gesture"))
			r.srv.Say(ana, dm, "yes", slacktest.Field("client_msg_id", "one-gesture"))
			after(time.Second)
			got := r.sink.Got()
			if len(got) != 3 || r.srv.Unacked() != 0 {
				t.Errorf("swapped %v: %d messages, %d not acknowledged: %+v", swapped, len(got), r.srv.Unacked(), got)
			}
			for _, m := range got {
				if !m.Addressed {
					t.Errorf("message %+v", m)
				}
			}
			r.close()
		}
	})
}

// TR-01: Slack that falls silent, that hangs up, and that asks to reconnect. What was said in the gap arrives.
func TestReconnects(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		for name, c := range map[string]struct {
			cut    func()
			within time.Duration
		}{
			"silence":    {r.srv.Mute, 2 * time.Minute},
			"a hang-up":  {r.srv.Drop, time.Minute},
			"disconnect": {func() { r.srv.Disconnect("refresh_requested") }, time.Minute},
		} {
			// With Slack out of reach the gap can be seen.
			r.srv.Fail("apps.connections.open", slacktest.Fault{Status: 503, Times: 2})
			c.cut()
			r.srv.Say(ana, dm, name)
			if name != "silence" {
				synctest.Wait()
				if r.a.Ready() == nil {
					t.Errorf("%s: the gap does not show", name)
				}
			}
			after(c.within)
			if err := r.a.Ready(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !strings.Contains(r.sink.Texts(), name) {
				t.Errorf("%s: what was said in the gap is lost: %q", name, r.sink.Texts())
			}
		}
		if s := r.log.String(); !strings.Contains(s, "level=WARN msg=\"slack: the socket is down") || !strings.Contains(s, "503") {
			t.Errorf("no warning: %s", s)
		}
	})
}

// Failures that waiting does not mend end Run with what to do; others do not.
func TestPermanentFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, code, needed, hint string
	}{
		{"auth.test", "invalid_auth", "", "copy it again into botToken"},
		{"auth.test", "not_allowed_token_type", "", "botToken begins with xoxb-"},
		{"auth.test", "account_inactive", "", "install the app"},
		{"auth.test", "token_expired", "", "rotation"},
		{"auth.test", "missing_scope", "chat:write", "chat:write"},
		{"apps.connections.open", "not_allowed_token_type", "", "appToken with xapp-"},
		{"apps.connections.open", "missing_scope", "connections:write", "connections:write"},
		{"apps.connections.open", "token_revoked", "", "appToken"},
		{"apps.connections.open", "token_expired", "", "appToken"},
		{"apps.connections.open", "invalid_auth", "", "appToken"},
		{"apps.connections.open", "link_disabled", "", "Socket Mode is off"},
	} {
		t.Run(c.method+" "+c.code, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				r.srv.Fail(c.method, slacktest.Fault{Error: c.code, Needed: c.needed, Times: 100})
				r.start()
				var perm *channels.Permanent
				if err := r.Result(); !errors.As(err, &perm) || !strings.Contains(perm.Hint, c.hint) {
					t.Errorf("Run ended with %v", err)
				}
			})
		})
	}
}

func TestSwappedTokens(t *testing.T) {
	for _, c := range []struct{ bot, app, hint string }{
		{slacktest.DefaultAppToken, slacktest.DefaultBotToken, "begins with xoxb-"},
		{slacktest.DefaultAppToken, slacktest.DefaultAppToken, "xoxb-"},
		{slacktest.DefaultBotToken, slacktest.DefaultBotToken, "xapp-"},
		{"xoxe.xoxb-1-x", slacktest.DefaultAppToken, "rotation"},
	} {
		t.Run(c.hint, func(t *testing.T) {
			t.Parallel()
			a := mustNew(t, Config{Name: "work", Agent: "ops", BotToken: c.bot, AppToken: c.app})
			var perm *channels.Permanent
			if err := a.Run(context.Background(), &channeltest.Sink{}); !errors.As(err, &perm) || !strings.Contains(perm.Hint, c.hint) {
				t.Errorf("Run ended with %v", err)
			}
			if f := a.Check(context.Background()); len(f) != 1 || f[0].Level != channels.LevelFail || !strings.Contains(f[0].Fix, c.hint) {
				t.Errorf("findings %+v", f)
			}
		})
	}
}

// Passing failures are waited out.
func TestPassingFailures(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		for _, f := range []slacktest.Fault{{Status: 502, Body: "<html>"}, {Error: "internal_error"}, {Reset: true}, {Status: 429, RetryAfter: 7}, {Status: 200, Body: "<html>"}} {
			r.srv.Fail("auth.test", f)
			r.srv.Fail("apps.connections.open", f)
		}
		r.start()
		if r.a.Ready() == nil {
			t.Error("ready before the bot is known")
		}
		after(5 * time.Minute)
		if err := r.a.Ready(); err != nil {
			t.Error(err)
		}
	})
}

// Socket Mode that is turned off closes each socket at once: Run ends rather than dial in a loop.
func TestSocketsThatEndAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		for range 2 * mostConnects {
			r.srv.Disconnect("link_disabled")
			synctest.Wait()
		}
		err := r.Result()
		if err == nil || !strings.Contains(err.Error(), "Socket Mode may be off") {
			t.Errorf("Run ended with %v", err)
		}
		if n := len(r.srv.Calls("apps.connections.open")); n > mostConnects+2 {
			t.Errorf("%d sockets were asked for", n)
		}
	})
}

// What was not stored when the process ends is not acknowledged, and comes again to the next.
func TestStopLeavesNothingBehind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.sink.Refuse(func(core.Message) error { return errors.New("locked") })
		r.start()
		r.srv.Say(ana, dm, "yes")
		after(time.Second)
		if err := r.Stop(); err != nil {
			t.Errorf("Run returned %v", err)
		}
		if r.a.Ready() == nil || len(r.srv.Acknowledged()) != 0 {
			t.Error("ready or acknowledged after the end")
		}
		r.sink.Refuse(nil)
		r.restart()
		after(10 * time.Second)
		if got := r.sink.Texts(); got != "yes" {
			t.Errorf("handed over %q", got)
		}
	})
}

// A fatal end is not held up by what still waits for the store.
func TestFatalEndWithMessagesWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.sink.Refuse(func(core.Message) error { return errors.New("locked") })
		r.start()
		r.srv.Say(ana, dm, "yes")
		after(time.Second)
		r.srv.Fail("apps.connections.open", slacktest.Fault{Error: "link_disabled", Times: 9})
		r.srv.Drop()
		var perm *channels.Permanent
		if err := r.Result(); !errors.As(err, &perm) {
			t.Errorf("Run ended with %v", err)
		}
	})
}

// With a client of its own the adapter works over a real network, as against anybody's server.
func TestOverLoopback(t *testing.T) {
	t.Parallel()
	srv, err := slacktest.Start(slacktest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	srv.AddUser(slacktest.User{ID: ana})
	at, s := srv.DM(ana), &channeltest.Sink{}
	a := mustNew(t, Config{Name: "work", Agent: "ops", BotToken: slacktest.DefaultBotToken, AppToken: slacktest.DefaultAppToken, APIURL: strings.TrimSuffix(srv.URL, "/")})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx, s) }()
	srv.Say(ana, at, "hello")
	if err := srv.Wait(ctx, func() bool { return len(srv.Acknowledged()) == 1 }); err != nil {
		t.Error(err)
	}
	if _, err := a.Send(ctx, to(at), part("hi")); err != nil {
		t.Error(err)
	}
	if s.Texts() != "hello" || len(srv.Sent(at)) != 1 {
		t.Errorf("handed over %q, sent %d", s.Texts(), len(srv.Sent(at)))
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	a.api.http.CloseIdleConnections()
}

// A Web API that never answers does not keep the socket from being dialled again.
func TestSlackThatHangsWhenAskedForASocket(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.srv.Fail("apps.connections.open", slacktest.Fault{Hang: true})
		r.start()
		after(2 * time.Minute)
		if err := r.a.Ready(); err != nil {
			t.Error(err)
		}
	})
}
