package slack

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/slack/slacktest"
	"parley/core"
)

func TestEventsHandOverAndConfirm(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, byHTTP)
		r.start()
		r.srv.Say(ana, dm, "one")
		r.srv.Say(ana, dm, "two")
		after(time.Second)
		if got := r.sink.Texts(); got != "one|two" || r.srv.Unacked() != 0 {
			t.Errorf("handed over %q, %d left", got, r.srv.Unacked())
		}
		if r.srv.Sockets() != 0 || len(r.srv.Calls("apps.connections.open")) != 0 {
			t.Error("a socket without an app token")
		}
	})
}

// 200 only once it is stored; otherwise Slack brings it again, within its three retries.
func TestEventsThatAreNotStored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, byHTTP)
		var broken atomic.Bool
		broken.Store(true)
		r.sink.Refuse(func(core.Message) error {
			if broken.Load() {
				return errors.New("disk full")
			}
			return nil
		})
		r.start()
		r.srv.Say(ana, dm, "yes")
		after(10 * time.Second)
		if len(r.srv.Acknowledged()) != 0 {
			t.Fatal("confirmed before it was stored")
		}
		broken.Store(false)
		after(2 * time.Minute)
		if got := r.sink.Texts(); got != "yes" || r.srv.Unacked() != 0 || r.srv.Lost() != 0 || r.srv.ForbadeRetry() {
			t.Errorf("handed over %q, %d left, %d lost", got, r.srv.Unacked(), r.srv.Lost())
		}
	})
}

// TR-08: a store that takes two seconds still fits; one that takes longer is asked for again and known then.
func TestSlowStoreIsProcessedOnce(t *testing.T) {
	both(t, func(t *testing.T, how rigOption) {
		for _, slow := range []time.Duration{2 * time.Second, 30 * time.Second} {
			r := newRig(t, how)
			r.sink.Refuse(func(core.Message) error { <-time.After(slow); return nil }) // virtual
			r.start()
			r.srv.Say(ana, dm, "yes")
			after(10 * time.Minute)
			if r.sink.Texts() != "yes" || r.sink.Handed() != 1 || r.srv.Unacked() != 0 {
				t.Errorf("%v: %q in %d calls, %d left", slow, r.sink.Texts(), r.sink.Handed(), r.srv.Unacked())
			}
			if a := r.srv.Acknowledged(); slow < 3*time.Second && (a[0].Attempts != 1 || a[0].Took > 3*time.Second) {
				t.Errorf("acknowledged after %v at attempt %d", a[0].Took, a[0].Attempts)
			}
			r.close()
		}
	})
}

// ask makes one request and returns its status and body.
func ask(r *rig, change func(*http.Request), body string, form bool) (int, string) {
	req := r.srv.Request(context.Background(), []byte(body), form)
	if change != nil {
		change(req)
	}
	rec := httptest.NewRecorder()
	r.a.Handler().ServeHTTP(rec, req)
	return rec.Code, rec.Body.String()
}

func TestSignatures(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, byHTTP)
		r.start()
		const body = `{"type":"url_verification","challenge":"echo me"}`
		if code, got := ask(r, nil, body, false); code != 200 || got != "echo me" {
			t.Errorf("challenge: %d %q", code, got)
		}
		sign := func(secret string, at time.Time, body string) func(*http.Request) {
			return func(req *http.Request) {
				ts, sig := slacktest.Sign(secret, at, []byte(body))
				req.Header.Set("X-Slack-Request-Timestamp", ts)
				req.Header.Set("X-Slack-Signature", sig)
			}
		}
		now := time.Now()
		for name, change := range map[string]func(*http.Request){
			"wrong secret":     sign("another", now, body),
			"empty secret":     sign("", now, body),
			"another body":     sign(slacktest.DefaultSecret, now, body+" "),
			"six minutes old":  sign(slacktest.DefaultSecret, now.Add(-6*time.Minute), body),
			"six minutes on":   sign(slacktest.DefaultSecret, now.Add(6*time.Minute), body),
			"no signature":     func(r *http.Request) { r.Header.Del("X-Slack-Signature") },
			"no timestamp":     func(r *http.Request) { r.Header.Del("X-Slack-Request-Timestamp") },
			"another version":  func(r *http.Request) { r.Header.Set("X-Slack-Signature", "v1"+r.Header.Get("X-Slack-Signature")[2:]) },
			"no hex":           func(r *http.Request) { r.Header.Set("X-Slack-Signature", "v0=zz") },
			"a strange time":   func(r *http.Request) { r.Header.Set("X-Slack-Request-Timestamp", "now") },
			"an old signature": func(r *http.Request) { r.Header.Set("X-Slack-Request-Timestamp", "1") },
		} {
			if code, _ := ask(r, change, body, false); code != http.StatusUnauthorized {
				t.Errorf("%s: %d", name, code)
			}
		}
	})
}

