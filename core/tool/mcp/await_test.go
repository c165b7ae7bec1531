package mcp

import (
	"context"
	"testing"
	"time"

	"parley/core/tool"
)

// TestAwaitBeforeTheServerIsThere finds a tool of a server that comes up later.
func TestAwaitBeforeTheServerIsThere(t *testing.T) {
	t.Parallel()
	bothGenerations(t, func(t *testing.T, g generation) {
		server := newServer(g)
		add(server, "move", nil, nil)
		p := newPlace(t).vacate()
		s := start(t, Config{URL: p.url()})
		type found struct {
			t  tool.Tool
			ok bool
		}
		got := make(chan found, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			tl, ok := s.Await(ctx, "box__move")
			got <- found{tl, ok}
		}()
		until(t, s, "a first attempt", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.tries > 1
		})
		p.serve(server)
		if f := <-got; !f.ok || f.t.Spec().FullName() != "box__move" {
			t.Errorf("found %+v", f)
		}
	})
}

// TestAwaitKnows waits for nothing that will not come.
func TestAwaitKnows(t *testing.T) {
	t.Parallel()
	server := newServer(modern)
	add(server, "move", nil, nil)
	p := newPlace(t)
	p.serve(server)
	up := ready(t, start(t, Config{URL: p.url()}))
	if _, ok := up.Await(t.Context(), "box__move"); !ok {
		t.Error("a tool that is there is not found")
	}
	if _, ok := up.Await(t.Context(), "box__gone"); ok {
		t.Error("a tool is found that the server does not have")
	}
	down, err := New(Config{Name: "box", URL: newPlace(t).vacate().url()})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := down.Await(t.Context(), "other__move"); ok {
		t.Error("a tool of another source is found")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, ok := down.Await(ctx, "box__move"); ok || ctx.Err() == nil {
		t.Error("a tool of a server that is not there is found, or not waited for")
	}
	if err := down.Close(); err != nil {
		t.Fatal(err)
	}
	if _, ok := down.Await(t.Context(), "box__move"); ok {
		t.Error("a tool of a closed source is found")
	}
}
