// Package anthropic talks the Messages API, through the official SDK, to Anthropic or any server that
// speaks it.
//
// What it keeps:
//
//   - The content of a reply is kept as the server wrote it and goes back verbatim to the same model at the
//     same address: the thinking blocks with their signatures above all, which the service checks. Only what
//     would make the next request invalid is mended in it: a missing or doubled call id, a call without a
//     name, an input that is no object, an empty text. For another model or address it is rebuilt from the
//     neutral parts, without thinking.
//   - Roles alternate, beginning with the user. All results of a turn stand in one user message, first in it
//     and in call order, with what the user wrote after them. No text block is empty.
//   - A call that was cut off by the token limit gets arguments that are no JSON, so that nothing runs with
//     half of them. A refused reply makes no calls.
//   - A reply that pauses its turn is continued, and both parts are one reply.
//   - The address, key and every header come from the Config: no ANTHROPIC_ variable of the environment and
//     no profile on the disk is read, and no trace is made.
//   - An error is a *model.Error as package wire makes it: without key, address or what the server wrote.
//
// The SDK's own retries are off: they belong to the turn ([model.Retry]).
package anthropic

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"parley/core/model"
	"parley/core/model/wire"
)

// DefaultBaseURL is where requests go if the Config names no address.
const DefaultBaseURL = "https://api.anthropic.com"

// DefaultMaxTokens bounds a reply if the Config does not: the service demands a bound. Thinking counts.
const DefaultMaxTokens = 16_000

// maxPauses bounds how often one reply is continued after a pause.
const maxPauses = 8

// Config says which model to ask, where and how.
type Config struct {
	Model   string
	APIKey  string // "": no x-api-key header
	BaseURL string // up to and without /v1/messages; "": DefaultBaseURL
	// HTTPClient is nil for one of our own. Redirects are not followed.
	HTTPClient *http.Client
	// Timeout bounds one request with its whole answer. 0: 5 minutes.
	Timeout time.Duration
	// MaxTokens bounds a reply; 0: DefaultMaxTokens.
	MaxTokens int
	// Images says that the model sees pictures.
	Images bool
	// Log, if set, gets at debug level what the server said about a refused request, without the key.
	Log *slog.Logger
}

// Client is a model behind the Messages API. It is safe for concurrent use.
type Client struct {
	service   anthropic.MessageService
	model     string
	provider  string
	far       wire.Far
	timeout   time.Duration
	maxTokens int
	images    bool
}

var _ model.Streamer = (*Client)(nil)

// New returns a client. The error names the field of the Config that is wrong and holds no secret.
func New(cfg Config) (*Client, error) {
	if strings.TrimSpace(cfg.Model) == "" {
		return nil, errors.New("anthropic: no model: name one, such as \"claude-opus-5-5\"")
	}
	if err := wire.CheckKey("anthropic", cfg.APIKey); err != nil {
		return nil, err
	}
	base, err := wire.ParseBase("anthropic", cmp.Or(strings.TrimSpace(cfg.BaseURL), DefaultBaseURL), "/v1/messages", DefaultBaseURL)
	if err != nil {
		return nil, err
	}
	base.Path = strings.TrimSuffix(base.Path, "v1/") // the SDK adds it
	bare := *base
	bare.User = nil
	c := &Client{
		model: cfg.Model, provider: "anthropic " + cfg.Model + " " + bare.String(),
		far: wire.NewFar("anthropic", cfg.APIKey, base, cfg.Log), timeout: cfg.Timeout, maxTokens: cfg.MaxTokens, images: cfg.Images,
	}
	if c.timeout <= 0 {
		c.timeout = 5 * time.Minute
	}
	if c.maxTokens <= 0 {
		c.maxTokens = DefaultMaxTokens
	}
	// The service, unlike the SDK's client, reads no credentials and no address from the environment.
	opts := []option.RequestOption{
		option.WithBaseURL(base.String()), option.WithHTTPClient(wire.Client(cfg.HTTPClient)),
		option.WithMaxRetries(0), option.WithMiddleware(wire.Bounded),
		option.WithRequestTimeout(c.timeout), // else the SDK guesses one, and refuses large limits
		option.WithoutOpenTelemetry(), option.WithOpenTelemetryPropagation(false),
	}
	if cfg.APIKey != "" {
		opts = append(opts, option.WithHeader("x-api-key", cfg.APIKey))
	}
	c.service = anthropic.NewMessageService(opts...)
	return c, nil
}

