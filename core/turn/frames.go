package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"parley/core"
	"parley/core/model"
)

// said writes the events of steps that become durable: what the model said, and each call it made. They
// follow from the steps, so that a step and its event are in one commit.
func (a *act) said(run core.RunID, steps []core.Step) error {
	for _, s := range steps {
		switch name, rest, _ := strings.Cut(s.Name, ":"); {
		case name == "model":
			var r model.Response
			if err := json.Unmarshal(s.Data, &r); err != nil {
				return err
			}
			if strings.TrimSpace(r.Text) == "" {
				continue
			}
			if err := a.event(core.Event{Type: core.EventText, Run: run, Data: data(map[string]string{"text": r.Text})}); err != nil {
				return err
			}
		case strings.HasPrefix(s.Name, "persist:toolcall:"):
			call := core.CallID(strings.TrimPrefix(rest, "toolcall:"))
			if err := a.event(core.Event{Type: core.EventToolCall, Run: run, Call: call}); err != nil {
				return err
			}
		}
	}
	return nil
}

// CallOf finds a call of a run, with the further names that are masked when its arguments are shown.
func (e *Engine) CallOf(ctx context.Context, run core.RunID, id core.CallID) (call core.Call, redact []string, err error) {
	row, err := e.store.Run(ctx, run)
	if err != nil {
		return call, nil, err
	}
	err = e.store.View(ctx, row.Conversation, func(r Reader) error {
		calls, err := r.Calls(run)
		if i := slices.IndexFunc(calls, func(c core.Call) bool { return c.ID == id }); i >= 0 {
			call = calls[i]
		} else if err == nil {
			err = fmt.Errorf("call %s of run %s: %w", id, run, ErrNotFound)
		}
		return err
	})
	if err != nil {
		return call, nil, err
	}
	agent := row.Agent
	if agent == "" {
		agent = row.Conversation.Agent()
	}
	if a, ok := e.agents(agent); ok {
		redact = append(redact, a.Redact...)
		if t, ok := a.lookup(call.Tool); ok {
			redact = append(redact, core.SecretNames(t.Spec().Schema)...)
		}
	}
	return call, redact, nil
}
