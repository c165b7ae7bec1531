package mcp

import (
	"context"
	"strings"

	"parley/core/tool"
)

// Await finds a tool by its full name. Until the server's tools have been listed once nobody knows what it has:
// then it asks for an attempt to connect and waits, until ctx ends. A tool that a listed server does not have
// is not waited for, nor one of a server that needs a login, nor one of another source.
func (s *Source) Await(ctx context.Context, fullName string) (tool.Tool, bool) {
	if !strings.HasPrefix(fullName, s.name+"__") {
		return nil, false
	}
	for asked := false; ; {
		s.mu.Lock()
		t, ok := s.tools[fullName]
		listed, changed, failure := s.listed, s.changed, s.failure
		s.mu.Unlock()
		switch {
		case ok:
			return t, true
		case listed, needsLogin(failure) != nil: // nobody logs in while the program runs
			return nil, false
		}
		if !asked {
			asked = true
			select {
			case s.retry <- struct{}{}: // now; afterwards the source goes on at its own pace
			default:
			}
		}
		select {
		case <-ctx.Done():
			return nil, false
		case <-s.ctx.Done():
			return nil, false
		case <-changed:
		}
	}
}
