package parley

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"parley/core"
	"parley/core/turn"
)

// Status is the state of a run, State that of an input, Kind what an input asks for.
type (
	Status = core.RunStatus
	State  = core.InputState
	Kind   = core.Kind
)

// AnswerError is the error of an answer that was not taken: a Code, a sentence, and for an invalid one the
// Fields that do not fit, for a late one the Current input as it stands.
type AnswerError = core.AnswerError

// The states of a run.
const (
	Running       = core.RunRunning
	InputRequired = core.RunInputRequired
	Completed     = core.RunCompleted
	Failed        = core.RunFailed
	Cancelled     = core.RunCancelled
	Superseded    = core.RunSuperseded
	Expired       = core.RunExpired
)

// The kinds of input.
const (
	Approval = core.KindApproval
	Question = core.KindQuestion
	Form     = core.KindForm
	URL      = core.KindURL
)

// Pending is the state of an input that waits; the others are in parley/core.
const Pending = core.InputPending

// Agent is an agent of a Runtime.
type Agent struct {
	rt *Runtime
	id core.AgentID
}

// Run is a run at a stop.
type Run struct {
	// Status tells whether it waits or how it ended; Text is what the agent said; Reason why it failed.
	Status Status
	Text   string
	Reason string
	// Inputs are what it waits on, in order.
	Inputs []Input

	// ID names the run in the store.
	ID core.RunID
}

// Option says for whom and where something is done.
type Option func(*options)

type options struct {
	from         string
	conversation string
	reason       string
}

// User is the person whose message starts the run: "alice", or "telegram:42".
func User(person string) Option { return func(o *options) { o.from = person } }

// From is the person who answers or aborts.
func From(person string) Option { return func(o *options) { o.from = person } }

// Conversation keeps apart histories of one person; "default" if none is given.
func Conversation(name string) Option { return func(o *options) { o.conversation = name } }

// Reason is told to the model with a decline.
func Reason(text string) Option { return func(o *options) { o.reason = text } }

func (a *Agent) options(opts []Option) (options, core.PersonID, core.ConversationID, error) {
	o := options{conversation: "default"}
	for _, f := range opts {
		f(&o)
	}
	if o.from == "" {
		return o, "", "", errors.New("say for whom: parley.User or parley.From")
	}
	who, err := person(o.from)
	return o, who, core.NewConversation(a.id, surface, core.Place(string(who)+"/"+o.conversation)), err
}

// Run sends a message and returns its run at the next stop. A message supersedes what waits in its
// conversation. Where ctx ends first the run goes on.
func (a *Agent) Run(ctx context.Context, text string, opts ...Option) (*Run, error) {
	_, who, conv, err := a.options(opts)
	if err != nil {
		return nil, fmt.Errorf("run agent %s: %w", a.id, err)
	}
	e := a.rt.engine
	m := core.Message{ID: rand.Text(), Conversation: conv, From: who, Text: text, SentAt: a.rt.store.Now(), Addressed: true, Fresh: true}
	if _, err := e.Accept(ctx, m); err != nil {
		return nil, err
	}
	run, err := e.Started(ctx, conv, m.ID)
	if err != nil {
		return nil, fmt.Errorf("run agent %s: %w", a.id, err)
	}
	return a.rt.next(ctx, run.ID)
}

// next waits for a run's next stop; an OnInput is heard at each.
func (rt *Runtime) next(ctx context.Context, id core.RunID) (*Run, error) {
	for {
		row, err := rt.engine.Stopped(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", id, err)
		}
		run := &Run{ID: row.ID, Status: row.Status, Text: row.Text, Reason: row.Reason}
		if row.SetAside != "" {
			return run, fmt.Errorf("run %s cannot go on and is kept: %s", id, row.SetAside)
		}
		if row.Status != core.RunInputRequired {
			return run, nil
		}
		waiting, err := rt.engine.Waiting(ctx, row.Conversation)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", id, err)
		}
		for _, in := range waiting {
			run.Inputs = append(run.Inputs, Input{Input: in, rt: rt, root: id})
		}
		answered, err := rt.hear(ctx, run.Inputs)
		if err != nil || !answered {
			return run, err
		}
	}
}

