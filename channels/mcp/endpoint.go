package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core"
	"parley/core/turn"
)

// Channel is the name of the channel of conversations held by MCP.
const Channel = "mcp"

// via is the door, for the record.
const via = "mcp"

// Pattern is the route of the endpoint, as net/http writes it.
const Pattern = "/v1/agents/{agent}/mcp"

// Turns is what the endpoint asks of the engine; *turn.Engine has it.
type Turns interface {
	Accept(ctx context.Context, m core.Message) (turn.Accepted, error)
	Started(ctx context.Context, c core.ConversationID, messageID string) (core.Run, error)
	Stopped(ctx context.Context, id core.RunID) (core.Run, error)
	RunByID(ctx context.Context, id core.RunID) (core.Run, error)
	Waiting(ctx context.Context, c core.ConversationID) ([]core.Input, error)
	Input(ctx context.Context, id core.InputID) (core.Input, error)
	Settle(ctx context.Context, s turn.Settlement) (core.Input, error)
	MayAnswer(in core.Input, who core.PersonID) bool
	News(id core.AgentID) <-chan struct{}
}

// Client is what a bearer token may do.
type Client struct {
	// Name appears in the places of its conversations and in logs; without slash, bar, colon and space.
	Name string
	// Agents it sees; All sees every one.
	Agents []core.AgentID
	All    bool
	// Person is the one person it is bound to, "" where it is not bound to exactly one.
	Person core.PersonID
	// Itself says that a client without Person may act as mcp:NAME. One that has neither speaks for nobody: it
	// starts and settles nothing.
	Itself bool
	// MayApprove says that its person may approve calls here.
	MayApprove bool
}

func (c Client) sees(id core.AgentID) bool { return c.All || slices.Contains(c.Agents, id) }

// person is who speaks and answers, "" for nobody.
func (c Client) person() core.PersonID {
	if c.Person == "" && c.Itself {
		return core.PersonID(via + ":" + c.Name)
	}
	return c.Person
}

// refusal says what a client that speaks for nobody lacks.
func (c Client) refusal() error {
	return fmt.Errorf("the token %[1]s speaks for nobody, so it may send nothing and nothing was changed: "+
		"set speaksFor of the token to exactly one person, or list %[2]s:%[1]s in it to let the client act as itself", c.Name, via)
}

// Tokens knows the clients.
type Tokens interface {
	// Client finds the client of a bearer token.
	Client(token string) (c Client, ok bool)
}

// Config is what an Endpoint is made of. Turns, Tokens, Agents, Key, Now and NewID are needed.
type Config struct {
	Turns  Turns
	Tokens Tokens
	// Agents says how people know an agent, and that it is configured today.
	Agents func(core.AgentID) (name string, ok bool)
	// Key signs what is handed to clients between two calls: 32 bytes or more. LoadKey keeps one.
	Key []byte
	Now func() time.Time
	// NewID is 16 letters and digits that nobody guesses.
	NewID func() string
	Log   *slog.Logger
	// MaxBody is the greatest body in bytes (1 MiB), MaxWait bounds how long a call waits for its turn's next
	// stop and for the answer to one ask on the open call (10 min), StateTTL how long a requestState counts (24 h),
	// SessionTimeout how long an unused session of the older generation is kept (30 min). 0 is the value in
	// brackets.
	MaxBody        int64
	MaxWait        time.Duration
	StateTTL       time.Duration
	SessionTimeout time.Duration
}

// Endpoint is the handler of Pattern.
type Endpoint struct {
	c      Config
	mux    *http.ServeMux
	closed chan struct{}
}

// New returns the handler.
func New(c Config) (*Endpoint, error) {
	if c.Turns == nil || c.Tokens == nil || c.Agents == nil || c.Now == nil || c.NewID == nil {
		return nil, errors.New("mcp: Turns, Tokens, Agents, Now and NewID are needed")
	}
	if len(c.Key) < 32 {
		return nil, errors.New("mcp: want a Key of 32 bytes or more")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.MaxBody == 0 {
		c.MaxBody = 1 << 20
	}
	c.MaxWait = orElse(c.MaxWait, 10*time.Minute)
	c.StateTTL = orElse(c.StateTTL, 24*time.Hour)
	c.SessionTimeout = orElse(c.SessionTimeout, 30*time.Minute)
	e := &Endpoint{c: c, mux: http.NewServeMux(), closed: make(chan struct{})}
	e.mux.Handle(Pattern, e.guard(e.generations()))
	return e, nil
}

func orElse(d, other time.Duration) time.Duration {
	if d == 0 {
		return other
	}
	return d
}

// Close ends the open calls; the turns go on. It is called once.
func (e *Endpoint) Close() { close(e.closed) }

func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) { e.mux.ServeHTTP(w, r) }

