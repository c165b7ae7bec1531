package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core/tool"
)

// The names under which a call's _meta says what Parley knows of it.
const (
	MetaApproval       = "parley/approval"       // {input, by, at} of the consent; absent if the call needed none
	MetaActor          = "parley/actor"          // for whom the call runs
	MetaIdempotencyKey = "parley/idempotencyKey" // the same at every attempt of the call
)

// mcpTool is one tool of a source.
type mcpTool struct {
	source *Source
	name   string // as the server calls it
	spec   tool.Spec
	traits tool.Traits
}

// Spec describes the tool as last listed.
func (t *mcpTool) Spec() tool.Spec { return t.spec }

// Call calls the tool on its server. Answers to what the server asked at earlier attempts go with it.
func (t *mcpTool) Call(ctx *tool.Context, arguments json.RawMessage) (string, error) {
	if err := reserved(arguments); err != nil {
		return "", err
	}
	last, answers, err := resume(ctx)
	if err != nil {
		return "", err
	}
	params := &sdk.CallToolParams{Meta: metaOf(ctx), Name: t.name, Arguments: arguments}
	n := 0
	if last != nil {
		if err := last.into(params, answers); err != nil {
			return "", err
		}
		n = last.Round
	}
	c := t.newCall(ctx)
	defer c.end()
	x, release, err := t.source.session(c.ctx)
	if err != nil {
		return "", fmt.Errorf("%w: %s", tool.ErrNotStarted, t.source.hide(err.Error()))
	}
	defer release()
	defer x.add(c)()
	res, err := c.send(x, params)
	c.silence()
	if err != nil {
		c.suspect(x)
	}
	return c.result(res, err, n)
}

// reserved refuses arguments that bear the names under which a call says who approved it.
func reserved(arguments json.RawMessage) error {
	var args map[string]json.RawMessage
	if json.Unmarshal(arguments, &args) != nil {
		return errors.New("the arguments are no JSON object: the call did not run")
	}
	for name := range args {
		if strings.HasPrefix(strings.ToLower(name), metaOurs) {
			return fmt.Errorf("the argument %q is reserved: leave it out", name)
		}
	}
	return nil
}

func metaOf(ctx *tool.Context) sdk.Meta {
	id := ctx.Identity()
	meta := sdk.Meta{MetaActor: string(id.Actor), MetaIdempotencyKey: ctx.IdempotencyKey()}
	if a := id.Approval; a != nil {
		meta[MetaApproval] = map[string]string{"input": string(a.Input), "by": string(a.By), "at": a.At.UTC().Format(time.RFC3339Nano)}
	}
	return meta
}

func (t *mcpTool) newCall(tc *tool.Context) *call {
	c := &call{source: t.source, tool: t.spec.FullName(), tc: tc, safe: t.spec.Idempotent, wire: &wire{method: methodCall, token: rand.Text()}}
	c.ctx, c.cancel = context.WithCancelCause(withWire(tc.Context, c.wire))
	c.heard, c.hush = context.WithCancel(c.ctx)
	c.clock = time.AfterFunc(t.source.cfg.Deadline, func() { c.cancel(errDeadline) })
	return c
}

var errDeadline = errors.New("it took too long")

// busy waits before a server that is busy is asked again.
var busy = []time.Duration{time.Second, 4 * time.Second}

// send makes the call. A server that says no more than that it is busy is asked again.
func (c *call) send(x *session, params *sdk.CallToolParams) (*sdk.CallToolResult, error) {
	for n := 0; ; n++ {
		c.wire.again()
		res, err := x.cs.CallTool(c.ctx, params)
		if err != nil || !res.NeedsInput() || len(res.InputRequests) > 0 || n == len(busy) {
			return res, err
		}
		next := *params
		next.RequestState = res.RequestState
		params = &next
		timer := time.NewTimer(busy[n])
		select {
		case <-c.ctx.Done():
			timer.Stop()
			return res, c.ctx.Err()
		case <-timer.C:
		}
	}
}

// result is what a call came to, in the order of what is known for sure.
func (c *call) result(res *sdk.CallToolResult, err error, round int) (string, error) {
	said := ""
	if err == nil && !res.NeedsInput() {
		said = textOf(res)
	}
	switch failed := c.failure(); {
	case errors.Is(failed, tool.ErrUnanswered):
		return "", c.unanswered(failed, said, err)
	case failed != nil:
		return "", failed
	case err != nil:
		return "", c.outcome(err)
	case res.NeedsInput():
		return "", c.next(res, round+1)
	case res.IsError:
		return "", errors.New(c.source.hide(said))
	}
	return said, nil
}
