// Package openai talks Chat Completions, through the official SDK, to any server that speaks it: OpenAI,
// Ollama, vLLM, OpenRouter, llama.cpp, Gemini's compatible address.
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
//   - An error is a *model.Error. It holds no key, no user information of an address and no text that the
//     server wrote, since servers quote keys and conversations; only its status and code words.
//
// The SDK's own retries are off: they belong to the turn ([model.Retry]).
package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"parley/core/model"
)

// DefaultBaseURL is where requests go if the Config names no address.
const DefaultBaseURL = "https://api.openai.com/v1"

// maxBody bounds an answer in bytes.
const maxBody = 16 << 20

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
	// Log, if set, gets at debug level what the server said about a refused request, without the key.
	Log *slog.Logger
}

// Client is a model behind Chat Completions. It is safe for concurrent use.
type Client struct {
	service  openai.ChatCompletionService
	model    string
	provider string
	host     string
	secrets  []string
	timeout  time.Duration
	log      *slog.Logger

	maxTokens int
	// newTokens says that the reply is bounded by max_completion_tokens; servers of the old dialect know max_tokens only.
	newTokens atomic.Bool
}

// New returns a client. The error names the field of the Config that is wrong and holds no secret.
func New(cfg Config) (*Client, error) {
	if strings.TrimSpace(cfg.Model) == "" {
		return nil, errors.New("openai: no model: name one, such as \"gpt-5\"")
	}
	if strings.ContainsFunc(cfg.APIKey, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r > unicode.MaxASCII }) {
		return nil, errors.New("openai: the API key holds a space, a line break or a character that no key has: check how it was copied")
	}
	base, err := parseBase(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	c := &Client{model: cfg.Model, host: base.Host, secrets: secrets(cfg.APIKey, base), log: cfg.Log, maxTokens: cfg.MaxTokens}
	c.newTokens.Store(base.Hostname() == "api.openai.com")
	bare := *base
	bare.User = nil
	c.provider = "openai " + cfg.Model + " " + bare.String()
	if c.timeout = cfg.Timeout; c.timeout <= 0 {
		c.timeout = 5 * time.Minute
	}
	client := cfg.HTTPClient
	if client == nil {
		client = &http.Client{}
	}
	// The service, unlike the SDK's client, reads nothing from the environment.
	opts := []option.RequestOption{
		option.WithBaseURL(base.String()), option.WithHTTPClient(client),
		option.WithMaxRetries(0), option.WithMiddleware(bounded),
	}
	if cfg.APIKey != "" {
		opts = append(opts, option.WithAPIKey(cfg.APIKey))
	}
	c.service = openai.NewChatCompletionService(opts...)
	return c, nil
}

// parseBase checks an address. Its errors do not quote it: it may hold a password.
func parseBase(s string) (*url.URL, error) {
	if s == "" {
		s = DefaultBaseURL
	}
	u, err := url.Parse(strings.TrimSpace(s))
	switch {
	case err != nil:
		return nil, errors.New("openai: the base URL cannot be read: want something like https://host/v1")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("openai: base URL %q: want something like https://host/v1", u.Redacted())
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("openai: the base URL has a query or fragment, which would not be sent: want something like https://host/v1")
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions") + "/"
	u.RawPath = ""
	return u, nil
}

func secrets(key string, base *url.URL) (list []string) {
	password, _ := base.User.Password()
	for _, s := range []string{key, password} {
		if s != "" {
			list = append(list, s)
		}
	}
	return list
}

// Generate asks for one reply. It makes one request, or two if the server demands the other name of the
// token limit.
func (c *Client) Generate(ctx context.Context, req model.Request) (model.Response, error) {
	if err := model.Valid(req.Messages); err != nil {
		return model.Response{}, c.unsendable(err)
	}
	params, err := c.params(req)
	if err != nil {
		return model.Response{}, c.unsendable(err)
	}
	body, failed := c.send(ctx, params)
	if failed != nil && failed.otherTokenLimit && c.maxTokens > 0 {
		c.newTokens.Store(params.MaxTokens.Valid())
		c.limit(&params)
		body, failed = c.send(ctx, params)
	}
	if failed != nil {
		return model.Response{}, failed.err
	}
	return c.decode(body, req)
}

// unsendable is the error of a request that was not sent because it is wrong here already.
func (c *Client) unsendable(err error) *model.Error {
	return &model.Error{
		Sentence: "This conversation could not be put to the model because its record is not in order. Please tell whoever runs this bot.",
		Err:      fmt.Errorf("openai: build the request: %w", err),
	}
}

// failure is a failed request: its error, and whether the server demands the other name of the token limit.
type failure struct {
	err             *model.Error
	otherTokenLimit bool
}

// send makes one request and returns the body of a successful answer.
func (c *Client) send(ctx context.Context, params openai.ChatCompletionNewParams) ([]byte, *failure) {
	within, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var body []byte
	var resp *http.Response
	_, err := c.service.New(within, params, option.WithResponseBodyInto(&body), option.WithResponseInto(&resp))
	switch {
	case ctx.Err() != nil:
		return nil, &failure{err: &model.Error{Sentence: "The request to the model was stopped.", Err: ctx.Err()}}
	case resp != nil && resp.StatusCode >= 400:
		said, _ := io.ReadAll(resp.Body) // the SDK puts what it read back; cut short it is still the best there is
		return nil, c.refused(resp.StatusCode, parseSaid(said), resp.Header)
	case err != nil:
		return nil, &failure{err: c.transport(err)}
	}
	if looksHTML(body) {
		return nil, &failure{err: c.fail("an HTML page instead of a reply", notAModel, false, 0)}
	}
	if said, ok := errorIn(body); ok {
		return nil, c.refused(said.status(), said, resp.Header)
	}
	return body, nil
}

// bounded cuts an answer off that is longer than maxBody.
func bounded(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	resp, err := next(req)
	if resp != nil && resp.Body != nil {
		resp.Body = &boundedBody{ReadCloser: resp.Body, left: maxBody}
	}
	return resp, err
}

var errTooLarge = fmt.Errorf("the answer is longer than %d MiB", maxBody>>20)

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
