package mcp

import (
	"context"
	"fmt"
	"time"
)

// reachPatience is how long a call waits for a server that is not connected.
const reachPatience = 30 * time.Second

// session finds the session of a call. Calls share one, unless their server has been seen to ask inside calls
// without saying in which: then each has one to itself, and one more is opened where all are taken.
func (s *Source) session(ctx context.Context) (x *session, release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, max(reachPatience, s.cfg.Connect))
	defer cancel()
	x, err = s.current(ctx)
	if err != nil {
		return nil, nil, err
	}
	if x.modern || !s.isolated() {
		return x, func() {}, nil
	}
	select {
	case x.alone <- struct{}{}:
		return x, func() { <-x.alone }, nil
	default:
	}
	extra, err := s.connect(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("open another connection: %w", err)
	}
	return extra, extra.close, nil
}

// isolate gives each call a session to itself from now on.
func (s *Source) isolate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alone = true
}

func (s *Source) isolated() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.alone
}
