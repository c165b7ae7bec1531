//go:build unix

package turn_test

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/store/bolt"
)

// cpu is the time that the process has used of all processors so far. Where others work on the same machine
// it tells more than the time that passed.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// benchCycles runs whole turns: a message, the prompt, its answer, the call, the reply. width at once.
func benchCycles(b *testing.B, width int) {
	w := plain(b)
	w.start()
	defer w.close()
	w.cycles(64, width) // the file has its size, the pools are warm
	before, used := w.store.(*bolt.Store).Stats().Commits, cpu(b)
	b.ReportAllocs()
	b.ResetTimer()
	w.cycles(b.N, width)
	b.StopTimer()
	b.ReportMetric(float64((cpu(b)-used).Microseconds())/float64(b.N), "cpu-µs/turn")
	b.ReportMetric(float64(w.store.(*bolt.Store).Stats().Commits-before)/float64(b.N), "commits/turn")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
}

func (w *world) cycles(n, width int) {
	var all sync.WaitGroup
	next := make(chan int)
	for range width {
		all.Go(func() {
			for i := range next {
				w.each(i, 1, 1, "go")
				w.each(i, 1, 1, "yes")
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

func BenchmarkCycleAlone(b *testing.B) { benchCycles(b, 1) }
func BenchmarkCycle64(b *testing.B)    { benchCycles(b, 64) }

// BenchmarkAnswer answers one of many waiting turns.
func BenchmarkAnswer(b *testing.B) {
	for _, n := range []int{10, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := plain(b)
			w.start()
			defer w.close()
			w.each(0, n, 128, "go")
			var took time.Duration
			for b.Loop() {
				w.each(n+1, 1, 1, "go")
				began := time.Now()
				w.each(n+1, 1, 1, "yes")
				took += time.Since(began)
			}
			b.ReportMetric(float64(took.Microseconds())/float64(b.N), "µs/answer")
		})
	}
}
