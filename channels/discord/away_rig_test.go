package discord

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/channels/discord/discordtest"
	"parley/core"
)

// notebook is a channels.Memory that outlives adapters. While it is shut it forgets what it is told, as a process
// does that is killed before it could store it.
type notebook struct {
	mu   sync.Mutex
	m    map[string][]byte
	shut bool
	err  error
}

func (n *notebook) Remember(_ context.Context, name string, value []byte, ttl time.Duration) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err == nil && !n.shut && ttl > maxAge {
		n.m[name] = value
	}
	return n.err
}

func (n *notebook) Recall(_ context.Context, name string) ([]byte, bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	v, ok := n.m[name]
	return v, ok, n.err
}

func (n *notebook) set(change func(*notebook)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(n)
}

// mark is how far the bot has heard, as it is stored.
func (n *notebook) mark(t *testing.T) snowflake {
	t.Helper()
	raw, _, _ := n.Recall(t.Context(), keptName("guild"))
	var k kept
	if err := json.Unmarshal(raw, &k); err != nil {
		t.Fatalf("stored %q: %v", raw, err)
	}
	return k.Heard
}

// away is a rig whose program can be killed and started again.
type away struct {
	*rig
	book   *notebook
	chats  []discordtest.ID // that the store knows
	thread discordtest.ID   // that the bot is part of
}

// newAway is a bot that was heard of before: it has run, and is away now.
func newAway(t *testing.T) *away {
	t.Helper()
	a := newAwayFirst(t)
	a.start()
	a.say("hello")
	after(5 * time.Minute)
	a.kill()
	return a
}

func newAwayFirst(t *testing.T) *away {
	t.Helper()
	a := &away{book: &notebook{m: map[string][]byte{}}}
	a.rig = newRig(t, func(_ *discordtest.Config, c *Config) {
		c.Memory = a.book
		c.Chatted = func(_ context.Context, limit int) (out []core.ConversationID, _ error) {
			for _, id := range a.chats {
				out = append(out, conversation(id))
			}
			return append(out, "ops|other|1", "ops|guild|no-number"), nil
		}
	})
	a.sink.Copies = false // as the store
	a.thread = a.srv.Thread(a.room, true)
	a.chats = []discordtest.ID{a.dm, a.thread, a.room}
	return a
}

// kill ends the program as if it could store nothing more.
func (a *away) kill() {
	a.t.Helper()
	a.book.set(func(n *notebook) { n.shut = true })
	if err := a.Stop(); err != nil {
		a.t.Errorf("Run: %v", err)
	}
	a.book.set(func(n *notebook) { n.shut = false })
	a.srv.Forget()
	after(time.Second)
}

// back starts the program as another process, and lets it fetch.
func (a *away) back() {
	a.t.Helper()
	a.a = mustNew(a.t, a.cfg)
	a.start()
	after(20 * time.Second)
	a.ready()
}

// heard fails the test unless that is what was said where, since the program was away first.
func (a *away) heard(at discordtest.ID, want ...string) {
	a.t.Helper()
	var got []string
	for _, m := range a.sink.Got() {
		if m.Conversation == conversation(at) && m.Text != "hello" {
			got = append(got, m.Text)
		}
	}
	if !slices.Equal(got, want) {
		a.t.Errorf("heard %q, want %q\n%s", got, want, a.log)
	}
}

// asked counts the pages that were asked for in a channel, of any for 0.
func (a *away) asked(at discordtest.ID) (n int) {
	for _, c := range a.srv.Calls(discordtest.RouteHistory) {
		if at == 0 || strings.Contains(c.Path, at.String()) {
			n++
		}
	}
	return n
}
