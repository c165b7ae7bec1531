package channeltest

import (
	"context"
	"strconv"
	"time"

	"parley/core"
)

// Cycle carries one turn that needs an approval through a room of a Memory: it returns once the reply is
// shown. Rooms may be used at once.
func (w *World) Cycle(place core.Place) {
	m, ok := w.Platform.(*Memory)
	if !ok {
		w.t.Error("a cycle needs a Memory")
		return
	}
	before := m.count(place)
	for _, text := range []string{"drop staging", "yes"} {
		msg := core.Message{
			Conversation: core.NewConversation(Agent, m.Name(), place), From: m.Person(Alice), Text: text,
			Order: m.Next(), SentAt: m.Now(), Addressed: true,
		}
		msg.ID = "m" + strconv.FormatUint(msg.Order, 10)
		if err := m.Sink().Message(context.Background(), msg); err != nil {
			w.t.Error(err)
			return
		}
		before += map[string]int{"drop staging": 2, "yes": 1}[text]
		if !m.reach(place, before) {
			w.t.Errorf("%s shows %d messages, want %d", place, m.count(place), before)
			return
		}
	}
}

func (f *Fake) count(place core.Place) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts[place]
}

// reach waits until a place has shown n messages.
func (f *Fake) reach(place core.Place, n int) bool {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		f.mu.Lock()
		have, more := f.counts[place], f.more[place]
		if more == nil {
			more = make(chan struct{})
			f.more[place] = more
		}
		f.mu.Unlock()
		if have >= n {
			return true
		}
		select {
		case <-more:
		case <-late.C:
			return false
		}
	}
}
