package discord

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"
)

// TestEveryJobOfALaneIsDoneOnceInOrder puts jobs just as the lane runs empty, where two workers would meet.
func TestEveryJobOfALaneIsDoneOnceInOrder(t *testing.T) {
	t.Parallel()
	const jobs = 20000
	l := newLanes(context.Background(), slog.New(slog.DiscardHandler))
	var last, wrong atomic.Int64
	for i := range int64(jobs) {
		l.put("lane", func(context.Context) {
			if !last.CompareAndSwap(i, i+1) {
				wrong.Add(1)
			}
		})
	}
	l.wait(time.Minute)
	if last.Load() != jobs || wrong.Load() != 0 {
		t.Errorf("%d of %d jobs in order, %d out of it", last.Load(), jobs, wrong.Load())
	}
}
