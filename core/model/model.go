// Package model is Parley's own language for talking to a large language model: requests, responses and
// errors. A provider (core/model/anthropic, openai, scripted) translates it to its wire and back and
// keeps its own types inside.
//
// A [Streamer] tells its reply while it grows ([Stream]). [Compact] makes a long conversation fit.
//
// [Valid] is the rule that every conversation keeps, [Mend] gives a reply's calls ids that can keep it, and
// [Retry] asks again where an *Error says that this may help. A [Call] is stored whatever its arguments are.
package model

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"parley/core"
)

// Model generates one reply. It does not retry: retries belong to the turn.
type Model interface {
	// Generate returns the model's reply to the request. An *Error says whether another try may help.
	Generate(ctx context.Context, req Request) (Response, error)
}

// Request is the whole conversation so far. In it every tool call has exactly one result, in call order,
// directly after the reply that made the calls.
type Request struct {
	System   string
	Messages []Message
	Tools    []ToolSpec
}

// Role says who a message is from.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of a conversation.
type Message struct {
	Role  Role
	Text  string
	Calls []Call // of an assistant
	// Raw is the provider's own form of an assistant message with the provider that made it: sent back
	// verbatim to the same provider, rebuilt from Text and Calls for another.
	Raw      json.RawMessage
	Provider string
	Result   *Result // of a tool
	// Images came with a user message. Where they cannot be sent they are named in the text (FitImages).
	Images []Image
}

// Call is a tool call as the model proposed it.
type Call struct {
	ID        string          `json:"id,omitempty"` // the provider's; may be empty or doubled: the engine mends it
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // as sent; not necessarily valid JSON
}

// Result answers one call.
type Result struct {
	CallID  string
	Name    string
	Content string
	IsError bool
}

// ToolSpec is a tool as offered to the model. Schema is a JSON Schema object.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// Response is one reply. It is stored as JSON and read back before it is used.
type Response struct {
	Text  string `json:"text,omitempty"`
	Calls []Call `json:"calls,omitempty"`
	Stop  Stop   `json:"stop"`
	// Raw and Provider are as in Message.
	Raw      json.RawMessage `json:"raw,omitempty"`
	Provider string          `json:"provider,omitempty"`
	Usage    core.Usage      `json:"usage,omitzero"`
	// At is when the request began and Took how long the reply took, tries and waits between them included.
	// The turn sets them; replies recorded before it did have none.
	At   time.Time     `json:"at,omitzero"`
	Took time.Duration `json:"took,omitempty"`
}

// Stop says why the reply ended. A reply with calls is StopTools whatever the provider said.
type Stop string

// The stops.
const (
	StopEnd    Stop = "end"
	StopTools  Stop = "tools"
	StopLength Stop = "length"
	StopRefuse Stop = "refusal"
)

// Error is a failed request. Its text holds no secret and no body of the conversation.
type Error struct {
	// Sentence is what the person in the chat is told: what happened and what to do.
	Sentence string
	// Retry says that another try may succeed; After is how long the service asks to wait, 0 if it did not say.
	Retry bool
	After time.Duration
	Err   error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return strings.TrimRight(e.Sentence, ".。") + ": " + e.Err.Error()
	}
	return e.Sentence
}

func (e *Error) Unwrap() error { return e.Err }
