package mcp_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core"
	"parley/core/turn"
)

// PR-18: a form with required fields is declined, then a fresh one cancelled, both without content.
func TestDeclineThenCancel(t *testing.T) {
	t.Parallel()
	generations(t, func(t *testing.T, version string) {
		w := newWorld(t)
		actions := []string{"decline", "cancel"}
		s := w.dial("asks", version, func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			act := actions[0]
			actions = actions[1:]
			return &sdk.ElicitResult{Action: act}, nil
		})
		if _, o := w.send(s, "site__form"); o.Status != core.RunCompleted || !slices.Equal(o.Notes, []string{string(w.input().ID) + " is declined"}) {
			t.Errorf("declined: %+v", o)
		}
		text, o := w.send(s, "site__form")
		if o.Status != core.RunCancelled || o.IsError || !strings.Contains(text, "cancelled") || len(o.Waiting) > 0 {
			t.Errorf("cancelled: %q %+v", text, o)
		}
		var states []core.InputState
		for _, in := range w.inputs() {
			states = append(states, in.State)
			if in.Settled == nil || in.Settled.By != ana || in.Settled.Via != "mcp" {
				t.Errorf("%s by %+v", in.State, in.Settled)
			}
		}
		if !slices.Equal(states, []core.InputState{core.InputDeclined, core.InputCancelled}) {
			t.Errorf("recorded as %q", states)
		}
	})
}

// A cancel of one of a batch ends the run: what was approved with it does not run.
func TestCancelOneOfABatch(t *testing.T) {
	t.Parallel()
	generations(t, func(t *testing.T, version string) {
		w := newWorld(t)
		s := w.dial("bound", version, func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			if strings.Contains(r.Params.Message, "db__drop") {
				return yes(), nil
			}
			return &sdk.ElicitResult{Action: "cancel"}, nil
		})
		if text, o := w.send(s, "db__drop ask_user"); o.Status != core.RunCancelled || len(w.effects()) > 0 {
			t.Errorf("%q %+v; ran %q", text, o, w.effects())
		}
		for _, in := range w.inputs() {
			if in.Pending() {
				t.Errorf("%s waits on", in.ID)
			}
		}
	})
}

// A client that stands for nobody cancels nothing of anybody's.
func TestCancelForNobody(t *testing.T) {
	t.Parallel()
	generations(t, func(t *testing.T, version string) {
		w := newWorld(t)
		if o := w.try(w.dial("loose", version, says("cancel", nil)), "site__form"); o.Status != core.RunInputRequired || !w.input().Pending() {
			t.Errorf("%+v; the input is %s", o, w.input().State)
		}
	})
}

// A cancel that comes after the input was answered at another door changes nothing.
func TestCancelTooLate(t *testing.T) {
	t.Parallel()
	generations(t, func(t *testing.T, version string) {
		w := newWorld(t)
		s := w.dial("bound", version, func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			_, err := w.e.Settle(ctx, turn.Settlement{Input: w.input().ID, From: ana, Via: "rest", Submission: core.Submission{Action: core.ActionAccept}, Step: -1})
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			return &sdk.ElicitResult{Action: "cancel"}, nil
		})
		if _, o := w.send(s, "db__drop"); o.Status != core.RunCompleted || w.input().State != core.InputAccepted || len(w.effects()) != 1 {
			t.Errorf("%+v; the input is %s; ran %q", o, w.input().State, w.effects())
		}
	})
}
