package mcp

import (
	"context"
	"testing"
)

// TestAttempted waits for the first list, or the first failure, also where Run begins later.
func TestAttempted(t *testing.T) {
	t.Parallel()
	server := newServer(modern)
	add(server, "move", nil, nil)
	up, down := newPlace(t), newPlace(t).vacate()
	up.serve(server)
	for name, c := range map[string]struct {
		url   string
		tools int
	}{"lists": {up.url(), 1}, "fails": {down.url(), 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, Config{URL: c.url})
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			s.Attempted(ctx)
			if ctx.Err() != nil || len(s.List()) != c.tools {
				t.Errorf("%v, %d tools, want %d", ctx.Err(), len(s.List()), c.tools)
			}
			s.Attempted(ctx) // at once
		})
	}
}

// TestAttemptedEnds where nothing runs: with its context, and with the source.
func TestAttemptedEnds(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Name: "box", URL: "http://127.0.0.1:1/"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Attempted(ctx)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.Attempted(t.Context())
}
