package telegram

import (
	"context"
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"parley/channels"
)

const (
	secretHeader = "X-Telegram-Bot-Api-Secret-Token"
	maxUpdate    = 1 << 20 // bytes of one webhook request
)

// gate lets webhook requests in while Run is there to handle them.
type gate struct {
	mu    sync.Mutex
	ctx   context.Context // nil: closed
	sink  channels.Sink
	in    sync.WaitGroup
	order channels.Turnstile[int64] // the requests of a chat, one after another
}

func (g *gate) open(ctx context.Context, sink channels.Sink) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ctx, g.sink = ctx, sink
}

// shut lets nobody in any more and waits for those inside, whose context has ended.
func (g *gate) shut() {
	g.mu.Lock()
	g.ctx, g.sink = nil, nil
	g.mu.Unlock()
	g.in.Wait()
}

// enter reports whether the gate is open; the caller then calls g.in.Done.
func (g *gate) enter() (context.Context, channels.Sink, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx == nil {
		return nil, nil, false
	}
	g.in.Add(1)
	return g.ctx, g.sink, true
}

// serve lets Handler work until ctx ends.
func (a *Adapter) serve(ctx context.Context, sink channels.Sink) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	a.gate.open(ctx, sink)
	a.setReady(nil)
	<-ctx.Done()
	a.gate.shut()
	return ctx.Err()
}

// Handler takes webhook requests: it is to be served at PublicURL + "/channels/" + Name. It answers 200 once
// the update is durable, and 5xx where Telegram is to bring it again.
func (a *Adapter) Handler() http.Handler { return http.HandlerFunc(a.receive) }

func (a *Adapter) receive(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	if !sameSecret(r.Header.Get(secretHeader), a.secret()) {
		a.log.Warn("telegram: a webhook request without the right secret was refused", "remote", r.RemoteAddr)
		http.Error(w, "wrong secret token", http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxUpdate))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		a.log.Error("telegram: an update is too large", "limit", maxUpdate)
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "incomplete request", http.StatusBadRequest)
		return
	}
	u, err := decodeUpdate(body)
	if err != nil {
		a.log.Error("telegram: skipped an update that cannot be read", "update", u.ID, "err", err)
		return // 200: it would be no clearer the next time
	}
	a.admit(w, r, u)
}

// sameSecret compares in a time that tells nothing.
func sameSecret(got, want string) bool {
	return subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}

func (a *Adapter) admit(w http.ResponseWriter, r *http.Request, u update) {
	running, sink, ok := a.gate.enter()
	if !ok {
		later(w, "not running")
		return
	}
	defer a.gate.in.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(running, cancel)()
	ticket, err := a.gate.order.Enter(ctx, u.chatID())
	if err != nil {
		later(w, "not now")
		return
	}
	defer a.gate.order.Leave(u.chatID(), ticket, nil)
	if err := a.handle(ctx, sink, u); err != nil {
		a.log.Warn("telegram: an update was not taken, Telegram brings it again", "update", u.ID, "err", err)
		later(w, "not stored")
	}
}

// later asks Telegram to bring the update again.
func later(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", strconv.Itoa(int(channels.FirstPause/time.Second)))
	http.Error(w, why, http.StatusServiceUnavailable)
}
