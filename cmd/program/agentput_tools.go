package program

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"parley/core/tool"
	"parley/core/tool/mcp"
)

// liveTools are the tools of an agent whose definition may be put anew: those of its newest sources. A call
// holds the sources it began with until it ends.
type liveTools struct {
	mu  sync.Mutex
	now *generation // nil until the first are made
}

// List are the tools offered now.
func (l *liveTools) List() []tool.Spec {
	if g := l.current(); g != nil {
		return g.set.List()
	}
	return nil
}

// Lookup finds a tool by its full name. It does not block.
func (l *liveTools) Lookup(name string) (tool.Tool, bool) {
	g := l.current()
	if g == nil {
		return nil, false
	}
	t, ok := g.set.Lookup(name)
	if !ok {
		return nil, false
	}
	return heldTool{t, g}, true
}

// Await finds a tool whose source may be on its way, as the sources of the newest definition do.
func (l *liveTools) Await(ctx context.Context, name string) (tool.Tool, bool) {
	g := l.current()
	if g == nil {
		return nil, false
	}
	t, ok := g.set.Await(ctx, name)
	if !ok {
		return nil, false
	}
	return heldTool{t, g}, true
}

func (l *liveTools) current() *generation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// change puts new sources in the place of those before, which end with their last call.
func (l *liveTools) change(g *generation) {
	l.mu.Lock()
	before := l.now
	l.now = g
	l.mu.Unlock()
	if before != nil {
		before.retire()
	}
}

// generation is what one definition has its tools from. Its servers run until it is retired and no call of
// its tools is under way.
type generation struct {
	set  tool.Set
	stop context.CancelFunc

	mu      sync.Mutex
	calls   int
	retired bool
}

// newGeneration runs the servers of some sources within ctx, each by start.
func newGeneration(ctx context.Context, from sources, start func(func()), failed func(*mcp.Source, error)) *generation {
	ctx, stop := context.WithCancel(ctx)
	for _, s := range from.run {
		start(func() {
			if err := s.Run(ctx); err != nil {
				failed(s, err)
			}
		})
	}
	return &generation{set: from.set, stop: stop}
}

// begin holds the generation for a call; false where it has been stopped.
func (g *generation) begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.retired && g.calls == 0 {
		return false
	}
	g.calls++
	return true
}

func (g *generation) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls--; g.retired && g.calls == 0 {
		g.stop()
	}
}

func (g *generation) retire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.retired = true; g.calls == 0 {
		g.stop()
	}
}

// heldTool is a tool that holds its generation while it runs.
type heldTool struct {
	tool.Tool
	g *generation
}

// Call runs the tool.
func (t heldTool) Call(ctx *tool.Context, arguments json.RawMessage) (string, error) {
	if !t.g.begin() {
		return "", fmt.Errorf("the agent has been defined anew: %w", tool.ErrNotStarted)
	}
	defer t.g.end()
	return t.Tool.Call(ctx, arguments)
}
