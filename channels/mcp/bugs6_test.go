package mcp_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core"
	"parley/core/turn"
)

// TestSA06AFamilyAtTheEndpoint: what two sub-agents and the agent itself ask is put to the client one by one; each
// answer settles its own and nothing else.
func TestSA06AFamilyAtTheEndpoint(t *testing.T) {
	t.Parallel()
	generations(t, func(t *testing.T, version string) {
		w := newWorld(t)
		var mu sync.Mutex
		n := 0
		s := w.dial("bound", version, func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			mu.Lock()
			defer mu.Unlock()
			n++
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": n != 2}}, nil
		})
		text, o := w.send(s, "agent__other db__drop agent__other")
		if o.Status != core.RunCompleted || n != 3 {
			t.Fatalf("asked %d times: %q %+v", n, text, o)
		}
		states := map[core.InputState]int{}
		for _, in := range w.inputs() {
			states[in.State]++
			if in.Settled.By != ana || in.Settled.Via != "mcp" {
				t.Errorf("settled by %s via %s", in.Settled.By, in.Settled.Via)
			}
		}
		if states[core.InputAccepted] != 2 || states[core.InputDeclined] != 1 || len(w.effects()) != 2 {
			t.Errorf("%v, ran %q", states, w.effects())
		}
	})
}

// TestPR17AFamilyPartlyAnswered: the client answers one and then no more: the others wait on for every other door, and
// nothing runs until they are answered there.
func TestPR17AFamilyPartlyAnswered(t *testing.T) {
	t.Parallel()
	generations(t, func(t *testing.T, version string) {
		w := newWorld(t)
		var mu sync.Mutex
		n := 0
		s := w.dial("bound", version, func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			mu.Lock()
			defer mu.Unlock()
			if n++; n == 1 {
				return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
			}
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": "yes"}}, nil // does not fit
		})
		o := w.try(s, "agent__other db__drop agent__other")
		if len(w.effects()) != 0 {
			t.Errorf("ran %q; %+v", w.effects(), o)
		}
		waiting := slices.DeleteFunc(w.inputs(), func(in core.Input) bool { return !in.Pending() })
		want := 2
		if version == now {
			want = 3 // all are asked in one round, which this client gives up
		}
		if len(waiting) != want {
			t.Fatalf("%d wait, want %d: %+v", len(waiting), want, o)
		}
		for _, in := range waiting {
			if _, err := w.e.Settle(t.Context(), turn.Settlement{Input: in.ID, From: ana, Via: "rest", Submission: core.Submission{Action: core.ActionAccept}, Step: -1}); err != nil {
				t.Fatal(err)
			}
		}
		run, err := w.e.RunByID(t.Context(), waiting[0].Run)
		for err == nil && run.Parent != "" {
			run, err = w.e.RunByID(t.Context(), run.Parent)
		}
		if err == nil {
			run, err = w.e.Stopped(t.Context(), run.ID)
		}
		if err != nil || run.Status != core.RunCompleted || len(w.effects()) != 3 {
			t.Errorf("%s (%v), ran %q", run.Status, err, w.effects())
		}
	})
}

// TestAU03WhoMayNotApproveHereIsNotAsked, a sub-agent's call no more than one of its own.
func TestAU03WhoMayNotApproveHereIsNotAsked(t *testing.T) {
	t.Parallel()
	generations(t, func(t *testing.T, version string) {
		for _, token := range []string{"asks", "loose"} {
			w := newWorld(t)
			asked := 0
			s := w.dial(token, version, func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				asked++
				return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
			})
			text, o := w.send(s, "agent__other")
			if asked != 0 || o.Status != core.RunInputRequired || len(w.effects()) != 0 || !w.input().Pending() {
				t.Errorf("%s was asked %d times: %q %+v", token, asked, text, o)
			}
			if !strings.Contains(text, "db__drop") {
				t.Errorf("it is not told what waits: %q", text)
			}
		}
	})
}
