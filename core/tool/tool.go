// Package tool says what a tool is: its Spec, how it is called, and what it may ask of the person
// meanwhile. The engine in core/turn runs tools; sources such as Go functions provide them.
package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"parley/core"
)

// Tool is something the model can call.
type Tool interface {
	Spec() Spec
	// Call runs the tool on exactly the arguments given. An error is told to the model as the call's
	// failure, except an *AskError, which suspends the turn. ErrNotStarted says that nothing ran.
	Call(ctx *Context, arguments json.RawMessage) (string, error)
}

// Spec describes a tool. It is read at every model request and compared at dispatch: it must not
// block and must be the same for the same tool.
type Spec struct {
	Source      string // "db"; with Name it makes "db__drop"
	Name        string
	Description string
	// Schema is the JSON Schema of the arguments, an object.
	Schema json.RawMessage
	Type   core.ToolType
	// Idempotent tools may run again with the same key after a crash.
	Idempotent bool
	// Target is where a call goes (an address, a command); a change after approval asks again.
	Target string
	// Policy decides whether a call needs approval. nil means it never does.
	Policy Policy
	// ApproversOnly leaves the asker out of those who may answer this source's inputs.
	ApproversOnly bool
}

// FullName is the name the model knows: source__name, or the name alone without a source.
func (s Spec) FullName() string {
	if s.Source == "" {
		return s.Name
	}
	return s.Source + "__" + s.Name
}

// Verdict is what a policy says about one call: Rule names the rule that demands approval.
type Verdict struct {
	Need bool
	Rule string
}

// Policy judges one call. If it fails or panics, approval is needed.
type Policy func(arguments json.RawMessage) (Verdict, error)

// ErrNotStarted wraps a failure that proves that nothing ran: refused, unresolved, no transport.
var ErrNotStarted = errors.New("the call did not start")

// ErrUnknownOutcome wraps a failure after which the call may or may not have run: a connection that broke
// after the request was sent.
var ErrUnknownOutcome = errors.New("the call may or may not have run")

// Identity says for whom a call runs: always with the rights of the asker, whoever approved it.
type Identity struct {
	Actor    core.PersonID
	Approval *core.Approval // nil if the call needed none
}

// Context is what a tool sees of its call. Its asks end the call: once the person answered, the tool is
// called again with the same arguments and key and the ask returns the answer. Code before an ask runs
// again, so ask first and act after.
type Context struct {
	context.Context
	key      string
	identity Identity
	answers  []Answered
	next     int
	wait     func(Asked) (Answered, error)
}

// Answered is a settled ask of an earlier attempt.
type Answered struct {
	Key    string // Asked.Key of the ask it answers
	Answer core.Answer
	By     core.PersonID
	// State is Asked.State of the ask.
	State json.RawMessage
}

// NewContext returns the context of one attempt. Only the engine calls it.
// wait asks while the call goes on; nil where nothing can.
func NewContext(ctx context.Context, key string, identity Identity, answers []Answered, wait func(Asked) (Answered, error)) *Context {
	return &Context{Context: ctx, key: key, identity: identity, answers: answers, wait: wait}
}

// IdempotencyKey is the same at every attempt of this call and at no other call.
func (c *Context) IdempotencyKey() string { return c.key }

// Identity says for whom the call runs and who approved it.
func (c *Context) Identity() Identity { return c.identity }

// Confirm asks yes or no. It returns false if the person declined.
func (c *Context) Confirm(message string) (bool, error) {
	a, err := c.ask(Asked{Kind: core.KindForm, Message: message})
	if err != nil {
		return false, err
	}
	return a.Answer.Action == core.ActionAccept, nil
}

// Ask asks for the fields of a flat JSON Schema and decodes them into into. A decline is an *ErrDeclined.
func (c *Context) Ask(message string, schema json.RawMessage, into any) error {
	a, err := c.ask(Asked{Kind: core.KindForm, Message: message, Schema: schema})
	if err != nil {
		return err
	}
	if a.Answer.Action != core.ActionAccept {
		return &ErrDeclined{By: a.By, Reason: a.Answer.Reason}
	}
	b, err := json.Marshal(a.Answer.Fields)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return json.Unmarshal(b, into)
}

// RequireURL sends the person to an https page. It returns nil once the person says that the step is
// done, which is their statement, not proof; a decline is an *ErrDeclined.
func (c *Context) RequireURL(url, message string) error {
	a, err := c.ask(Asked{Kind: core.KindURL, Message: message, URL: url})
	if err != nil {
		return err
	}
	if a.Answer.Action != core.ActionAccept {
		return &ErrDeclined{By: a.By, Reason: a.Answer.Reason}
	}
	return nil
}

// Answers are the asks of this call that were answered at earlier attempts, in the order they were asked.
func (c *Context) Answers() []Answered { return c.answers }

// Elicit asks with a state that is kept beside the ask, never shown, and given back with the answer: for
// sources that continue a call by a token of their own. It returns as Confirm does.
func (c *Context) Elicit(a Asked) (Answered, error) { return c.ask(a) }

// Wait asks while the call goes on, for a source that can neither be dropped nor called again: the call
// holds what it holds until the person answers or its context ends. It fails with ErrUnanswered where the
// input ended without an answer, and never takes that for a decline.
func (c *Context) Wait(a Asked) (Answered, error) {
	a.Key = a.key(c.next)
	c.next++
	if c.wait == nil {
		return Answered{}, ErrUnanswered
	}
	return c.wait(a)
}

// ErrUnanswered says that nobody answered an ask of a call that went on meanwhile.
var ErrUnanswered = errors.New("nobody answered while the call could wait")

func (c *Context) ask(a Asked) (Answered, error) {
	a.Key = a.key(c.next)
	c.next++
	for _, have := range c.answers {
		if have.Key == a.Key {
			return have, nil
		}
	}
	return Answered{}, &AskError{Asked: a}
}

// Asked is what a tool asks the person for.
type Asked struct {
	Key     string          `json:"key"`
	Kind    core.Kind       `json:"kind"` // form or url
	Message string          `json:"message,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"` // nil for a confirmation
	URL     string          `json:"url,omitempty"`
	// State is the source's own; it is stored, never shown and never told to the model.
	State json.RawMessage `json:"state,omitempty"`
	// Until, if set, ends a Wait as unanswered once it is closed: what would be answered is gone.
	Until <-chan struct{} `json:"-"`
}

// key is the ask's position and content: several asks of one tool each get their own answer.
func (a Asked) key(n int) string {
	return fmt.Sprintf("%d:%s", n, core.Digest(string(a.Kind), a.Message, string(a.Schema), a.URL))
}

// AskError ends a call that needs the person. A tool returns it as it got it.
type AskError struct{ Asked Asked }

func (e *AskError) Error() string { return "needs the user's input: " + e.Asked.Message }

// ErrDeclined says that the person declined a form or URL step.
type ErrDeclined struct {
	By     core.PersonID
	Reason string
}

func (e *ErrDeclined) Error() string {
	if e.Reason != "" {
		return fmt.Sprintf("declined by %s: %s", e.By, e.Reason)
	}
	return fmt.Sprintf("declined by %s", e.By)
}
