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
	lanes map[int64]*lane
}

// lane is one chat: a request holds it while it is handled, others wait.
type lane struct {
	turn    chan struct{} // holds one token while free
	holders int
}

func (g *gate) open(ctx context.Context, sink channels.Sink) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ctx, g.sink, g.lanes = ctx, sink, map[int64]*lane{}
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

// hold waits for the chat's lane; free gives it back.
func (g *gate) hold(ctx context.Context, chat int64) (free func(), err error) {
	g.mu.Lock()
	l := g.lanes[chat]
	if l == nil {
		l = &lane{turn: make(chan struct{}, 1)}
		l.turn <- struct{}{}
		g.lanes[chat] = l
	}
	l.holders++
	g.mu.Unlock()
	leave := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if l.holders--; l.holders == 0 && g.lanes[chat] == l {
			delete(g.lanes, chat)
		}
	}
	select {
	case <-l.turn:
		return func() { l.turn <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
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
	free, err := a.gate.hold(ctx, u.chatID())
	if err != nil {
		later(w, "not now")
		return
	}
	defer free()
	if err := a.handle(ctx, sink, u); err != nil {
		a.log.Warn("telegram: an update was not taken, Telegram brings it again", "update", u.ID, "err", err)
		later(w, "not stored")
	}
}

// later asks Telegram to bring the update again.
func later(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", strconv.Itoa(int(firstPause/time.Second)))
	http.Error(w, why, http.StatusServiceUnavailable)
}
