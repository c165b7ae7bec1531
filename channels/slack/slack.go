// Package slack carries messages between people and the engine through a Slack app.
//
// # Words
//
// A place is "C0123/1764000000.000100" for a thread (the channel and the timestamp of the thread's root),
// "D0123" for a direct chat, "C0123" or "G0123" for a group chat or a channel as a whole. A direct or group
// chat is one conversation; a thread opened in it is one of its own. A message identity is "channel:ts", the
// same for what people wrote, however often and as whichever event it arrives, and for what Send returned. A
// person is "slack:<team>/<user>": user ids mean nothing without their workspace.
//
// # Receiving
//
//	Socket Mode (socket.go)                   Events API (http.go)
//	        │  one lane a conversation, in order (inbox.go)  │
//	        ▼                                                ▼
//	decode ──▶ read: post | press | nothing ──▶ place ──▶ Sink
//	                                                       │ nil: durable
//	        ┌──────────────────────────────────────────────┤
//	        ▼                                              ▼
//	envelope acknowledged                     200, else 503 and Slack brings it again
//
// An envelope is acknowledged only after the sink took what it holds. A sink that fails is asked again, with
// growing pauses, while Slack's own retries join what waits; nothing is dropped for being a retry. Payloads
// are decoded by this package from their raw form, so that an event the library cannot read loses nothing.
//
// # Who is meant
//
// A mention in a channel starts a thread, or joins the one it stands in. In a thread the bot is part of every
// message is heard; elsewhere in a channel only mentions. In a group chat all is handed over, and what does
// not mention the bot is marked as overheard. A reply in a thread under a message that the bot posted by
// itself is a reply to that message, in the conversation it belongs to.
//
// # Sending
//
// Text goes out as mrkdwn that render has escaped, with blocks only where there are buttons. Slack honours no
// idempotency key: each message carries its key as metadata, and an attempt without a clear answer is looked
// up before it is repeated. While a reply is written it flows in by chat.startStream where that can be (stream.go);
// Edit ends such a stream.
//
// # Files
//
// A file's Ref is its id. Its address is asked for each time, and the bot token goes there only where it is Slack's
// or that of the Web API (files.go).
//
// # Duties
//
// No error, log line or value printed by this package holds a token, the signing secret, a socket's or a
// response's address. Run owns every goroutine and waits for them.
package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"parley/channels"
	"parley/core"
	"parley/parse"
	"parley/render"
)

// DefaultAPI is the public Web API.
const DefaultAPI = "https://slack.com/api/"

// Config is one Slack app in one workspace.
type Config struct {
	// Name is the channel's name in the configuration; Agent is who speaks there.
	Name  string
	Agent core.AgentID
	// BotToken is the app's bot token, xoxb-….
	BotToken string
	// AppToken is an app-level token, xapp-…, with connections:write: with it events come by Socket Mode.
	AppToken string
	// SigningSecret proves requests to Handler; without AppToken events come that way only.
	SigningSecret string
	// APIURL is what methods stand behind and ends in "/api/"; "" is DefaultAPI.
	APIURL string
	// Places are those that Check looks at beside the tokens: channels named in the configuration.
	Places []core.Place
	// Knows reports whether a conversation is in the store: an unmentioned message in its thread is heard. nil
	// remembers threads while the process lives.
	Knows func(context.Context, core.ConversationID) (bool, error)
	// Client makes the requests; nil is one with time-outs of its own. Its transport's dialer, proxy and TLS
	// settings are used for sockets too.
	Client *http.Client
	Log    *slog.Logger     // nil: slog.Default
	Clock  func() time.Time // nil: the system's
}

// String names the channel and nothing else: a Config holds secrets.
func (c Config) String() string { return "slack channel " + c.Name }

// GoString is String, so that %#v prints no secret either.
func (c Config) GoString() string { return c.String() }

// LogValue is String, for slog.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Adapter is a channels.Adapter for one app in one workspace.
type Adapter struct {
	name   string
	agent  core.AgentID
	api    *client
	log    *slog.Logger
	now    func() time.Time
	places []core.Place
	knows  func(context.Context, core.ConversationID) (bool, error)
	pace   *channels.Pacer
	people *people
	gate   gate

	threads  *recent[bool]    // places with a thread that we are part of
	roots    *recent[bool]    // message identities: whether the bot posted them by itself
	taken    *recent[bool]    // message identities that the sink has
	gestures *recent[string]  // client_msg_id to the message identity it came with first
	kinds    *recent[string]  // channel to its kind
	chats    *recent[string]  // person to the channel of their direct chat
	unsure   *recent[attempt] // keys of parts that may have gone through
	noStatus *recent[bool]    // channels where assistant.threads.setStatus is refused
	noStream *recent[bool]    // channels where chat.startStream is refused
	methods  *channels.Pacer  // of what passes soon

	mu    sync.Mutex
	me    self
	ready error
}

// self is what the bot knows of itself.
type self struct {
	team, enterprise string
	user, bot        string
}

// What the platform takes. Text stays within what one section block holds, so that a prompt never has to be
// cut apart for its buttons.
const (
	maxText      = 3000 // UTF-16 code units
	partsToAFile = 4
	keptThreads  = 4096
	keptKeys     = 1024
)

var (
	errNotYet = errors.New("slack: not connected yet")

	_ channels.Adapter   = (*Adapter)(nil)
	_ channels.Readiness = (*Adapter)(nil)
	_ channels.Reads     = (*Adapter)(nil)
	_ channels.Checker   = (*Adapter)(nil)
	_ channels.Namer     = (*Adapter)(nil)
	_ channels.Aliases   = (*Adapter)(nil)
	_ channels.Outsiders = (*Adapter)(nil)
)

