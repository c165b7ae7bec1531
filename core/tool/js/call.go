package js

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"parley/core"
	"parley/core/tool"
	"parley/core/tool/schema"
)

// agentTool begins the names of tools that delegate to another agent, which may ask.
const agentTool = "agent__"

// call runs one tool for the code. What the code can go on from is in the reply; an error ends it.
func (r *run) call(name string, arguments json.RawMessage) (reply, error) {
	if r.calls++; r.calls > r.config.MaxCalls {
		return reply{}, fmt.Errorf("it was stopped: it called tools more than %d times", r.config.MaxCalls)
	}
	switch {
	case name == Name:
		return reply{Error: Name + " cannot call itself"}, nil
	case name == tool.NameAsk, name == tool.NameAskUser, strings.HasPrefix(name, agentTool):
		return reply{Error: NeedsUser}, nil
	}
	var found tool.Tool
	ok := false
	if r.config.Tools != nil {
		found, ok = r.config.Tools.Lookup(name)
	}
	if !ok {
		return reply{Error: fmt.Sprintf("there is no tool %.100q", name)}, nil
	}
	spec := found.Spec()
	frozen, problems := schema.Prepare(spec.Schema, arguments)
	if len(problems) > 0 {
		return reply{Error: "the arguments do not fit the tool's schema, and nothing ran: " + strings.Join(problems, "; ")}, nil
	}
	if spec.Type == core.ToolAgent || tool.Decide(spec.Policy, frozen).Need {
		return reply{Error: NeedsUser}, nil
	}
	ctx := tool.NewContext(r.ctx, fmt.Sprintf("%s/js/%d", r.outer.IdempotencyKey(), r.calls), tool.Identity{Actor: r.outer.Identity().Actor}, nil, nil)
	out, err := safely(found, ctx, frozen)
	return r.answer(name, spec, out, err)
}

// safely turns a tool's panic into an error.
func safely(t tool.Tool, ctx *tool.Context, arguments json.RawMessage) (out string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the tool crashed and may have done part of its work: %v", p)
		}
	}()
	return t.Call(ctx, arguments)
}

func (r *run) answer(name string, spec tool.Spec, out string, err error) (reply, error) {
	var ask *tool.AskError
	safe := spec.Type == core.ToolRead || spec.Idempotent
	switch {
	case errors.As(err, &ask), errors.Is(err, tool.ErrUnanswered):
		return reply{Error: NeedsUser}, nil
	case errors.Is(err, tool.ErrNotStarted):
		return reply{Error: err.Error()}, nil
	case errors.Is(err, tool.ErrUnknownOutcome) && !safe:
		r.ran = append(r.ran, name+" (nobody knows whether it ran)")
		return reply{}, fmt.Errorf("%s: %w", name, err)
	case err != nil:
		r.ran = append(r.ran, name+" (failed)")
		return reply{Error: core.BoundResult(err.Error())}, nil
	}
	r.ran = append(r.ran, name)
	out = core.BoundResult(out)
	if raw := bytes.TrimSpace([]byte(out)); len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') && json.Valid(raw) {
		return reply{Value: raw}, nil
	}
	return reply{Text: out}, nil
}
