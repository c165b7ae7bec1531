package modeltest

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"parley/core/model"
)

// streams checks what only a stream can do.
func (x *suite) streams(t *testing.T) {
	t.Run("a stream gives the reply that a whole answer gives", func(t *testing.T) { t.Parallel(); x.same(t) })
	t.Run("a stream that ends early is no short answer", func(t *testing.T) { t.Parallel(); x.brokenOff(t) })
	t.Run("text comes before the end", func(t *testing.T) { t.Parallel(); x.told(t) })
	t.Run("a stream is given up", func(t *testing.T) { t.Parallel(); x.givenUp(t) })
	t.Run("text of a failed try is taken back", func(t *testing.T) { t.Parallel(); x.takenBack(t) })
}

// same asks for each reply both ways.
func (x *suite) same(t *testing.T) {
	replies := append(append(x.verbatims(), x.steps()...), Say("Hello, wörld."), Say(""), Refuse("No."), Stop("Hel", model.StopLength),
		CallTools("On it.", drop, now), CallTools("", drop))
	for i, r := range replies {
		s := NewServerOf(t, x.dialect, InOrder(r, r))
		whole := &Talk{Model: x.open(t, s), Request: model.Request{Tools: tools}}
		whole.Say("hello")
		stream := &Talk{Model: whole.Model, Request: whole.Request, Stream: true}
		a, b := whole.Next(t), stream.Next(t)
		rawA, rawB := string(canonical(settled(a.Raw))), string(canonical(settled(b.Raw)))
		if x.dialect == Gemini { // each gets a signature of its own
			rawA, rawB = signature(rawA), signature(rawB)
		}
		if rawA != rawB {
			t.Errorf("reply %d: the stored message is\n%s\nof a stream\n%s", i, rawA, rawB)
		}
		a.Raw, b.Raw = nil, nil
		for j := range a.Calls {
			a.Calls[j].Arguments, b.Calls[j].Arguments = canonical(a.Calls[j].Arguments), canonical(b.Calls[j].Arguments)
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("reply %d:\n%+v\nof a stream\n%+v", i, a, b)
		}
	}
}

// signature makes made-up signatures equal.
func signature(raw string) string {
	before, rest, found := strings.Cut(raw, "c2lnbmF0dXJl")
	if !found {
		return raw
	}
	_, after, _ := strings.Cut(rest, `"`)
	return before + `*"` + signature(after)
}

func (x *suite) brokenOff(t *testing.T) {
	for name, r := range map[string]Reply{
		"early":       Early(Say("Hello, world.")),
		"early calls": Early(CallTools("", drop, now)),
		"overloaded":  Midway("overloaded_error", Say("Hello, world.")),
		"limited":     Midway("rate_limit_error", CallTools("Hello, world.", drop)),
		"failed":      Midway("api_error", Say("Hello, world.")),
	} {
		s, k := x.start(t, InOrder(r, Say("Back.")))
		if e := k.Fails(t); !e.Retry {
			t.Errorf("%s: no retry: %v", name, e)
		}
		if got := k.Next(t); got.Text != "Back." || len(s.Requests()) != 2 {
			t.Errorf("%s: then %q", name, got.Text)
		}
	}
	_, k := x.start(t, InOrder(Midway("invalid_request_error", Say("Hello, world."))))
	if e := k.Fails(t); e.Retry {
		t.Errorf("another try cannot help: %v", e)
	}
}

func (x *suite) told(t *testing.T) {
	_, k := x.start(t, InOrder(Say("Hello, world, how are you?")))
	var told []string
	resp, err := model.Stream(t.Context(), k.Model, k.Request, func(soFar string) { told = append(told, soFar) })
	if err != nil || len(told) < 5 || told[0] != "Hel" || told[len(told)-1] != resp.Text {
		t.Errorf("told %q (%v)", told, err)
	}
}

// givenUp stops in the middle of the text.
func (x *suite) givenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, k := x.start(t, InOrder(Say(strings.Repeat("words and ", 2000))))
	_, err := model.Stream(ctx, k.Model, k.Request, func(string) { cancel() })
	var e *model.Error
	if !errors.As(err, &e) || e.Retry || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want an *Error without retry that wraps context.Canceled", err)
	}
}

func (x *suite) takenBack(t *testing.T) {
	_, k := x.start(t, InOrder(Cut(Say("Hello, world.")), Midway("overloaded_error", Say("Hello, you.")), Say("Hi.")))
	r := &model.Retry{Model: k.Model, First: 1, Most: 1}
	var told []string
	resp, err := r.Stream(t.Context(), k.Request, func(soFar string) { told = append(told, soFar) })
	back := 0
	for _, s := range told {
		if s == "" {
			back++
		}
	}
	if err != nil || resp.Text != "Hi." || told[len(told)-1] != "Hi." || back != 2 {
		t.Errorf("%q, told %q (%v)", resp.Text, told, err)
	}
}
