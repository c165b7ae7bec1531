package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/channels"
)

// How long one call may take, from the first byte to the last. A poll takes its own time on top.
const (
	callTimeout   = 30 * time.Second
	uploadTimeout = 2 * time.Minute
	maxResponse   = 64 << 20 // bytes; a hundred updates of the largest kind are far below
)

// client makes Bot API calls through the library, with a context, with what is known of a failure, and
// without the token in any error.
type client struct {
	base     string        // what stands before /bot<token>
	endpoint string        // a format of token and method, as the library wants it
	token    func() string // hidden from reflection and %v
	http     *http.Client
}

func newClient(base, token string, hc *http.Client) (*client, error) {
	if base == "" {
		base = DefaultAPI
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.User != nil {
		return nil, errors.New("apiURL: want http(s)://host[:port][/path], what stands before /bot<token>")
	}
	if strings.ContainsAny(token, "/?#% \t\r\n") {
		return nil, errors.New("botToken: it holds a character that no token has; copy it from BotFather again")
	}
	base = strings.TrimRight(base, "/")
	return &client{
		base: base, endpoint: strings.ReplaceAll(base, "%", "%%") + "/bot%s/%s",
		token: func() string { return token }, http: channels.HTTPClient(hc),
	}, nil
}

// call makes one call and decodes its result into out, unless that is nil. Its error is a *callError.
func (c *client) call(ctx context.Context, method string, p tgbotapi.Params, out any) error {
	return c.do(ctx, callTimeout, method, out, func(bot *tgbotapi.BotAPI) (*tgbotapi.APIResponse, error) {
		return bot.MakeRequest(method, p)
	})
}

// poll is call for a request that the server holds for up to hold.
func (c *client) poll(ctx context.Context, hold time.Duration, method string, p tgbotapi.Params, out any) error {
	return c.do(ctx, hold+callTimeout, method, out, func(bot *tgbotapi.BotAPI) (*tgbotapi.APIResponse, error) {
		return bot.MakeRequest(method, p)
	})
}

// upload is call with a file.
func (c *client) upload(ctx context.Context, method string, p tgbotapi.Params, f tgbotapi.RequestFile, out any) error {
	return c.do(ctx, uploadTimeout, method, out, func(bot *tgbotapi.BotAPI) (*tgbotapi.APIResponse, error) {
		return bot.UploadFiles(method, p, []tgbotapi.RequestFile{f})
	})
}

func (c *client) do(ctx context.Context, limit time.Duration, method string, out any, f func(*tgbotapi.BotAPI) (*tgbotapi.APIResponse, error)) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	x := &exchange{ctx: within, http: c.http}
	bot := &tgbotapi.BotAPI{Token: c.token(), Client: x}
	bot.SetAPIEndpoint(c.endpoint)
	resp, err := f(bot)
	if err == nil && out != nil {
		err = json.Unmarshal(resp.Result, out)
	}
	if err == nil {
		return nil
	}
	return c.failure(ctx, method, x, err)
}

// exchange is the library's HTTP client for one call: it carries the context, and keeps what the library
// throws away.
type exchange struct {
	ctx    context.Context
	http   *http.Client
	wrote  atomic.Bool // the request began to leave this machine
	status int
	header http.Header
}

// Do makes the request and reads the whole answer, so that nothing of the call outlives it.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	trace := &httptrace.ClientTrace{WroteHeaders: func() { x.wrote.Store(true) }}
	resp, err := x.http.Do(req.WithContext(httptrace.WithClientTrace(x.ctx, trace)))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	x.status, x.header = resp.StatusCode, resp.Header
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// callError is a call that failed. Its text and what it wraps hold no secret.
type callError struct {
	Method      string
	Code        int // HTTP status or Telegram's error_code; 0 where no answer came
	Description string
	RetryAfter  time.Duration
	MigrateTo   int64
	// Wrote says that the request, or a part of it, had left this machine.
	Wrote bool
	cause error // context.Canceled, context.DeadlineExceeded or nil
}

func (e *callError) Error() string {
	if e.Code == 0 {
		return fmt.Sprintf("telegram %s: %s", e.Method, e.Description)
	}
	return fmt.Sprintf("telegram %s: %d %s", e.Method, e.Code, e.Description)
}

func (e *callError) Unwrap() error { return e.cause }

// unsure reports whether the call may have had its effect: it left, and no clear no came back.
func (e *callError) unsure() bool {
	return e.Wrote && (e.Code < 300 || e.Code >= 500)
}

// says reports whether the description holds one of the phrases, in any case.
func (e *callError) says(phrases ...string) bool {
	d := strings.ToLower(e.Description)
	for _, p := range phrases {
		if strings.Contains(d, p) {
			return true
		}
	}
	return false
}

func (c *client) failure(ctx context.Context, method string, x *exchange, err error) *callError {
	e := &callError{Method: method, Code: x.status, Wrote: x.wrote.Load()}
	var api *tgbotapi.Error
	var address *url.Error
	switch {
	case errors.As(err, &api):
		if api.Code != 0 {
			e.Code = api.Code
		}
		e.Description = api.Message
		e.RetryAfter = time.Duration(api.RetryAfter) * time.Second
		e.MigrateTo = api.MigrateToChatID
	case errors.As(err, &address):
		e.Code, e.Description = 0, address.Err.Error()
	case x.status != 0:
		e.Description = http.StatusText(x.status) + ": the answer is not of the Bot API"
	default:
		e.Description = err.Error()
	}
	e.cause = ctx.Err()
	if errors.Is(err, context.DeadlineExceeded) {
		e.cause, e.Description = context.DeadlineExceeded, "no answer in time"
	}
	if e.RetryAfter == 0 && e.Code == http.StatusTooManyRequests {
		e.RetryAfter = retryAfter(x.header)
	}
	e.Description = c.redact(e.Description)
	return e
}

// retryAfter reads the header of a 429 that a proxy answered; a second where it says nothing.
func retryAfter(h http.Header) time.Duration {
	if n, err := strconv.Atoi(h.Get("Retry-After")); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	return time.Second
}

// redact takes the token out of a text, and its secret half where it stands alone.
func (c *client) redact(s string) string {
	token := c.token()
	s = strings.ReplaceAll(s, token, "[token]")
	if _, half, ok := strings.Cut(token, ":"); ok && len(half) >= 8 {
		s = strings.ReplaceAll(s, half, "[token]")
	}
	return s
}
