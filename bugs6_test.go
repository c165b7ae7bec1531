package parley

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/core"
	"parley/core/model"
	"parley/core/model/scripted"
	"parley/core/turn"
)

// family is a program whose agent "ops" asks two others at once; each drops a database of its own. It can be
// closed and opened again on its file.
type family struct {
	t    *testing.T
	path string
	o    Options
	rt   *Runtime
	ops  *Agent

	mu      sync.Mutex
	dropped []string
}

func newFamily(t *testing.T, o Options) *family {
	f := &family{t: t, path: filepath.Join(t.TempDir(), "agents.db"), o: o}
	f.open()
	t.Cleanup(func() { _ = f.rt.Close() })
	return f
}

func (f *family) reopen() {
	f.t.Helper()
	if err := f.rt.Close(); err != nil {
		f.t.Fatal(err)
	}
	f.open()
}

func (f *family) open() {
	f.t.Helper()
	rt, err := Open(f.path, f.o)
	if err != nil {
		f.t.Fatal(err)
	}
	f.rt = rt
	drop := NewTool("db", "drop", "Drop a database", func(_ *Context, in dropArgs) (string, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.dropped = append(f.dropped, in.Name)
		return "dropped " + in.Name, nil
	}, NeedsApproval())
	once := func(calls ...model.Call) Model {
		return scripted.Func(func(r model.Request) (model.Response, error) {
			if last := r.Messages[len(r.Messages)-1]; last.Result != nil {
				return model.Response{Text: last.Result.Content, Stop: model.StopEnd}, nil
			}
			return model.Response{Calls: calls, Stop: model.StopTools}, nil
		})
	}
	call := func(name, args string) model.Call { return model.Call{Name: name, Arguments: json.RawMessage(args)} }
	for _, d := range []Definition{
		{ID: "first", Tools: []Tool{drop}, Model: once(call("db__drop", `{"name":"one"}`))},
		{ID: "second", Tools: []Tool{drop}, Approvers: []string{"ben"}, ApproversOnly: true, Model: once(call("db__drop", `{"name":"two"}`))},
		{ID: "ops", Agents: []string{"first", "second"}, Model: once(call("agent__first", `{"message":"x"}`), call("agent__second", `{"message":"y"}`))},
	} {
		a, err := rt.Agent(d)
		if err != nil {
			f.t.Fatal(err)
		}
		f.ops = a
	}
}

// TestSA05AFamilyInGo: each sub-agent's input is answered by its own people, in either order, over a restart.
func TestSA05AFamilyInGo(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"one", "two"} {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			f := newFamily(t, Options{})
			run, err := f.ops.Run(t.Context(), "go", User("alice"))
			if err != nil || len(run.Inputs) != 2 {
				t.Fatalf("%+v, %v", run, err)
			}
			who := map[string]string{"one": "alice", "two": "ben"}
			at := slices.IndexFunc(run.Inputs, func(in Input) bool { return strings.Contains(string(in.Arguments), first) })
			var no *AnswerError
			for _, stranger := range []string{"mallory", map[string]string{"one": "ben", "two": "alice"}[first], "agent:ops"} {
				if _, err := run.Inputs[at].Answer(t.Context(), true, From(stranger)); !errors.As(err, &no) || no.Code != core.AnswerForbidden {
					t.Errorf("%s: %v", stranger, err)
				}
			}
			if run, err = run.Inputs[at].Answer(t.Context(), true, From(who[first])); err != nil || len(run.Inputs) != 1 || len(f.dropped) != 0 {
				t.Fatalf("%+v, %v, dropped %q", run, err, f.dropped)
			}
			f.reopen()
			waiting, err := f.ops.PendingInputs(t.Context())
			if err != nil || len(waiting) != 1 {
				t.Fatalf("%d wait, %v", len(waiting), err)
			}
			second := map[string]string{"one": "two", "two": "one"}[first]
			if run, err = waiting[0].Answer(t.Context(), true, From(who[second])); err != nil || run.Status != Completed {
				t.Fatalf("%+v, %v", run, err)
			}
			if !slices.Equal(f.dropped, []string{"one", "two"}) {
				t.Errorf("dropped %q", f.dropped)
			}
		})
	}
}

// TestCC01AnOnInputThatWasLate: what another answered while it thought stands, and the run goes on with that.
func TestCC01AnOnInputThatWasLate(t *testing.T) {
	t.Parallel()
	var a *Agent
	a = openDropper(t, Options{OnInput: func(ctx context.Context, in Input) *Reply {
		_, err := a.rt.engine.Settle(ctx, turn.Settlement{Input: in.ID, From: "local:alice", Via: "rest", Step: -1, Submission: core.Submission{Action: core.ActionDecline}})
		if err != nil {
			t.Error(err)
		}
		return &Reply{Value: true, From: "alice"}
	}})
	run, err := a.Run(t.Context(), "drop it", User("alice"))
	if err != nil || run.Status != Completed || !strings.Contains(run.Text, "Declined") {
		t.Errorf("%+v, %v", run, err)
	}
}

// TestEX02AnAnswerInGoAfterTheDeadline is refused with how it ended, also where the program was closed meanwhile.
func TestEX02AnAnswerInGoAfterTheDeadline(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	ahead := time.Duration(0)
	f := newFamily(t, Options{Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Add(ahead)
	}})
	run, err := f.ops.Run(t.Context(), "go", User("alice"))
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	ahead = 8 * 24 * time.Hour
	mu.Unlock()
	var no *AnswerError
	if _, err := run.Inputs[0].Answer(t.Context(), true, From("alice")); !errors.As(err, &no) || no.Code != core.AnswerConflict || no.Current.State != core.InputExpired {
		t.Errorf("%v", err)
	}
	f.reopen()
	if waiting, err := f.rt.Inbox(t.Context(), ""); err != nil || len(waiting) != 0 || len(f.dropped) != 0 {
		t.Errorf("%d wait, %v, dropped %q", len(waiting), err, f.dropped)
	}
}