func TestRequestsOfOtherShapes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, byHTTP)
		event := `{"type":"event_callback","team_id":"T0HOME","event":{"type":"message","channel":"DANA","channel_type":"im","user":"UANA","text":"hi","ts":"1764000000.000001"}}`
		if code, _ := ask(r, nil, event, false); code != http.StatusServiceUnavailable {
			t.Errorf("before the start: %d, want a retry", code)
		}
		r.start()
		for name, c := range map[string]struct {
			body string
			form bool
			want int
		}{
			"an event":          {event, false, 200},
			"an unknown event":  {`{"type":"event_callback","event":{"type":"telepathy"}}`, false, 200},
			"no event in it":    {`{"type":"event_callback"}`, false, 200},
			"rate limited":      {`{"type":"app_rate_limited"}`, false, 200},
			"another type":      {`{"type":"telepathy"}`, false, 200},
			"no JSON":           {`{`, false, 400},
			"a strange form":    {"payload=%zz", true, 400},
			"a slash command":   {"command=%2Fyes&text=x", true, 200},
			"a strange payload": {"payload=" + url.QueryEscape("{"), true, 400},
			"an empty press":    {"payload=" + url.QueryEscape(`{"type":"block_actions"}`), true, 200},
			"too large":         {strings.Repeat("x", maxBody+1), false, 413},
		} {
			if code, _ := ask(r, nil, c.body, c.form); code != c.want {
				t.Errorf("%s: %d, want %d", name, code, c.want)
			}
		}
		if got := r.sink.Texts(); got != "hi" {
			t.Errorf("handed over %q", got)
		}
		if code, _ := ask(r, func(r *http.Request) { r.Method = http.MethodGet }, "", false); code != http.StatusMethodNotAllowed {
			t.Errorf("GET: %d", code)
		}
	})
}

