package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// session is one live connection.
type session struct {
	cs       *sdk.ClientSession
	protocol string
	// modern sessions have multi round trips: their server asks nothing inside a call.
	modern bool
	lost   chan struct{} // closed when the connection broke or is to be replaced
	once   sync.Once
	// changed receives a hint when the server's tools may have changed.
	changed chan struct{}
	// down ends the transport at once.
	down func()
	// alone is held by a call that has the session to itself.
	alone chan struct{}
	over  sync.WaitGroup // what watches the connection

	mu    sync.Mutex
	calls map[string]*call
	idle  chan struct{} // closed and replaced when a call ends
	// confused is told when a server asks and it cannot be known for which call.
	confused func()
}

// firstModern is the first protocol version with multi round trips.
const firstModern = "2026-07-28"

// lastOlder is the newest version that connects by the older handshake.
const lastOlder = "2025-11-25"

// connect opens a session.
func (s *Source) connect(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Connect)
	defer cancel()
	x := &session{
		lost: make(chan struct{}), changed: make(chan struct{}, 1), alone: make(chan struct{}, 1),
		down: func() {}, calls: map[string]*call{}, idle: make(chan struct{}), confused: s.isolate,
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "parley", Version: s.cfg.Version}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{
			Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{},
		}},
		MultiRoundTrip:         &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { x.change() },
	})
	client.AddReceivingMiddleware(x.receive)
	transport, err := s.transport(x)
	if err != nil {
		return nil, fmt.Errorf("connect to MCP server %s: %w", s.cfg.Name, &hidden{err, s.hide})
	}
	x.cs, err = client.Connect(ctx, transport, s.handshake())
	if err != nil {
		x.down()
		s.learn(err)
		if login := needsLogin(err); login != nil {
			err = login
		}
		return nil, fmt.Errorf("connect to MCP server %s: %w", s.cfg.Name, &hidden{err, s.hide})
	}
	x.protocol = x.cs.InitializeResult().ProtocolVersion
	x.modern = x.protocol >= firstModern
	x.over.Go(func() {
		_ = x.cs.Wait() // how it ended is told to the calls
		x.lose()
	})
	return x, nil
}

// handshake begins with the older one after a server did not take the newer.
func (s *Source) handshake() *sdk.ClientSessionOptions {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.older {
		return &sdk.ClientSessionOptions{ProtocolVersion: lastOlder}
	}
	return nil
}

// learn changes the handshake where a child process fell silent or died over the one before: there are
// servers that do not bear a request they do not know.
func (s *Source) learn(err error) {
	var rpc *jsonrpc.Error
	if s.cfg.URL != "" && errors.As(err, &rpc) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.older = !s.older && len(s.cfg.Command) > 0
}

func (s *Source) transport(x *session) (sdk.Transport, error) {
	if s.cfg.URL != "" {
		return s.httpTransport(x), nil
	}
	return s.startProcess(x)
}

func (x *session) lose() { x.once.Do(func() { close(x.lost) }) }

func (x *session) broken() bool {
	select {
	case <-x.lost:
		return true
	default:
		return false
	}
}

// change says that the tools may have changed.
func (x *session) change() {
	select {
	case x.changed <- struct{}{}:
	default:
	}
}

// add registers a call; done ends that.
func (x *session) add(c *call) (done func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.calls[c.wire.token] = c
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.calls, c.wire.token)
		close(x.idle)
		x.idle = make(chan struct{})
	}
}

// asker finds the call on whose behalf a server asks: the one on whose stream it came, or else the only one.
func (x *session) asker(token string) (*call, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if token != "" {
		if c, ok := x.calls[token]; ok {
			return c, nil
		}
		return nil, errors.New("the call that asks has ended")
	}
	if len(x.calls) == 1 {
		for _, c := range x.calls {
			return c, nil
		}
	}
	if len(x.calls) == 0 {
		return nil, errors.New("the person can only be asked within a call")
	}
	x.confused()
	x.muddle()
	return nil, errors.New("several calls are open and it cannot be told which one asks")
}

// muddle ends the open calls where each may be made again: they are, one session each. The lock is held.
func (x *session) muddle() {
	for _, c := range x.calls {
		if !c.safe {
			return
		}
	}
	for _, c := range x.calls {
		c.fail(errMuddled)
	}
}

var errMuddled = errors.New("the server asked while several calls were open")

// receive answers what the server asks of the client. Sampling and roots are not offered.
func (x *session) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		switch method {
		case "sampling/createMessage", "roots/list":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: method + " is not offered"}
		case methodElicit:
			p, ok := req.GetParams().(*sdk.ElicitParams)
			if !ok || p == nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the request says nothing"}
			}
			token, _ := p.Meta[metaCall].(string)
			c, err := x.asker(token)
			if err != nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
			}
			res, err := c.ask(ctx, p)
			if err != nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
			}
			return res, nil
		}
		return next(ctx, method, req)
	}
}

// closeWhenIdle closes a session that was replaced, once its calls have ended; at the latest with ctx.
func (x *session) closeWhenIdle(ctx context.Context) {
	for {
		x.mu.Lock()
		n, idle := len(x.calls), x.idle
		x.mu.Unlock()
		if n == 0 {
			break
		}
		select {
		case <-ctx.Done():
			x.close()
			return
		case <-idle:
		}
	}
	x.close()
}

// close ends the calls and the connection, and waits for both.
func (x *session) close() {
	const grace = 10 * time.Second
	x.mu.Lock()
	for _, c := range x.calls {
		c.cancel(errClosing)
	}
	x.mu.Unlock()
	x.lose()
	force := time.AfterFunc(grace, x.down)
	defer force.Stop()
	_ = x.cs.Close() // nothing depends on how a connection that is given up ends
	x.over.Wait()
}

var errClosing = errors.New("the connection was closed")
