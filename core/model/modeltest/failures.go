package modeltest

import (
	"strings"
	"testing"
	"time"
)

func runFailures(t *testing.T, open Open) {
	echo := Failure("Incorrect API key provided: "+Key+" for delete the staging database", "invalid_request_error", "", "invalid_api_key")
	for _, tt := range []struct {
		name  string
		reply Reply
		retry bool
		after time.Duration
	}{
		{"429", RateLimited(""), true, 0},
		{"429 with seconds", RateLimited("7"), true, 7 * time.Second},
		{"500", Status(500, nil, Failure("The server had an error", "server_error", "", "")), true, 0},
		{"503 with seconds", Status(503, map[string]string{"Retry-After": "2"}, "busy"), true, 2 * time.Second},
		{"529", Status(529, nil, Failure("Overloaded", "overloaded_error", "", "")), true, 0},
		{"502 as a page", HTML(502), true, 0},
		{"408", Status(408, nil, ""), true, 0},
		{"409", Status(409, nil, ""), true, 0},
		{"400", Status(400, nil, echo), false, 0},
		{"401", Status(401, nil, echo), false, 0},
		{"403", Status(403, nil, echo), false, 0},
		{"404", Status(404, nil, echo), false, 0},
		{"404 with a wait", Status(404, map[string]string{"Retry-After": "9"}, echo), false, 0},
		{"401 as a page", HTML(401), false, 0},
		{"page instead of an answer", HTML(200), false, 0},
		{"cut", Cut(Say("Hello.")), true, 0},
		{"cut failure", Cut(Status(500, nil, echo)), true, 0},
		{"error in 200", Body(Failure("Provider returned error for delete the staging database", "", "", "")), true, 0},
		{"no choices", Body(`{"choices":[]}`), true, 0},
		{"not JSON", Body(`data: [DONE]`), true, 0},
		{"empty", Body(``), true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, k := start(t, open, func(r Request) Reply {
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
		s, k := start(t, open, InOrder())
		s.Key = "another"
		if e := k.Fails(t); e.Retry || !strings.Contains(e.Sentence, "key") {
			t.Errorf("%v (retry %v)", e, e.Retry)
		}
	})
	t.Run("nobody there", func(t *testing.T) {
		t.Parallel()
		s := NewServer(t, nil)
		s.URL = "http://127.0.0.1:1/v1"
		k := &Talk{Model: open(t, s)}
		k.Say("are you there")
		if e := k.Fails(t); !e.Retry {
			t.Errorf("no retry: %v", e)
		}
	})
}
