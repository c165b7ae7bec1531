package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"parley/core/model"
)

// Open returns the model under test as a client of the server, with its key.
type Open func(t *testing.T, s *Server) model.Model

// Run checks a provider of the dialect: once with whole answers, once with streams.
func Run(t *testing.T, d Dialect, open Open) {
	for name, stream := range map[string]bool{"whole": false, "stream": true} {
		x := &suite{dialect: d, open: open, stream: stream}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x.run(t)
		})
	}
}

// suite is one run of the tests.
type suite struct {
	dialect Dialect
	open    Open
	stream  bool
}

func (x *suite) run(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"PR-01 each of two parallel calls has its result", x.endings},
		{"PR-03 superseded calls have results before the new message", x.superseded},
		{"PR-07 an approved call has one result", x.approved},
		{"PR-08 ask, approve, run, finish; ask, decline, finish", x.cycle},
		{"own message goes back verbatim", x.verbatim},
		{"ids are mended", x.ids},
		{"a history of another provider and of the bot itself", x.foreign},
		{"a long history", x.long},
		{"malformed arguments and unknown tools", x.malformed},
		{"pictures", x.pictures},
		{"stops", x.stops},
		{"failures", x.failures},
		{"a stopped request", x.stopped},
		{"a conversation that is not valid is not sent", x.invalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t)
		})
	}
	if x.stream {
		x.streams(t)
	}
}

// tools are what the suite offers.
var tools = []model.ToolSpec{
	{Name: "db__drop", Description: "Deletes a database.", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)},
	{Name: "clock__now"},
}

// drop and now are calls as the server sends them.
var (
	drop = Call{ID: "call_drop", Name: "db__drop", Arguments: `{"name":"staging"}`}
	now  = Call{ID: "call_now", Name: "clock__now", Arguments: `{}`}
)

func (x *suite) start(t *testing.T, script Script) (*Server, *Talk) {
	t.Helper()
	s := NewServerOf(t, x.dialect, script)
	k := &Talk{Model: x.open(t, s), Stream: x.stream, Request: model.Request{System: "Be brief.", Tools: tools}}
	k.Say("delete the staging database")
	return s, k
}

// noRefusals checks that every request was valid.
func noRefusals(t *testing.T, s *Server) {
	t.Helper()
	for _, r := range s.Refusals() {
		t.Errorf("the server refused a request: %s", r)
	}
}

func (x *suite) endings(t *testing.T) {
	for i, one := range Endings {
		two := Endings[(i+1)%len(Endings)]
		t.Run(one.Name+", "+two.Name, func(t *testing.T) {
			t.Parallel()
			s, k := x.start(t, InOrder(CallTools("On it.", drop, now), Say("Done.")))
			s.Verbatim = true
			resp := k.Next(t)
			if len(resp.Calls) != 2 || resp.Calls[0].Name != drop.Name || string(resp.Calls[0].Arguments) != drop.Arguments || resp.Text != "On it." {
				t.Fatalf("reply %+v", resp)
			}
			k.End(resp, one, two)
			if got := k.Next(t); got.Text != "Done." || got.Stop != model.StopEnd {
				t.Errorf("last reply %+v", got)
			}
			noRefusals(t, s)
			got := s.Requests()[1].Messages
			for j, e := range []Ending{one, two} {
				m := got[len(got)-2+j]
				if want := strings.ToValidUTF8(e.Content, "\uFFFD"); m.Role != "tool" || m.ToolCallID != []Call{drop, now}[j].ID || m.Content != want {
					t.Errorf("result %d is %+v, want %q", j, m, want)
				}
			}
		})
	}
}

func (x *suite) superseded(t *testing.T) {
	s, k := x.start(t, InOrder(CallTools("", drop, now), Say("Staging holds test data.")))
	k.End(k.Next(t), Ending{Content: "Not answered: the user sent a new message instead"})
	k.Say("what does it do?")
	k.Next(t)
	noRefusals(t, s)
	var roles []string
	for _, m := range s.Requests()[1].Messages {
		roles = append(roles, m.Role)
	}
	if got := strings.Join(roles, " "); got != "system user assistant tool tool user" {
		t.Errorf("sent %s", got)
	}
}

func (x *suite) approved(t *testing.T) {
	s, k := x.start(t, InOrder(CallTools("", drop), CallTools("", now), Say("Done.")))
	k.End(k.Next(t), Endings[0])
	k.End(k.Next(t), Endings[0])
	k.Next(t)
	noRefusals(t, s)
	results := map[string]int{}
	for _, m := range s.Requests()[2].Messages {
		if m.Role == "tool" {
			results[m.ToolCallID]++
		}
	}
	if len(results) != 2 || results[drop.ID] != 1 || results[now.ID] != 1 {
		t.Errorf("results by call: %v, want one each", results)
	}
}

func (x *suite) cycle(t *testing.T) {
	again := drop
	again.ID = "call_again"
	s, k := x.start(t, InOrder(CallTools("", drop), Say("Deleted."), CallTools("", again), Say("It stays.")))
	s.Verbatim = true
	for _, e := range Endings[:2] {
		k.End(k.Next(t), e)
		if got := k.Next(t); got.Text == "" {
			t.Errorf("after %s: empty reply", e.Name)
		}
		k.Say("and now delete production")
	}
	noRefusals(t, s)
	first := s.Requests()[0]
	if first.Messages[0].Role != "system" || first.Messages[0].Content != "Be brief." || len(first.Tools) != 2 || first.Tools[0].Description != tools[0].Description {
		t.Errorf("first request: %+v", first)
	}
}

func (x *suite) stopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, k := x.start(t, func(Request) Reply {
		cancel()
		return Hold(make(chan struct{}), Say("too late"))
	})
	_, err := k.Ask(t, ctx)
	var e *model.Error
	if !errors.As(err, &e) || e.Retry || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want an *Error without retry that wraps context.Canceled", err)
	}
}

func (x *suite) invalid(t *testing.T) {
	s, k := x.start(t, InOrder(CallTools("", drop, now), Say("not to be seen")))
	resp := k.Next(t)
	valid := k.Request.Messages
	result := func(c model.Call) model.Message {
		return model.Message{Role: model.RoleTool, Result: &model.Result{CallID: c.ID, Name: c.Name, Content: "done"}}
	}
	one, two := result(resp.Calls[0]), result(resp.Calls[1])
	for i, added := range [][]model.Message{{}, {one}, {two, one}, {one, one}, {one, two, two}, {{Role: model.RoleUser, Text: "hm?"}}} {
		k.Request.Messages = append(append([]model.Message(nil), valid...), added...)
		if e := k.Fails(t); e.Retry {
			t.Errorf("conversation %d: another try cannot help: %v", i, e)
		}
	}
	if n := len(s.Requests()) + len(s.Refusals()); n != 1 {
		t.Errorf("%d requests were sent, want only the first", n)
	}
}
