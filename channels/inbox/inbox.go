package inbox

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"sync"
	"time"

	"parley/core"
	"parley/core/turn"
)

// via is the door, for the record.
const via = "web"

// Turns is what the page asks of the engine; *turn.Engine has it.
type Turns interface {
	SettleAll(ctx context.Context, all []turn.Settlement) ([]turn.Settling, error)
	Reveal(ctx context.Context, id core.InputID, by core.PersonID, via string) (core.Input, error)
	MayAnswer(in core.Input, who core.PersonID) bool
	Rows
}

// Rows is what it reads.
type Rows interface {
	Input(ctx context.Context, id core.InputID) (core.Input, error)
	Inputs(ctx context.Context, f turn.InputFilter) (page []core.Input, next string, err error)
	RunByID(ctx context.Context, id core.RunID) (core.Run, error)
	Trace(ctx context.Context, id core.RunID) (turn.Trace, error)
	CallOf(ctx context.Context, run core.RunID, id core.CallID) (call core.Call, redact []string, err error)
	Events(ctx context.Context, run core.RunID, after uint64, limit int) ([]core.Event, error)
	LastEvent(ctx context.Context) (uint64, error)
	News(id core.AgentID) <-chan struct{}
}

// Token is an API token and what a session that it opens may see.
type Token struct {
	Name   string
	Secret string
	// Agents it sees; an administrator's token sees all.
	Agents []core.AgentID
	// SpeaksFor are people, exact ids or "SURFACE:*". A token with one exact id opens that person's session.
	SpeaksFor []string
	Admin     bool
}

// Agent is an agent as people know it.
type Agent struct {
	ID   core.AgentID
	Name string
}

// Config is what an Inbox is made of. Turns, Agents and Now are needed.
type Config struct {
	Turns  Turns
	Tokens []Token
	// Agents lists those of today's configuration.
	Agents func() []Agent
	// Canonical writes a person as the channels do; nil: as they are.
	Canonical func(core.PersonID) core.PersonID
	// PublicURL is how the world reaches the server, "" where nobody said.
	PublicURL string
	Now       func() time.Time
	Log       *slog.Logger
	// MaxStreams is how many pages may be live at once (512). Pause is the least time between two looks of one
	// (1 s), KeepAlive the greatest (20 s). 0 is the value in brackets.
	MaxStreams int
	Pause      time.Duration
	KeepAlive  time.Duration
}

// Inbox is the handler. It has no goroutine of its own.
type Inbox struct {
	c      Config
	tokens []*token
	origin string // of PublicURL, "" for none
	key    []byte
	mux    *http.ServeMux
	closed chan struct{}

	mu      sync.Mutex
	streams int
	gone    map[string]time.Time // sessions that were signed out, until they would have ended
	links   map[string]link      // by the digest of their code
}

