package telegram

import (
	"context"
	"testing"
	"time"

	"parley/channels/telegram/telegramtest"
)

// Twenty messages a minute in a group, one a second to a person, some of them at once; nobody waits for another chat.
func TestPace(t *testing.T) {
	tests := []struct {
		name      string
		at        telegramtest.Where
		n         int
		least, in time.Duration
	}{
		{"a person", dm, 15, 4 * time.Second, 6 * time.Second},
		{"a group", telegramtest.Where{Chat: -100500}, 15, 29 * time.Second, 31 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				r.srv.Supergroup(-100500)
				began := time.Now()
				for range tt.n {
					r.send(tt.at, part("x"))
				}
				if d := time.Since(began); d < tt.least || d > tt.in {
					t.Errorf("%d messages took %v, want %v to %v", tt.n, d, tt.least, tt.in)
				}
				began = time.Now()
				r.send(bens, part("x"))
				if d := time.Since(began); d > 0 {
					t.Errorf("another chat waited %v", d)
				}
			})
		})
	}
}

// A 429 holds its chat alone: sends there come back at once and say when, without a call.
func TestPaceHeldByRateLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.srv.Fail("sendMessage", telegramtest.Fault{Status: 429, RetryAfter: 60})
		_, err := r.a.Send(context.Background(), to(dm), part("x"))
		sendErr(t, err)
		after(20 * time.Second)
		_, err = r.a.Send(context.Background(), to(dm), part("x"))
		if e := sendErr(t, err); e.After != 40*time.Second || e.Unsure || e.Permanent {
			t.Errorf("%+v", e)
		}
		if n := len(r.srv.Calls("sendMessage")); n != 1 {
			t.Errorf("%d calls", n)
		}
		r.send(bens, part("x"))
		after(40 * time.Second)
		r.send(dm, part("x"))
	})
}
