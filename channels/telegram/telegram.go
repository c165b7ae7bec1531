// Package telegram carries messages between people and the engine through a Telegram bot.
//
// # Words
//
// A place is "chat" or "chat/topic": the chat's id, and the forum topic's where the message stands in one
// (the General topic has none; a reply thread outside forums is no topic). A direct chat has the person's own
// id. A message identity is "chat:message", the same for what people wrote and for what Send returned. A
// person is "telegram:<user id>"; names are never read as identity.
//
// # Receiving
//
//	                 getUpdates (poll.go)                webhook (webhook.go)
//	                       │  one lane a chat, in order        │
//	                       ▼                                   ▼
//	decodeUpdate ──▶ read: message | press | hint | nothing ──▶ Sink
//	                                                           │ nil: durable
//	                       ┌───────────────────────────────────┤
//	                       ▼                                   ▼
//	              the offset may move                     200, else 5xx
//
// An update is confirmed to Telegram only after the sink took it and all that came before it, so that a crash
// at any instruction brings it again; the store then knows it by its identity. Only new messages of people go
// to the sink: no edits, forwards, bots, channel posts, or people who hide behind a chat.
//
// # Sending
//
// Text goes out with its marks beside it, never through a parser. Each call is paced by chat. The platform
// honours no idempotency key: an attempt whose request left this machine without a clear answer is reported as
// unsure. ForceReply is not used, since Telegram refuses to edit such messages afterwards. While a reply is
// written it is a draft in direct chats (draft.go), and a message that is edited elsewhere.
//
// # Files
//
// A file's Ref is its file_id, of a photo that of the largest size which can be read (files.go).
//
// # Duties
//
// The bot token is part of every request's address: no error, log line or value printed by this package holds
// it. Run owns every goroutine and waits for them.
package telegram

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/channels"
	"parley/core"
	"parley/parse"
	"parley/render"
)

// DefaultAPI is the public Bot API.
const DefaultAPI = "https://api.telegram.org"

// Config is one Telegram bot.
type Config struct {
	// Name is the channel's name in the configuration; Agent is who speaks there.
	Name  string
	Agent core.AgentID
	// Token is the bot token from BotFather.
	Token string
	// APIURL stands before "/bot<token>/<method>"; "" is DefaultAPI.
	APIURL string
	// Webhook receives by HTTP instead of polling: PublicURL + "/channels/" + Name must lead to Handler.
	Webhook   bool
	PublicURL string
	// SecretToken is what Telegram sends with each webhook request; "" derives one from the bot token.
	SecretToken string
	// Places are those that Check looks at: chats that the configuration names.
	Places []core.Place
	// Client makes the requests; nil is one with time-outs of its own.
	Client *http.Client
	Log    *slog.Logger     // nil: slog.Default
	Clock  func() time.Time // nil: the system's
	// PollTimeout is how long Telegram holds a poll that has nothing to say, at most 50 s; 0 is 30 s.
	PollTimeout time.Duration
}

// String names the channel and nothing else: a Config holds secrets.
func (c Config) String() string { return "telegram channel " + c.Name }

// GoString is String, so that %#v prints no secret either.
func (c Config) GoString() string { return c.String() }

// LogValue is String, for slog.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Adapter is a channels.Adapter for one bot.
type Adapter struct {
	name    string
	agent   core.AgentID
	api     *client
	log     *slog.Logger
	now     func() time.Time
	webhook bool
	hookURL string
	secret  func() string // hidden from reflection and %v
	timeout time.Duration
	places  []core.Place
	pace    *channels.Pacer
	gate    gate
	hinted  sync.Map // chat id to true: told that anonymity is in the way
	// noDrafts says that the server does not know sendMessageDraft.
	noDrafts atomic.Bool

	mu    sync.Mutex
	me    self
	ready error
}

// self is what the bot knows of itself.
type self struct {
	id       int64
	username string
	hearsAll bool // privacy mode is off
}

// What the platform takes, and how long it holds a poll.
const (
	maxText      = 4096 // UTF-16 code units
	maxCaption   = 1024
	partsToAFile = 4
	pollDefault  = 30 * time.Second
	pollLongest  = 50 * time.Second
)

