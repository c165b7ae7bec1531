package program

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"

	"parley/core"
	"parley/core/model"
	"parley/core/model/scripted"
)

//go:embed demo.script.json
var demoScript []byte

// scriptModel makes the model of a script; "" is the demo's.
func scriptModel(script string) (model.Model, error) {
	text := []byte(script)
	if script == "" {
		text = demoScript
	}
	m, err := scripted.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read the script of a scripted model: %w", err)
	}
	return plainResults{m}, nil
}

// plainResults shows a script the content of a result alone. A model also gets who answered, in JSON; a
// script that puts a result into a sentence wants neither.
type plainResults struct{ model.Model }

func (p plainResults) Generate(ctx context.Context, req model.Request) (model.Response, error) {
	req.Messages = slices.Clone(req.Messages)
	for i, m := range req.Messages {
		if m.Result == nil {
			continue
		}
		var told struct {
			Outcome core.Outcome `json:"outcome"`
			Content *string      `json:"content"`
		}
		if json.Unmarshal([]byte(m.Result.Content), &told) == nil && told.Outcome != "" && told.Content != nil {
			r := *m.Result
			r.Content = *told.Content
			req.Messages[i].Result = &r
		}
	}
	return p.Model.Generate(ctx, req)
}
