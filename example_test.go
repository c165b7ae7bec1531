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

	var no *parley.AnswerError
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

func ExampleRuntime_Inbox() {
	agent, rt, done := open(dropper(), parley.Options{})
	defer done()
	ctx := context.Background()
	agent.Run(ctx, "Delete it", parley.User("alice"))
	agent.Run(ctx, "Delete it", parley.User("bob"))

	// Whoever looks after all agents sees what waits, and answers for themselves alone.
	waiting, _ := rt.Inbox(ctx, parley.Pending)
	for _, in := range waiting {
		_, err := in.Decline(ctx, parley.From("bob"))
		fmt.Println(in.Agent, in.Tool, in.Responders.Asker, err == nil)
	}
	declined, _ := rt.Inbox(ctx, core.InputDeclined)
	fmt.Println(len(declined), declined[0].Settled.By)
	// Output:
	// ops drop local:alice false
	// ops drop local:bob true
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

// A tool decides by the arguments whether a person must approve the call.
func ExampleNeedsApprovalWhen() {
	type payment struct {
		Euros int `json:"euros"`
	}
	pay := parley.NewTool("bank", "pay", "Pay an invoice", func(ctx *parley.Context, in payment) (string, error) {
		who := ctx.Identity()
		return fmt.Sprintf("paid %d for %s, approved: %t, key: %t", in.Euros, who.Actor, who.Approval != nil, ctx.IdempotencyKey() != ""), nil
	}, parley.NeedsApprovalWhen(func(in payment) (bool, error) { return in.Euros > 100, nil }))
	for _, arguments := range []string{`{"euros":20}`, `{"euros":500}`} {
		agent, _, done := open(parley.Definition{Model: calling("bank__pay", arguments), Tools: []parley.Tool{pay}}, parley.Options{})
		run, _ := agent.Run(context.Background(), "Pay it", parley.User("alice"))
		for run.Status == parley.InputRequired {
			run, _ = run.Inputs[0].Answer(context.Background(), true, parley.From("alice"))
		}
		fmt.Println(run.Text)
		done()
	}
	// Output:
	// paid 20 for local:alice, approved: false, key: true
	// paid 500 for local:alice, approved: true, key: true
}

// A tool learns who declined its form or its step, and why.
func ExampleErrDeclined() {
	sign := parley.NewTool("legal", "sign", "Have a contract signed", func(ctx *parley.Context, _ struct{}) (string, error) {
		err := ctx.RequireURL("https://example.com/contract", "Sign the contract")
		var no *parley.ErrDeclined
		if errors.As(err, &no) {
			return fmt.Sprintf("not signed: %s says %q", no.By, no.Reason), nil
		}
		return "signed", err
	})
	agent, _, done := open(parley.Definition{Model: calling("legal__sign", `{}`), Tools: []parley.Tool{sign}}, parley.Options{})
	defer done()
	ctx := context.Background()
	run, _ := agent.Run(ctx, "Have it signed", parley.User("alice"))
	run, _ = run.Inputs[0].Decline(ctx, parley.From("alice"), parley.Reason("my lawyer is away"))
	fmt.Println(run.Text)
	// Output: not signed: local:alice says "my lawyer is away"
}
