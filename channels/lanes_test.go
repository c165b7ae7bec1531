package channels

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestEveryJobOfALaneIsDoneOnceInOrder puts jobs just as the lane runs empty, where two workers would meet.
func TestEveryJobOfALaneIsDoneOnceInOrder(t *testing.T) {
	t.Parallel()
	const jobs = 20000
	var l Lanes[string]
	var last, wrong atomic.Int64
	for i := range int64(jobs) {
		l.Put("lane", func() {
			if !last.CompareAndSwap(i, i+1) {
				wrong.Add(1)
			}
		})
	}
	l.Wait()
	if last.Load() != jobs || wrong.Load() != 0 {
		t.Errorf("%d of %d jobs in order, %d out of it", last.Load(), jobs, wrong.Load())
	}
	if len(l.m) != 0 {
		t.Errorf("%d lanes are kept", len(l.m))
	}
}

func TestLanesDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l Lanes[int]
		stuck, done := make(chan struct{}), make([]bool, 3)
		l.Put(0, func() { <-stuck; done[0] = true })
		l.Put(0, func() { done[1] = done[0] })
		l.Put(1, func() { done[2] = true })
		synctest.Wait()
		if !done[2] || done[0] || done[1] {
			t.Errorf("done while the first is stuck: %v", done)
		}
		close(stuck)
		l.Wait()
		if !done[1] {
			t.Errorf("done at the end: %v", done)
		}
	})
}
