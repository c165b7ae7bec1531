package model

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Retry is a Model that tries another one again where its *Error says that this may help. It waits
// between tries: as long as the service asked, else from First on, doubled each time up to Most, and
// somewhere between half and all of that, so that many turns do not come back at once.
//
// The last error is returned as it came. Nothing is waited for that cannot be followed by another try.
type Retry struct {
	Model Model
	Tries int           // requests in all; 0: 5
	First time.Duration // 0: 1 s
	Most  time.Duration // 0: 30 s
	// Total bounds the time spent waiting; a longer wait that the service asks for ends the tries. 0: 2 min.
	Total time.Duration
	// Jitter returns a number in [0,1); nil: a random one.
	Jitter func() float64
	// OnWait, if set, is told before each wait which try failed (from 1), how long it waits and why.
	OnWait func(try int, wait time.Duration, err *Error)
}

// Generate returns the first reply that succeeds, or the last error. It stops at once when ctx ends, with
// an error that wraps ctx.Err().
func (r *Retry) Generate(ctx context.Context, req Request) (Response, error) {
	return r.try(ctx, func() (Response, error) { return r.Model.Generate(ctx, req) })
}

// Stream is Generate that tells the text so far, where the model can stream. Text of a try that failed is
// taken back with "" before the next.
func (r *Retry) Stream(ctx context.Context, req Request, text func(soFar string)) (Response, error) {
	return r.try(ctx, func() (Response, error) {
		shown := false
		resp, err := Stream(ctx, r.Model, req, func(soFar string) {
			shown = soFar != ""
			text(soFar)
		})
		if err != nil && shown {
			text("")
		}
		return resp, err
	})
}

// try asks until a request succeeds, or another would not help.
func (r *Retry) try(ctx context.Context, ask func() (Response, error)) (Response, error) {
	tries := orElse(r.Tries, 5)
	left := orElse(r.Total, 2*time.Minute)
	for try := 1; ; try++ {
		resp, err := ask()
		var failed *Error
		if err == nil || !errors.As(err, &failed) || !failed.Retry || try >= tries || ctx.Err() != nil {
			return resp, err
		}
		wait := r.wait(try, failed.After)
		if wait > left {
			return resp, err
		}
		left -= wait
		if r.OnWait != nil {
			r.OnWait(try, wait, failed)
		}
		if !sleep(ctx, wait) {
			return resp, &Error{Sentence: failed.Sentence, Err: ctx.Err()}
		}
	}
}

// wait is how long to wait after the given failed try. It is never shorter than the service asked for.
func (r *Retry) wait(try int, after time.Duration) time.Duration {
	jitter := r.Jitter
	if jitter == nil {
		jitter = rand.Float64
	}
	if after > 0 {
		return after + time.Duration(jitter()*float64(min(after/10, time.Second)))
	}
	d, most := orElse(r.First, time.Second), orElse(r.Most, 30*time.Second)
	for range try - 1 {
		if d >= most {
			break
		}
		d *= 2
	}
	d = min(d, most)
	return d/2 + time.Duration(jitter()*float64(d-d/2))
}

// sleep waits for d and reports false if ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func orElse[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}
