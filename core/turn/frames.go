package turn

import (
	"encoding/json"
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
