package core_test

import (
	"testing"
	"time"

	"parley/core"
)

// said reads a few words, whatever the input.
func said(_ core.Input, text string) core.Reading {
	switch text {
	case "yes":
		return core.Reading{Kind: core.ReadAnswer, Yes: true}
	case "ok":
		return core.Reading{Kind: core.ReadUnclear}
	case "cancel":
		return core.Reading{Kind: core.ReadCancel}
	case "details":
		return core.Reading{Kind: core.ReadCommand, Verb: core.VerbDetails}
	}
	return core.Reading{}
}

// waiting is a conversation in which an approval of ana's waits, its prompt at place 100.
func waiting() core.Scene {
	in := core.Input{
		ID: "i1", Conversation: "a|c|p", Kind: core.KindApproval, State: core.InputPending, Code: "K1",
		Responders: core.Responders{Audience: []core.PersonID{"x:ana", "x:ben"}, Asker: "x:ana"},
		Prompts:    []core.Prompt{{Conversation: "a|c|p", Messages: []string{"100"}, Order: 100}},
	}
	run := core.Run{ID: "r1", Status: core.RunInputRequired, Message: core.Message{From: "x:ana"}}
	return core.Scene{Now: time.Unix(1000, 0), Human: core.HumanInput{Approvers: []core.PersonID{"x:ben"}}, Run: &run, Live: &in, Pending: []core.Input{in}}
}

func TestRoute(t *testing.T) {
	t.Parallel()
	undelivered := func(s *core.Scene) { s.Live.Prompts = nil; s.Unsent = true }
	running := func(s *core.Scene) { s.Live, s.Pending, s.Run.Status = nil, nil, core.RunRunning }
	idle := func(s *core.Scene) { s.Live, s.Pending, s.Run = nil, nil, nil }
	same := func(*core.Scene) {}
	at := func(order uint64, who core.PersonID, text string) core.Message {
		return core.Message{From: who, Text: text, Order: order, Addressed: true}
	}
	for name, c := range map[string]struct {
		scene func(*core.Scene)
		m     core.Message
		do    core.Doing
		note  core.NoteCode
	}{
		"answer":                       {same, at(101, "x:ana", "yes"), core.DoAnswer, ""},
		"an approver's answer":         {same, at(101, "x:ben", "yes"), core.DoAnswer, ""},
		"command":                      {same, at(101, "x:ana", "details"), core.DoCommand, ""},
		"near miss":                    {same, at(101, "x:ana", "ok"), core.DoUnclear, ""},
		"cancel":                       {same, at(101, "x:ana", "cancel"), core.DoAbort, ""},
		"new message":                  {same, at(101, "x:ana", "why?"), core.DoSupersede, ""},
		"a stranger's yes":             {same, at(101, "x:cleo", "yes"), core.DoDrop, core.NoteNotAllowed},
		"a stranger's cancel":          {same, at(101, "x:cleo", "cancel"), core.DoDrop, core.NoteNotAllowed},
		"a stranger's message":         {same, at(101, "x:cleo", "why?"), core.DoQueue, core.NoteQueued},
		"a yes before the prompt":      {same, at(99, "x:ana", "yes"), core.DoDrop, core.NoteTooEarly},
		"a yes at the prompt's place":  {same, at(100, "x:ana", "yes"), core.DoDrop, core.NoteTooEarly},
		"a message before the prompt":  {same, at(99, "x:ana", "why?"), core.DoQueue, ""},
		"a yes without a place":        {same, at(0, "x:ana", "yes"), core.DoQueue, ""},
		"a yes, delivery unknown":      {undelivered, at(101, "x:ana", "yes"), core.DoHold, ""},
		"a message, delivery unknown":  {undelivered, at(101, "x:ana", "why?"), core.DoHold, ""},
		"cancel, delivery unknown":     {undelivered, at(101, "x:ana", "cancel"), core.DoAbort, ""},
		"an answer by code":            {same, at(101, "x:ana", "k1 yes"), core.DoAnswer, ""},
		"a stranger's by code":         {same, at(101, "x:cleo", "K1 yes"), core.DoDrop, core.NoteNotAllowed},
		"show by code":                 {same, at(101, "x:ana", "show K1"), core.DoShow, ""},
		"a message while running":      {running, at(101, "x:ana", "and"), core.DoQueue, ""},
		"cancel while running":         {running, at(101, "x:ana", "cancel"), core.DoAbort, ""},
		"a message with nothing open":  {idle, at(101, "x:ana", "yes"), core.DoStart, ""},
		"cancel, a word, nothing open": {idle, at(101, "x:ana", "cancel"), core.DoStart, ""},
		"nothing":                      {same, at(101, "x:ana", " "), core.DoDrop, ""},
	} {
		s := waiting()
		c.scene(&s)
		if got := core.Route(s, c.m, said); got.Do != c.do || got.Note != c.note {
			t.Errorf("%s: %s %q, want %s %q", name, got.Do, got.Note, c.do, c.note)
		}
	}
}

// TestRouteFresh: by a door where answers name their input a text is always a message.
func TestRouteFresh(t *testing.T) {
	t.Parallel()
	m := core.Message{From: "x:ana", Text: "yes", Addressed: true, Fresh: true}
	if got := core.Route(waiting(), m, said); got.Do != core.DoSupersede {
		t.Errorf("did %s", got.Do)
	}
}
