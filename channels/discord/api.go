package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"parley/channels"
)

// How long one call may take, from the first byte to the last.
const (
	callTimeout   = 20 * time.Second
	uploadTimeout = 2 * time.Minute
	maxResponse   = 16 << 20 // bytes
	maxDetail     = 300      // runes of what Discord says about a refused field
)

// client makes REST calls through the library: with a context, with what is known of a failure, and without
// a secret in any error.
type client struct {
	base  string        // ends with "/"
	token func() string // hidden from reflection and %v
	http  *http.Client
}

func newClient(base, token string, hc *http.Client) (*client, error) {
	if base == "" {
		base = DefaultAPI
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.User != nil {
		return nil, errors.New("apiURL: want http(s)://host[:port]/path, what replaces " + DefaultAPI)
	}
	if strings.ContainsAny(token, "/?#% \t\r\n\"") {
		return nil, errors.New("botToken: it holds a character that no token has; copy it from the developer portal again (Bot, Reset Token)")
	}
	return &client{base: strings.TrimRight(base, "/") + "/", token: func() string { return token }, http: channels.HTTPClient(hc)}, nil
}

// call is one request.
type call struct {
	op       string // in words, for errors: an address may hold a secret
	method   string
	endpoint string // as the library writes it
	body     any    // nil for none
	files    []*discordgo.File
	out      any    // where the answer goes, nil to ignore it
	secret   string // of the address, beside the bot token
}

// do makes a call. Its error is a *callError; header is that of the answer, nil without one.
func (c *client) do(ctx context.Context, k call) (header http.Header, err error) {
	limit := callTimeout
	if len(k.files) > 0 {
		limit = uploadTimeout
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	x := &exchange{client: c.http}
	raw, err := c.request(within, x, k)
	if err == nil && k.out != nil {
		err = json.Unmarshal(raw, k.out)
	}
	if err == nil {
		return x.header, nil
	}
	return x.header, c.failure(ctx, k, x, err)
}

// request makes one request with a Session of its own: the library's limiter sleeps through the end of a
// context, and keeps every address it has seen.
func (c *client) request(ctx context.Context, x *exchange, k call) ([]byte, error) {
	s := &discordgo.Session{
		Token: "Bot " + c.token(), Client: &http.Client{Transport: x, CheckRedirect: c.http.CheckRedirect},
		Ratelimiter: discordgo.NewRatelimiter(), LogLevel: -1,
		UserAgent: "DiscordBot (https://github.com/bwmarrin/discordgo, v" + discordgo.VERSION + ")",
	}
	at := c.address(k.endpoint)
	trace := &httptrace.ClientTrace{WroteHeaders: func() { x.wrote.Store(true) }}
	with := discordgo.WithContext(httptrace.WithClientTrace(ctx, trace))
	if len(k.files) == 0 {
		return s.RequestWithBucketID(k.method, at, k.body, "", with, discordgo.WithRetryOnRatelimit(false))
	}
	kind, body, err := discordgo.MultipartBodyWithJSON(k.body, k.files)
	if err != nil {
		return nil, err
	}
	return s.RequestRaw(k.method, at, kind, body, "", 0, with, discordgo.WithRetryOnRatelimit(false))
}

// address moves an address of the library to where our API is.
func (c *client) address(endpoint string) string {
	return c.base + strings.TrimPrefix(endpoint, discordgo.EndpointAPI)
}

// exchange is the transport of one call: it keeps what the library throws away, and hides from it the
// headers over which it would take a success for a failure.
type exchange struct {
	client *http.Client
	wrote  atomic.Bool // the request began to leave this machine
	status int
	header http.Header
	body   []byte
}

// RoundTrip makes the request and reads the whole answer, so that nothing of the call outlives it.
func (x *exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := x.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	x.status, x.header = resp.StatusCode, resp.Header
	if x.body, err = io.ReadAll(io.LimitReader(resp.Body, maxResponse)); err != nil {
		x.status = 0
		return nil, err
	}
	out := *resp
	out.Body, out.Header = io.NopCloser(bytes.NewReader(x.body)), http.Header{}
	return &out, nil
}

// callError is a call that failed. Its text and what it wraps hold no secret.
type callError struct {
	Op          string
	Status      int // of HTTP; 0 where no answer came
	Code        int // Discord's own; 0 where it gave none
	Description string
	RetryAfter  time.Duration
	// Global says that the limit is on all calls of the bot.
	Global bool
	// Wrote says that the request, or a part of it, had left this machine.
	Wrote bool
	cause error // context.Canceled, context.DeadlineExceeded or nil
}

func (e *callError) Error() string {
	s := "discord " + e.Op + ": "
	if e.Status != 0 {
		s += strconv.Itoa(e.Status) + " "
	}
	if e.Code != 0 {
		s += "(" + strconv.Itoa(e.Code) + ") "
	}
	return s + e.Description
}

func (e *callError) Unwrap() error { return e.cause }

// unsure reports whether the call may have had its effect: it left, and no clear no came back.
func (e *callError) unsure() bool { return e.Wrote && (e.Status < 300 || e.Status >= 500) }

// isCall returns the *callError in err, nil if there is none.
func isCall(err error) *callError {
	var e *callError
	errors.As(err, &e)
	return e
}

func (c *client) failure(ctx context.Context, k call, x *exchange, err error) *callError {
	e := &callError{Op: k.op, Status: x.status, Wrote: x.wrote.Load()}
	switch {
	case x.status >= 300:
		e.read(x)
	case x.status != 0:
		e.Description = "the answer is not one of Discord's: " + err.Error()
	default:
		e.Description = bare(err).Error()
	}
	e.cause = ctx.Err()
	if errors.Is(err, context.DeadlineExceeded) {
		e.cause, e.Description = context.DeadlineExceeded, "no answer in time"
	}
	e.Description = c.redact(e.Description, k.secret)
	return e
}

// bare is what went wrong, without the address.
func bare(err error) error {
	var address *url.Error
	for errors.As(err, &address) {
		err = address.Err
	}
	return err
}

// read takes what the answer says. A proxy in front of Discord answers in HTML.
func (e *callError) read(x *exchange) {
	var said struct {
		Code       int             `json:"code"`
		Message    string          `json:"message"`
		RetryAfter float64         `json:"retry_after"`
		Global     bool            `json:"global"`
		Errors     json.RawMessage `json:"errors"`
	}
	if json.Unmarshal(x.body, &said) != nil {
		e.Description = http.StatusText(x.status) + ": the answer is not of Discord's API"
		e.Global = x.status == http.StatusTooManyRequests
	} else {
		e.Code, e.Description, e.Global = said.Code, said.Message, said.Global
		e.RetryAfter = time.Duration(said.RetryAfter * float64(time.Second))
		if len(said.Errors) > 0 {
			e.Description += " " + cut(string(said.Errors), maxDetail)
		}
	}
	if e.Description == "" {
		e.Description = http.StatusText(x.status)
	}
	if x.status == http.StatusTooManyRequests && e.RetryAfter <= 0 {
		e.RetryAfter = seconds(x.header.Get("Retry-After"), time.Second)
	}
}

// seconds reads a number of seconds, with or without a fraction.
func seconds(s string, otherwise time.Duration) time.Duration {
	if f, err := strconv.ParseFloat(s, 64); err == nil && f > 0 && f < 1e6 {
		return time.Duration(f * float64(time.Second))
	}
	return otherwise
}

// redact takes secrets out of a text: the token, the half of it that is secret, and one more.
func (c *client) redact(s, more string) string {
	for _, secret := range c.secrets(more) {
		s = strings.ReplaceAll(s, secret, "[token]")
	}
	return s
}

func (c *client) secrets(more string) []string {
	token := c.token()
	out := []string{token}
	if i := strings.LastIndexByte(token, '.'); i >= 0 && len(token)-i > 8 {
		out = append(out, token[i+1:])
	}
	if more != "" {
		out = append(out, more)
	}
	return out
}

// cut shortens a text to n runes, visibly.
func cut(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-2]) + " …"
}

// get fetches what an address names.
func (c *client) get(ctx context.Context, op, endpoint string, out any) error {
	_, err := c.do(ctx, call{op: op, method: http.MethodGet, endpoint: endpoint, out: out})
	return err
}
