package discord

import (
	"context"
	"log/slog"
	"testing"
	"time"
)

// A job that panics ends no other, and one that hangs is cut off after the grace.
func TestLanesOutliveTheProgramByAGrace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, end := context.WithCancel(context.Background())
		l := newLanes(ctx, slog.New(slog.DiscardHandler))
		after := false
		l.put("a", func(context.Context) { panic("an event nobody has seen before") })
		l.put("a", func(context.Context) { after = true })
		l.put("b", func(ctx context.Context) { <-ctx.Done() })
		end()
		began := time.Now()
		l.wait(drainGrace)
		if d := time.Since(began); !after || d != drainGrace {
			t.Errorf("the job behind a panic was done: %v; it ended after %v", after, d)
		}
	})
}
