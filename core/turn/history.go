package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/core"
	"parley/core/model"
)

// bytesPerToken is how many bytes of earlier runs are read for each token that fits.
const bytesPerToken = 4

// request is everything the model is told: earlier runs, this run so far, the tools of today. What pictures
// there are is read last.
func (d *driver) request(ctx context.Context, step int) (model.Request, error) {
	if d.first == nil {
		if d.e.readFile != nil && d.agent.Images {
			d.album = album{}
		}
		first := userMessage(d.run.Message, d.album)
		d.first = &first
	}
	if d.earlier == nil {
		var err error
		if d.earlier, err = d.readHistory(); err != nil {
			return model.Request{}, fmt.Errorf("read the history of %s: %w", d.claim.Conversation, err)
		}
	}
	req := model.Request{System: d.agent.Instructions, Tools: d.toolSpecs()}
	msgs := slices.Concat(d.earlier, []model.Message{*d.first}, d.msgs)
	msgs = model.Compact(msgs, d.agent.context()-len(req.System)/bytesPerToken-sizeOfTools(req.Tools)/bytesPerToken)
	if err := model.Valid(msgs); err != nil {
		return model.Request{}, fmt.Errorf("model request %d of run %s: %w", step, d.run.ID, err)
	}
	req.Messages = d.e.showPictures(ctx, msgs, d.album)
	return req, nil
}

func sizeOfTools(specs []model.ToolSpec) int {
	n := 0
	for _, s := range specs {
		n += len(s.Name) + len(s.Description) + len(s.Schema)
	}
	return n
}

func (d *driver) toolSpecs() []model.ToolSpec {
	var specs []model.ToolSpec
	if d.agent.Tools != nil {
		for _, s := range d.agent.Tools.List() {
			specs = append(specs, model.ToolSpec{Name: s.FullName(), Description: s.Description, Schema: s.Schema})
		}
	}
	specs = append(specs, d.agentSpecs()...)
	return append(specs, d.e.deps.AskSpecs(d.agent.AskUser, d.agent.Ask)...)
}

// readHistory reads the runs before this one, as far back as fits.
func (d *driver) readHistory() ([]model.Message, error) {
	var runs [][]model.Message
	size := 0
	err := d.e.store.View(d.hard, d.claim.Conversation, func(r Reader) error {
		for id := d.run.Before; id != ""; {
			run, err := r.Run(id)
			if errors.Is(err, ErrNotFound) {
				return nil // retention took the rest
			}
			if err != nil {
				return err
			}
			msgs, err := transcript(r, run, d.album)
			if err != nil {
				return err
			}
			for _, m := range msgs {
				size += sizeOf(m)
			}
			if size > bytesPerToken*d.agent.context() {
				return nil
			}
			runs = append(runs, msgs)
			id = run.Before
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(runs)
	return append([]model.Message{}, slices.Concat(runs...)...), nil
}

func sizeOf(m model.Message) int {
	n := len(m.Text) + len(m.Raw)
	for _, c := range m.Calls {
		n += len(c.Arguments)
	}
	if m.Result != nil {
		n += len(m.Result.Content)
	}
	return n
}

// transcript is an ended run as the model sees it.
func transcript(r Reader, run core.Run, a album) ([]model.Message, error) {
	steps, err := r.Journal(run.ID)
	if err != nil {
		return nil, err
	}
	calls, err := r.Calls(run.ID)
	if err != nil {
		return nil, err
	}
	msgs := []model.Message{userMessage(run.Message, a)}
	for _, c := range calls {
		if c.ID == intakeCall {
			msgs = append(msgs, exchange(intakeReply(c), []core.Call{c})...)
		}
	}
	n := 0
	for _, s := range steps {
		if !strings.HasPrefix(s.Name, "model:") {
			continue
		}
		n++
		var resp model.Response
		if err := json.Unmarshal(s.Data, &resp); err != nil {
			return nil, fmt.Errorf("step %s of run %s: %w: %w", s.Name, run.ID, ErrDamaged, err)
		}
		var rows []core.Call
		for _, c := range calls {
			if c.Step == n && c.ID != intakeCall {
				rows = append(rows, c)
			}
		}
		slices.SortFunc(rows, func(a, b core.Call) int { return a.Index - b.Index })
		msgs = append(msgs, exchange(resp, rows)...)
	}
	return msgs, nil
}

// exchange is one reply of the model with one result for each of its calls, in order.
func exchange(resp model.Response, rows []core.Call) []model.Message {
	if len(resp.Calls) == 0 && strings.TrimSpace(resp.Text) == "" {
		return nil
	}
	reply := model.Message{Role: model.RoleAssistant, Text: resp.Text, Raw: resp.Raw, Provider: resp.Provider, Calls: slices.Clone(resp.Calls)}
	msgs := []model.Message{reply}
	for i, c := range resp.Calls {
		var res core.Result
		if i < len(rows) {
			reply.Calls[i].ID = rows[i].Provider
			res = core.ResultInterrupted(rows[i])
			if rows[i].Result != nil {
				res = *rows[i].Result
			}
		}
		msgs = append(msgs, model.Message{Role: model.RoleTool, Result: &model.Result{
			CallID: reply.Calls[i].ID, Name: c.Name, Content: res.Text(), IsError: res.Outcome == core.OutcomeError,
		}})
	}
	return msgs
}
