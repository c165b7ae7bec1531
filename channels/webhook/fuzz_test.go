package webhook

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
)

type answers func(*http.Request) (*http.Response, error)

func (f answers) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// FuzzAnswer: whatever an address answers, an attempt ends in one of the outcomes, and rests no longer than promised.
func FuzzAnswer(f *testing.F) {
	for _, after := range []string{"", "5", "-1", "999999", "99999999999999999999", "Wed, 21 Oct 2099 07:28:00 GMT", "soon", " 7", "0x10"} {
		for _, code := range []int{200, 204, 301, 404, 410, 429, 503, 999} {
			f.Add(code, after, "body")
		}
	}
	now := time.Date(2026, 3, 14, 9, 26, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, code int, after, body string) {
		client := &http.Client{Transport: answers(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: code, Header: http.Header{"Retry-After": {after}}, Body: io.NopCloser(strings.NewReader(body))}, nil
		}), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		s := &sender{
			Config: Config{Now: func() time.Time { return now }}, hook: Hook{URL: "https://hooks.example.com/KEY"}, keys: [][]byte{[]byte("k")},
			client: client, log: slog.New(slog.DiscardHandler), state: State{Pending: []Letter{{ID: "m"}}},
		}
		err := s.attempt(t.Context(), "m", []byte("{}"))
		if err != nil && strings.Contains(err.Error(), "KEY") {
			t.Fatalf("the error tells the address: %v", err)
		}
		outcome, _ := s.account(s.state.Pending[0], err)
		switch {
		case outcome == Delivered && (code < 200 || code > 299), outcome == Refused != errors.Is(err, errGone):
			t.Fatalf("%d is %s", code, outcome)
		case outcome == Retried:
			if rest := s.state.Pending[0].NextAt.Sub(now); rest < backoff[0] || rest > backoff[len(backoff)-1] {
				t.Fatalf("%d with Retry-After %q rests %s", code, after, rest)
			}
		}
	})
}
