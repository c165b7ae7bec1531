package parley

import (
	"parley/core/tool"
	"parley/core/tool/gotool"
)

// Context is what a tool sees of its call: Confirm, Ask and RequireURL end the call and return the answer
// when it is made again; IdempotencyKey is the same at every attempt; Identity tells for whom it runs.
type Context = tool.Context

// ErrDeclined is the error of Context.Ask and Context.RequireURL where the person declined: By whom, and the
// Reason if one was given.
type ErrDeclined = tool.ErrDeclined

// ToolOption changes a tool made by NewTool.
type ToolOption = gotool.Option

// NewTool makes a tool of a Go function. The schema of its arguments is that of the struct In, with the
// fields' json and jsonschema tags. The model knows it as source__name.
func NewTool[In any](source, name, description string, f func(*Context, In) (string, error), opts ...ToolOption) Tool {
	return gotool.New(source, name, description, f, opts...)
}

// NeedsApproval has a person approve each call.
func NeedsApproval() ToolOption { return gotool.NeedsApproval(true) }

// NeedsApprovalWhen decides by the arguments whether a person must approve the call. Where it fails or
// panics, approval is needed.
func NeedsApprovalWhen[In any](need func(In) (bool, error)) ToolOption {
	return gotool.NeedsApprovalFunc(need)
}

// Idempotent says that the tool may run again with the same key after a crash.
func Idempotent() ToolOption { return gotool.Idempotent() }

// ReadOnly says that the tool changes nothing: it may run in parallel with others, and again.
func ReadOnly() ToolOption { return gotool.ReadOnly() }
