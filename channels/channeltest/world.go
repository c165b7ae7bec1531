package channeltest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/channels"
	"parley/core"
	"parley/core/tool/askuser"
	"parley/core/tool/schema"
	"parley/core/turn"
	"parley/parse"
	"parley/store/bolt"
)

// patience is how long a scenario waits for something that has to come.
const patience = time.Minute

// Clock is real time that can be put forward.
type Clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

// Now is the time by this clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

// Advance puts it forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// World is a platform with the program around it: engine, hub and a store file, which can be stopped and
// started again.
type World struct {
	Platform
	t       testing.TB
	file    string
	clock   *Clock
	human   core.HumanInput
	Effects *Effects

	store  *bolt.Store
	engine *turn.Engine
	hub    *channels.Hub
	// process is what the next start of the program does.
	process process
	stop    func()
	// around, if set, is put between the hub and the engine.
	around func(*turn.Engine) channels.Turns
}

// NewWorld starts the program on a new store file, until the test ends. human may name the platform's people.
func NewWorld(t testing.TB, p Platform, human core.HumanInput) *World {
	t.Helper()
	w := newWorld(t, p, human)
	w.Start()
	return w
}

func newWorld(t testing.TB, p Platform, human core.HumanInput) *World {
	w := &World{
		Platform: p, t: t, file: filepath.Join(t.TempDir(), "parley.db"), clock: &Clock{}, human: human, Effects: &Effects{},
		process: process{drives: true, delivers: true},
	}
	t.Cleanup(w.Stop)
	return w
}

// Start opens the store and runs the program on it.
func (w *World) Start() {
	w.t.Helper()
	store, err := bolt.Open(w.file, bolt.Options{Clock: w.clock.Now})
	if err != nil {
		w.t.Fatal(err)
	}
	agent := &turn.Agent{ID: Agent, Name: "Ops", Model: scriptModel{}, Tools: toolSet(kit(w.Effects)), AskUser: true, Human: w.human}
	var adapter channels.Adapter
	w.engine, err = turn.New(turn.Config{
		Store:  store,
		Agents: func(id core.AgentID) (*turn.Agent, bool) { return agent, id == Agent },
		NewID:  func() string { return strings.ToLower(rand.Text()[:16]) },
		Deps: turn.Deps{
			Read:     channels.NewReader(channels.ReaderConfig{Adapter: func(string) channels.Adapter { return adapter }}),
			Prepare:  schema.Prepare,
			AskSpecs: askuser.Specs,
			ParseAsk: func(name string, args json.RawMessage) (string, []core.Question, []string) {
				return askuser.Parse(name, args, parse.Fold)
			},
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.store = store
	turns := channels.Turns(w.engine)
	if w.around != nil {
		turns = w.around(w.engine)
	}
	if !w.process.delivers {
		turns = silent{turns}
	}
	adapter = w.Adapter(w.t, w.engine)
	w.hub, err = channels.NewHub(channels.Config{
		Turns: turns, Now: w.clock.Now, Log: slog.New(slog.DiscardHandler),
		Channels: []channels.Channel{{Adapter: adapter, Access: channels.Access{Public: true}}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.run(store)
}

func (w *World) run(store *bolt.Store) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	parts := []func(context.Context) error{w.hub.Run}
	if w.process.drives {
		parts = append(parts, w.engine.Run)
	}
	for _, run := range parts {
		wg.Go(func() {
			if err := run(ctx); err != nil {
				w.t.Errorf("the program ended: %v", err)
			}
		})
	}
	w.stop = func() {
		cancel()
		wg.Wait()
		if err := store.Close(); err != nil {
			w.t.Error(err)
		}
	}
}

// Stop ends the program; it may be called twice.
func (w *World) Stop() {
	if w.stop != nil {
		w.stop()
		w.stop = nil
	}
}

// Restart stops the program and starts it again on the same file and platform.
func (w *World) Restart() {
	w.t.Helper()
	w.Stop()
	w.Start()
}

// Until waits until ok, and fails the test where it does not come true.
func (w *World) Until(what string, ok func() bool) {
	w.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(patience)
	defer late.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late.C:
			w.t.Fatalf("this did not come: %s\ndirect: %s\ngroup: %s\neffects: %q", what, texts(w.Shown(Direct)), texts(w.Shown(Group)), w.Effects.Done())
		}
	}
}

func texts(all []Seen) string {
	var out []string
	for _, s := range all {
		out = append(out, s.Text)
	}
	return strings.Join(out, "\n---\n")
}

// Says waits until a room shows a text.
func (w *World) Says(room Room, text string) {
	w.t.Helper()
	w.Until("the "+string(room)+" room shows "+text, func() bool { return strings.Contains(texts(w.Shown(room)), text) })
}

// Still waits until all that was said has been taken and the conversation of a room stands still.
func (w *World) Still(room Room) {
	w.t.Helper()
	w.Quiet(w.t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.engine.Idle(ctx, w.Conversation(room)); err != nil {
		w.t.Fatalf("the %s room does not come to rest: %v", room, err)
	}
}

// Asked waits until the room's live input is shown at that step, and returns it.
func (w *World) Asked(room Room, step int) (in core.Input) {
	w.t.Helper()
	w.Until("a prompt is shown", func() bool {
		all, err := w.engine.Waiting(context.Background(), w.Conversation(room))
		if err != nil || len(all) == 0 {
			return false
		}
		in = all[0]
		p, ok := core.HomePrompt(in)
		return ok && p.Step == step && in.Draft.Step == step
	})
	return in
}

// Waiting counts what the room's turn waits on.
func (w *World) Waiting(room Room) int {
	w.t.Helper()
	all, err := w.engine.Waiting(context.Background(), w.Conversation(room))
	if err != nil {
		w.t.Fatal(err)
	}
	return len(all)
}

// Input reads an input as it stands.
func (w *World) Input(id core.InputID) core.Input {
	w.t.Helper()
	in, err := w.store.Input(context.Background(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return in
}
