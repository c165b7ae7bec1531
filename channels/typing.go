package channels

import (
	"context"
	"errors"
	"sync"
	"time"

	"parley/core"
)

// Typing indicators last some seconds on every platform: they are renewed while a run is running, and the
// first one waits a moment, so that a quick turn shows none.
const (
	typingEvery   = 4 * time.Second
	typingFirst   = 400 * time.Millisecond
	typingTimeout = 3 * time.Second
)

// typist shows that the agent works, and never while or after something was sent that the run has not yet
// gone on from: a prompt under a typing indicator looks like one that is not finished.
type typist struct {
	p       *port
	poked   chan struct{}
	mu      sync.Mutex
	round   int
	sending map[core.ConversationID]int           // rows being sent
	sentIn  map[core.ConversationID]int           // the round in which the last row was sent
	typing  map[core.ConversationID]chan struct{} // closed when the call has returned
}

func newTypist(p *port) *typist {
	return &typist{
		p: p, poked: make(chan struct{}, 1),
		sending: map[core.ConversationID]int{}, sentIn: map[core.ConversationID]int{},
		typing: map[core.ConversationID]chan struct{}{},
	}
}

// poke says that a run may have begun.
func (t *typist) poke() {
	select {
	case t.poked <- struct{}{}:
	default:
	}
}

// run renews the indicators until ctx ends or the adapter says that it shows none.
func (t *typist) run(ctx context.Context) {
	for {
		if !t.show(ctx) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(typingEvery):
		case <-t.poked:
			if Sleep(ctx, typingFirst) != nil {
				return
			}
		}
	}
}

// show calls Typing once for each conversation that works, and reports whether to go on.
func (t *typist) show(ctx context.Context) bool {
	t.mu.Lock()
	t.round++
	round := t.round
	t.mu.Unlock()
	list, err := t.p.turns.Working(ctx, t.p.name)
	if err != nil {
		return ctx.Err() == nil
	}
	for _, c := range list {
		if t.p.deliver.shows(c) || !t.begin(c, round) {
			continue
		}
		try, cancel := context.WithTimeout(ctx, typingTimeout)
		err := t.p.Adapter.Typing(try, target(c, ""))
		cancel()
		t.end(c)
		if errors.Is(err, ErrNoTyping) || ctx.Err() != nil {
			return false
		}
	}
	t.forget(round)
	return true
}

// begin reports whether typing may be shown: nothing is being sent there, and nothing was since the list of
// those that work was made.
func (t *typist) begin(c core.ConversationID, round int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sending[c] > 0 || t.sentIn[c] >= round {
		return false
	}
	t.typing[c] = make(chan struct{})
	return true
}

func (t *typist) end(c core.ConversationID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.typing[c])
	delete(t.typing, c)
}

// forget drops what no later round asks about.
func (t *typist) forget(round int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c, in := range t.sentIn {
		if in < round {
			delete(t.sentIn, c)
		}
	}
}

// quiet is called before a row is sent: it waits for a call to Typing that is under way, and keeps others
// off until the returned function is called.
func (t *typist) quiet(ctx context.Context, c core.ConversationID) (done func()) {
	t.mu.Lock()
	t.sending[c]++
	busy := t.typing[c]
	t.mu.Unlock()
	if busy != nil {
		select {
		case <-busy:
		case <-ctx.Done():
		}
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.sentIn[c] = t.round
		if t.sending[c]--; t.sending[c] == 0 {
			delete(t.sending, c)
		}
	}
}
