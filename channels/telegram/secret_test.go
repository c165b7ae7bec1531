package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/telegram/telegramtest"
	"parley/core"
	"parley/render"
)

// leak reports the secret that s holds, "" for none.
func leak(a *Adapter, s string) string {
	token := a.api.token()
	_, half, _ := strings.Cut(token, ":")
	return channeltest.Leak(s, token, half, a.secret())
}

// No error, log line or printed value holds the token or the webhook secret, whatever goes wrong.
func TestNoSecretsAnywhere(t *testing.T) {
	faults := []telegramtest.Fault{
		{Status: 400, Description: "Bad Request: https://api.test/bot" + telegramtest.DefaultToken + "/x"},
		{Status: 401, Description: "Unauthorized " + telegramtest.DefaultToken}, {Status: 403}, {Status: 404}, {Status: 409}, {Status: 413},
		{Status: 429, RetryAfter: 1}, {Status: 500}, {Status: 502, Body: "<html>" + telegramtest.DefaultToken}, {Status: 200, Body: telegramtest.DefaultToken},
		{Status: 301, Body: "moved"}, {Reset: true}, {Hang: true},
	}
	for i, f := range faults {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				f.Times = 3
				for _, m := range []string{"getMe", "getWebhookInfo", "getUpdates", "setMyCommands", "sendMessage", "sendDocument", "editMessageText", "sendChatAction", "sendMessageDraft", "deleteMessage", "getFile"} {
					r.srv.Fail(m, f)
				}
				ctx := context.Background()
				var seen strings.Builder
				_, err := r.a.Send(ctx, to(dm), part("x"))
				seen.WriteString(printed(err))
				_, err = r.a.Send(ctx, to(dm), render.Part{File: &render.File{Name: "a", Data: []byte("a")}})
				seen.WriteString(printed(err))
				seen.WriteString(printed(r.a.Edit(ctx, to(dm), "42:1", part("x"))))
				seen.WriteString(printed(r.a.Typing(ctx, to(dm))))
				seen.WriteString(printed(r.a.Draft(ctx, to(dm), part("x"))))
				seen.WriteString(printed(r.a.Delete(ctx, to(dm), "42:1")))
				_, err = r.a.ReadFile(ctx, core.Message{}, core.File{Ref: "x"})
				seen.WriteString(printed(err))
				r.start()
				after(5 * time.Minute)
				seen.WriteString(printed(r.a.Ready()))
				if err, over := r.Over(); over {
					seen.WriteString(printed(err))
				}
				if s := leak(r.a, seen.String()); s != "" {
					t.Errorf("an error holds %s:\n%s", s, seen.String())
				}
				if s := leak(r.a, r.log.String()); s != "" {
					t.Errorf("the log holds %s:\n%s", s, r.log.String())
				}
			})
		})
	}
}

// Neither the adapter nor its configuration prints a secret.
func TestNoSecretsInValues(t *testing.T) {
	t.Parallel()
	cfg := Config{Name: "tg", Agent: "ops", Token: telegramtest.DefaultToken, SecretToken: "hook-secret-hook-secret"}
	a := mustNew(t, cfg)
	for _, v := range []any{a, cfg, &cfg, a.api, *a.api, struct{ C Config }{cfg}} {
		out := fmt.Sprintf("%v %+v %#v %s", v, v, v, v)
		if s := leak(a, out); s != "" {
			t.Errorf("%T prints %s", v, s)
		}
	}
	if s := leak(a, cfg.LogValue().String()); s != "" {
		t.Error("slog prints the configuration")
	}
}

// The library and net/http put the address, which holds the token, into their errors.
func TestTransportErrorsAreCleaned(t *testing.T) {
	t.Parallel()
	address := "https://api.test/bot" + telegramtest.DefaultToken + "/sendMessage"
	for _, cause := range []error{
		io.ErrUnexpectedEOF, &url.Error{Op: "Post", URL: address, Err: io.EOF}, fmt.Errorf("proxy said: %s", address), http.ErrUseLastResponse,
	} {
		a := mustNew(t, Config{Name: "tg", Agent: "ops", Token: telegramtest.DefaultToken, Client: &http.Client{Transport: failing{cause}}})
		_, err := a.Send(context.Background(), to(dm), part("x"))
		if err == nil || leak(a, printed(err)) != "" {
			t.Errorf("%v becomes %s", cause, printed(err))
		}
		var e *channels.SendError
		if !errors.As(err, &e) || e.Unsure {
			t.Errorf("a request that never left: %+v", e)
		}
	}
}

type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// A redirect would take the token to another host: it is not followed.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	a := mustNew(t, Config{Name: "tg", Agent: "ops", Token: telegramtest.DefaultToken, Client: &http.Client{Transport: redirecting{t}}})
	if _, err := a.Send(context.Background(), to(dm), part("x")); err == nil || leak(a, printed(err)) != "" {
		t.Errorf("%v", err)
	}
}

type redirecting struct{ t *testing.T }

func (r redirecting) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != "api.telegram.org" {
		r.t.Errorf("a request went to %s", req.URL.Host)
	}
	return &http.Response{
		StatusCode: http.StatusTemporaryRedirect, Request: req, Body: http.NoBody,
		Header: http.Header{"Location": {"https://evil.test" + req.URL.Path}},
	}, nil
}
