// Package discord carries messages between people and the engine through a Discord bot.
//
// # Words
//
// A place is a channel id; a thread and a direct chat are channels. A message identity is "channel:message",
// the same for what people wrote and for what Send returned. A person is "discord:<user id>"; names are shown,
// and never read as identity. The order of messages is their snowflake.
//
// # Receiving
//
//	gateway.go: connect ─▶ Hello ─▶ Identify | Resume ─▶ READY | RESUMED ─▶ events
//	     ▲                                                   │
//	     └── pause ◀── op 7, op 9, close code, silence ◀─────┤
//	                                                         ▼
//	                    lanes: one a conversation, in order, never in the reader's way
//	                                                         ▼
//	                    read.go: message | press | command | nothing ──▶ Sink
//
// The connection is ours: discordgo's own loop hangs without a Hello, locks itself up when a reconnect comes
// before READY, leaves connections behind after Close and does not know the address to resume at. Discord does
// not hand a message in again, so the Hub tells the person when storing fails.
//
// # Catching up
//
// After a gap that could not be resumed, a start among them, what was said since is read by REST, channel by
// channel, in each channel's lane before what comes live (gap.go, backfill.go). Where it begins is the mark: all
// up to it is durable (hearing.go). It is remembered every minute, outside the path of a message, and stays where
// it is while anything before it is on its way; so a kill fetches some messages twice, and the store knows those.
//
// # Sending
//
// Each message carries the key of its part as nonce, which Discord enforces for some minutes: an attempt
// whose outcome is not known is simply made again. Nothing that is sent can ping anybody or open a preview.
// discordgo makes the requests, one short-lived Session each, so that its waits and its memory of buckets,
// which no context ends, stay out of the way.
//
// # Duties
//
// The bot token and the tokens of interactions are secrets: no error, log line or value printed by this
// package holds one. Run owns every goroutine and waits for them.
package discord

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"parley/channels"
	"parley/core"
	"parley/parse"
	"parley/render"
)

// DefaultAPI is the public REST API.
const DefaultAPI = "https://discord.com/api/v9"

// Config is one Discord bot.
type Config struct {
	// Name is the channel's name in the configuration; Agent is who speaks there.
	Name  string
	Agent core.AgentID
	// Token is the bot token of the developer portal, without "Bot ".
	Token string
	// APIURL replaces DefaultAPI, path included; "" is DefaultAPI.
	APIURL string
	// GatewayURL is the WebSocket to receive at; "" asks the API for it.
	GatewayURL string
	// Client makes the requests; nil is one with time-outs of its own.
	Client *http.Client
	// Dial opens the gateway's connections; nil is the network's, through a proxy where one is set.
	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	Log   *slog.Logger     // nil: slog.Default
	Clock func() time.Time // nil: the system's
	// Waiting lists the conversations with a waiting input, of any channel: those whose missed messages are
	// fetched after a gap however old they are. nil lists none.
	Waiting func(ctx context.Context) ([]core.ConversationID, error)
	// Inputs lists the pending inputs of a conversation; its prompts say from where on to fetch when it is not
	// known how far the bot has heard. nil relies on that.
	Inputs func(ctx context.Context, c core.ConversationID) ([]core.Input, error)
	// Memory keeps over a restart how far the bot has heard: what was said since, while it was away, is fetched.
	// nil fetches after a restart only where an input waits.
	Memory channels.Memory
	// Chatted lists conversations in which people spoke with the bot before, at most limit, direct chats first: no
	// server tells of those. nil lists none.
	Chatted func(ctx context.Context, limit int) ([]core.ConversationID, error)
	// Places are the channels that the configuration names, for Check.
	Places []core.Place
}

// String names the channel and nothing else: a Config holds a secret.
func (c Config) String() string { return "discord channel " + c.Name }

// GoString is String, so that %#v prints no secret either.
func (c Config) GoString() string { return c.String() }

// LogValue is String, for slog.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Adapter is a channels.Adapter for one bot.
type Adapter struct {
	name, gatewayURL string
	agent            core.AgentID
	api              *client
	dial             func(ctx context.Context, network, address string) (net.Conn, error)
	log              *slog.Logger
	now              func() time.Time
	waiting          func(context.Context) ([]core.ConversationID, error)
	inputs           func(context.Context, core.ConversationID) ([]core.Input, error)
	memory           channels.Memory
	chatted          func(context.Context, int) ([]core.ConversationID, error)
	places           []core.Place
	pace             *channels.Pacer
	rooms            *rooms
	names            names
	chats            chats
	heard            *hearing
	doubts           doubts

	mu    sync.Mutex
	me    self
	ready error
}

