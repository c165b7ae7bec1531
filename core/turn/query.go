package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/core"
	"parley/core/model"
)

// Inputs is a page of inputs across conversations; see Store.Inputs.
func (e *Engine) Inputs(ctx context.Context, f InputFilter) (page []core.Input, next string, err error) {
	return e.store.Inputs(ctx, f)
}

// Input finds an input by its id alone; ErrNotFound if there is none.
func (e *Engine) Input(ctx context.Context, id core.InputID) (core.Input, error) {
	return e.store.Input(ctx, id)
}

// RunByID finds a run by its id alone; Trace has what it did.
func (e *Engine) RunByID(ctx context.Context, id core.RunID) (core.Run, error) {
	return e.store.Run(ctx, id)
}

// Trace is everything that is known of one run.
type Trace struct {
	Run    core.Run
	Calls  []core.Call
	Inputs []core.Input
	Steps  []core.Step
	// Replies are the model's, in order, with how long each took.
	Replies []Reply
}

// Reply is one reply of the model.
type Reply struct {
	Step int // from 1, as in core.Call.Step
	// At is when the request began and Took how long the reply took; zero where that was not recorded.
	At    time.Time
	Took  time.Duration
	Usage core.Usage
}

// Trace loads a run with its calls, inputs and steps, in one view.
func (e *Engine) Trace(ctx context.Context, id core.RunID) (Trace, error) {
	run, err := e.store.Run(ctx, id)
	if err != nil {
		return Trace{}, err
	}
	t := Trace{Run: run}
	err = e.store.View(ctx, run.Conversation, func(r Reader) (err error) {
		if t.Run, err = r.Run(id); err != nil {
			return err
		}
		if t.Calls, err = r.Calls(id); err != nil {
			return err
		}
		if t.Inputs, err = r.RunInputs(id); err != nil {
			return err
		}
		if t.Steps, err = r.Journal(id); err != nil {
			return err
		}
		t.Replies, err = replies(t.Steps)
		return err
	})
	return t, err
}

// replies reads the replies of the model out of a journal.
func replies(steps []core.Step) ([]Reply, error) {
	var out []Reply
	for _, s := range steps {
		n, ok := strings.CutPrefix(s.Name, "model:")
		if !ok {
			continue
		}
		var r model.Response
		if err := json.Unmarshal(s.Data, &r); err != nil {
			return nil, fmt.Errorf("read step %s: %w: %w", s.Name, ErrDamaged, err)
		}
		step, err := strconv.Atoi(n)
		if err != nil {
			return nil, fmt.Errorf("read step %s: %w: %w", s.Name, ErrDamaged, err)
		}
		out = append(out, Reply{Step: step, At: r.At, Took: r.Took, Usage: r.Usage})
	}
	return out, nil
}

// Events lists the log after seq, oldest first, of one run where run is not "".
func (e *Engine) Events(ctx context.Context, run core.RunID, after uint64, limit int) ([]core.Event, error) {
	return e.store.Events(ctx, run, after, limit)
}

// News is closed when something of an agent changes next, of any agent where id is "". Take it before
// looking, so that nothing is missed.
func (e *Engine) News(id core.AgentID) <-chan struct{} { return e.news.wait(agentTopic(id)) }

// Agent is an agent as configured today.
func (e *Engine) Agent(id core.AgentID) (*Agent, bool) { return e.agents(id) }

// MayAnswer reports whether somebody may settle an input by today's configuration.
func (e *Engine) MayAnswer(in core.Input, who core.PersonID) bool {
	return core.MayAnswer(in, e.humanFor(in, core.HumanInput{}), who)
}

// Abort ends the open run of a conversation for someone who may. It reports whether there was one.
func (e *Engine) Abort(ctx context.Context, c core.ConversationID, by core.PersonID, via string) (bool, error) {
	var found bool
	var refused error
	err := e.act(ctx, c, false, func(a *act) error {
		found, refused = a.run != nil, nil
		if !found {
			return errNothing
		}
		live := a.live()
		if !core.MayAbort(*a.run, a.human, by) && (live == nil || !core.MayAnswer(*live, a.humanFor(live), by)) {
			refused = &core.AnswerError{Code: core.AnswerForbidden, Reason: string(by) + " may not end this turn"}
			return errNothing
		}
		return a.abort(core.Closing{By: by, Via: via, At: a.now}, "")
	})
	return found, errors.Join(refused, err)
}

