package channeltest

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"

	"parley/channels"
	"parley/core"
	"parley/render"
)

// Memory is a Platform over a Fake: the reference for what the suite asks of a platform.
type Memory struct {
	*Fake
	flying sync.WaitGroup

	mu     sync.Mutex
	late   []core.Message
	queue  map[core.ConversationID]chan struct{} // the tail of what was said in a room
	parent testing.TB
}

var (
	_ Platform = (*Memory)(nil)
	_ Album    = (*Memory)(nil)
)

// NewMemory returns a platform of that dialect.
func NewMemory(t testing.TB, d render.Dialect) *Memory {
	m := &Memory{Fake: NewFake("memory", d), queue: map[core.ConversationID]chan struct{}{}, parent: t}
	m.OnTyping = func(channels.Target) {}
	return m
}

// Caps is all there is, as far as the dialect goes.
func (m *Memory) Caps() Caps {
	return Caps{Group: true, Buttons: m.dialect.Buttons, Edits: m.dialect.Edits, Replies: true, Crossed: true, AtOnce: true, Slash: true, Shows: true, Stores: true}
}

// Adapter is the same at every start: the platform's memory is in it.
func (m *Memory) Adapter(testing.TB, channels.Turns) channels.Adapter { return m.Fake }

// Person is memory:name.
func (m *Memory) Person(name string) core.PersonID { return core.PersonID("memory:" + name) }

// Conversation is the room as a place.
func (m *Memory) Conversation(room Room) core.ConversationID {
	return core.NewConversation(Agent, m.Name(), core.Place(room))
}

// Say numbers the message at once and hands it in behind those before it in its room.
func (m *Memory) Say(_ testing.TB, s Saying) string {
	msg := core.Message{
		Conversation: m.Conversation(s.Room), From: m.Person(s.Who), Text: s.Text, ReplyTo: s.ReplyTo, SentAt: m.Now(),
		Shared: s.Room == Group, Addressed: !s.Overheard,
	}
	if name, ok := strings.CutPrefix(s.Text, "/"); ok {
		msg.Command = name
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	msg.Order = m.Next()
	msg.ID = "m" + strconv.FormatUint(msg.Order, 10)
	if s.Picture != nil {
		msg.Files = []core.File{{Name: "picture.png", Type: "image/png", Size: int64(len(s.Picture)), Ref: m.Keep(s.Picture)}}
	}
	if s.Late {
		m.late = append(m.late, msg)
	} else {
		m.hand(msg)
	}
	return msg.ID
}

// hand gives a message to the program in a goroutine, after the one before it. The caller holds mu.
func (m *Memory) hand(msg core.Message) {
	before, done := m.queue[msg.Conversation], make(chan struct{})
	m.queue[msg.Conversation] = done
	m.flying.Go(func() {
		defer close(done)
		if before != nil {
			<-before
		}
		if err := m.Sink().Message(context.Background(), msg); err != nil {
			m.parent.Errorf("message %s was not taken: %v", msg.ID, err)
		}
	})
}

// Press submits the reply of a button that the message shows.
func (m *Memory) Press(t testing.TB, who string, room Room, message, reply string) {
	t.Helper()
	for _, s := range m.Fake.Shown(core.Place(room)) {
		if s.ID != message {
			continue
		}
		for _, b := range s.Part.Buttons {
			if b.Reply == reply {
				m.press(channels.Press{
					Input: b.Input, Reply: b.Reply, Step: b.Step, From: m.Person(who), Conversation: m.Conversation(room), ID: "p" + strconv.FormatUint(m.Next(), 10),
				})
				return
			}
		}
	}
	t.Logf("message %s shows no button %q any more", message, reply)
}

func (m *Memory) press(p channels.Press) {
	m.flying.Go(func() {
		if _, err := m.Sink().Press(context.Background(), p); err != nil {
			m.parent.Errorf("press: %v", err)
		}
	})
}

// Shown is what a room shows.
func (m *Memory) Shown(room Room) (out []Seen) {
	for _, s := range m.Fake.Shown(core.Place(room)) {
		seen := Seen{ID: s.ID, Text: s.Part.Text, Edited: s.Edits > 0}
		for _, b := range s.Part.Buttons {
			seen.Buttons = append(seen.Buttons, b.Reply)
		}
		out = append(out, seen)
	}
	return out
}

// Discard forgets all pictures.
func (m *Memory) Discard(Room, string) { m.Forget() }

// Secrets are none.
func (m *Memory) Secrets() []string { return nil }

// Release hands in what is late.
func (m *Memory) Release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, msg := range m.late {
		m.hand(msg)
	}
	m.late = nil
}

// Quiet waits for what is on its way.
func (m *Memory) Quiet(testing.TB) { m.flying.Wait() }