// visitor is who makes a request, and of which agent.
type visitor struct {
	client Client
	agent  core.AgentID
	name   string
}

// guard lets in who has a token that sees the agent. What a token may not see is not there.
func (e *Endpoint) guard(next http.Handler) http.Handler {
	// The library binds sessions to the user that it finds here, so that none can be taken over.
	bind := func(v visitor) http.Handler {
		return auth.RequireBearerToken(func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
			return &auth.TokenInfo{UserID: v.client.Name + "|" + string(v.agent), Extra: map[string]any{"visitor": v}}, nil
		}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		client, ok := Client{}, false
		if token = strings.TrimSpace(token); strings.EqualFold(scheme, "Bearer") && token != "" {
			client, ok = e.c.Tokens.Client(token)
		}
		if !ok {
			w.Header().Set("WWW-Authenticate", "Bearer")
			problem(w, http.StatusUnauthorized, "a bearer token of api.tokens is needed")
			return
		}
		v := visitor{client: client, agent: core.AgentID(r.PathValue("agent"))}
		if v.name, ok = e.c.Agents(v.agent); !ok || !client.sees(v.agent) {
			problem(w, http.StatusNotFound, "there is no such agent")
			return
		}
		bind(v).ServeHTTP(w, r)
	})
}

func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"status": status, "title": http.StatusText(status), "detail": detail})
}

// modern is the first protocol version that asks by ending the call.
const modern = "2026-07-28"

// generations serves clients of today without any session, and older ones with one: over it they are asked.
func (e *Endpoint) generations() http.Handler {
	options := sdk.StreamableHTTPOptions{
		Logger: slog.New(slog.DiscardHandler), MaxRequestBodyBytes: e.c.MaxBody,
		// A page in a browser cannot know the token, and behind a proxy the host is another one.
		DisableLocalhostProtection: true,
	}
	now, before := options, options
	now.Stateless, now.PropagateRequestCancellation = true, true
	before.SessionTimeout = e.c.SessionTimeout
	stateless := sdk.NewStreamableHTTPHandler(e.server, &now)
	sessions := sdk.NewStreamableHTTPHandler(e.server, &before)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= modern {
			stateless.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})
}

// server is the MCP server of a request's agent.
func (e *Endpoint) server(r *http.Request) *sdk.Server {
	v, ok := visitorOf(auth.TokenInfoFromContext(r.Context()))
	if !ok {
		return nil
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "parley", Title: v.name, Version: "1"}, &sdk.ServerOptions{
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}, Logger: slog.New(slog.DiscardHandler),
	})
	s.AddReceivingMiddleware(onlyTools)
	s.AddTool(&sdk.Tool{
		Name: "send_message", Title: "Send a message to " + v.name,
		Description: "Sends a message to the agent " + v.name + " and returns its reply. If the agent needs a person, the person is asked; " +
			"where that cannot be done here the result says what is waited for. A new message in the same conversation gives up what waits there.",
		InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["text"],"properties":{` +
			`"text":{"type":"string","minLength":1,"description":"the message"},` +
			`"conversation":{"type":"string","pattern":"` + nameForm.String() + `","description":"keeps apart histories; default if none is given"}}}`),
	}, e.sendMessage)
	return s
}

// onlyTools refuses what the server does not declare, which the library would answer with empty lists.
func onlyTools(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		for _, other := range []string{"prompts/", "resources/", "completion/", "logging/"} {
			if strings.HasPrefix(method, other) {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "there are only tools here, no " + method}
			}
		}
		return next(ctx, method, req)
	}
}

func visitorOf(info *auth.TokenInfo) (visitor, bool) {
	if info == nil {
		return visitor{}, false
	}
	v, ok := info.Extra["visitor"].(visitor)
	return v, ok
}
