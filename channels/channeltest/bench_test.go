package channeltest_test

import (
	"fmt"
	"sync"
	"testing"

	"parley/channels/channeltest"
	"parley/core"
	"parley/render"
)

// BenchmarkCycles is a message, its prompt, the answer, the call and the reply, through hub, engine, store
// and delivery, in so many conversations at once. "cycles/s" is what the whole program does.
func BenchmarkCycles(b *testing.B) {
	for _, at := range []int{1, 64} {
		b.Run(fmt.Sprint(at), func(b *testing.B) {
			w := channeltest.NewWorld(b, channeltest.NewMemory(b, render.Dialect{Edits: true}), core.DefaultHumanInput())
			b.ResetTimer()
			var wg sync.WaitGroup
			for i := range at {
				wg.Go(func() {
					for n := range (b.N + at - 1 - i) / at {
						w.Cycle(core.Place(fmt.Sprint("room ", i, " ", n))) // no history to read
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "cycles/s")
		})
	}
}
