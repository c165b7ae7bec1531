package parley

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"parley/core"
	"parley/core/model"
	"parley/core/tool"
	"parley/core/tool/askuser"
	"parley/core/tool/schema"
	"parley/core/turn"
	"parley/parse"
	"parley/store/bolt"
)

// surface is the channel name of conversations held through this package; nothing is sent there.
const surface = "go"

// Model generates replies; packages below parley/core/model provide some.
type Model = model.Model

// Tool is something an agent can call. NewTool makes one of a function.
type Tool = tool.Tool

// Options of a Runtime. The zero value works.
type Options struct {
	// Log gets what an operator must know; nil for nothing.
	Log *slog.Logger
	// OnInput, if set, hears each input as it is asked. Return an answer to give it at once, nil to answer
	// later. It goes through the same rules as every answer: who answers must be allowed to.
	OnInput func(ctx context.Context, in Input) *Reply
	// Tracer tells runs as spans of OpenTelemetry; nil for none.
	Tracer trace.Tracer
	// Now is the clock; nil for the wall clock.
	Now func() time.Time
}

// Reply is the answer of an OnInput: a value as for Input.Answer, and who gives it.
type Reply struct {
	Value any
	From  string
}

// Runtime holds agents over one file. It advances their runs from Open until Close.
type Runtime struct {
	store   *bolt.Store
	engine  *turn.Engine
	onInput func(context.Context, Input) *Reply
	stop    context.CancelFunc
	done    chan struct{}

	mu     sync.RWMutex
	agents map[core.AgentID]*turn.Agent
}

// Open opens a file, or makes it, and goes on with what waits in it once its agents are there. The error
// says which program holds the file, or what is wrong with it.
func Open(path string, o Options) (*Runtime, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	store, err := bolt.Open(path, bolt.Options{Clock: o.Now})
	if err != nil {
		return nil, err
	}
	rt := &Runtime{store: store, onInput: o.OnInput, done: make(chan struct{}), agents: map[core.AgentID]*turn.Agent{}}
	rt.engine, err = turn.New(turn.Config{
		Store: store, Agents: rt.agent, Log: o.Log, Tracer: o.Tracer,
		NewID:  func() string { return strings.ToLower(rand.Text())[:16] },
		Silent: func(channel string) bool { return channel == surface },
		Deps: turn.Deps{
			Read: func(in core.Input, m core.Message, _ core.HumanInput) core.Reading {
				return parse.Read(parse.Prompt{Input: in, Lang: m.Lang}, m.Text)
			},
			Prepare: schema.Prepare, AskSpecs: askuser.Specs,
			ParseAsk: func(name string, args json.RawMessage) (string, []core.Question, []string) {
				return askuser.Parse(name, args, parse.Fold)
			},
		},
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	ctx, stop := context.WithCancel(context.Background())
	rt.stop = stop
	go func() {
		defer close(rt.done)
		_ = rt.engine.Run(ctx) // it returns nil
	}()
	return rt, nil
}

// Close lets tool calls that run finish or be cut, and closes the file. What waits goes on at the next Open.
func (rt *Runtime) Close() error {
	rt.stop()
	<-rt.done
	return rt.store.Close()
}

func (rt *Runtime) agent(id core.AgentID) (*turn.Agent, bool) {
	rt.mu.RLock()
	defer rt.mu.RUnlock()
	a, ok := rt.agents[id]
	return a, ok
}

// Inbox lists the inputs in a state across all agents, oldest first; "" is pending.
func (rt *Runtime) Inbox(ctx context.Context, state State) ([]Input, error) {
	return rt.inputs(ctx, turn.InputFilter{State: state})
}

func (rt *Runtime) inputs(ctx context.Context, f turn.InputFilter) ([]Input, error) {
	var out []Input
	for {
		page, next, err := rt.engine.Inputs(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("list inputs: %w", err)
		}
		for _, in := range page {
			out = append(out, Input{Input: in, rt: rt})
		}
		if next == "" {
			return out, nil
		}
		f.After = next
	}
}

// Definition is an agent.
type Definition struct {
	ID           string
	Name         string
	Instructions string
	Model        Model
	Tools        []Tool
	// AskUser and Ask offer the model the tools that ask the person questions.
	AskUser, Ask bool
	// Agents are ids of agents it may delegate to.
	Agents []string
	// MaxSteps bounds the model requests of a run, MaxInputs its inputs; 0 is 30 and 20.
	MaxSteps, MaxInputs int
	// Approvers may answer beside the person who started the run, as "alice" or "telegram:42"; ApproversOnly
	// leaves that person out.
	Approvers     []string
	ApproversOnly bool
	// Expires is how long an input waits: 0 is seven days, negative for ever. ResumeOnExpire lets the turn go
	// on without the answer; else it is closed.
	Expires        time.Duration
	ResumeOnExpire bool
	// Redact are further names of values that are masked on display.
	Redact []string
}

// Agent adds an agent, or replaces the one of that id. Runs of it that wait in the file go on.
func (rt *Runtime) Agent(d Definition) (*Agent, error) {
	if d.ID == "" || strings.ContainsAny(d.ID, "| ") || d.Model == nil {
		return nil, fmt.Errorf("agent %q: want an ID without spaces or bars, and a Model", d.ID)
	}
	tools, err := tool.NewRegistry(d.Tools...)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", d.ID, err)
	}
	human := core.HumanInput{Expires: max(d.Expires, 0), ApproversOnly: d.ApproversOnly, ResumeOnExpire: d.ResumeOnExpire}
	if d.Expires == 0 {
		human.Expires = core.DefaultHumanInput().Expires
	}
	for _, p := range d.Approvers {
		who, err := person(p)
		if err != nil {
			return nil, fmt.Errorf("agent %s: approver %w", d.ID, err)
		}
		human.Approvers = append(human.Approvers, who)
	}
	a := &turn.Agent{
		ID: core.AgentID(d.ID), Name: d.Name, Instructions: d.Instructions, Model: &model.Retry{Model: d.Model},
		Tools: tools, AskUser: d.AskUser, Ask: d.Ask, MaxSteps: d.MaxSteps, MaxInputs: d.MaxInputs, Human: human, Redact: d.Redact,
	}
	for _, id := range d.Agents {
		a.Agents = append(a.Agents, core.AgentID(id))
	}
	rt.mu.Lock()
	rt.agents[a.ID] = a
	rt.mu.Unlock()
	return &Agent{rt: rt, id: a.ID}, nil
}

// person reads "alice" as local:alice and takes "telegram:42" as it is.
func person(s string) (core.PersonID, error) {
	if !strings.Contains(s, ":") {
		s = "local:" + s
	}
	return core.ParsePerson(s)
}
