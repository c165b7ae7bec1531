package channels

import (
	"context"
	"sync"

	"parley/core"
)

// lanes lets the messages of one conversation through one at a time, in the order in which they came, and
// those of different conversations side by side. It needs no goroutine and keeps nothing of a conversation
// that is quiet.
type lanes struct {
	mu sync.Mutex
	m  map[core.ConversationID][]*ticket // the first is inside
}

// ticket is one caller's place in a lane. go is sent nil when its turn has come, or the error of the one
// before it.
type ticket struct{ turn chan error }

func newLanes() *lanes { return &lanes{m: map[core.ConversationID][]*ticket{}} }

// enter waits for the caller's turn. The caller then calls leave exactly once.
func (l *lanes) enter(ctx context.Context, c core.ConversationID) (*ticket, error) {
	t := &ticket{turn: make(chan error, 1)}
	l.mu.Lock()
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

// leave lets the next one in. behind, if not nil, turns everybody away who waits: what stands behind a
// message that will be handed in again must not overtake it.
func (l *lanes) leave(c core.ConversationID, t *ticket, behind error) {
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
func (l *lanes) drop(c core.ConversationID, t *ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(c, t)
}

func (l *lanes) remove(c core.ConversationID, t *ticket) {
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
