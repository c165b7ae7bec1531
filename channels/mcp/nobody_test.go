package mcp_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/channels/mcp"
	"parley/core"
)

// TestATokenForNobodyStartsNothing: it is told what to set, no turn begins, and it is asked nothing.
func TestATokenForNobodyStartsNothing(t *testing.T) {
	t.Parallel()
	generations(t, func(t *testing.T, version string) {
		w := newWorld(t)
		asked := 0
		s := w.dial("mute", version, func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			asked++
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}, nil
		})
		for _, text := range []string{"hello", "site__confirm", "ask_user"} {
			said, o := w.send(s, text)
			if !o.IsError || !strings.Contains(said, "speaksFor") || !strings.Contains(said, "mcp:mute") {
				t.Errorf("%s: %q %+v", text, said, o)
			}
		}
		events, err := w.e.Events(t.Context(), "", 0, 100)
		if err != nil || len(events) > 0 || len(w.inputs()) > 0 || asked > 0 {
			t.Errorf("events %+v (%v), inputs %+v, asked %d times", events, err, w.inputs(), asked)
		}
	})
}

// TestWhoSpeaksForNobodyAnyMoreSettlesNothing: the token lost its person after it was asked.
func TestWhoSpeaksForNobodyAnyMoreSettlesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.dial("asks", now, func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.tokens["asks"] = mcp.Client{Name: "asks", Agents: []core.AgentID{"ops"}}
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}, nil
	})
	said, o := w.send(s, "site__confirm")
	if in := w.input(); !in.Pending() || !o.IsError || !strings.Contains(said, "speaks for nobody") {
		t.Errorf("the input is %s; %q %+v", in.State, said, o)
	}
}

// TestWhatDoesNotFitIsAskedThreeTimes, also where the client's own library refuses what its person entered, which
// ends a client of today but not the open call of an older one.
func TestWhatDoesNotFitIsAskedThreeTimes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		message string
		answers []map[string]any
		want    core.InputState
	}{
		"never":            {"site__form", []map[string]any{{"size": 30}, {"size": "x"}, {}}, core.InputPending},
		"the second time":  {"site__form", []map[string]any{{"size": 30}, {"size": 3}}, core.InputAccepted},
		"the third time":   {"site__confirm", []map[string]any{{}, {"confirm": "yes"}, {"confirm": true}}, core.InputAccepted},
		"approval, never":  {"db__drop", []map[string]any{{"approve": "true"}, {"approve": 1}, {}}, core.InputPending},
		"declined at last": {"db__drop", []map[string]any{{"approve": "true"}, {"approve": false}}, core.InputDeclined},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var mu sync.Mutex
			var asked []string
			s := w.dial("bound", old, func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, r.Params.Message)
				if len(asked) > len(c.answers) {
					return nil, errors.New("asked too often")
				}
				return &sdk.ElicitResult{Action: "accept", Content: c.answers[len(asked)-1]}, nil
			})
			_, o := w.send(s, c.message)
			if in := w.input(); in.State != c.want || len(asked) != len(c.answers) || len(w.effects()) > 0 {
				t.Fatalf("the input is %s, want %s; asked %d times: %q; ran %q; %+v", in.State, c.want, len(asked), asked, w.effects(), o)
			}
			for i, m := range asked {
				if strings.Contains(m, "That did not fit: ") != (i > 0) {
					t.Errorf("ask %d: %q", i+1, m)
				}
			}
			if c.want == core.InputPending && (len(o.Notes) != 1 || !strings.Contains(o.Notes[0], "does not fit")) {
				t.Errorf("notes %q", o.Notes)
			}
		})
	}
}

// TestOtherErrorsAreAskedOnce: they say nothing of what a person entered.
func TestOtherErrorsAreAskedOnce(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"internal":        &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "content does not match requested schema"},
		"params":          &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown mode"},
		"the person left": errors.New("no screen"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			asked := 0
			s := w.dial("bound", old, func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				asked++
				return nil, err
			})
			if _, o := w.send(s, "site__form"); asked != 1 || !w.input().Pending() || o.Status != core.RunInputRequired {
				t.Errorf("asked %d times; %+v", asked, o)
			}
		})
	}
}

// TestAQuestionIsAskedInItsOwnWords, each of a set.
func TestAQuestionIsAskedInItsOwnWords(t *testing.T) {
	t.Parallel()
	generations(t, func(t *testing.T, version string) {
		w := newWorld(t)
		var asked []string
		s := w.dial("bound", version, func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			asked = append(asked, r.Params.Message)
			return &sdk.ElicitResult{Action: "decline"}, nil
		})
		w.send(s, "ask_user")
		if want := "Ops asks:\n- Which?\n- Also?"; len(asked) != 1 || !strings.HasPrefix(asked[0], want) {
			t.Errorf("asked %q, want %q", asked, want)
		}
	})
}
