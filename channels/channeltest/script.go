package channeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"parley/core"
	"parley/core/model"
	"parley/core/tool"
)

// scriptModel proposes a call for each word it knows, and reports the results of its calls.
type scriptModel struct{}

var script = map[string][]model.Call{
	"drop staging": {{Name: "db__drop", Arguments: json.RawMessage(`{"name":"staging"}`)}},
	"drop both":    {{Name: "db__drop", Arguments: json.RawMessage(`{"name":"one"}`)}, {Name: "db__drop", Arguments: json.RawMessage(`{"name":"two"}`)}},
	"invite":       {{Name: "team__invite", Arguments: json.RawMessage(`{}`)}},
	"connect":      {{Name: "cal__connect", Arguments: json.RawMessage(`{}`)}},
	"name it":      {{Name: "ask_user", Arguments: json.RawMessage(`{"questions":[{"id":"name","prompt":"What is it called?","freeText":true}]}`)}},
	"plan": {{Name: "ask_user", Arguments: json.RawMessage(`{"questions":[
		{"id":"when","prompt":"When?","options":[{"value":"mon","label":"Monday"},{"value":"tue","label":"Tuesday"}]},
		{"id":"what","prompt":"What goes in?","multi":true,"options":[{"value":"api","label":"The API"},{"value":"web","label":"The site"},{"value":"docs","label":"The manual"}]}]}`)}},
}

func (scriptModel) Generate(_ context.Context, req model.Request) (model.Response, error) {
	if err := model.Valid(req.Messages); err != nil {
		return model.Response{}, &model.Error{Sentence: "the history is not valid", Err: err}
	}
	var said string
	var results []string
	for _, m := range req.Messages {
		switch m.Role {
		case model.RoleUser:
			said, results = m.Text, nil
		case model.RoleTool:
			results = append(results, m.Result.Content)
		}
	}
	for text, calls := range script {
		if len(results) == 0 && strings.HasSuffix(strings.TrimSpace(said), text) {
			return model.Response{Text: "Let me see.", Calls: calls, Stop: model.StopTools}, nil
		}
	}
	if len(results) > 0 {
		return model.Response{Text: "Results: " + strings.Join(results, " | "), Stop: model.StopEnd}, nil
	}
	return model.Response{Text: "Heard: " + said, Stop: model.StopEnd}, nil
}

// Effects are what tools really did; they outlive the program.
type Effects struct {
	mu   sync.Mutex
	done []string
}

func (e *Effects) add(format string, args ...any) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done = append(e.done, fmt.Sprintf(format, args...))
	return "done"
}

// Done lists them in order.
func (e *Effects) Done() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.done...)
}

// scriptTool is a tool that is one function.
type scriptTool struct {
	spec tool.Spec
	call func(*tool.Context, json.RawMessage) (string, error)
}

func (t scriptTool) Spec() tool.Spec { return t.spec }

func (t scriptTool) Call(ctx *tool.Context, args json.RawMessage) (string, error) {
	return t.call(ctx, args)
}

// kit is the tools of the script, on those effects.
func kit(e *Effects) map[string]tool.Tool {
	const object = `{"type":"object","properties":{"name":{"type":"string"}}}`
	always := func(json.RawMessage) (tool.Verdict, error) { return tool.Verdict{Need: true, Rule: "always"}, nil }
	tools := []scriptTool{
		{tool.Spec{Source: "db", Name: "drop", Type: core.ToolAction, Policy: always}, func(_ *tool.Context, args json.RawMessage) (string, error) {
			var in struct{ Name string }
			if err := json.Unmarshal(args, &in); err != nil {
				return "", err
			}
			return e.add("drop %s", in.Name), nil
		}},
		{tool.Spec{Source: "team", Name: "invite", Type: core.ToolAction}, func(ctx *tool.Context, _ json.RawMessage) (string, error) {
			var in struct {
				Email string
				Days  int
			}
			const form = `{"type":"object","properties":{"email":{"type":"string","format":"email"},"days":{"type":"integer","minimum":1}},"required":["email","days"]}`
			if err := ctx.Ask("Who is invited?", json.RawMessage(form), &in); err != nil {
				return "", err
			}
			return e.add("invite %s for %d", in.Email, in.Days), nil
		}},
		{tool.Spec{Source: "cal", Name: "connect", Type: core.ToolAction}, func(ctx *tool.Context, _ json.RawMessage) (string, error) {
			if err := ctx.RequireURL("https://calendar.example.com/connect", "Let me into your calendar."); err != nil {
				return "", err
			}
			return e.add("connect"), nil
		}},
	}
	out := map[string]tool.Tool{}
	for _, t := range tools {
		t.spec.Schema = json.RawMessage(object)
		out[t.spec.FullName()] = t
	}
	return out
}

// toolSet is a set of tools as the engine sees it.
type toolSet map[string]tool.Tool

func (s toolSet) List() (out []tool.Spec) {
	for _, name := range []string{"db__drop", "team__invite", "cal__connect"} {
		out = append(out, s[name].Spec())
	}
	return out
}

func (s toolSet) Lookup(name string) (tool.Tool, bool) {
	t, ok := s[name]
	return t, ok
}
