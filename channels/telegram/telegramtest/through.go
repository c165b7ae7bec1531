package telegramtest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
)

// Through is a transport that hands each request to a handler inside the process. A handler that panics with
// http.ErrAbortHandler breaks the connection after the request was read.
func Through(h http.Handler) http.RoundTripper { return through{h} }

type through struct{ h http.Handler }

// RoundTrip serves one request.
func (t through) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
	}
	ctx := r.Context()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.WroteHeaders != nil {
		trace.WroteHeaders()
	}
	// The server's end of the request lives as long as the client wants it.
	inner, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, hangUp)()
	in := r.Clone(inner)
	in.Body = io.NopCloser(bytes.NewReader(body))
	in.RequestURI = r.URL.RequestURI()
	in.RemoteAddr = "192.0.2.1:1234"
	rec := httptest.NewRecorder()
	done := make(chan bool, 1)
	go func() {
		defer hangUp()
		broken := true
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				panic(p)
			}
			done <- broken
		}()
		t.h.ServeHTTP(rec, in)
		broken = false
	}()
	select {
	case broken := <-done:
		if broken {
			return nil, io.ErrUnexpectedEOF
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return rec.Result(), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
