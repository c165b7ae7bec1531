package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"parley/core"
)

// call is one request of a known token.
type call struct {
	a     *API
	w     http.ResponseWriter
	r     *http.Request
	ctx   context.Context
	token *token
	id    string // of the request
	body  []byte
	// key is the hash of token, route and Idempotency-Key, "" without one.
	key string
}

// reply is what a call is answered with.
type reply struct {
	status   int
	body     any
	location string
	// again says that the same request may be answered otherwise later.
	again bool
}

// action handles one route.
type action func(*call) (reply, error)

// ServeHTTP answers one request. Every answer names the request, and every error is a problem document.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := a.c.NewID()
	h := w.Header()
	h.Set("X-Request-Id", id)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	began := a.c.Now()
	handler, pattern := a.mux.Handler(r)
	seen := &watched{ResponseWriter: w}
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			a.c.Log.Error("a request failed", "request", id, "panic", p, "stack", string(debug.Stack()))
			if seen.status == 0 {
				fail(seen, id, &Problem{Status: http.StatusInternalServerError, Code: "internal", Detail: "see the log for request " + id})
			}
		}
		a.c.Log.Debug("request", "request", id, "method", r.Method, "route", pattern, "status", seen.status, "took", a.c.Now().Sub(began))
	}()
	if pattern == "" {
		refuse := &refusal{header: http.Header{}}
		handler.ServeHTTP(refuse, r)
		p := notFound("address")
		if refuse.status == http.StatusMethodNotAllowed {
			h.Set("Allow", refuse.header.Get("Allow"))
			p = &Problem{Status: refuse.status, Code: "method_not_allowed", Detail: "want " + refuse.header.Get("Allow")}
		}
		fail(seen, id, p)
		return
	}
	a.mux.ServeHTTP(seen, r.WithContext(context.WithValue(r.Context(), requestID{}, id)))
}

type requestID struct{}

// refusal takes what the multiplexer says about an address that it does not know.
type refusal struct {
	header http.Header
	status int
}

func (r *refusal) Header() http.Header         { return r.header }
func (r *refusal) Write(b []byte) (int, error) { return len(b), nil }
func (r *refusal) WriteHeader(status int)      { r.status = status }

// watched notes the status.
type watched struct {
	http.ResponseWriter
	status int
}

func (w *watched) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets a http.ResponseController reach what is below.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// call begins a request: who asks, and within which time.
func (a *API) call(r *http.Request) (*call, error) {
	id, _ := r.Context().Value(requestID{}).(string)
	t, err := a.authenticate(r)
	if err != nil {
		return &call{id: id}, &Problem{Status: http.StatusUnauthorized, Code: "unauthorized", Detail: "send Authorization: Bearer TOKEN"}
	}
	return &call{a: a, r: r, ctx: r.Context(), token: t, id: id}, nil
}

// plain is the handler of a route that is no stream.
func (a *API) plain(f action) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := a.call(r)
		if err != nil {
			fail(w, c.id, problemOf(err))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), a.c.Timeout)
		defer cancel()
		c.ctx = ctx
		c.w = w
		deadline(w, a.c.Now().Add(maxWait+2*a.c.Timeout))
		out, err := c.do(w, f)
		if err != nil {
			a.refused(c, err)
			fail(w, c.id, problemOf(err))
			return
		}
		write(w, out)
	})
}

// do reads the body where there may be one, and runs the route once for each Idempotency-Key.
func (c *call) do(w http.ResponseWriter, f action) (reply, error) {
	if c.r.Method == http.MethodGet || c.r.Method == http.MethodHead {
		return f(c)
	}
	var err error
	if c.body, err = readBody(w, c.r, c.a.c.MaxBody); err != nil {
		return reply{}, err
	}
	return c.once(f)
}

// refused logs what an operator must know: what the client did wrong is the client's to know.
func (a *API) refused(c *call, err error) {
	var p *Problem
	var no *core.AnswerError
	if errors.As(err, &p) || errors.As(err, &no) || c.r.Context().Err() != nil {
		return
	}
	if problemOf(err).Status >= 500 {
		a.c.Log.Error("a request could not be done", "request", c.id, "route", c.r.Pattern, "token", c.token.Name, "err", err)
	}
}

// deadline gives the answer more time than the server does, where the server can.
func deadline(w http.ResponseWriter, until time.Time) {
	// A writer without deadlines has none to be too short.
	_ = http.NewResponseController(w).SetWriteDeadline(until)
}

// patient keeps a server's time to read a request from ending one whose answer takes long.
func patient(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
}

func write(w http.ResponseWriter, out reply) {
	b, err := encode(out.body)
	if err != nil {
		panic(err) // our own types always encode
	}
	if out.location != "" {
		w.Header().Set("Location", out.location)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(out.status)
	_, _ = w.Write(b) // whoever hung up does not hear it
}

func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(b, '\n'), err
}

func fail(w http.ResponseWriter, id string, p *Problem) {
	if p.Type == "" {
		p = problemOf(p)
	}
	p.Request = id
	h := w.Header()
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="parley"`)
	}
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	h.Set("Content-Type", "application/problem+json")
	b, err := encode(p)
	if err != nil {
		panic(err)
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(b)
}
