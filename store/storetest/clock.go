package storetest

import (
	"sync"
	"time"
)

// Clock is a wall clock that stands still until a test moves it. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock starts at a fixed moment, the same in every test.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
}

// Now is the time it stands at.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves it on; a negative d moves it back, as clocks that are set do.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
