package channels

import (
	"sync"
	"time"

	"parley/core"
)

// limiter is a token bucket a sender: perMinute messages at once, then one every minute/perMinute. It never
// refuses: over the limit it says from when on the message may start a turn. Buckets live in memory; a
// restart forgives.
type limiter struct {
	mu    sync.Mutex
	every time.Duration // the price of one message
	burst time.Duration // how far ahead of the clock a sender may be
	// ahead is, by sender, the time at which their bucket will be full again.
	ahead map[core.PersonID]time.Time
	swept time.Time
}

// newLimiter returns nil, which limits nobody, for 0.
func newLimiter(perMinute int) *limiter {
	if perMinute <= 0 {
		return nil
	}
	every := time.Minute / time.Duration(perMinute)
	return &limiter{every: every, burst: time.Minute, ahead: map[core.PersonID]time.Time{}}
}

// take spends one message of who and returns from when on it may start a turn; zero: at once.
func (l *limiter) take(who core.PersonID, now time.Time) time.Time {
	if l == nil {
		return time.Time{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	full := l.ahead[who]
	if full.Before(now) {
		full = now
	}
	full = full.Add(l.every)
	l.ahead[who] = full
	if over := full.Sub(now) - l.burst; over > 0 {
		return now.Add(over)
	}
	return time.Time{}
}

// giveBack undoes a take: the message turned out to be an answer, a command or a duplicate.
func (l *limiter) giveBack(who core.PersonID) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if full, ok := l.ahead[who]; ok {
		l.ahead[who] = full.Add(-l.every)
	}
}

// sweep forgets full buckets once a minute, so that the map is no larger than a minute's senders.
func (l *limiter) sweep(now time.Time) {
	if now.Sub(l.swept) < time.Minute {
		return
	}
	l.swept = now
	for who, full := range l.ahead {
		if !full.After(now) {
			delete(l.ahead, who)
		}
	}
}
