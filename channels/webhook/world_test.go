package webhook_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels/webhook"
	"parley/core"
	"parley/core/turn"
	"parley/store/bolt"
)

var secret = "whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))

const address = "https://hooks.example.com/T0/key"

// attempt is one request as an address got it.
type attempt struct {
	at   time.Time
	url  string
	head http.Header
	body string
}

// world is a log in memory, addresses that answer as they are told, and a real store for what must last.
type world struct {
	t      *testing.T
	path   string
	store  *bolt.Store
	hooks  []webhook.Hook
	stop   func()
	memory webhook.Memory // nil: the store

	mu       sync.Mutex
	events   []core.Event
	inputs   map[core.InputID]core.Input
	news     chan struct{}
	got      []attempt
	answer   func(n int, r *http.Request) (*http.Response, error) // n counts the attempts, from 1
	outcomes []webhook.Outcome
}

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, path: filepath.Join(t.TempDir(), "parley.db"), inputs: map[core.InputID]core.Input{}, news: make(chan struct{}),
		hooks: []webhook.Hook{{URL: address, Secret: secret}}, answer: func(int, *http.Request) (*http.Response, error) { return status(204), nil },
	}
	w.open()
	t.Cleanup(func() {
		if w.stop != nil {
			w.stop()
		}
		_ = w.store.Close()
	})
	return w
}

func (w *world) open() {
	w.t.Helper()
	var err error
	if w.store, err = bolt.Open(w.path, bolt.Options{Clock: time.Now}); err != nil {
		w.t.Fatal(err)
	}
}

// start runs the hooks until stop.
func (w *world) start() {
	w.t.Helper()
	m := w.memory
	if m == nil {
		m = w.store
	}
	h, err := webhook.New(webhook.Config{
		Turns: w, Memory: m, Hooks: w.hooks, Client: &http.Client{Transport: w}, Now: time.Now,
		Observe: func(_ string, o webhook.Outcome) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.outcomes = append(w.outcomes, o)
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := h.Run(ctx); err != nil {
			w.t.Error(err)
		}
	}()
	w.stop = func() { cancel(); <-done; w.stop = nil }
	synctest.Wait()
}

func (w *world) restart() {
	w.t.Helper()
	if w.stop != nil {
		w.stop()
	}
	if err := w.store.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.open()
	w.start()
}

func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.got = append(w.got, attempt{time.Now(), r.URL.String(), r.Header.Clone(), string(body)})
	n, answer := len(w.got), w.answer
	w.mu.Unlock()
	return answer(n, r)
}

func status(code int) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("thanks"))}
}

func (w *world) Input(_ context.Context, id core.InputID) (core.Input, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	in, ok := w.inputs[id]
	if !ok {
		return in, turn.ErrNotFound
	}
	return in, nil
}

func (w *world) Events(_ context.Context, _ core.RunID, after uint64, limit int) ([]core.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.events, func(e core.Event) bool { return e.Seq > after })
	if i < 0 {
		return nil, nil
	}
	return slices.Clone(w.events[i:min(i+limit, len(w.events))]), nil
}

func (w *world) LastEvent(context.Context) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return uint64(len(w.events)), nil
}

func (w *world) News(core.AgentID) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.news
}

// tell appends events and lets the hooks act.
func (w *world) tell(evs ...core.Event) {
	w.mu.Lock()
	for _, e := range evs {
		e.Seq, e.At = uint64(len(w.events)+1), time.Now()
		w.events = append(w.events, e)
	}
	close(w.news)
	w.news = make(chan struct{})
	w.mu.Unlock()
	synctest.Wait()
}

func (w *world) put(in core.Input) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inputs[in.ID] = in
}

func (w *world) attempts() []attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.got)
}

func (w *world) look() webhook.State {
	w.t.Helper()
	s, known, err := webhook.Look(context.Background(), w.store, address)
	if err != nil || !known {
		w.t.Fatalf("look: %v %v", known, err)
	}
	return s
}

// later lets time pass.
func later(d time.Duration) {
	<-time.After(d) // of the bubble's clock: no real time passes
	synctest.Wait()
}

func asked(id core.InputID) core.Event {
	return core.Event{Type: core.EventApproval, Input: id}
}

func ended(id core.InputID) core.Event { return core.Event{Type: core.EventInputResolved, Input: id} }

func approval(id core.InputID) core.Input {
	return core.Input{
		ID: id, Conversation: core.NewConversation("ops", "work", "C1"), Run: "r1", Call: "c1", Agent: "ops",
		Kind: core.KindApproval, State: core.InputPending, Tool: "drop", Source: "db", Hash: "h1",
		Arguments:  []byte(`{"name":"staging","password":"hunter2222","headers":{"Authorization":"Bearer abcd1234efgh5678"},"url":"https://u:p4ss@example.test"}`),
		Responders: core.Responders{Audience: []core.PersonID{"api:ana"}, Asker: "api:ana"},
		CreatedAt:  time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), ExpiresAt: time.Date(2026, 1, 9, 3, 4, 5, 0, time.UTC),
	}
}

var errBroken = errors.New("connection refused")
