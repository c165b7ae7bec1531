package discord

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"parley/channels/channeltest"
	"parley/channels/discord/discordtest"
	"parley/core"
	"parley/render"
)

// leak reports the secret that s holds, "" for none.
func leak(s string) string {
	token := discordtest.DefaultToken
	half := token[strings.LastIndexByte(token, '.')+1:]
	return channeltest.Leak(s, token, half, "interaction-secret", "Authorization", "authorization")
}

// No error, log line or printed value holds the token or that of an interaction, whatever goes wrong.
func TestNoSecretsAnywhere(t *testing.T) {
	token := discordtest.DefaultToken
	for i, f := range []discordtest.Fault{
		{Status: 400, Code: 50035, Message: "http://discord.test/" + token + "/interaction-secret-"}, {Status: 401, Message: "Unauthorized " + token}, {Status: 403}, {Status: 404},
		{Status: 429, RetryAfter: 1}, {Status: 429, Body: "<html>" + token}, {Status: 500}, {Status: 502, Body: "<html>" + token}, {Status: 200, Body: token},
		{Status: 301, Body: "moved"}, {Reset: true}, {Hang: true},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				r.waiting = []discordtest.ID{r.dm}
				r.start()
				f.Times = 4
				for _, route := range []string{
					discordtest.RouteSend, discordtest.RouteEdit, discordtest.RouteTyping, discordtest.RouteDelete, discordtest.RouteMessage, discordtest.RouteRespond, discordtest.RouteFollowUp, discordtest.RouteHistory,
					discordtest.RouteGatewayBot, discordtest.RouteMe, discordtest.RouteApplication, discordtest.RouteChannel, discordtest.RouteRoles,
				} {
					r.srv.Fail(route, f)
				}
				ctx := context.Background()
				var seen strings.Builder
				_, err := r.a.Send(ctx, to(r.dm), part("x"))
				seen.WriteString(printed(err))
				_, err = r.a.Send(ctx, to(r.dm), render.Part{File: &render.File{Name: "a", Data: []byte("a")}})
				seen.WriteString(printed(err))
				seen.WriteString(printed(r.a.Edit(ctx, to(r.dm), "42:1", part("x"))))
				seen.WriteString(printed(r.a.Typing(ctx, to(r.dm))))
				seen.WriteString(printed(r.a.Delete(ctx, to(r.dm), "42:1")))
				_, err = r.a.ReadFile(ctx, core.Message{ID: "42:1"}, core.File{Ref: "1"})
				seen.WriteString(printed(err))
				seen.WriteString(printed(r.a.Check(ctx)))
				for range 3 {
					r.srv.PressID(ana, r.dm, 99, "i1:0:yes")
				}
				r.srv.Say(ana, r.dm, "hello")
				r.srv.Invalidate(false)
				after(5 * time.Minute)
				seen.WriteString(printed(r.a.Ready()))
				if err, over := r.Over(); over {
					seen.WriteString(printed(err))
				}
				text := strings.ReplaceAll(seen.String(), "interaction-secret-\"", "") // not a token: what the fault itself said
				if s := leak(strings.ReplaceAll(text, "/interaction-secret-", "")); s != "" {
					t.Errorf("an error holds %s:\n%s", s, text)
				}
				if s := leak(strings.ReplaceAll(r.log.String(), "/interaction-secret-", "")); s != "" {
					t.Errorf("the log holds %s:\n%s", s, r.log.String())
				}
			})
		})
	}
}

// Neither the adapter nor its configuration prints a secret.
func TestNoSecretsInValues(t *testing.T) {
	t.Parallel()
	cfg := Config{Name: "guild", Agent: "ops", Token: discordtest.DefaultToken}
	a := mustNew(t, cfg)
	i := interaction{ID: 1, Token: "interaction-secret-1"}
	for _, v := range []any{a, cfg, &cfg, a.api, *a.api, struct{ C Config }{cfg}, i, &i} {
		if s := leak(fmt.Sprintf("%v %+v %#v %s", v, v, v, v)); s != "" {
			t.Errorf("%T prints %s", v, s)
		}
	}
	if s := leak(cfg.LogValue().String()); s != "" {
		t.Error("slog prints the configuration")
	}
}

type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// net/http puts the address into its errors, and that of an interaction is a secret. A request that never left
// is no doubt.
func TestTransportErrorsAreCleaned(t *testing.T) {
	t.Parallel()
	address := "https://discord.com/api/v9/interactions/1/interaction-secret-1/callback " + discordtest.DefaultToken
	for _, cause := range []error{
		io.ErrUnexpectedEOF, &url.Error{Op: "Post", URL: address, Err: io.EOF}, &net.OpError{Op: "dial", Err: io.EOF}, http.ErrUseLastResponse,
		&url.Error{Op: "Post", URL: address, Err: &url.Error{Op: "Post", URL: address, Err: fmt.Errorf("proxy said: %s", discordtest.DefaultToken)}},
	} {
		a := mustNew(t, Config{Name: "guild", Agent: "ops", Token: discordtest.DefaultToken, Client: &http.Client{Transport: failing{cause}}})
		target := to(7)
		_, err := a.Send(context.Background(), target, part("x"))
		if e := sendErr(t, err); e.Unsure || leak(printed(err)) != "" {
			t.Errorf("%v becomes %s", cause, printed(err))
		}
		_, err = a.api.do(context.Background(), call{op: "answer", method: "POST", endpoint: "interactions/1/interaction-secret-1/callback", secret: "interaction-secret-1"})
		if leak(printed(err)) != "" {
			t.Errorf("%v becomes %s", cause, printed(err))
		}
	}
}

// A redirect would take the token to another host: it is not followed.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	a := mustNew(t, Config{Name: "guild", Agent: "ops", Token: discordtest.DefaultToken, Client: &http.Client{Transport: redirecting{t}}})
	if _, err := a.Send(context.Background(), to(7), part("x")); err == nil || leak(printed(err)) != "" {
		t.Errorf("%v", err)
	}
}

type redirecting struct{ t *testing.T }

func (r redirecting) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != "discord.com" || req.URL.Path != "/api/v9/channels/7/messages" {
		r.t.Errorf("a request went to %s", req.URL)
	}
	return &http.Response{
		StatusCode: http.StatusTemporaryRedirect, Request: req, Body: http.NoBody, Header: http.Header{"Location": {"https://evil.test" + req.URL.Path}},
	}, nil
}
