package parley_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"parley"
	"parley/core"
	"parley/core/model"
	"parley/core/model/scripted"
)

// drop is a tool that each call of must be approved.
func drop() parley.Tool {
	type args struct {
		Name string `json:"name"`
	}
	return parley.NewTool("db", "drop", "Drop a database", func(ctx *parley.Context, in args) (string, error) {
		return "dropped " + in.Name + ", approved by " + string(ctx.Identity().Approval.By), nil
	}, parley.NeedsApproval())
}

// calling is a model that calls one tool and then says what it returned. Yours talks to a service.
func calling(tool, arguments string) parley.Model {
	return scripted.Func(func(r model.Request) (model.Response, error) {
		if last := r.Messages[len(r.Messages)-1]; last.Result != nil {
			var waited struct{ Content string }
			if json.Unmarshal([]byte(last.Result.Content), &waited) != nil {
				waited.Content = last.Result.Content
			}
			return model.Response{Text: waited.Content, Stop: model.StopEnd}, nil
		}
		call := model.Call{ID: "1", Name: tool, Arguments: json.RawMessage(arguments)}
		return model.Response{Calls: []model.Call{call}, Stop: model.StopTools}, nil
	})
}

// open opens a runtime on a file that goes away afterwards, with an agent.
func open(d parley.Definition, o parley.Options) (*parley.Agent, *parley.Runtime, func()) {
	dir, err := os.MkdirTemp("", "parley")
	if err != nil {
		panic(err)
	}
	rt, err := parley.Open(filepath.Join(dir, "agents.db"), o)
	if err != nil {
		panic(err)
	}
	d.ID = "ops"
	agent, err := rt.Agent(d)
	if err != nil {
		panic(err)
	}
	return agent, rt, func() { rt.Close(); os.RemoveAll(dir) }
}

func dropper() parley.Definition {
	return parley.Definition{Model: calling("db__drop", `{"name":"staging"}`), Tools: []parley.Tool{drop()}}
}

// A run stops when it needs a person and goes on with the answer.
func Example() {
	agent, _, done := open(dropper(), parley.Options{})
	defer done()
	ctx := context.Background()

	run, err := agent.Run(ctx, "Delete the staging database", parley.User("alice"))
	for err == nil && run.Status == parley.InputRequired {
		in := run.Inputs[0]
		fmt.Println(in.Kind, in.Tool, string(in.Arguments))
		run, err = in.Answer(ctx, true, parley.From("alice"))
	}
	if err != nil {
		panic(err)
	}
	fmt.Println(run.Text)
	// Output:
	// approval drop {"name":"staging"}
	// dropped staging, approved by local:alice
}

func ExampleInput_Answer() {
	agent, _, done := open(dropper(), parley.Options{})
	defer done()
	ctx := context.Background()
	run, _ := agent.Run(ctx, "Delete it", parley.User("alice"))
	in := run.Inputs[0]

	var no *core.AnswerError
	_, err := in.Answer(ctx, true, parley.From("mallory"))
	fmt.Println(errors.As(err, &no), no.Code)
	_, err = in.Answer(ctx, true)
	fmt.Println(errors.As(err, &no), no.Code)
	run, _ = in.Answer(ctx, true, parley.From("alice"))
	fmt.Println(run.Status)
	_, err = in.Answer(ctx, false, parley.From("alice"))
	fmt.Println(errors.As(err, &no), no.Code, no.Current.State)
	// Output:
	// true forbidden
	// true from_required
	// completed
	// true conflict accepted
}

func ExampleInput_Decline() {
	agent, _, done := open(dropper(), parley.Options{})
	defer done()
	ctx := context.Background()
	run, _ := agent.Run(ctx, "Delete it", parley.User("alice"))
	run, _ = run.Inputs[0].Decline(ctx, parley.From("alice"), parley.Reason("not on a Friday"))
	fmt.Println(run.Text)
	// Output: Declined: the call did not run. Their reason: not on a Friday
}

func ExampleAgent_PendingInputs() {
	agent, rt, done := open(dropper(), parley.Options{})
	defer done()
	ctx := context.Background()
	agent.Run(ctx, "Delete it", parley.User("alice"))
	agent.Run(ctx, "Delete it", parley.User("bob"))

	waiting, _ := agent.PendingInputs(ctx)
	run, _ := waiting[0].Answer(ctx, true, parley.From("alice"))
	fmt.Println(len(waiting), run.Status)
	all, _ := rt.Inbox(ctx, parley.Pending)
	fmt.Println(len(all), all[0].Responders.Asker)
	// Output:
	// 2 completed
	// 1 local:bob
}

func ExampleAgent_Abort() {
	agent, _, done := open(dropper(), parley.Options{})
	defer done()
	ctx := context.Background()
	agent.Run(ctx, "Delete it", parley.User("alice"))
	found, _ := agent.Abort(ctx, parley.From("alice"))
	waiting, _ := agent.PendingInputs(ctx)
	fmt.Println(found, len(waiting))
	// Output: true 0
}

func ExampleOptions() {
	agent, _, done := open(dropper(), parley.Options{
		OnInput: func(_ context.Context, in parley.Input) *parley.Reply {
			return &parley.Reply{Value: in.Kind == parley.Approval, From: "alice"}
		},
	})
	defer done()
	run, _ := agent.Run(context.Background(), "Delete it", parley.User("alice"))
	fmt.Println(run.Status, run.Text)
	// Output: completed dropped staging, approved by local:alice
}

func ExampleNewTool() {
	type invitation struct {
		Email string `json:"email"`
	}
	invite := parley.NewTool("people", "invite", "Invite somebody", func(ctx *parley.Context, in invitation) (string, error) {
		ok, err := ctx.Confirm("Invite " + in.Email + "? They can read everything.")
		if err != nil || !ok {
			return "not invited", err
		}
		var form struct {
			Days int `json:"days"`
		}
		err = ctx.Ask("For how long?", json.RawMessage(`{"type":"object","properties":{"days":{"type":"integer","minimum":1}},"required":["days"]}`), &form)
		if err != nil {
			return "", err
		}
		if err := ctx.RequireURL("https://example.com/terms", "Accept the terms"); err != nil {
			return "", err
		}
		return fmt.Sprintf("invited %s for %d days", in.Email, form.Days), nil
	})
	agent, _, done := open(parley.Definition{Model: calling("people__invite", `{"email":"ada@example.com"}`), Tools: []parley.Tool{invite}}, parley.Options{})
	defer done()
	ctx := context.Background()
	run, err := agent.Run(ctx, "Invite Ada", parley.User("alice"))
	for _, answer := range []any{true, map[string]int{"days": 3}, true} {
		if err != nil {
			panic(err)
		}
		fmt.Println(run.Inputs[0].Kind, run.Inputs[0].Message)
		run, err = run.Inputs[0].Answer(ctx, answer, parley.From("alice"))
	}
	if err != nil {
		panic(err)
	}
	fmt.Println(run.Text)
	// Output:
	// form Invite ada@example.com? They can read everything.
	// form For how long?
	// url Accept the terms
	// invited ada@example.com for 3 days
}
