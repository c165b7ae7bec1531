package mcp

import "context"

// Attempted waits until the first attempt to connect and list the tools has ended, however it ended, or ctx
// has. From then on List tells what the server has, or that it could not be reached at the start.
func (s *Source) Attempted(ctx context.Context) {
	for {
		s.mu.Lock()
		over, changed := s.tries > 0, s.changed
		s.mu.Unlock()
		if over {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-s.ctx.Done():
			return
		case <-changed:
		}
	}
}