// hear asks the OnInput about each input; answered says that one was given.
func (rt *Runtime) hear(ctx context.Context, inputs []Input) (answered bool, err error) {
	if rt.onInput == nil {
		return false, nil
	}
	for _, in := range inputs {
		r := rt.onInput(ctx, in)
		if r == nil {
			continue
		}
		var no *AnswerError
		err := in.settle(ctx, r.Value, r.From, "")
		if err != nil && !(errors.As(err, &no) && no.Code == core.AnswerConflict) {
			return false, err // what was changed or answered by another meanwhile is looked at anew
		}
		answered = true
	}
	return answered, nil
}

// PendingInputs lists what the agent's runs wait on, oldest first.
func (a *Agent) PendingInputs(ctx context.Context) ([]Input, error) {
	return a.rt.inputs(ctx, turn.InputFilter{Agent: a.id})
}

// Abort cancels what waits or runs in a conversation. It reports whether anything did.
func (a *Agent) Abort(ctx context.Context, opts ...Option) (bool, error) {
	_, who, conv, err := a.options(opts)
	if err != nil {
		return false, fmt.Errorf("abort agent %s: %w", a.id, err)
	}
	return a.rt.engine.Abort(ctx, conv, who, "go")
}

// Input is one thing a run waits on. Its fields are those of core.Input.
type Input struct {
	core.Input
	rt   *Runtime
	root core.RunID
}

// Answer settles the input and returns the resumed run at its next stop; where the run waits on other
// inputs too, those are its Inputs. The value depends on the kind: true or false for an approval, a
// confirmation or a URL step; a label, labels or free text for a question, a map from question to answer for
// several; a map or struct of the fields for a form. The error of an answer that was not taken is a
// *AnswerError. The same answer again is no error. A call whose arguments were edited since this Input
// was read is not approved: read it again.
func (in Input) Answer(ctx context.Context, value any, opts ...Option) (*Run, error) {
	return in.answer(ctx, value, opts)
}

// Decline settles the input without an answer.
func (in Input) Decline(ctx context.Context, opts ...Option) (*Run, error) {
	return in.answer(ctx, declined{}, opts)
}

type declined struct{}

func (in Input) answer(ctx context.Context, value any, opts []Option) (*Run, error) {
	var o options
	for _, f := range opts {
		f(&o)
	}
	if err := in.settle(ctx, value, o.from, o.reason); err != nil {
		return nil, err
	}
	root := in.root
	if root == "" {
		var err error
		if root, err = in.rt.rootOf(ctx, in.Run); err != nil {
			return nil, err
		}
	}
	return in.rt.next(ctx, root)
}

func (in Input) settle(ctx context.Context, value any, from, reason string) error {
	var who core.PersonID
	if from != "" {
		var err error
		if who, err = person(from); err != nil {
			return fmt.Errorf("answer input %s: %w", in.ID, err)
		}
	}
	s := core.Submission{Action: core.ActionAccept, Reason: reason}
	if _, no := value.(declined); no {
		s.Action = core.ActionDecline
	} else {
		var err error
		if s.Content, err = json.Marshal(value); err != nil {
			return fmt.Errorf("answer input %s: %w", in.ID, err)
		}
	}
	_, err := in.rt.engine.Settle(ctx, turn.Settlement{Input: in.ID, From: who, Via: "go", Submission: s, Step: -1, Hash: in.Hash})
	return err
}

// rootOf is the run that a person's message started.
func (rt *Runtime) rootOf(ctx context.Context, id core.RunID) (core.RunID, error) {
	for {
		run, err := rt.store.Run(ctx, id)
		if err != nil || run.Parent == "" {
			return id, err
		}
		id = run.Parent
	}
}
