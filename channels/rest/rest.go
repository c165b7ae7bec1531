package rest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"parley/core"
	"parley/core/turn"
)

// Channel is the name of the channel of conversations held by HTTP.
const Channel = "api"

// via is the door, for the record.
const via = "rest"

// Turns is what the interface asks of the engine; *turn.Engine has it.
type Turns interface {
	Accept(ctx context.Context, m core.Message) (turn.Accepted, error)
	RunOf(ctx context.Context, c core.ConversationID, messageID string) (core.Run, error)
	SettleAll(ctx context.Context, all []turn.Settlement) ([]turn.Settling, error)
	Abort(ctx context.Context, c core.ConversationID, by core.PersonID, via string) (bool, error)
	Rows
}

// Rows is what it reads.
type Rows interface {
	RunByID(ctx context.Context, id core.RunID) (core.Run, error)
	Trace(ctx context.Context, id core.RunID) (turn.Trace, error)
	CallOf(ctx context.Context, run core.RunID, id core.CallID) (call core.Call, redact []string, err error)
	Stopped(ctx context.Context, id core.RunID) (core.Run, error)
	Waiting(ctx context.Context, c core.ConversationID) ([]core.Input, error)
	Input(ctx context.Context, id core.InputID) (core.Input, error)
	Inputs(ctx context.Context, f turn.InputFilter) (page []core.Input, next string, err error)
	Events(ctx context.Context, run core.RunID, after uint64, limit int) ([]core.Event, error)
	News(id core.AgentID) <-chan struct{}
}

// Definition is an agent as it is shown. No secret is part of it.
type Definition struct {
	ID           core.AgentID `json:"id"`
	Name         string       `json:"name"`
	Instructions string       `json:"instructions,omitempty"`
	Model        string       `json:"model,omitempty"`
	// Source is where it is defined: "file" or "api".
	Source    string          `json:"source"`
	Tools     []string        `json:"tools"`
	Approvers []core.PersonID `json:"approvers"`
	// Definition is what was written, without secrets. Only administrators see it.
	Definition json.RawMessage `json:"definition,omitempty"`
}

// ErrReadOnly is returned by Config.Define for an agent that is defined elsewhere.
var ErrReadOnly = errors.New("the agent is defined in the configuration file")

// Memory keeps answers to requests with an Idempotency-Key, beyond a crash.
type Memory interface {
	// Recall returns what is remembered under a key, while its time lasts.
	Recall(ctx context.Context, key string) (value []byte, ok bool, err error)
	// Remember returns once it is durable.
	Remember(ctx context.Context, key string, value []byte, ttl time.Duration) error
}

// Check is one thing that must work for the program to be ready.
type Check struct {
	Name string
	Run  func(context.Context) error
}

// Config is what an API is made of. Turns, Memory, Agents, Now and NewID are needed.
type Config struct {
	Turns  Turns
	Memory Memory
	Tokens []Token
	// Agents describes an agent of today's configuration.
	Agents func(core.AgentID) (Definition, bool)
	// Define stores the definition of an agent and puts it to work; created says that there was none. The error is
	// ErrReadOnly, or a *Problem that lists what does not fit. nil: agents are defined elsewhere alone.
	Define func(ctx context.Context, id core.AgentID, definition []byte) (created bool, err error)
	// Canonical writes a person as the channels do; nil: as they are.
	Canonical func(core.PersonID) core.PersonID
	// Checks are asked by /readyz.
	Checks []Check
	Now    func() time.Time
	// NewID is 16 letters and digits that nobody guesses.
	NewID func() string
	Log   *slog.Logger
	// MaxBody is the greatest body in bytes (1 MiB), MaxStreams how many may be open at once (4096),
	// Timeout bounds a request that is no stream (30 s), KeepAlive is the time between comments on a still
	// stream (15 s), SlowWrite how long a write to a stream may take (10 s). 0 is the value in brackets.
	MaxBody    int64
	MaxStreams int
	Timeout    time.Duration
	KeepAlive  time.Duration
	SlowWrite  time.Duration
}

// API is the handler. It has no goroutine of its own.
type API struct {
	c       Config
	tokens  []*token
	mux     *http.ServeMux
	feed    *feed
	flights flights
	closed  chan struct{}
}

// New returns the handler.
func New(c Config) (*API, error) {
	if c.Turns == nil || c.Memory == nil || c.Agents == nil || c.Now == nil || c.NewID == nil {
		return nil, errors.New("rest: Turns, Memory, Agents, Now and NewID are needed")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Canonical == nil {
		c.Canonical = func(who core.PersonID) core.PersonID { return who }
	}
	c.MaxBody = orElse(c.MaxBody, 1<<20)
	c.MaxStreams = orElse(c.MaxStreams, 4096)
	c.Timeout = orElse(c.Timeout, 30*time.Second)
	c.KeepAlive = orElse(c.KeepAlive, 15*time.Second)
	c.SlowWrite = orElse(c.SlowWrite, 10*time.Second)
	tokens, err := newTokens(c.Tokens)
	if err != nil {
		return nil, err
	}
	a := &API{c: c, tokens: tokens, mux: http.NewServeMux(), closed: make(chan struct{})}
	a.feed = newFeed(c.Turns)
	a.flights.open = map[string]chan struct{}{}
	a.routes()
	return a, nil
}

func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

// Close ends the streams, so that a server can shut down. It is called once.
func (a *API) Close() { close(a.closed) }

func (a *API) routes() {
	for pattern, f := range map[string]action{
		"GET /v1/agents/{agent}":                 (*call).getAgent,
		"PUT /v1/agents/{agent}":                 (*call).putAgent,
		"POST /v1/agents/{agent}/runs":           (*call).startRun,
		"POST /v1/agents/{agent}/abort":          (*call).abort,
		"GET /v1/agents/{agent}/inputs":          (*call).agentInputs,
		"POST /v1/agents/{agent}/inputs":         (*call).answerSeveral,
		"GET /v1/agents/{agent}/inputs/{input}":  (*call).getInput,
		"POST /v1/agents/{agent}/inputs/{input}": (*call).answerOne,
		"GET /v1/inputs/{input}":                 (*call).getInput,
		"GET /v1/inputs":                         (*call).inputs,
		"GET /v1/runs/{run}":                     (*call).getRun,
		"POST /agent/tool-call/approve":          verdict("approve"),
		"POST /agent/tool-call/reject":           verdict("reject"),
		"POST /agent/tool-call/answer":           verdict("answer"),
		"POST /agent/tool-call/skip":             verdict("skip"),
	} {
		a.mux.Handle(pattern, a.plain(f))
	}
	a.mux.Handle("GET /v1/agents/{agent}/events", a.stream((*call).agentEvents))
	a.mux.Handle("GET /v1/runs/{run}/events", a.stream((*call).runEvents))
	a.mux.HandleFunc("GET /v1/openapi.json", serveDocument)
	a.mux.HandleFunc("GET /healthz", a.healthz)
	a.mux.HandleFunc("GET /readyz", a.readyz)
}
