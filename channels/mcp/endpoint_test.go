package mcp_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/channels/mcp"
	"parley/core"
	"parley/core/turn"
)

func TestAMessageAndItsReply(t *testing.T) {
	t.Parallel()
	generations(t, func(t *testing.T, version string) {
		w := newWorld(t)
		s := w.dial("bound", version, nil)
		if got := s.InitializeResult().ProtocolVersion; got != version {
			t.Errorf("protocol version %s, want %s", got, version)
		}
		text, o := w.send(s, "hello")
		if text != "you said hello" || o.Status != core.RunCompleted || o.Conversation != "mcp:bound/default" || o.IsError {
			t.Errorf("%q %+v", text, o)
		}
		run, err := w.e.RunByID(t.Context(), o.RunID)
		if err != nil || run.Asker() != ana {
			t.Errorf("asker %q, %v", run.Asker(), err)
		}
	})
}

func TestAnApprovalReachesABoundClientOnly(t *testing.T) {
	t.Parallel()
	generations(t, func(t *testing.T, version string) {
		for token, reaches := range map[string]bool{"bound": true, "asks": false, "loose": false} {
			t.Run(token, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				var asked []string
				s := w.dial(token, version, func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					asked = append(asked, r.Params.Message)
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
				})
				text, o := w.send(s, "db__drop")
				in := w.input()
				if !reaches {
					if len(asked) > 0 || !in.Pending() || o.Status != core.RunInputRequired || len(w.effects()) > 0 || !strings.Contains(text, "an approval for db__drop") || strings.Contains(text, "staging") {
						t.Errorf("asked %q; input %s; %q %+v; ran %q", asked, in.State, text, o, w.effects())
					}
					return
				}
				if len(asked) != 1 || !strings.Contains(asked[0], "db__drop") || !strings.Contains(asked[0], `"staging"`) || !strings.Contains(asked[0], in.Hash) {
					t.Errorf("asked %q", asked)
				}
				if strings.Contains(asked[0], "hunter2222") || !strings.Contains(asked[0], "masked") {
					t.Errorf("the secret is not masked: %q", asked[0])
				}
				if in.State != core.InputAccepted || in.Settled.By != ana || in.Settled.Via != "mcp" {
					t.Errorf("input %s %+v", in.State, in.Settled)
				}
				if o.Status != core.RunCompleted || !strings.Contains(text, "dropped staging") || !slices.Equal(w.effects(), []string{"drop staging for api:ana"}) {
					t.Errorf("%q %+v; ran %q", text, o, w.effects())
				}
			})
		}
	})
}

// PR-17, PR-18: what a client does not say is nobody's answer; a decline is one.
func TestOnlyAnAnswerAnswers(t *testing.T) {
	t.Parallel()
	broken := func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return nil, errors.New("no screen")
	}
	cases := []struct {
		name    string
		message string
		f       asker
		want    core.InputState
	}{
		{"cannot ask", "db__drop", nil, core.InputPending},
		{"fails", "db__drop", broken, core.InputPending},
		{"cancels", "db__drop", says("cancel", nil), core.InputCancelled},
		{"cancels and says yes", "db__drop", says("cancel", map[string]any{"approve": true}), core.InputCancelled},
		{"says nothing known", "db__drop", says("maybe", map[string]any{"approve": true}), core.InputPending},
		{"accepts without a word", "db__drop", says("accept", nil), core.InputPending},
		{"accepts with false", "db__drop", says("accept", map[string]any{"approve": false}), core.InputDeclined},
		{"accepts with a text", "db__drop", says("accept", map[string]any{"approve": "true"}), core.InputPending},
		{"declines", "db__drop", says("decline", nil), core.InputDeclined},
		{"form declined", "site__form", says("decline", nil), core.InputDeclined},
		{"form cancelled", "site__form", says("cancel", nil), core.InputCancelled},
		{"confirmation cancelled", "site__confirm", says("cancel", nil), core.InputCancelled},
		{"step cancelled", "site__login", says("cancel", nil), core.InputCancelled},
		{"form fits", "site__form", says("accept", map[string]any{"size": 3}), core.InputAccepted},
		{"form too large", "site__form", says("accept", map[string]any{"size": 30}), core.InputPending},
		{"form against its pattern", "site__form", says("accept", map[string]any{"size": 3, "code": "abc"}), core.InputPending},
		{"form without what is required", "site__form", says("accept", map[string]any{}), core.InputPending},
		{"confirmed", "site__confirm", says("accept", map[string]any{"confirm": true}), core.InputAccepted},
		{"not confirmed", "site__confirm", says("accept", map[string]any{"confirm": false}), core.InputDeclined},
		{"confirmed without a word", "site__confirm", says("accept", map[string]any{}), core.InputPending},
		{"a secret is not asked for", "site__secret", says("accept", map[string]any{"pin": "1234"}), core.InputPending},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			generations(t, func(t *testing.T, version string) {
				w := newWorld(t)
				o := w.try(w.dial("bound", version, c.f), c.message)
				in := w.input()
				if in.State != c.want {
					t.Errorf("the input is %s, want %s (%+v)", in.State, c.want, o)
				}
				if in.Settled != nil && (in.Settled.By != ana || in.Settled.Via != "mcp") {
					t.Errorf("settled by %q via %q", in.Settled.By, in.Settled.Via)
				}
				if c.message == "db__drop" && len(w.effects()) > 0 {
					t.Errorf("it ran: %q", w.effects())
				}
				if !in.Pending() {
					return
				}
				// It waits on for every other door.
				if in, err := w.e.Settle(t.Context(), turn.Settlement{Input: in.ID, From: ana, Via: "rest", Submission: core.Submission{Action: core.ActionDecline}, Step: -1}); err != nil || in.State != core.InputDeclined {
					t.Errorf("settled elsewhere: %s %v", in.State, err)
				}
			})
		})
	}
}

