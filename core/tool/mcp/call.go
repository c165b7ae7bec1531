package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core"
	"parley/core/tool"
)

// call is one attempt of one call.
type call struct {
	source *Source
	tool   string // its full name
	tc     *tool.Context
	// safe calls may be dropped and made again.
	safe   bool
	wire   *wire
	ctx    context.Context
	cancel context.CancelCauseFunc
	// clock ends the call; it stands still while a person is waited for.
	clock *time.Timer
	// heard ends when the server has answered or cannot: what it asks then is asked of nobody.
	heard context.Context
	hush  context.CancelFunc

	mu    sync.Mutex // held while the server asks: one ask at a time
	asked int        // asks of this attempt

	failMu sync.Mutex
	failed error
}

func (c *call) end() {
	c.clock.Stop()
	c.cancel(nil)
}

// silence ends what the server asks and waits for that: a call ends after its asks.
func (c *call) silence() {
	c.hush()
	c.mu.Lock()
	defer c.mu.Unlock()
}

// suspect has the session looked at after a failure that was not the server's answer.
func (c *call) suspect(x *session) {
	switch {
	case c.wire.answered.Load() || c.ctx.Err() != nil:
	case len(c.source.cfg.Command) > 0:
		x.lose() // a pipe that failed once is broken
	default:
		x.change()
	}
}

// fail decides how the call ends, whatever comes back, and drops it.
func (c *call) fail(err error) {
	c.decide(err)
	c.cancel(err)
}

func (c *call) decide(err error) {
	c.failMu.Lock()
	defer c.failMu.Unlock()
	if c.failed == nil {
		c.failed = err
	}
}

func (c *call) failure() error {
	c.failMu.Lock()
	defer c.failMu.Unlock()
	if errors.Is(c.failed, errMuddled) {
		return fmt.Errorf("%w: %w", tool.ErrUnknownOutcome, c.failed)
	}
	return c.failed
}

// ask answers a server that asks inside the call.
func (c *call) ask(ctx context.Context, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.heard.Err() != nil || c.failure() != nil {
		return cancelled(), nil // how the call ends is decided
	}
	q, err := requestOf(p)
	if err != nil {
		c.fail(fmt.Errorf("the server asked for what cannot be asked, so nobody was: %w", err))
		return nil, err
	}
	n := c.asked
	c.asked++
	if !c.safe {
		return c.hold(ctx, q.asked(nil))
	}
	a, err := c.tc.Elicit(q.asked(nil))
	if err == nil {
		return answerOf(a), nil
	}
	if n < len(c.tc.Answers()) {
		return c.hold(ctx, q.asked(nil)) // it asks otherwise each time: no record would ever answer it
	}
	c.fail(err)
	return cancelled(), nil
}

// hold waits for the person on the open connection, until that or the server's patience ends.
func (c *call) hold(ctx context.Context, a tool.Asked) (*sdk.ElicitResult, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(c.heard, stop)()
	a.Until = ctx.Done()
	c.clock.Stop()
	got, err := c.tc.Wait(a)
	c.clock.Reset(c.source.cfg.Deadline)
	if err == nil && ctx.Err() != nil {
		err = tool.ErrUnanswered // answered to nobody
	}
	if err != nil {
		if !errors.Is(err, tool.ErrUnanswered) {
			err = fmt.Errorf("%w: %w", tool.ErrUnanswered, err)
		}
		c.decide(err)
		return cancelled(), nil
	}
	return answerOf(got), nil
}

func cancelled() *sdk.ElicitResult { return &sdk.ElicitResult{Action: "cancel"} }

// answerOf is a person's answer as the protocol says it.
func answerOf(a tool.Answered) *sdk.ElicitResult {
	if a.Answer.Action != core.ActionAccept {
		return &sdk.ElicitResult{Action: "decline"}
	}
	res := &sdk.ElicitResult{Action: "accept"}
	if len(a.Answer.Fields) > 0 {
		res.Content = map[string]any{}
		for name, v := range a.Answer.Fields {
			res.Content[name] = json.RawMessage(v)
		}
	}
	return res
}

// unanswered is how a call ends whose server asked and got no answer.
func (c *call) unanswered(failed error, said string, err error) error {
	switch {
	case said != "":
		return fmt.Errorf("%s asked the user meanwhile: %w; without an answer it ended with: %s", c.tool, failed, c.source.hide(said))
	case err != nil && !c.wire.answered.Load():
		return fmt.Errorf("%s asked the user meanwhile: %w; the connection ended", c.tool, failed)
	}
	return fmt.Errorf("%s asked the user meanwhile: %w", c.tool, failed)
}

// outcome says what a failed call means: whether it ran is told by what was seen of it, not by the failure.
func (c *call) outcome(err error) error {
	status, refusal := c.wire.refusal()
	var rpc *jsonrpc.Error
	login := needsLogin(err)
	switch {
	case login != nil:
		return fmt.Errorf("call %s: the server is %w", c.tool, login)
	case c.wire.answered.Load() && errors.As(err, &rpc):
		return c.refused(rpc)
	case c.wire.answered.Load() && c.ctx.Err() == nil:
		return fmt.Errorf("%s ran, but its result cannot be read: %s", c.tool, c.source.hide(err.Error()))
	case refusal != nil:
		return c.refused(refusal)
	case !c.wire.sent.Load(), status == http.StatusNotFound && errors.Is(err, sdk.ErrSessionMissing):
		return fmt.Errorf("call %s: %w: %s", c.tool, tool.ErrNotStarted, c.source.hide(c.cause(err).Error()))
	case status >= 300 && status < 500 && status != http.StatusRequestTimeout:
		return fmt.Errorf("call %s: the server refused it with HTTP status %d %s", c.tool, status, http.StatusText(status))
	}
	return fmt.Errorf("call %s: %w: %s", c.tool, tool.ErrUnknownOutcome, c.source.hide(c.cause(err).Error()))
}

// cause is why the call's context ended, or the failure itself.
func (c *call) cause(err error) error {
	if cause := context.Cause(c.ctx); cause != nil {
		return cause
	}
	return err
}

// refused is the server's own error. It may be that a step on a web page comes first.
func (c *call) refused(rpc *jsonrpc.Error) error {
	if rpc.Code == sdk.CodeURLElicitationRequired {
		return c.steps(rpc)
	}
	return fmt.Errorf("call %s: the server says: %s", c.tool, c.source.hide(shortened(rpc.Message, 4096)))
}
