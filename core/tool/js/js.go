// Package js is the tool js_exec: JavaScript that works with the agent's tools, run in a child process of
// our own program.
//
// The code sees the language, console.log and tools: tools.db.read({…}) or tools["db__read"]({…}) calls a
// tool and returns its result, parsed where it is a JSON object or list. It has no files, network,
// environment, modules or timers. The child gets one gigabyte of memory and is killed where a stretch
// without a tool call lasts too long, where all of it does, or where it calls too many tools.
//
// The parent runs the tools, by the rules of a turn that cannot ask: arguments are checked against the
// schema, and a call that needs approval, or whose tool asks the person, fails with NeedsUser. The n-th call
// has the key of the js_exec call with /js/n. An action of which nobody knows how it ended ends the code,
// since code could go on as if it had not happened.
//
// The program's main function must begin with: if js.IsChild() { js.Main() }.
package js

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/core"
	"parley/core/tool"
)

// NeedsUser is how a call fails that would have to wait for a person.
const NeedsUser = "needs the user's input: call it directly"

// Name is the tool's name.
const Name = "js_exec"

// Tools are the tools that the code may call.
type Tools interface {
	List() []tool.Spec
	Lookup(name string) (tool.Tool, bool)
}

// Config says what the code may use. The zero value of a limit is its default.
type Config struct {
	Tools Tools
	// Program is what is started as the child; "" is the running program.
	Program string
	// Stretch bounds the time without a tool call, Total all of it: 10 seconds, 5 minutes.
	Stretch, Total time.Duration
	// MaxCalls bounds the tool calls of one run: 500.
	MaxCalls int
	// MaxOutput bounds the result and the console, each, in bytes: 30000.
	MaxOutput int
	// Parallel bounds the children that run at once: 4.
	Parallel int
}

func (c Config) filled() Config {
	if c.Stretch <= 0 {
		c.Stretch = 10 * time.Second
	}
	if c.Total <= 0 {
		c.Total = 5 * time.Minute
	}
	if c.MaxCalls <= 0 {
		c.MaxCalls = 500
	}
	if c.MaxOutput <= 0 {
		c.MaxOutput = 30_000
	}
	if c.Parallel <= 0 {
		c.Parallel = 4
	}
	return c
}

// maxCode bounds the code.
const maxCode = 200_000

// New makes the tool. It is safe for concurrent use.
func New(c Config) tool.Tool {
	c = c.filled()
	return &execTool{config: c, slots: make(chan struct{}, c.Parallel)}
}

type execTool struct {
	config Config
	slots  chan struct{}
}

var schemaJSON = json.RawMessage(`{"type":"object","properties":{"code":{"type":"string","minLength":1,"maxLength":200000,"description":"JavaScript. The value of the last expression, or of a top-level return, is the result."}},"required":["code"],"additionalProperties":false}`)

// Spec is js_exec: an action, since its effects are those of the tools that the code calls.
func (t *execTool) Spec() tool.Spec {
	return tool.Spec{
		Name: Name, Schema: schemaJSON, Type: core.ToolAction,
		Description: "Run JavaScript (ES2023) to compute, or to call several tools and combine their results. " +
			`Your tools are functions: tools.SOURCE.TOOL({…}) or tools["SOURCE__TOOL"]({…}) returns the result at once, without await. ` +
			"A tool that needs the user's approval or input fails here: call it directly. There is no network, no file and no module. Use console.log to print.",
	}
}

// Call runs the code. What it computed and printed is the result; an error of the code is the call's.
func (t *execTool) Call(ctx *tool.Context, arguments json.RawMessage) (string, error) {
	var in struct {
		Code string `json:"code"`
	}
	if err := json.Unmarshal(arguments, &in); err != nil {
		return "", fmt.Errorf("read the arguments of %s: %w", Name, err)
	}
	if len(in.Code) > maxCode {
		return "", fmt.Errorf("the code is longer than %d bytes: nothing ran", maxCode)
	}
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return "", fmt.Errorf("%s: %w: %w", Name, tool.ErrNotStarted, ctx.Err())
	}
	bounded, cancel := context.WithTimeoutCause(ctx, t.config.Total, fmt.Errorf("it was stopped after %v in all", t.config.Total))
	defer cancel()
	r := newRun(bounded, ctx, t.config)
	return r.result(r.exec(in.Code))
}

// errors that end a run, as the model reads them.
var (
	errMemory = errors.New("it ran out of memory")
	errStack  = errors.New("it recursed too deeply")
	errEnded  = errors.New("its process ended unexpectedly")
)
