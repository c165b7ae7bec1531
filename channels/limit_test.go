package channels

import (
	"testing"
	"time"

	"parley/core"
)

func TestLimiter(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	l := newLimiter(20)
	for i := range 20 {
		if at := l.take("p:1", now); !at.IsZero() {
			t.Fatalf("message %d of 20 is delayed to %v", i+1, at)
		}
	}
	if at := l.take("p:1", now); !at.Equal(now.Add(3 * time.Second)) {
		t.Errorf("message 21 may start at %v, want 3 s later", at.Sub(now))
	}
	if at := l.take("p:1", now); !at.Equal(now.Add(6 * time.Second)) {
		t.Errorf("message 22 may start at %v, want 6 s later", at.Sub(now))
	}
	if at := l.take("p:2", now); !at.IsZero() {
		t.Errorf("somebody else is delayed to %v", at)
	}
	l.giveBack("p:1")
	if at := l.take("p:1", now); !at.Equal(now.Add(6 * time.Second)) {
		t.Errorf("after one was given back %v, want 6 s", at.Sub(now))
	}
	if at := l.take("p:1", now.Add(2*time.Minute)); !at.IsZero() {
		t.Errorf("after a rest delayed to %v", at)
	}
	l.take("p:3", now.Add(10*time.Minute))
	if len(l.ahead) != 1 {
		t.Errorf("%d buckets are kept, want the one in use", len(l.ahead))
	}
	var none *limiter
	none.giveBack("p:1")
	if at := none.take("p:1", now); !at.IsZero() {
		t.Errorf("no limit delays to %v", at)
	}
}

func TestAccess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		access Access
		who    string
		want   bool
	}{
		{"closed by default", Access{}, "p:1", false},
		{"empty list is nobody", Access{Allow: nil}, "p:1", false},
		{"named", Access{Allow: []core.PersonID{"p:1"}}, "p:1", true},
		{"another", Access{Allow: []core.PersonID{"p:1"}}, "p:11", false},
		{"public", Access{Public: true}, "p:9", true},
		{"nobody, though public", Access{Public: true}, "", false},
	} {
		if got := c.access.Allows(core.PersonID(c.who)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	var once told
	if !once.first("p:1") || once.first("p:1") || !once.first("p:2") {
		t.Error("told once each")
	}
}