// try is send for a client of today whose handler may fail: then its library gives up the call.
func (w *world) try(s *sdk.ClientSession, text string) outcome {
	w.t.Helper()
	res, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: "send_message", Arguments: map[string]any{"text": text}})
	if err != nil {
		return outcome{Notes: []string{err.Error()}}
	}
	_, o := read(w.t, res)
	return o
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	generations(t, func(t *testing.T, version string) {
		for name, c := range map[string]struct {
			content map[string]any
			want    core.InputState
			says    string
		}{
			"labels":        {map[string]any{"q1": "Blue", "q2": []any{"A"}}, core.InputAccepted, "Blue"},
			"own words":     {map[string]any{"q1": "Red", "q2": []any{"B"}, "q2_text": "mauve"}, core.InputAccepted, "mauve"},
			"one left out":  {map[string]any{"q2": []any{"B"}}, core.InputPending, ""},
			"no such label": {map[string]any{"q1": "Green", "q2": []any{"B"}}, core.InputPending, ""},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				s := w.dial("loose", version, says("accept", c.content))
				o := w.try(s, "ask_user")
				in := w.input()
				if in.State != c.want {
					t.Fatalf("the input is %s, want %s (%+v)", in.State, c.want, o)
				}
				if c.want == core.InputAccepted && in.Settled.By != "mcp:loose" {
					t.Errorf("settled by %s", in.Settled.By)
				}
				run, err := w.e.RunByID(t.Context(), in.Run)
				if err != nil || !strings.Contains(run.Text, c.says) {
					t.Errorf("the agent says %q, %v", run.Text, err)
				}
			})
		}
	})
}

// A step on a web page is opened, then said to be done; opening it is no answer.
func TestURLStep(t *testing.T) {
	t.Parallel()
	generations(t, func(t *testing.T, version string) {
		for name, c := range map[string]struct {
			done any
			want core.InputState
		}{"done": {true, core.InputAccepted}, "not yet": {false, core.InputPending}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				var modes []string
				s := w.dial("bound", version, func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					modes = append(modes, r.Params.Mode)
					if r.Params.Mode == "url" {
						if r.Params.URL != "https://login.example.com/x?state=1" {
							t.Errorf("url %q", r.Params.URL)
						}
						return &sdk.ElicitResult{Action: "accept"}, nil
					}
					if strings.Contains(r.Params.Message, "https://") {
						t.Errorf("a form shows a link: %q", r.Params.Message)
					}
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"done": c.done}}, nil
				})
				o := w.try(s, "site__login")
				if in := w.input(); in.State != c.want || !slices.Equal(modes, []string{"url", "form"}) {
					t.Errorf("the input is %s, want %s; asked %q; %+v", in.State, c.want, modes, o)
				}
			})
		}
	})
}

func TestAURLStepNeedsAClientThatOpensPages(t *testing.T) {
	t.Parallel()
	generations(t, func(t *testing.T, version string) {
		w := newWorld(t)
		s := w.dialWith("bound", version, &sdk.ClientOptions{
			ElicitationHandler: says("accept", map[string]any{"done": true}),
			Capabilities:       &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}}},
		})
		if o := w.try(s, "site__login"); o.Status != core.RunInputRequired || !w.input().Pending() {
			t.Errorf("%+v", o)
		}
	})
}

