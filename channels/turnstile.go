package channels

import (
	"context"
	"sync"
)

// Turnstile lets the callers of one key through one at a time, in the order in which they came, and those of
// different keys side by side. It needs no goroutine and keeps nothing of a key that is quiet. The zero value
// is ready.
type Turnstile[K comparable] struct {
	mu sync.Mutex
	m  map[K][]*Ticket // the first is inside
}

// Ticket is one caller's place before a Turnstile. turn is sent nil when its turn has come, or the error of
// the one before it.
type Ticket struct{ turn chan error }

// Enter waits for the caller's turn. The caller then calls Leave exactly once.
func (l *Turnstile[K]) Enter(ctx context.Context, c K) (*Ticket, error) {
	t := &Ticket{turn: make(chan error, 1)}
	l.mu.Lock()
	if l.m == nil {
		l.m = map[K][]*Ticket{}
	}
	l.m[c] = append(l.m[c], t)
	if len(l.m[c]) == 1 {
		t.turn <- nil
	}
	l.mu.Unlock()
	select {
	case err := <-t.turn:
		if err != nil {
			return nil, err
		}
		return t, nil
	case <-ctx.Done():
		l.drop(c, t)
		return nil, ctx.Err()
	}
}

// Leave lets the next one in. behind, if not nil, turns everybody away who waits: what stands behind a
// message that will be handed in again must not overtake it.
func (l *Turnstile[K]) Leave(c K, t *Ticket, behind error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if behind != nil {
		for _, w := range l.m[c] {
			if w != t {
				w.turn <- behind
			}
		}
		delete(l.m, c)
		return
	}
	l.remove(c, t)
}

// drop takes out a caller that gave up, who may have been let in meanwhile.
func (l *Turnstile[K]) drop(c K, t *Ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(c, t)
}

func (l *Turnstile[K]) remove(c K, t *Ticket) {
	q := l.m[c]
	for i, w := range q {
		if w != t {
			continue
		}
		q = append(q[:i:i], q[i+1:]...)
		if len(q) == 0 {
			delete(l.m, c)
			return
		}
		l.m[c] = q
		if i == 0 {
			q[0].turn <- nil
		}
		return
	}
}
