package model

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"
)

// failing returns the given errors in order, then a reply, and notes when it was asked.
type failing struct {
	errs  []error
	asked []time.Duration
	start time.Time
}

func (f *failing) Generate(context.Context, Request) (Response, error) {
	n := len(f.asked)
	f.asked = append(f.asked, time.Since(f.start))
	if n < len(f.errs) {
		return Response{}, f.errs[n]
	}
	return Response{Text: "ok", Stop: StopEnd}, nil
}

func busy(after time.Duration) error { return &Error{Sentence: "busy", Retry: true, After: after} }

func TestRetry(t *testing.T) {
	t.Parallel()
	final := &Error{Sentence: "refused"}
	plain := errors.New("plain")
	seconds := func(s ...float64) (d []time.Duration) {
		for _, x := range s {
			d = append(d, time.Duration(x*float64(time.Second)))
		}
		return d
	}
	tests := []struct {
		name   string
		retry  Retry
		jitter float64
		errs   []error
		asked  []time.Duration
		want   error // nil: it succeeds
	}{
		{"success", Retry{}, 1, nil, seconds(0), nil},
		{"back-off doubles", Retry{}, 1, []error{busy(0), busy(0), busy(0)}, seconds(0, 1, 3, 7), nil},
		{"jitter halves at most", Retry{}, 0, []error{busy(0), busy(0), busy(0)}, seconds(0, 0.5, 1.5, 3.5), nil},
		{"waits are capped", Retry{Tries: 8, Most: 4 * time.Second}, 1, []error{busy(0), busy(0), busy(0), busy(0), busy(0)}, seconds(0, 1, 3, 7, 11, 15), nil},
		{"the service's wait counts", Retry{}, 0, []error{busy(7 * time.Second)}, seconds(0, 7), nil},
		{"never earlier than asked", Retry{}, 0.5, []error{busy(20 * time.Second)}, seconds(0, 20.5), nil},
		{"a longer wait than allowed", Retry{}, 0, []error{busy(3 * time.Minute)}, seconds(0), busy(3 * time.Minute)},
		{"waits add up", Retry{Total: 25 * time.Second}, 0, []error{busy(20 * time.Second), busy(20 * time.Second)}, seconds(0, 20), busy(20 * time.Second)},
		{"tries end", Retry{Tries: 3}, 1, []error{busy(0), busy(0), busy(0), busy(0)}, seconds(0, 1, 3), busy(0)},
		{"one try", Retry{Tries: 1}, 1, []error{busy(0)}, seconds(0), busy(0)},
		{"no use", Retry{}, 1, []error{final}, seconds(0), final},
		{"no use after all", Retry{}, 1, []error{busy(0), final}, seconds(0, 1), final},
		{"not a model's error", Retry{}, 1, []error{plain}, seconds(0), plain},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &failing{errs: tt.errs, start: time.Now()}
				r := tt.retry
				r.Model, r.Jitter = f, func() float64 { return tt.jitter }
				var waits int
				r.OnWait = func(try int, _ time.Duration, err *Error) {
					waits++
					if try != waits || err.Sentence != "busy" {
						t.Errorf("wait %d was told as try %d, %v", waits, try, err)
					}
				}
				resp, err := r.Generate(t.Context(), Request{})
				if !reflect.DeepEqual(f.asked, tt.asked) {
					t.Errorf("asked at %v, want %v", f.asked, tt.asked)
				}
				if !reflect.DeepEqual(err, tt.want) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
				if tt.want == nil && resp.Text != "ok" {
					t.Errorf("reply %+v", resp)
				}
				if waits != len(tt.asked)-1 {
					t.Errorf("told of %d waits, want %d", waits, len(tt.asked)-1)
				}
			})
		})
	}
}

func TestRetryJitterIsRandom(t *testing.T) {
	t.Parallel()
	r := &Retry{}
	seen := make(map[time.Duration]bool)
	for range 100 {
		w := r.wait(1, 0)
		if w < time.Second/2 || w > time.Second {
			t.Fatalf("first wait %v, want between 500ms and 1s", w)
		}
		seen[w] = true
	}
	if len(seen) < 2 {
		t.Error("every wait is the same")
	}
	if w := r.wait(10_000, 0); w > 30*time.Second || w < 15*time.Second {
		t.Errorf("late wait %v, want at most 30s", w)
	}
}

func TestRetryStopsWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		f := &failing{errs: []error{busy(time.Minute), busy(0)}, start: time.Now()}
		_, err := (&Retry{Model: f}).Generate(ctx, Request{})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the context's", err)
		}
		if d := time.Since(f.start); d != 3*time.Second || len(f.asked) != 1 {
			t.Errorf("returned after %v and %d requests, want 3s and 1", d, len(f.asked))
		}
	})
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	inner := errors.New("status 500")
	err := &Error{Sentence: "The service failed.", Err: inner}
	if err.Error() != "The service failed: status 500" || !errors.Is(err, inner) {
		t.Errorf("%v", err)
	}
	if got := (&Error{Sentence: "Gone."}).Error(); got != "Gone." {
		t.Errorf("%q", got)
	}
}