// All of a batch are asked, and run once all are answered.
func TestSeveralInputs(t *testing.T) {
	t.Parallel()
	generations(t, func(t *testing.T, version string) {
		w := newWorld(t)
		s := w.dial("bound", version, func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			content := map[string]any{"approve": true}
			if !strings.Contains(r.Params.Message, "db__drop") {
				content = map[string]any{"q1": "Red", "q2": []any{}}
			}
			return &sdk.ElicitResult{Action: "accept", Content: content}, nil
		})
		text, o := w.send(s, "db__drop ask_user")
		if o.Status != core.RunCompleted || len(w.effects()) != 1 {
			t.Errorf("%q %+v; ran %q", text, o, w.effects())
		}
	})
}

func TestWhoIsNotLetIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		token, agent string
		want         int
	}{
		"no token": {"", "ops", 401}, "unknown token": {"guess", "ops", 401},
		"another's agent": {"foreign", "ops", 404}, "no such agent": {"bound", "nobody", 404},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequest(http.MethodPost, w.url+"/v1/agents/"+c.agent+"/mcp", strings.NewReader(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			if c.token != "" {
				r.Header.Set("Authorization", "Bearer "+c.token)
			}
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != c.want || (c.want == 401) != (res.Header.Get("WWW-Authenticate") != "") {
				t.Errorf("status %d, want %d; %v", res.StatusCode, c.want, res.Header)
			}
		})
	}
}

func TestASessionBelongsToItsToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.dial("bound", old, nil)
	r, err := http.NewRequest(http.MethodPost, w.url+"/v1/agents/ops/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"Authorization": "Bearer second", "Mcp-Session-Id": s.ID(), "Content-Type": "application/json", "Accept": "application/json, text/event-stream"} {
		r.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if s.ID() == "" || res.StatusCode != http.StatusForbidden {
		t.Errorf("session %q: status %d, want 403", s.ID(), res.StatusCode)
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.dial("bound", now, nil)
	for name, args := range map[string]map[string]any{
		"no text": {}, "only spaces": {"text": " "}, "a place": {"text": "x", "conversation": "a/b"}, "a stranger": {"text": "x", "from": "api:ben"},
	} {
		res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "send_message", Arguments: args})
		if err != nil || !res.IsError {
			t.Errorf("%s: %+v %v", name, res, err)
		}
	}
	if evs, err := w.e.Events(t.Context(), "", 0, 10); err != nil || len(evs) > 0 {
		t.Errorf("something happened: %v %v", evs, err)
	}
}

// The same message with the same key is one message.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.dial("bound", now, nil)
	var runs []core.RunID
	for range 2 {
		res, err := s.CallTool(t.Context(), &sdk.CallToolParams{
			Meta: sdk.Meta{"parley/idempotencyKey": "k"}, Name: "send_message", Arguments: map[string]any{"text": "hello"},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, o := read(t, res)
		runs = append(runs, o.RunID)
	}
	if runs[0] == "" || runs[0] != runs[1] {
		t.Errorf("runs %q", runs)
	}
}

// What an agent does not have is not declared, and not answered with an empty list.
func TestOnlyTools(t *testing.T) {
	t.Parallel()
	generations(t, func(t *testing.T, version string) {
		w := newWorld(t)
		s := w.dial("bound", version, nil)
		if c := s.InitializeResult().Capabilities; c.Tools == nil || c.Tools.ListChanged || c.Prompts != nil || c.Resources != nil || c.Completions != nil {
			t.Errorf("%+v", c)
		}
		if _, err := s.ListPrompts(t.Context(), nil); err == nil {
			t.Error("prompts are listed")
		}
		if _, err := s.ListResources(t.Context(), nil); err == nil {
			t.Error("resources are listed")
		}
	})
}

// A client of today is asked in the order of the batch, whatever the names of its inputs.
func TestAskedInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.byHand("bound")
	p := &sdk.CallToolParams{Name: "send_message", Arguments: map[string]any{"text": "site__confirm db__drop site__form ask_user"}}
	res := w.call(s, p)
	waiting, err := w.e.Waiting(t.Context(), core.NewConversation("ops", mcp.Channel, "bound/default"))
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(res.InputRequests))
	if len(names) != len(waiting) || len(names) < 2 {
		t.Fatalf("asked %q of %d", names, len(waiting))
	}
	for i, in := range waiting {
		if !strings.HasSuffix(names[i], string(in.ID)) {
			t.Errorf("%d. is %s, want %s", i+1, names[i], in.ID)
		}
	}
}
