package modeltest

import (
	"strings"
	"testing"
	"time"
)

func (x *suite) failures(t *testing.T) {
	echo := func(status int, kind string) Reply {
		return Fails(status, kind, "Incorrect API key provided: "+Key+" for delete the staging database")
	}
	for _, tt := range []struct {
		name  string
		reply Reply
		retry bool
		after time.Duration
	}{
		{"429", RateLimited(""), true, 0},
		{"429 with seconds", RateLimited("7"), true, 7 * time.Second},
		{"500", Fails(500, "api_error", "The server had an error"), true, 0},
		{"503 with seconds", Status(503, map[string]string{"Retry-After": "2"}, "busy"), true, 2 * time.Second},
		{"529", Fails(529, "overloaded_error", "Overloaded"), true, 0},
		{"529 with seconds", Fails(529, "overloaded_error", "Overloaded").With("Retry-After", "3"), true, 3 * time.Second},
		{"502 as a page", HTML(502), true, 0},
		{"408", Status(408, nil, ""), true, 0},
		{"409", Status(409, nil, ""), true, 0},
		{"400", echo(400, "invalid_request_error"), false, 0},
		{"401", echo(401, "authentication_error"), false, 0},
		{"402", echo(402, "billing_error"), false, 0},
		{"403", echo(403, "permission_error"), false, 0},
		{"404", echo(404, "not_found_error"), false, 0},
		{"404 with a wait", echo(404, "not_found_error").With("Retry-After", "9"), false, 0},
		{"413", echo(413, "request_too_large"), false, 0},
		{"401 as a page", HTML(401), false, 0},
		{"page instead of an answer", HTML(200), false, 0},
		{"sent elsewhere", Status(307, map[string]string{"Location": "/elsewhere"}, ""), false, 0},
		{"cut", Cut(Say("Hello.")), true, 0},
		{"cut calls", Cut(CallTools("On it.", drop, now)), true, 0},
		{"cut failure", Cut(echo(500, "api_error")), true, 0},
		{"error in 200", Body(Failure("Provider returned error for delete the staging database", "", "", "")), true, 0},
		{"nothing said", Body(`{"choices":[]}`), true, 0},
		{"not JSON", Body(`data: [DONE]`), true, 0},
		{"empty", Body(``), true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, k := x.start(t, func(r Request) Reply {
				if r.Nth == 1 {
					return tt.reply
				}
				return Say("Back.")
			})
			e := k.Fails(t)
			if e.Retry != tt.retry || e.After != tt.after {
				t.Errorf("retry %v after %v, want %v after %v (%v)", e.Retry, e.After, tt.retry, tt.after, e)
			}
			if n := len(s.Requests()); n != 1 {
				t.Errorf("%d requests for one: retries belong to the turn", n)
			}
			if got := k.Next(t); got.Text != "Back." {
				t.Errorf("the next request got %q", got.Text)
			}
		})
	}
	t.Run("wrong key", func(t *testing.T) {
		t.Parallel()
		s, k := x.start(t, InOrder())
		s.Key = "another"
		if e := k.Fails(t); e.Retry || !strings.Contains(e.Sentence, "key") {
			t.Errorf("%v (retry %v)", e, e.Retry)
		}
	})
	t.Run("nobody there", func(t *testing.T) {
		t.Parallel()
		s := NewServerOf(t, x.dialect, nil)
		s.URL = "http://127.0.0.1:1/v1"
		k := &Talk{Stream: x.stream, Model: x.open(t, s)}
		k.Say("are you there")
		if e := k.Fails(t); !e.Retry {
			t.Errorf("no retry: %v", e)
		}
	})
}