// Generate asks for one reply. It makes one request, and one more for each time the model pauses.
func (c *Client) Generate(ctx context.Context, req model.Request) (model.Response, error) {
	return c.reply(req, func(params anthropic.MessageNewParams) ([]byte, *model.Error) { return c.send(ctx, params) })
}

// Stream is Generate that tells the text so far.
func (c *Client) Stream(ctx context.Context, req model.Request, text func(soFar string)) (model.Response, error) {
	s := &shown{tell: text}
	return c.reply(req, func(params anthropic.MessageNewParams) ([]byte, *model.Error) { return c.stream(ctx, params, s) })
}

// reply puts the request, asks as often as the model pauses, and puts the parts of the reply together.
func (c *Client) reply(req model.Request, ask func(anthropic.MessageNewParams) ([]byte, *model.Error)) (model.Response, error) {
	if err := model.Valid(req.Messages); err != nil {
		return model.Response{}, c.far.Unsendable(err)
	}
	params, err := c.params(req)
	if err != nil {
		return model.Response{}, c.far.Unsendable(err)
	}
	var whole message
	for {
		body, failed := ask(params)
		if failed != nil {
			return model.Response{}, failed
		}
		part, err := readMessage(body)
		if err != nil {
			return model.Response{}, c.far.Unreadable(err.Error())
		}
		whole.add(part)
		paused := part.paused()
		if paused == nil || whole.parts > maxPauses {
			return c.response(whole, req)
		}
		params.Messages = append(params.Messages, anthropic.MessageParam{OfAssistant: paused})
	}
}

// send makes one request and returns the body of a successful answer.
func (c *Client) send(ctx context.Context, params anthropic.MessageNewParams) ([]byte, *model.Error) {
	within, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var body []byte
	var resp *http.Response
	_, err := c.service.New(within, params, option.WithResponseBodyInto(&body), option.WithResponseInto(&resp))
	if failed := c.failed(ctx, resp, err); failed != nil {
		return nil, failed
	}
	return body, c.check(body, resp.Header)
}

// failed finds the failures of an exchange itself.
func (c *Client) failed(ctx context.Context, resp *http.Response, err error) *model.Error {
	switch {
	case ctx.Err() != nil:
		return wire.Stopped(ctx.Err())
	case resp != nil && resp.StatusCode >= 400:
		said, _ := io.ReadAll(resp.Body) // the SDK puts what it read back; cut short it is still the best there is
		return c.far.Refused(resp.StatusCode, wire.ParseSaid(said), resp.Header)
	case resp != nil && resp.StatusCode >= 300:
		return c.far.Redirected(resp.StatusCode)
	case err != nil:
		return c.far.Transport(err)
	}
	return nil
}

// check finds the failures that come with status 200.
func (c *Client) check(body []byte, h http.Header) *model.Error {
	if wire.LooksHTML(body) {
		return c.far.NotAModel()
	}
	if said, ok := wire.ErrorIn(body); ok {
		return c.far.Refused(said.Status(), said, h)
	}
	return nil
}

// stream makes one request whose answer comes in pieces, and returns it as one body.
func (c *Client) stream(ctx context.Context, params anthropic.MessageNewParams, s *shown) ([]byte, *model.Error) {
	within, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var resp *http.Response
	stream := c.service.NewStreaming(within, params, option.WithResponseInto(&resp))
	defer stream.Close()
	if failed := c.failed(ctx, resp, stream.Err()); failed != nil {
		return nil, failed
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
		return c.unstreamed(resp)
	}
	var m anthropic.Message
	ended := false
	for !ended && stream.Next() {
		event := stream.Current()
		if err := m.Accumulate(event); err != nil {
			return nil, c.far.Unreadable("events that do not belong together")
		}
		s.see(event)
		ended = event.Type == "message_stop"
	}
	if ended {
		return []byte(m.RawJSON()), nil
	}
	if ctx.Err() != nil {
		return nil, wire.Stopped(ctx.Err())
	}
	var said *anthropic.Error
	err := stream.Err()
	switch {
	case errors.As(err, &said):
		reason := wire.ParseSaid([]byte(said.RawJSON()))
		return nil, c.far.Refused(reason.Status(), reason, nil)
	case err != nil:
		return nil, c.far.Transport(err)
	}
	return nil, c.far.Cut()
}

// unstreamed reads an answer of a server that does not stream.
func (c *Client) unstreamed(resp *http.Response) ([]byte, *model.Error) {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, c.far.Transport(err)
	}
	return body, c.check(body, resp.Header)
}
