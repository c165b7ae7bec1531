package slack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/channels/channeltest"
	"parley/channels/slack/slacktest"
	"parley/core"
	"parley/render"
)

// leak reports the secret that s holds, "" for none.
func leak(srv *slacktest.Server, s string) string { return channeltest.Leak(s, srv.Secrets()...) }

// No error, finding, log line or printed value holds a token, the signing secret, or the address of a socket,
// a response or an upload, whatever goes wrong.
func TestNoSecretsAnywhere(t *testing.T) {
	tokens := slacktest.DefaultBotToken + " " + slacktest.DefaultAppToken + " wss://slack.test/socket?ticket=socket-ticket-secret"
	faults := []slacktest.Fault{
		{Error: "invalid_auth"}, {Error: "error " + tokens}, {Error: "missing_scope", Needed: "chat:write"}, {Error: "internal_error"},
		{Status: 400, Body: tokens}, {Status: 404, Body: "x"}, {Status: 429, RetryAfter: 1}, {Status: 502, Body: "<html>" + tokens},
		{Status: 200, Body: tokens}, {Status: 200, Body: `{"ok":true,"url":"ws://slack.test/nowhere?ticket=socket-ticket-secret"}`},
		{Status: 200, Body: `{"ok":true,"url":"ws://[slack.test/socket?ticket=socket-ticket-secret"}`}, {Reset: true}, {Hang: true},
	}
	for i, f := range faults {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			both(t, func(t *testing.T, how rigOption) {
				r := newRig(t, how)
				f := f
				f.Times = 4
				ctx := context.Background()
				part := render.Part{Text: "x", Buttons: buttons("approve")}
				r.send(dm, part)
				ts := r.srv.Sent(dm)[0].TS
				methods := []string{
					"chat.postMessage", "chat.update", "chat.postEphemeral", "conversations.history", "conversations.info", "users.info",
					"files.getUploadURLExternal", "files.completeUploadExternal", "assistant.threads.setStatus", "apps.connections.open",
					"chat.startStream", "chat.appendStream", "chat.delete", "files.info",
				}
				for _, m := range methods {
					r.srv.Fail(m, f)
				}
				var seen strings.Builder
				see := func(v any) { seen.WriteString(printed(v)) }
				for range 2 {
					_, err := r.a.Send(ctx, key(dm, "k"), part)
					see(err)
					_, err = r.a.Send(ctx, key(dm, "f"), render.Part{Text: "x", File: &render.File{Name: "a", Data: []byte("a")}})
					see(err)
				}
				see(r.a.Edit(ctx, to(dm), messageID(dm.Channel, ts), part))
				see(r.a.Typing(ctx, to(dm)))
				see(r.a.Delete(ctx, to(dm), messageID(dm.Channel, "1.000001")))
				see(r.a.GrowStream(ctx, to(dm), messageID(dm.Channel, ts), "x "))
				_, err := r.a.OpenStream(ctx, to(thread(dm, ts)), "x ")
				see(err)
				_, err = r.a.ReadFile(ctx, core.Message{}, core.File{Ref: "F0"})
				see(err)
				r.start()
				r.srv.PressValue(ana, dm.Channel, ts, "in0001:0:approve")
				r.srv.Say(ana, trio, slacktest.Mention("x"))
				code, body := ask(r, func(req *http.Request) { req.Header.Set("X-Slack-Signature", slacktest.DefaultSecret) }, "{}", false)
				see(fmt.Sprint(code, body))
				after(5 * time.Minute)
				see(r.a.Ready())
				r.srv.Fail("auth.test", f)
				r.srv.Fail("apps.connections.open", f)
				for range 3 {
					see(r.a.Check(ctx))
				}
				if err, over := r.Over(); over {
					see(err)
				}
				if s := leak(r.srv, seen.String()); s != "" {
					t.Errorf("an error holds %s:\n%s", s, seen.String())
				}
				if s := leak(r.srv, r.log.String()); s != "" {
					t.Errorf("the log holds %s:\n%s", s, r.log.String())
				}
			})
		})
	}
}

// Neither the adapter nor its configuration prints a secret.
func TestNoSecretsInValues(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		for _, v := range []any{r.a, r.cfg, &r.cfg, r.a.api, struct{ C Config }{r.cfg}} {
			if s := leak(r.srv, fmt.Sprintf("%v %+v %#v %s", v, v, v, v)); s != "" {
				t.Errorf("%T prints %s", v, s)
			}
		}
		if s := leak(r.srv, r.cfg.LogValue().String()); s != "" {
			t.Error("slog prints the configuration")
		}
	})
}

// A redirect would take the token to another host: it is not followed.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	a := mustNew(t, Config{Name: "work", Agent: "ops", BotToken: slacktest.DefaultBotToken, AppToken: slacktest.DefaultAppToken, Client: &http.Client{Transport: redirecting{t}}})
	if _, err := a.Send(context.Background(), to(dm), part("x")); err == nil || strings.Contains(printed(err), slacktest.DefaultBotToken) {
		t.Errorf("%v", err)
	}
}

type redirecting struct{ t *testing.T }

func (r redirecting) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != "slack.com" {
		r.t.Errorf("a request went to %s", req.URL.Host)
	}
	return &http.Response{
		StatusCode: http.StatusTemporaryRedirect, Request: req, Body: io.NopCloser(strings.NewReader("")),
		Header: http.Header{"Location": {"https://evil.test" + req.URL.Path}},
	}, nil
}