// A channel without a signing secret refuses every request, signed with nothing or not.
func TestNoSecretNoRequests(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, func(_ *slacktest.Config, c *Config) { c.SigningSecret = "" })
		r.start()
		for _, secret := range []string{"", slacktest.DefaultSecret} {
			code, _ := ask(r, func(req *http.Request) {
				ts, sig := slacktest.Sign(secret, time.Now(), []byte(`{}`))
				req.Header.Set("X-Slack-Request-Timestamp", ts)
				req.Header.Set("X-Slack-Signature", sig)
			}, `{}`, false)
			if code != http.StatusUnauthorized {
				t.Errorf("%d", code)
			}
		}
	})
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	full := Config{Name: "work", Agent: "ops", BotToken: "xoxb-1", AppToken: "xapp-1", SigningSecret: "s"}
	if _, err := New(full); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Config){
		"a name and an agent": func(c *Config) { c.Agent = "" },
		"botToken":            func(c *Config) { c.BotToken = " " },
		"signingSecret":       func(c *Config) { c.AppToken, c.SigningSecret = "", " " },
		"apiURL":              func(c *Config) { c.APIURL = "slack.test/api/" },
		"white space":         func(c *Config) { c.BotToken = "xoxb-1 xoxb-2" },
	} {
		cfg := full
		change(&cfg)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Presses by HTTP are answered at once, empty, and settle once however often they are repeated.
func TestPressesByEitherWay(t *testing.T) {
	both(t, func(t *testing.T, how rigOption) {
		r := newRig(t, how)
		settled := 0
		r.sink.OnPress(func(_ context.Context, p channels.Press) (channels.PressOutcome, error) {
			if settled++; settled > 1 {
				return channels.PressOutcome{Line: "Approved by <ana> already & done"}, nil
			}
			return channels.PressOutcome{}, nil
		})
		r.start()
		root := r.srv.Say(ana, ops, slacktest.Mention("deploy"))
		p := part("Deploy?")
		p.Buttons = buttons("approve", "deny")
		at := thread(ops, root)
		r.send(at, p)
		prompt := r.srv.Sent(at)[0]
		for range 2 {
			if err := r.srv.Press(ben, ops.Channel, prompt.TS, "APPROVE"); err != nil {
				t.Fatal(err)
			}
		}
		after(time.Second)
		got := r.sink.Pressed()
		if len(got) != 2 || r.srv.Unacked() != 0 {
			t.Fatalf("pressed %+v, %d left", got, r.srv.Unacked())
		}
		if one := got[0]; one.Input != "in0001" || one.Reply != "approve" || one.From != who(ben) || one.Conversation != conversation(at) || one.ID == got[1].ID {
			t.Errorf("pressed %+v", got)
		}
		notes := r.srv.Notes()
		if len(notes) != 1 || notes[0].User != ben || notes[0].Where != at || notes[0].Text != "Approved by &lt;ana&gt; already &amp; done" {
			t.Errorf("notes %+v", notes)
		}
	})
}

// A press that cannot be stored is acknowledged, since it is not repeated, and the person is told.
func TestPressThatIsNotStored(t *testing.T) {
	both(t, func(t *testing.T, how rigOption) {
		r := newRig(t, how)
		r.sink.OnPress(func(context.Context, channels.Press) (channels.PressOutcome, error) {
			return channels.PressOutcome{}, errors.New("disk full")
		})
		r.start()
		p := part("Deploy?")
		p.Buttons = buttons("approve")
		r.send(dm, p)
		r.srv.PressValue(ana, dm.Channel, r.srv.Sent(dm)[0].TS, "in0001:0:approve")
		r.srv.PressValue(ana, dm.Channel, r.srv.Sent(dm)[0].TS, "forged")
		after(time.Minute)
		if len(r.sink.Pressed()) != 1 || r.srv.Unacked() != 0 || r.srv.Lost() != 0 {
			t.Errorf("pressed %d times, %d left", len(r.sink.Pressed()), r.srv.Unacked())
		}
		if n := r.srv.Notes(); len(n) != 1 || n[0].Text != unstored {
			t.Errorf("notes %+v", n)
		}
	})
}

// A link button opens its page, and is acknowledged.
func TestLinkButtons(t *testing.T) {
	both(t, func(t *testing.T, how rigOption) {
		r := newRig(t, how)
		r.start()
		p := part("Connect")
		p.Buttons = buttons("done")
		p.Buttons = append(p.Buttons, buttons("decline")...)
		p.Buttons[0].Label, p.Buttons[0].URL, p.Buttons[0].Reply = "Open", "https://calendar.example.com/a?b=1&c=2", ""
		r.send(dm, p)
		m := r.srv.Sent(dm)[0]
		if c, ok := m.Control("Open"); !ok || c.URL != "https://calendar.example.com/a?b=1&c=2" {
			t.Errorf("controls %+v", m.Controls)
		}
		if err := r.srv.Press(ana, dm.Channel, m.TS, "Open"); err != nil {
			t.Fatal(err)
		}
		after(time.Second)
		if len(r.sink.Pressed()) != 0 || r.srv.Unacked() != 0 {
			t.Errorf("pressed %+v, %d left", r.sink.Pressed(), r.srv.Unacked())
		}
	})
}