// New checks the configuration; it does no I/O. Its errors name the setting.
func New(cfg Config) (*Adapter, error) {
	bot, app, secret := strings.TrimSpace(cfg.BotToken), strings.TrimSpace(cfg.AppToken), strings.TrimSpace(cfg.SigningSecret)
	switch {
	case cfg.Name == "" || cfg.Agent == "":
		return nil, errors.New("slack: a channel needs a name and an agent")
	case bot == "":
		return nil, fmt.Errorf("slack channel %s: botToken is empty: put the Bot User OAuth Token (xoxb-…) of OAuth & Permissions there", cfg.Name)
	case app == "" && secret == "":
		return nil, fmt.Errorf("slack channel %s: set appToken (xapp-…, for Socket Mode) or signingSecret (for the Events API): without either nothing can be received safely", cfg.Name)
	}
	a := &Adapter{
		name: cfg.Name, agent: cfg.Agent, log: cfg.Log, now: cfg.Clock, places: cfg.Places, knows: cfg.Knows, ready: errNotYet,
		threads: newRecent[bool](keptThreads), roots: newRecent[bool](keptThreads),
		taken: newRecent[bool](keptThreads), gestures: newRecent[string](keptThreads),
		kinds: newRecent[string](keptThreads), chats: newRecent[string](keptKeys), unsure: newRecent[attempt](keptKeys), noStatus: newRecent[bool](keptKeys), noStream: newRecent[bool](keptKeys),
	}
	if a.log == nil {
		a.log = slog.Default()
	}
	a.log = a.log.With("channel", cfg.Name)
	if a.now == nil {
		a.now = time.Now
	}
	var err error
	if a.api, err = newClient(cfg.APIURL, bot, app, secret, cfg.Client); err != nil {
		return nil, fmt.Errorf("slack channel %s: %w", cfg.Name, err)
	}
	a.pace = newPacer(a.now)
	a.methods = channels.NewPacer(channels.Pacing{Now: a.now, Of: func(method string) channels.Pace { return perMethod[method] }})
	a.people = newPeople(a.api, a.now, a.log)
	return a, nil
}

// String names the channel and nothing else.
func (a *Adapter) String() string { return "slack channel " + a.name }

// GoString is String.
func (a *Adapter) GoString() string { return a.String() }

// Name is the channel's name in the configuration.
func (a *Adapter) Name() string { return a.name }

// Dialect is mrkdwn, 3000 UTF-16 code units a message.
func (a *Adapter) Dialect() render.Dialect {
	return render.Dialect{
		Name: "slack", Limit: maxText, Style: render.Mrkdwn, MaxParts: partsToAFile,
		Files: true, Edits: true, Buttons: true,
	}
}

// Ready is nil while the bot is known to Slack and its events arrive.
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

// self is zero before Run has met the Web API.
func (a *Adapter) self() self {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.me
}

// Markup: escapes and links are undone by the adapter, the short names of emoji are left to the reader.
func (a *Adapter) Markup() parse.Markup { return parse.Markup{Shortcodes: true} }

// Names is the bot's own mention; none before Run has met the Web API.
func (a *Adapter) Names() []string {
	if me := a.self(); me.user != "" {
		return []string{"@" + me.user}
	}
	return nil
}

// NameOf is the name of a person who has spoken here, with the id that tells them from their namesakes. It is
// no mention, which would wake them.
func (a *Adapter) NameOf(_ core.Place, who core.PersonID) string {
	_, user, ok := strings.Cut(strings.TrimPrefix(string(who), surface), "/")
	known, _ := a.people.m.get(user)
	if !ok || known.name == "" {
		return ""
	}
	return known.name + " (" + user + ")"
}

// Canonical completes a person of the configuration that names no workspace with the one this channel serves.
// It returns who as it is before Run has met the Web API.
func (a *Adapter) Canonical(who core.PersonID) core.PersonID {
	id, ok := strings.CutPrefix(string(who), surface)
	team := a.self().team
	if !ok || id == "" || strings.Contains(id, "/") || team == "" {
		return who
	}
	return personID(team, id)
}

// Outsider reports whether who belongs to another workspace, is a guest in this one, or was deactivated.
func (a *Adapter) Outsider(ctx context.Context, who core.PersonID) (bool, error) {
	team, user, ok := strings.Cut(strings.TrimPrefix(string(who), surface), "/")
	if !ok || team != a.self().team {
		return true, nil
	}
	known, err := a.people.look(ctx, user)
	return known.outside, err
}

// Run receives until ctx ends, and returns nil then.
func (a *Adapter) Run(ctx context.Context, sink channels.Sink) error {
	defer a.setReady(errNotYet)
	err := a.start(ctx)
	if err == nil {
		err = a.receive(ctx, sink)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// receive opens the inbox for both ways in, and keeps a socket where there is an app-level token.
func (a *Adapter) receive(ctx context.Context, sink channels.Sink) error {
	ctx, stop := context.WithCancel(ctx)
	in := newInbox(ctx, a.log)
	p := &postman{Adapter: a, sink: sink, inbox: in}
	a.gate.open(p)
	defer in.wait()
	defer a.gate.shut()
	defer stop()
	if a.api.hasAppToken() {
		return p.listen(ctx)
	}
	a.setReady(nil)
	<-ctx.Done()
	return ctx.Err()
}
