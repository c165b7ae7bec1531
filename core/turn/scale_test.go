package turn_test

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"parley/core"
	"parley/store/bolt"
)

// plain is a world in real time, which start and stop serve too.
func plain(t testing.TB) *world {
	w := newWorldAt(t, t.TempDir())
	w.model = script(calls("", `db__drop {"name":"staging"}`))
	w.quiet = true
	return w
}

func place(i int) core.ConversationID {
	return core.NewConversation("ops", home, core.Place(strconv.Itoa(i)))
}

// each sends one text to n conversations from `from` on, at most width at once, and waits until each rests.
func (w *world) each(from, n, width int, text string) {
	slots := make(chan struct{}, width)
	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			m := w.message(ana, text)
			m.Conversation = place(from + i)
			if _, err := w.e.Accept(context.Background(), m); err != nil {
				w.t.Error(err)
				return
			}
			if err := w.e.Idle(context.Background(), m.Conversation); err != nil {
				w.t.Error(err)
			}
		})
	}
	all.Wait()
}

// resident is the process's memory in bytes, after what can be is given back.
func resident(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no /proc here")
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Skip("no RssAnon here")
	return 0
}

// TestTenThousandWaitingTurns holds a file with 10,000 waiting turns against one with ten: nothing is
// scanned when it opens, and the process does not grow.
func TestTenThousandWaitingTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("fills a file")
	}
	w := plain(t)
	w.start()
	opened := func(n int) (keys uint64, memory int64, goroutines int) {
		w.close()
		w.mu.Lock()
		w.requests = nil
		w.mu.Unlock()
		w.start()
		keys = w.store.(*bolt.Store).Stats().Keys
		page, _, err := w.store.Inputs(t.Context(), inputFilter)
		if err != nil || len(page) != min(n, 5) {
			t.Fatalf("a page of the inputs: %d, %v", len(page), err)
		}
		return keys, resident(t), runtime.NumGoroutine()
	}
	w.each(0, 10, 10, "go")
	fewKeys, few, fewG := opened(10)
	total := 10000
	if raced {
		total = 1000 // the keys tell as much
	}
	w.each(10, total-10, 128, "go")
	manyKeys, many, manyG := opened(total)
	t.Logf("keys read at start: %d with ten, %d with %d; memory %d kB and %d kB; goroutines %d and %d", fewKeys, manyKeys, total, few>>10, many>>10, fewG, manyG)
	if manyKeys > fewKeys+10 {
		t.Errorf("opening reads %d keys with %d waiting turns, %d with ten", manyKeys, total, fewKeys)
	}
	if !raced && many > few+10<<20 {
		t.Errorf("%d kB more with 10,000 waiting turns", (many-few)>>10)
	}
	if manyG > fewG+2 {
		t.Errorf("%d goroutines with 10,000 waiting turns, %d with ten", manyG, fewG)
	}
	w.each(500, 1, 1, "yes")
	if n := w.tools["db__drop"].ran(); n != 1 {
		t.Errorf("ran %d times", n)
	}
	w.close()
}
