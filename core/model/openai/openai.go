// Package openai talks Chat Completions, through the official SDK, to any server that speaks it: OpenAI,
// Ollama, vLLM, OpenRouter, llama.cpp, and Google's models ([NewGemini]).
//
// What it keeps:
//
//   - The assistant message is kept as the server wrote it and goes back verbatim to the same model at the
//     same address: reasoning, signatures and fields nobody here knows survive. Only what would make the
//     next request invalid is mended in it: a missing or doubled call id, a missing role or tool name, an
//     empty list of calls, no content where nothing else stands. For another model or address it is rebuilt
//     from the neutral parts.
//   - Call ids are unique in the conversation and never empty, in the reply and in what is sent.
//   - A conversation that breaks the rule of [model.Valid] is not sent.
//   - The address, key and every header come from the Config: no OPENAI_ variable of the environment is read.
//   - A reply whose arguments were cut off by the token limit makes no call that could run. A refused or filtered
//     one makes no calls.
//   - A stream is put together to the message that a whole answer would hold. One that ends without its end
//     marker is an error, and so is one with an error in it.
//   - An error is a *model.Error. It holds no key, no user information of an address and no text that the
//     server wrote, since servers quote keys and conversations; only its status and code words.
//
// The SDK's own retries are off: they belong to the turn ([model.Retry]).
package openai

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"parley/core/model"
	"parley/core/model/wire"
)

// DefaultBaseURL is where requests go if the Config names no address.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config says which model to ask, where and how.
type Config struct {
	Model   string
	APIKey  string // "": no Authorization header
	BaseURL string // up to and without /chat/completions; "": DefaultBaseURL
	// HTTPClient is nil for one of our own.
	HTTPClient *http.Client
	// Timeout bounds one request with its whole answer. 0: 5 minutes.
	Timeout time.Duration
	// MaxTokens bounds a reply; 0 leaves it to the server.
	MaxTokens int
	// Images says that the model sees pictures.
	Images bool
	// Log, if set, gets at debug level what the server said about a refused request, without the key.
	Log *slog.Logger
}

var _ model.Streamer = (*Client)(nil)

// Client is a model behind Chat Completions. It is safe for concurrent use.
type Client struct {
	service  openai.ChatCompletionService
	model    string
	provider string
	far      wire.Far
	timeout  time.Duration

	images    bool
	signs     bool // calls are signed, as Google's models demand
	maxTokens int
	// noUsage says that the server does not know stream_options, without which a stream ends without usage.
	noUsage atomic.Bool
	// newTokens says that the reply is bounded by max_completion_tokens; servers of the old dialect know max_tokens only.
	newTokens atomic.Bool
}

// New returns a client. The error names the field of the Config that is wrong and holds no secret.
func New(cfg Config) (*Client, error) {
	if strings.TrimSpace(cfg.Model) == "" {
		return nil, errors.New("openai: no model: name one, such as \"gpt-5\"")
	}
	if err := wire.CheckKey("openai", cfg.APIKey); err != nil {
		return nil, err
	}
	base, err := wire.ParseBase("openai", cmp.Or(cfg.BaseURL, DefaultBaseURL), "/chat/completions", "https://host/v1")
	if err != nil {
		return nil, err
	}
	c := &Client{model: cfg.Model, far: wire.NewFar("openai", cfg.APIKey, base, cfg.Log), maxTokens: cfg.MaxTokens, images: cfg.Images}
	c.newTokens.Store(base.Hostname() == "api.openai.com")
	bare := *base
	bare.User = nil
	c.provider = "openai " + cfg.Model + " " + bare.String()
	if c.timeout = cfg.Timeout; c.timeout <= 0 {
		c.timeout = 5 * time.Minute
	}
	// The service, unlike the SDK's client, reads nothing from the environment.
	opts := []option.RequestOption{
		option.WithBaseURL(base.String()), option.WithHTTPClient(wire.Client(cfg.HTTPClient)),
		option.WithMaxRetries(0), option.WithMiddleware(wire.Bounded),
	}
	if cfg.APIKey != "" {
		opts = append(opts, option.WithAPIKey(cfg.APIKey))
	}
	c.service = openai.NewChatCompletionService(opts...)
	return c, nil
}

// Generate asks for one reply. It makes one request, or two if the server demands the other name of the
// token limit.
func (c *Client) Generate(ctx context.Context, req model.Request) (model.Response, error) {
	return c.reply(req, func(params openai.ChatCompletionNewParams) ([]byte, *failure) { return c.send(ctx, params) })
}

// reply puts the request, asks, and asks again if only the name of the token limit was wrong.
func (c *Client) reply(req model.Request, ask func(openai.ChatCompletionNewParams) ([]byte, *failure)) (model.Response, error) {
	if err := model.Valid(req.Messages); err != nil {
		return model.Response{}, c.far.Unsendable(err)
	}
	params, err := c.params(req)
	if err != nil {
		return model.Response{}, c.far.Unsendable(err)
	}
	body, failed := ask(params)
	if failed != nil && failed.otherTokenLimit && c.maxTokens > 0 {
		c.newTokens.Store(params.MaxTokens.Valid())
		c.limit(&params)
		body, failed = ask(params)
	}
	if failed != nil {
		return model.Response{}, failed.err
	}
	return c.decode(body, req)
}

// failure is a failed request: its error, and which parameter was the reason if there is another way.
type failure struct {
	err             *model.Error
	otherTokenLimit bool
	noStreamOptions bool
}

// send makes one request and returns the body of a successful answer.
func (c *Client) send(ctx context.Context, params openai.ChatCompletionNewParams) ([]byte, *failure) {
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
func (c *Client) failed(ctx context.Context, resp *http.Response, err error) *failure {
	switch {
	case ctx.Err() != nil:
		return &failure{err: wire.Stopped(ctx.Err())}
	case resp != nil && resp.StatusCode >= 400:
		said, _ := io.ReadAll(resp.Body) // the SDK puts what it read back; cut short it is still the best there is
		return c.refused(resp.StatusCode, wire.ParseSaid(said), resp.Header)
	case resp != nil && resp.StatusCode >= 300:
		return &failure{err: c.far.Redirected(resp.StatusCode)}
	case err != nil:
		return &failure{err: c.far.Transport(err)}
	}
	return nil
}

// refused is the failure for what the server said.
func (c *Client) refused(status int, s wire.Said, h http.Header) *failure {
	return &failure{
		err:             c.far.Refused(status, s, h),
		otherTokenLimit: s.Refuses(status, "max_completion_tokens", "max_tokens"),
		noStreamOptions: s.Refuses(status, "stream_options", "include_usage"),
	}
}

// check finds the failures that come with status 200.
func (c *Client) check(body []byte, h http.Header) *failure {
	if wire.LooksHTML(body) {
		return &failure{err: c.far.NotAModel()}
	}
	if said, ok := wire.ErrorIn(body); ok {
		return c.refused(said.Status(), said, h)
	}
	return nil
}