var (
	validSecret = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)
	errNotYet   = errors.New("telegram: not connected yet")

	_ channels.Adapter   = (*Adapter)(nil)
	_ channels.Readiness = (*Adapter)(nil)
	_ channels.Reads     = (*Adapter)(nil)
)

// New checks the configuration; it does no I/O. Its errors name the setting.
func New(cfg Config) (*Adapter, error) {
	switch {
	case cfg.Name == "" || cfg.Agent == "":
		return nil, errors.New("telegram: a channel needs a name and an agent")
	case strings.TrimSpace(cfg.Token) == "":
		return nil, fmt.Errorf("telegram channel %s: botToken is empty: put the token from BotFather there", cfg.Name)
	case cfg.SecretToken != "" && !validSecret.MatchString(cfg.SecretToken):
		return nil, fmt.Errorf("telegram channel %s: secretToken may hold 1 to 256 of A-Z a-z 0-9 _ - only", cfg.Name)
	case cfg.Webhook && cfg.PublicURL == "":
		return nil, fmt.Errorf("telegram channel %s: webhook needs api.publicURL, the https address that Telegram reaches", cfg.Name)
	}
	a := &Adapter{
		name: cfg.Name, agent: cfg.Agent, log: cfg.Log, now: cfg.Clock, webhook: cfg.Webhook,
		hookURL: strings.TrimRight(cfg.PublicURL, "/") + "/channels/" + cfg.Name,
		timeout: min(cfg.PollTimeout, pollLongest), ready: errNotYet, places: cfg.Places,
	}
	if a.log == nil {
		a.log = slog.Default()
	}
	a.log = a.log.With("channel", cfg.Name)
	if a.now == nil {
		a.now = time.Now
	}
	if a.timeout <= 0 {
		a.timeout = pollDefault
	}
	token := strings.TrimSpace(cfg.Token)
	secret := cfg.SecretToken
	if secret == "" {
		secret = deriveSecret(token, cfg.Name)
	}
	a.secret = func() string { return secret }
	a.pace = newPacer(a.now)
	var err error
	a.api, err = newClient(cfg.APIURL, token, cfg.Client)
	if err != nil {
		return nil, fmt.Errorf("telegram channel %s: %w", cfg.Name, err)
	}
	return a, nil
}

// deriveSecret makes a webhook secret that changes with the bot token and tells nothing about it.
func deriveSecret(token, name string) string {
	h := hmac.New(sha256.New, []byte(token))
	h.Write([]byte("webhook secret of " + name))
	return hex.EncodeToString(h.Sum(nil))
}

// String names the channel and nothing else.
func (a *Adapter) String() string { return "telegram channel " + a.name }

// GoString is String.
func (a *Adapter) GoString() string { return a.String() }

// Name is the channel's name in the configuration.
func (a *Adapter) Name() string { return a.name }

// Dialect is plain text with marks beside it, 4096 UTF-16 code units a message.
func (a *Adapter) Dialect() render.Dialect {
	return render.Dialect{
		Name: "telegram", Limit: maxText, Style: render.Entities, MaxParts: partsToAFile,
		Files: true, Edits: true, Buttons: true, Slash: true,
	}
}

// Ready is nil while the bot is known to Telegram and its updates arrive.
func (a *Adapter) Ready() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ready
}

func (a *Adapter) setReady(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ready = err
}

// Self is the bot's own id and user name; zero before Run has met the Bot API.
func (a *Adapter) self() self {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.me
}

// Markup is that of plain text: what people write arrives as they see it, its marks beside it.
func (a *Adapter) Markup() parse.Markup { return parse.Markup{} }

// Names is the bot's own mention; none before Run has met the Bot API.
func (a *Adapter) Names() []string {
	if name := a.self().username; name != "" {
		return []string{"@" + name}
	}
	return nil
}

// Run receives until ctx ends, and returns nil then.
func (a *Adapter) Run(ctx context.Context, sink channels.Sink) error {
	defer a.setReady(errNotYet)
	if err := a.start(ctx); err != nil {
		return a.ended(ctx, err)
	}
	if a.webhook {
		return a.ended(ctx, a.serve(ctx, sink))
	}
	return a.ended(ctx, a.poll(ctx, sink))
}

// ended makes the end of ctx no error.
func (a *Adapter) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
