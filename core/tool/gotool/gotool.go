// Package gotool makes tools of Go functions with typed arguments. The schema that the model sees is made
// from the argument struct: json tags name the properties, jsonschema tags describe them, and fields
// without omitempty or omitzero are required.
//
// A tool made here is an action that runs unasked, and is not run twice without a person, unless an
// option says otherwise.
package gotool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/google/jsonschema-go/jsonschema"

	"parley/core"
	"parley/core/tool"
)

// Option changes what is said about a tool.
type Option func(*tool.Spec)

// NeedsApproval says whether every call needs approval. Where several options demand it, one is enough.
func NeedsApproval(need bool) Option {
	return demand(func(json.RawMessage) (bool, error) { return need, nil })
}

// NeedsApprovalFunc judges each call by its arguments. An error, a panic, and arguments that do not decode
// all mean that approval is needed.
func NeedsApprovalFunc[In any](need func(In) (bool, error)) Option {
	return demand(func(arguments json.RawMessage) (bool, error) {
		in, err := decode[In](arguments)
		if err != nil {
			return true, err
		}
		return need(in)
	})
}

// Idempotent says that a call may run again with the same key after a crash.
func Idempotent() Option { return func(s *tool.Spec) { s.Idempotent = true } }

// ReadOnly says that the tool changes nothing: calls may run in parallel, and again after a crash.
func ReadOnly() Option { return func(s *tool.Spec) { s.Type = core.ToolRead } }

// ApproversOnly leaves the asker out of those who may answer.
func ApproversOnly() Option { return func(s *tool.Spec) { s.ApproversOnly = true } }

func demand(need func(json.RawMessage) (bool, error)) Option {
	return func(s *tool.Spec) {
		before := s.Policy
		s.Policy = func(arguments json.RawMessage) (tool.Verdict, error) {
			if before != nil {
				if v, err := before(arguments); v.Need || err != nil {
					return v, err
				}
			}
			yes, err := need(arguments)
			if err != nil {
				return tool.Verdict{}, fmt.Errorf("judge a call: %w", err)
			}
			if !yes {
				return tool.Verdict{}, nil
			}
			return tool.Verdict{Need: true, Rule: "needsApproval"}, nil
		}
	}
}

// New makes a tool of f. In must be a struct; it panics where In has no JSON schema, which is an error of
// the program. An error of f is told to the model, a panic too.
func New[In any](source, name, description string, f func(ctx *tool.Context, in In) (string, error), opts ...Option) tool.Tool {
	schema, err := schemaOf[In]()
	if err != nil {
		panic(fmt.Sprintf("make tool %s of %s: %v", name, source, err))
	}
	t := &function[In]{call: f, spec: tool.Spec{
		Source: source, Name: name, Description: description, Schema: schema, Type: core.ToolAction,
	}}
	for _, o := range opts {
		o(&t.spec)
	}
	return t
}

func schemaOf[In any]() (json.RawMessage, error) {
	s, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, err
	}
	if s.Type != "object" {
		return nil, errors.New("its arguments are no struct")
	}
	return json.Marshal(s)
}

type function[In any] struct {
	spec tool.Spec
	call func(*tool.Context, In) (string, error)
}

func (t *function[In]) Spec() tool.Spec { return t.spec }

func (t *function[In]) Call(ctx *tool.Context, arguments json.RawMessage) (out string, err error) {
	in, err := decode[In](arguments)
	if err != nil {
		return "", fmt.Errorf("call %s: %w: %w", t.spec.FullName(), tool.ErrNotStarted, err)
	}
	defer func() {
		if p := recover(); p != nil {
			out, err = "", fmt.Errorf("call %s: it panicked: %v", t.spec.FullName(), p)
		}
	}()
	return t.call(ctx, in)
}

// decode reads arguments strictly: an unknown key is a misunderstanding, not a detail.
func decode[In any](arguments json.RawMessage) (In, error) {
	var in In
	if a := bytes.TrimSpace(arguments); len(a) == 0 || a[0] != '{' {
		return in, errors.New("the arguments are no JSON object")
	}
	dec := json.NewDecoder(bytes.NewReader(arguments))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return in, fmt.Errorf("the arguments do not fit: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return in, errors.New("something follows the arguments")
	}
	return in, nil
}