// New returns the handler.
func New(c Config) (*Inbox, error) {
	if c.Turns == nil || c.Agents == nil || c.Now == nil {
		return nil, errors.New("inbox: Turns, Agents and Now are needed")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Canonical == nil {
		c.Canonical = func(who core.PersonID) core.PersonID { return who }
	}
	if c.MaxStreams == 0 {
		c.MaxStreams = 512
	}
	if c.Pause == 0 {
		c.Pause = time.Second
	}
	if c.KeepAlive == 0 {
		c.KeepAlive = 20 * time.Second
	}
	i := &Inbox{c: c, mux: http.NewServeMux(), key: make([]byte, 32), closed: make(chan struct{}), gone: map[string]time.Time{}, links: map[string]link{}}
	_, _ = rand.Read(i.key) // it never fails
	if u, err := url.Parse(c.PublicURL); err == nil && u.Host != "" {
		i.origin = u.Scheme + "://" + u.Host
	}
	for _, t := range c.Tokens {
		i.tokens = append(i.tokens, i.newToken(t))
	}
	i.routes()
	return i, nil
}

// Close ends the streams, so that a server can shut down. It is called once.
func (i *Inbox) Close() { close(i.closed) }

func (i *Inbox) routes() {
	i.mux.HandleFunc("GET /inbox/assets/{name}", serveAsset)
	i.mux.HandleFunc("GET /inbox/login", i.getLogin)
	i.mux.HandleFunc("POST /inbox/link", i.postLink)
	i.mux.HandleFunc("POST /inbox/session", i.fromOurPage(i.postSession))
	for pattern, f := range map[string]action{
		"GET /inbox":             (*visit).queue,
		"GET /inbox/{$}":         (*visit).queue,
		"GET /inbox/inputs/{id}": (*visit).input,
		"GET /inbox/runs/{id}":   (*visit).run,
		"GET /inbox/events":      (*visit).events,
	} {
		i.mux.HandleFunc(pattern, i.signedIn(f))
	}
	for pattern, f := range map[string]action{
		"POST /inbox/logout":             (*visit).signOut,
		"POST /inbox/inputs/{id}":        (*visit).answer,
		"POST /inbox/inputs/{id}/reveal": (*visit).reveal,
	} {
		i.mux.HandleFunc(pattern, i.fromOurPage(i.signedIn(f)))
	}
}

// policy lets a page load what is ours and be framed by nobody.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// ServeHTTP answers one request.
func (i *Inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // no-referrer would take the Origin off our own forms
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p == http.ErrAbortHandler {
			panic(p)
		}
		i.c.Log.Error("a page failed", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
		i.problem(w, nil, http.StatusInternalServerError, "Something failed here. The log says what.")
	}()
	if _, pattern := i.mux.Handler(r); pattern == "" {
		i.unknown(w, r)
		return
	}
	i.mux.ServeHTTP(w, r)
}

// unknown answers what has no route; the multiplexer knows whether another method has one.
func (i *Inbox) unknown(w http.ResponseWriter, r *http.Request) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		probe := &http.Request{Method: method, URL: r.URL, Host: r.Host}
		if _, pattern := i.mux.Handler(probe); pattern != "" {
			w.Header().Add("Allow", method)
		}
	}
	if w.Header().Get("Allow") != "" {
		i.problem(w, nil, http.StatusMethodNotAllowed, "This address does not take "+known(r.Method)+".")
		return
	}
	i.problem(w, nil, http.StatusNotFound, "There is no such page.")
}

// known is a method as it may be repeated to its sender.
func known(method string) string {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions, http.MethodHead:
		return method
	default:
		return "that method"
	}
}

// visit is one request of somebody who is signed in.
type visit struct {
	i *Inbox
	w http.ResponseWriter
	r *http.Request
	s *session
}

// action handles one route. Its error becomes a page.
type action func(*visit) error

// failure is an error with its page.
type failure struct {
	status   int
	sentence string
}

func (f *failure) Error() string { return f.sentence }

// errNoPage tells nothing of whether the thing exists.
var errNoPage = &failure{http.StatusNotFound, "There is no such thing here, or it is not yours to see."}

// signedIn lets a request through that has a session; a POST must come from a form of that session.
func (i *Inbox) signedIn(f action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := i.session(r)
		reading := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch {
		case s == nil && r.URL.Path == "/inbox/events":
			http.Error(w, "sign in first", http.StatusUnauthorized)
			return
		case s == nil && reading:
			http.Redirect(w, r, "/inbox/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
			return
		case s == nil:
			i.problem(w, nil, http.StatusUnauthorized, "You are not signed in, or no longer. Nothing was changed.")
			return
		}
		v := &visit{i: i, w: w, r: r, s: s}
		err := error(nil)
		if !reading {
			err = v.readForm()
		}
		if err == nil {
			err = f(v)
		}
		v.fail(err)
	}
}

// fail shows an error as a page.
func (v *visit) fail(err error) {
	var f *failure
	switch {
	case err == nil:
	case errors.As(err, &f):
		v.i.problem(v.w, v.s, f.status, f.sentence)
	case errors.Is(err, turn.ErrNotFound):
		v.fail(errNoPage)
	case v.r.Context().Err() != nil: // whoever asked is gone
	default:
		v.i.c.Log.Error("a page could not be shown", "path", v.r.URL.Path, "person", v.s.Person, "err", err)
		v.i.problem(v.w, v.s, http.StatusServiceUnavailable, "It could not be stored or read. Nothing that was not confirmed has happened: try again.")
	}
}