// Waiting lists the inputs of a conversation's open run that can be answered now, in their order.
func (e *Engine) Waiting(ctx context.Context, c core.ConversationID) ([]core.Input, error) {
	var out []core.Input
	err := e.store.View(ctx, c, func(r Reader) error {
		out = nil
		conv, err := r.Conversation()
		if err != nil || conv.Open == "" {
			return err
		}
		run, err := r.Run(conv.Open)
		if err != nil {
			return err
		}
		all, err := treeInputs(r, run)
		for _, in := range all {
			if in.Pending() && (in.ExpiresAt.IsZero() || in.ExpiresAt.After(r.Now())) {
				out = append(out, in)
			}
		}
		return err
	})
	return out, err
}

// RunOf finds the run that a message started or will start: ErrNotFound while it waits in the queue.
func (e *Engine) RunOf(ctx context.Context, c core.ConversationID, messageID string) (core.Run, error) {
	var found core.Run
	err := e.store.View(ctx, c, func(r Reader) error {
		conv, err := r.Conversation()
		if err != nil {
			return err
		}
		for id := conv.Last; id != ""; id = found.Before {
			if found, err = r.Run(id); err != nil {
				return err
			}
			if found.Message.ID == messageID {
				return nil
			}
		}
		return fmt.Errorf("run of message %s: %w", messageID, ErrNotFound)
	})
	return found, err
}

// Stopped waits until a run has come to its next stop: it waits for a person or has ended.
func (e *Engine) Stopped(ctx context.Context, id core.RunID) (core.Run, error) {
	run, err := e.store.Run(ctx, id)
	for err == nil && run.Status == core.RunRunning && run.SetAside == "" {
		news := e.news.wait(string(run.Conversation))
		if run, err = e.store.Run(ctx, id); err != nil || run.Status != core.RunRunning {
			break
		}
		if err := pause(ctx, news); err != nil {
			return run, err
		}
	}
	return run, err
}

// Started waits until the run of a message that was accepted begins.
func (e *Engine) Started(ctx context.Context, c core.ConversationID, messageID string) (core.Run, error) {
	for {
		news := e.news.wait(string(c))
		run, err := e.RunOf(ctx, c, messageID)
		if !errors.Is(err, ErrNotFound) {
			return run, err
		}
		if err := pause(ctx, news); err != nil {
			return run, err
		}
	}
}

// pause waits for news, or for a while: another process may have moved things.
func pause(ctx context.Context, news <-chan struct{}) error {
	timer := time.NewTimer(30 * time.Second)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-news:
	case <-timer.C:
	}
	return nil
}

// Working lists the conversations of a channel whose run is being advanced in this process.
func (e *Engine) Working(_ context.Context, channel string) ([]core.ConversationID, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []core.ConversationID
	for c := range e.working {
		if c.Channel() == channel {
			out = append(out, c)
		}
	}
	return out, nil
}

// Idle waits until a conversation stands still: nothing runs or is about to, and nothing waits to be sent. It
// does so too while a call of this process waits for a person.
func (e *Engine) Idle(ctx context.Context, c core.ConversationID) error {
	for {
		news := e.news.wait(string(c))
		still, err := e.still(ctx, c)
		if err != nil || still {
			return err
		}
		if err := pause(ctx, news); err != nil {
			return err
		}
	}
}

func (e *Engine) still(ctx context.Context, c core.ConversationID) (still bool, err error) {
	err = e.store.View(ctx, c, func(r Reader) error {
		still = false
		rows, err := r.Out()
		if err != nil || len(rows) > 0 {
			return err
		}
		held, err := r.Held()
		if err != nil {
			return err
		}
		conv, err := r.Conversation()
		if err != nil {
			return err
		}
		if conv.Open != "" {
			still, err = e.stands(r, conv.Open, held)
			return err
		}
		if held {
			return nil
		}
		queue, err := r.Queue(1)
		_, known := e.agents(c.Agent())
		still = len(queue) == 0 || !known || queue[0].Message.NotBefore.After(r.Now())
		return err
	})
	return still, err
}

// stands reports whether an open run stands still. held says that somebody has the claim: a call that waits for
// a person has it, but what a call of an ended process asked is about to be ended.
func (e *Engine) stands(r Reader, id core.RunID, held bool) (bool, error) {
	run, err := r.Run(id)
	if err != nil || run.Status != core.RunInputRequired {
		return run.SetAside != "" && !held, err
	}
	inputs, err := treeInputs(r, run)
	if all, any := e.holding(inputs); any {
		return all, err
	}
	return !held, err
}