// self is what the bot knows of itself.
type self struct {
	user, app snowflake
	// content says that the bot may read every message where it is.
	content bool
}

// What the platform takes.
const (
	maxText      = 2000 // counted here in UTF-16 code units, which is never less than what Discord counts
	partsToAFile = 4
)

var (
	errNotYet = errors.New("discord: not connected yet")

	_ channels.Adapter    = (*Adapter)(nil)
	_ channels.Readiness  = (*Adapter)(nil)
	_ channels.Reads      = (*Adapter)(nil)
	_ channels.Redelivers = (*Adapter)(nil)
	_ channels.Namer      = (*Adapter)(nil)
)

// New checks the configuration; it does no I/O. Its errors name the setting.
func New(cfg Config) (*Adapter, error) {
	token := strings.TrimSpace(cfg.Token)
	if rest, ok := strings.CutPrefix(token+" ", "Bot "); ok {
		token = strings.TrimSpace(rest)
	}
	switch {
	case cfg.Name == "" || cfg.Agent == "":
		return nil, errors.New("discord: a channel needs a name and an agent")
	case token == "":
		return nil, fmt.Errorf("discord channel %s: botToken is empty: put the token of the developer portal (Bot, Reset Token) there", cfg.Name)
	}
	a := &Adapter{
		name: cfg.Name, agent: cfg.Agent, gatewayURL: cfg.GatewayURL, dial: cfg.Dial, log: cfg.Log, now: cfg.Clock,
		waiting: cfg.Waiting, inputs: cfg.Inputs, memory: cfg.Memory, chatted: cfg.Chatted, places: cfg.Places,
		ready: errNotYet, rooms: newRooms(), heard: newHearing(),
	}
	if a.log == nil {
		a.log = slog.Default()
	}
	a.log = a.log.With("channel", cfg.Name)
	if a.now == nil {
		a.now = time.Now
	}
	a.pace = newPacer(a.now)
	var err error
	if a.api, err = newClient(cfg.APIURL, token, cfg.Client); err == nil {
		err = checkGateway(cfg.GatewayURL)
	}
	if err != nil {
		return nil, fmt.Errorf("discord channel %s: %w", cfg.Name, err)
	}
	return a, nil
}

func checkGateway(address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" || u.User != nil {
		return errors.New("gatewayURL: want ws(s)://host[:port][/path]; leave it out to ask Discord")
	}
	return nil
}

// String names the channel and nothing else.
func (a *Adapter) String() string { return "discord channel " + a.name }

// GoString is String.
func (a *Adapter) GoString() string { return a.String() }

// Name is the channel's name in the configuration.
func (a *Adapter) Name() string { return a.name }

// Dialect is Discord's Markdown, 2000 UTF-16 code units a message.
func (a *Adapter) Dialect() render.Dialect {
	return render.Dialect{
		Name: "discord", Limit: maxText, Style: render.Markdown, MaxParts: partsToAFile,
		Files: true, Edits: true, Buttons: true,
	}
}

// Redelivers is false: Discord sends an event once.
func (a *Adapter) Redelivers() bool { return false }

// Ready is nil while the gateway's session stands.
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

func (a *Adapter) self() self {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.me
}

func (a *Adapter) setSelf(change func(*self)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.me)
}

// Markup is that of plain text: escapes are undone when a message is read.
func (a *Adapter) Markup() parse.Markup { return parse.Markup{} }

// Names are the bot's own mentions, by its account and by its role in each server; none before Run has met
// the gateway.
func (a *Adapter) Names() []string {
	me := a.self().user
	if me == 0 {
		return nil
	}
	return mentionsOf(me, a.rooms.ourRoles())
}

// NameOf is a person's user name, which is theirs alone, where they were met; "" else.
func (a *Adapter) NameOf(_ core.Place, who core.PersonID) string { return a.names.of(who) }

// Run receives until ctx ends, and returns nil then.
func (a *Adapter) Run(ctx context.Context, sink channels.Sink) error {
	defer a.setReady(errNotYet)
	err := a.recall(ctx)
	if err == nil {
		w := newWorker(a, sink, ctx)
		tending, stop := context.WithCancel(ctx)
		var tends sync.WaitGroup
		tends.Go(func() { w.tend(tending) })
		err = a.listen(ctx, w)
		w.wait(drainGrace)
		stop()
		tends.Wait()
		a.keepLate(ctx)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}
