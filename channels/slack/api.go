package slack

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	slackapi "github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"parley/channels"
)

// How long one call may take, from the first byte to the last.
const (
	callTimeout   = 20 * time.Second
	uploadTimeout = 2 * time.Minute
)

// client makes Web API calls through the library, with what is known of a failure, and without secrets in
// any error.
type client struct {
	api     *slackapi.Client
	dialer  *slackapi.Client // asks for sockets; each of its calls has a time-out of its own
	secrets func() secrets   // hidden from reflection and %v
	http    *http.Client
	base    string
}

type secrets struct{ bot, app, signing string }

func newClient(base, bot, app, signing string, hc *http.Client) (*client, error) {
	if base == "" {
		base = DefaultAPI
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.User != nil {
		return nil, errors.New(`apiURL: want http(s)://host[:port]/api/, what methods stand behind`)
	}
	if strings.ContainsAny(bot+app, " \t\r\n") {
		return nil, errors.New("botToken, appToken: a token holds no white space; copy it again")
	}
	own := channels.HTTPClient(hc)
	base = strings.TrimRight(base, "/") + "/"
	bounded := *own
	bounded.Timeout = callTimeout
	through := func(hc *http.Client) *slackapi.Client {
		return slackapi.New(bot, slackapi.OptionAPIURL(base), slackapi.OptionHTTPClient(hc), slackapi.OptionAppLevelToken(app),
			slackapi.OptionLog(log.New(io.Discard, "", 0)))
	}
	return &client{
		base: base, http: own, api: through(own), dialer: through(&bounded),
		secrets: func() secrets { return secrets{bot, app, signing} },
	}, nil
}

// String names nothing that the client holds.
func (c *client) String() string { return "slack client of " + c.base }

// GoString is String.
func (c *client) GoString() string { return c.String() }

func (c *client) hasAppToken() bool { return c.secrets().app != "" }

// socket is a Socket Mode client that dials as the HTTP client does.
func (c *client) socket() *socketmode.Client {
	d := &websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: callTimeout, WriteBufferSize: 32 << 10}
	if t, ok := c.http.Transport.(*http.Transport); ok && t != nil {
		d.NetDialContext, d.Proxy, d.TLSClientConfig = t.DialContext, t.Proxy, t.TLSClientConfig
	}
	return socketmode.New(c.dialer, socketmode.OptionDialer(d), socketmode.OptionReadLimit(4<<20), socketmode.OptionLog(log.New(io.Discard, "", 0)))
}

// do makes one call. Its error is a *callError.
func (c *client) do(ctx context.Context, limit time.Duration, method string, f func(context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var left atomic.Bool // the request left this machine
	traced := httptrace.WithClientTrace(within, &httptrace.ClientTrace{WroteHeaders: func() { left.Store(true) }})
	err := f(traced)
	if err == nil {
		return nil
	}
	return c.failure(ctx, method, left.Load(), err)
}

// callError is a call that failed. Its text holds no secret.
type callError struct {
	Method string
	// Code is Slack's word for it; "" where Slack did not answer.
	Code   string
	Needed string // the scope that is missing
	Status int    // of HTTP where it was not 200
	After  time.Duration
	// Left says that the request was on its way and nothing clear came back.
	Left  bool
	text  string
	cause error
}

func (e *callError) Error() string {
	s := "slack " + e.Method + ": " + e.text
	if e.Needed != "" {
		s += " (needs " + e.Needed + ")"
	}
	return s
}

func (e *callError) Unwrap() error { return e.cause }

// passing says that the same call may work in a while.
func (e *callError) passing() bool {
	switch e.Code {
	case "":
		return e.Status == 0 || e.Status >= 500 || e.Status == http.StatusTooManyRequests
	case "ratelimited", "rate_limited", "internal_error", "fatal_error", "request_timeout", "service_unavailable", "team_added_to_org", "accesslimited":
		return true
	}
	return false
}

// unsure says that the call may have had its effect nevertheless.
func (e *callError) unsure() bool {
	switch e.Code {
	case "internal_error", "fatal_error", "request_timeout":
		return true
	case "":
		return e.Left && (e.Status == 0 || e.Status >= 500)
	}
	return false
}

// failure says what is known of a failed call.
func (c *client) failure(ctx context.Context, method string, left bool, err error) *callError {
	e := &callError{Method: method, Left: left, text: err.Error()}
	var no slackapi.SlackErrorResponse
	var limited *slackapi.RateLimitedError
	var status slackapi.StatusCodeError
	var address *url.Error
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &no):
		e.Code, e.Needed, e.text = no.Err, c.redact(no.Needed), no.Err
		if !validCode.MatchString(no.Err) {
			e.Code = "unreadable_error"
		}
	case errors.As(err, &limited):
		e.Code, e.After = "ratelimited", max(limited.RetryAfter, time.Second)
		e.text = "ratelimited, again after " + e.After.String()
	case errors.As(err, &status):
		e.Status, e.text = status.Code, "HTTP "+status.Status
	case errors.As(err, &syntax):
		e.text = "the answer is not of the Web API"
	case errors.As(err, &address):
		e.text = address.Err.Error() // without the address
	}
	e.cause = ctx.Err()
	if errors.Is(err, context.DeadlineExceeded) {
		e.cause, e.text = context.DeadlineExceeded, "no answer in time"
	}
	e.text = c.redact(e.text)
	return e
}

// wanted is how long an error asks to wait.
func wanted(err error) time.Duration {
	var e *callError
	if errors.As(err, &e) {
		return e.After
	}
	return 0
}

// validCode is the form of Slack's own words for failures.
var validCode = regexp.MustCompile(`^[a-z0-9_]{1,100}$`)

// tokens are all that looks like one of Slack's.
var tokens = regexp.MustCompile(`\bx(?:ox[a-z.]{1,10}|app)-[A-Za-z0-9._-]+`)

var addresses = regexp.MustCompile(`(?:https?|wss?)://[^\s"'<>]+`)

// redact takes secrets and the paths of addresses, which may hold one, out of a text.
func (c *client) redact(s string) string {
	all := c.secrets()
	for _, secret := range []string{all.bot, all.app, all.signing} {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "[secret]")
		}
	}
	s = tokens.ReplaceAllString(s, "[secret]")
	return addresses.ReplaceAllStringFunc(s, func(found string) string {
		u, err := url.Parse(found)
		if err != nil {
			return "[address]"
		}
		return u.Scheme + "://" + u.Host
	})
}
