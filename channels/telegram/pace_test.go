package telegram

import (
	"context"
	"errors"
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

// All together stay below thirty a second.
func TestPaceOfAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPacer(time.Now)
		began := time.Now()
		for chat := range int64(100) {
			if over, err := p.turn(context.Background(), chat+1); over > 0 || err != nil {
				t.Fatal(over, err)
			}
		}
		if d := time.Since(began); d < 2*time.Second || d > 3*time.Second {
			t.Errorf("100 chats took %v", d)
		}
	})
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

// Who waits for their turn stops with their context; who would wait long is told when instead.
func TestPaceEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPacer(time.Now)
		for range groupBurst {
			if d, over := p.reserve(-1); d > 0 || over > 0 {
				t.Fatal(d, over)
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := p.turn(ctx, -1); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("turn ended with %v after %v", err, time.Since(began))
		}
		p.reserve(-1)
		if over, err := p.turn(context.Background(), -1); over <= longestWait || err != nil {
			t.Errorf("over %v, %v", over, err)
		}
	})
}

// Chats that are quiet are forgotten, those that are held are not.
func TestPaceForgets(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPacer(time.Now)
		p.hold(7, 24*time.Hour)
		for chat := range int64(3 * keptChats) {
			p.hold(100+chat, time.Millisecond)
			after(time.Second)
		}
		if n := len(p.chats); n > keptChats {
			t.Errorf("%d chats are kept", n)
		}
		if !p.held(7) {
			t.Error("a held chat was forgotten")
		}
	})
}
