package parley

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"parley/core"
	"parley/core/model"
	"parley/core/model/scripted"
	"parley/core/turn"
)

type dropArgs struct {
	Name string `json:"name"`
}

// openDropper is an agent whose every message drops the staging database, if alice approves.
func openDropper(t *testing.T, o Options) *Agent {
	t.Helper()
	rt, err := Open(filepath.Join(t.TempDir(), "agents.db"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	drop := NewTool("db", "drop", "Drop a database", func(_ *Context, in dropArgs) (string, error) { return "dropped " + in.Name, nil }, NeedsApproval())
	a, err := rt.Agent(Definition{ID: "ops", Tools: []Tool{drop}, Model: scripted.Func(func(r model.Request) (model.Response, error) {
		if last := r.Messages[len(r.Messages)-1]; last.Result != nil {
			return model.Response{Text: last.Result.Content, Stop: model.StopEnd}, nil
		}
		call := model.Call{ID: "1", Name: "db__drop", Arguments: json.RawMessage(`{"name":"staging"}`)}
		return model.Response{Calls: []model.Call{call}, Stop: model.StopTools}, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// edit is what a person types in a chat.
func edit(ctx context.Context, t *testing.T, in Input, text string) {
	t.Helper()
	if _, err := in.rt.engine.Settle(ctx, turn.Settlement{Input: in.ID, From: "local:alice", Via: "chat", Typed: text, Step: -1}); err != nil {
		t.Fatal(err)
	}
}

// TestAnEditedCallIsNotApprovedUnseen: an Input read before the edit approves nothing, one read after it does.
func TestAnEditedCallIsNotApprovedUnseen(t *testing.T) {
	t.Parallel()
	a, ctx := openDropper(t, Options{}), t.Context()
	run, err := a.Run(ctx, "drop it", User("alice"))
	if err != nil {
		t.Fatal(err)
	}
	stale := run.Inputs[0]
	edit(ctx, t, stale, "edit name=production")
	var no *core.AnswerError
	if _, err := stale.Answer(ctx, true, From("alice")); !errors.As(err, &no) || no.Code != core.AnswerConflict || no.Current.State != Pending {
		t.Fatalf("a stale approval: %v", err)
	}
	waiting, err := a.PendingInputs(ctx)
	if err != nil || len(waiting) != 1 || string(waiting[0].Arguments) != `{"name":"production"}` {
		t.Fatalf("%+v, %v", waiting, err)
	}
	if run, err = waiting[0].Answer(ctx, true, From("alice")); err != nil || !strings.Contains(run.Text, "dropped production") {
		t.Errorf("%+v, %v", run, err)
	}
}

// TestOnInputIsAskedAnewAfterAnEdit: what changed while it thought is put to it again.
func TestOnInputIsAskedAnewAfterAnEdit(t *testing.T) {
	t.Parallel()
	var seen []string
	a := openDropper(t, Options{OnInput: func(ctx context.Context, in Input) *Reply {
		seen = append(seen, string(in.Arguments))
		if len(seen) == 1 {
			edit(ctx, t, in, "edit name=production")
			return &Reply{Value: true, From: "alice"}
		}
		return &Reply{Value: false, From: "alice"}
	}})
	run, err := a.Run(t.Context(), "drop it", User("alice"))
	if err != nil || len(seen) != 2 || seen[1] != `{"name":"production"}` || run.Status != Completed || strings.Contains(run.Text, "dropped") {
		t.Errorf("%+v, %v; it saw %q", run, err, seen)
	}
}
