package faketest

import (
	"context"
	"net/http"
	"strconv"
)

// Faults are arranged for calls by their name, "" for any. The zero value has none. It is not safe for
// concurrent use.
type Faults[F any] struct{ m map[string][]arranged[F] }

type arranged[F any] struct {
	fault F
	times int
}

// Add arranges a fault for the next calls of a name, one where times is less, behind what is arranged already.
func (f *Faults[F]) Add(name string, times int, fault F) {
	if f.m == nil {
		f.m = map[string][]arranged[F]{}
	}
	f.m[name] = append(f.m[name], arranged[F]{fault, max(times, 1)})
}

// Clear takes back all that have not happened yet.
func (f *Faults[F]) Clear() { clear(f.m) }

// Take uses up one fault, nil for none: that of the name, else one for any.
func (f *Faults[F]) Take(name string) *F {
	for _, key := range []string{name, ""} {
		list := f.m[key]
		if len(list) == 0 {
			continue
		}
		fault := list[0].fault
		if list[0].times--; list[0].times == 0 {
			f.m[key] = list[1:]
		}
		return &fault
	}
	return nil
}

// Break hangs until the client or the server goes away, or breaks the connection. It reports whether it did
// either; what is reset does not return.
func Break(server context.Context, r *http.Request, hang, reset bool) bool {
	switch {
	case hang:
		select {
		case <-r.Context().Done():
		case <-server.Done():
		}
		return true
	case reset:
		panic(http.ErrAbortHandler)
	}
	return false
}

// Proxy answers as one in front of the platform would, in HTML. retryAfter is in seconds, 0 for none.
func Proxy(w http.ResponseWriter, status, retryAfter int, body string) {
	if retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	}
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // a client that went away
}
