package faketest

import (
	"context"
	"sync"
)

// Mutex guards the state of a server, and wakes those who wait for it to change. The zero value is unlocked.
type Mutex struct {
	sync.Mutex
	changed chan struct{} // closed and replaced by Note
}

// Note tells whoever waits that something changed. The caller holds the mutex.
func (m *Mutex) Note() {
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// Changed is closed at the next Note. The caller holds the mutex.
func (m *Mutex) Changed() <-chan struct{} {
	if m.changed == nil {
		m.changed = make(chan struct{})
	}
	return m.changed
}

// Wait returns once cond holds, which is tried again after every change, or with the error of ctx. cond is
// called without the mutex.
func (m *Mutex) Wait(ctx context.Context, cond func() bool) error {
	for {
		m.Lock()
		changed := m.Changed()
		m.Unlock()
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
