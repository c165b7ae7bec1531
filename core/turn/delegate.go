package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"parley/core"
	"parley/core/model"
)

// maxDepth bounds how deep agents may delegate to one another.
const maxDepth = 5

// task are the arguments of a tool that delegates.
type task struct {
	Message string `json:"message"`
}

var taskSchema = json.RawMessage(`{"type":"object","properties":{"message":{"type":"string","description":"What the agent is to do, with all it needs to know."}},"required":["message"],"additionalProperties":false}`)

// agentSpecs are the agents that a model may delegate to.
func (d *driver) agentSpecs() []model.ToolSpec {
	var specs []model.ToolSpec
	for _, id := range d.agent.Agents {
		if a, ok := d.e.agents(id); ok {
			specs = append(specs, model.ToolSpec{
				Name: agentTool + string(id), Schema: taskSchema,
				Description: fmt.Sprintf("Delegate a task to the agent %s and get its answer.", strings.TrimSpace(a.Name+" "+string(id))),
			})
		}
	}
	return specs
}

// decideAgent judges a call that delegates: it needs nobody itself, its child run asks for what it needs.
func (d *driver) decideAgent(c model.Call) decision {
	args, problems := d.e.deps.Prepare(taskSchema, c.Arguments)
	var t task
	switch {
	case len(problems) > 0:
		return refuse(c, core.OutcomeError, "The arguments do not fit, and nothing ran: "+strings.Join(problems, "; "))
	case json.Unmarshal(args, &t) != nil || strings.TrimSpace(t.Message) == "":
		return refuse(c, core.OutcomeError, "The message is empty: nothing was delegated.")
	case len(d.at) >= 2*maxDepth:
		return refuse(c, core.OutcomeError, fmt.Sprintf("Agents may delegate at most %d deep: do it yourself.", maxDepth))
	}
	return decision{Kind: core.CallAuto, Type: core.ToolAgent, Arguments: args}
}

// delegate works on a call's child run: to its end, which is the call's result, or to errSuspended.
func (d *driver) delegate(ctx context.Context, s *state) (ran, error) {
	id, _ := d.agent.delegates(s.row.Tool)
	agent, ok := d.e.agents(id)
	if s.row.Child == "" {
		if !ok {
			return failed("The agent is gone: nothing was delegated."), nil
		}
		if err := d.beget(s, id); err != nil {
			return ran{}, err
		}
	}
	child := &driver{
		e: d.e, claim: d.claim, soft: d.soft, hard: d.hard, root: d.root,
		at: append(append([]int{}, d.at...), s.row.Step, s.row.Index), agent: agent, earlier: []model.Message{},
	}
	if err := child.read(s.row.Child); err != nil {
		return ran{}, err
	}
	if !child.run.Status.Open() {
		return child.childResult(), nil
	}
	if !ok {
		return ran{}, errParked
	}
	d.root.below = append(d.root.below, child)
	child.traced(ctx)
	r, err := child.work()
	child.untraced(child.left, child.early(err))
	return r, err
}

// early is why a child's stretch ended early: not where it waits.
func (d *driver) early(err error) error {
	if errors.Is(err, errSuspended) {
		return nil
	}
	return err
}

// beget makes the child run of a call, in one transaction: its row, the call's and the root's.
func (d *driver) beget(s *state, agent core.AgentID) error {
	var t task
	if err := json.Unmarshal(s.row.Arguments, &t); err != nil {
		return fmt.Errorf("call %s of run %s: %w: %w", s.row.ID, d.run.ID, ErrDamaged, err)
	}
	row := *s.row
	return d.commit(abortableThen(func(a *act) error {
		m := d.root.run.Message
		m.Text, m.Files, m.ReplyTo = t.Message, nil, ""
		run := core.Run{
			ID: core.RunID(d.e.id("r", a.now)), Conversation: a.conv.ID, Agent: agent, Parent: d.run.ID,
			Message: m, Status: core.RunRunning, CreatedAt: a.now,
		}
		row.Status, row.Child, row.StartedAt = core.CallExecuting, run.ID, a.now
		s.row = &row
		d.calls[row.ID] = s.row
		root := *a.run
		root.Children = append(root.Children[:len(root.Children):len(root.Children)], run.ID)
		return errors.Join(a.tx.PutRun(run), a.tx.PutRun(root), a.tx.PutCall(row),
			a.event(core.Event{Type: core.EventRunStarted, Run: run.ID}))
	}))
}

// work takes a child run to its end or its next wait.
func (d *driver) work() (ran, error) {
	d.run.Status = core.RunRunning
	err := d.turn()
	var fail *failedError
	switch {
	case errors.As(err, &fail):
		d.run.Status, d.run.Reason, d.run.Text = core.RunFailed, fail.sentence, ""
	case errors.Is(err, errSuspended):
		d.run.Status, d.left = core.RunInputRequired, core.RunInputRequired // also where only runs below it wait
		return ran{}, err
	case err != nil:
		d.left = d.run.Status
		return ran{}, err
	default:
		d.run.Status = core.RunCompleted
	}
	err = d.commit(abortableThen(func(a *act) error {
		run := d.run
		run.EndedAt = a.now
		return errors.Join(a.closeCalls(run.ID, ending{call: core.CallFailed, outcome: core.OutcomeCancelled}), a.tx.PutRun(run),
			a.event(core.Event{Type: core.EventRunFinished, Run: run.ID, Data: data(map[string]core.RunStatus{"status": run.Status})}))
	}))
	d.left = d.run.Status
	return d.childResult(), err
}

// childResult is what the parent's model is told about an ended child.
func (d *driver) childResult() ran {
	switch d.run.Status {
	case core.RunCompleted:
		return ran{Result: &core.Result{Outcome: core.OutcomeOK, Content: core.BoundResult(d.run.Text)}}
	case core.RunExpired:
		return ran{Failed: true, Result: &core.Result{Outcome: core.OutcomeExpired, Content: "The agent needed an answer, and nobody answered in time."}}
	}
	return failed("The agent could not do it: " + d.run.Reason)
}
