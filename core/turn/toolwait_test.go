package turn_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/core/tool"
)

// away is a toolbox whose tools of one source are not there until it comes.
type away struct {
	toolbox
	source string
	there  chan struct{}
	waits  atomic.Int32
}

func (a *away) Lookup(name string) (tool.Tool, bool) {
	if strings.HasPrefix(name, a.source) {
		select {
		case <-a.there:
		default:
			return nil, false
		}
	}
	return a.toolbox.Lookup(name)
}

func (a *away) Await(ctx context.Context, name string) (tool.Tool, bool) {
	if !strings.HasPrefix(name, a.source) {
		return nil, false
	}
	a.waits.Add(1)
	select {
	case <-ctx.Done():
	case <-a.there:
	}
	return a.Lookup(name)
}

// inAbsence runs f where an approval of db__drop waits and the process was started again without its source.
func inAbsence(t *testing.T, f func(t *testing.T, w *world, a *away)) {
	t.Helper()
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		a := &away{toolbox: toolbox{w}, source: "db__", there: make(chan struct{})}
		w.agent.Tools = a
		w.restart()
		w.shown = nil
		f(t, w, a)
	})
}

func TestDispatchWaitsForTheSource(t *testing.T) {
	inAbsence(t, func(t *testing.T, w *world, a *away) {
		w.send(w.message(ana, "yes"))
		w.pass(20 * time.Second)
		if w.tools["db__drop"].ran() != 0 || a.waits.Load() != 1 {
			t.Fatalf("ran %d, waited %d times", w.tools["db__drop"].ran(), a.waits.Load())
		}
		close(a.there)
		w.idle()
		w.wantLines("edit approval accepted", "say end")
		if n := w.tools["db__drop"].ran(); n != 1 {
			t.Errorf("ran %d times", n)
		}
	})
}

func TestDispatchGivesUpOnTheSource(t *testing.T) {
	inAbsence(t, func(t *testing.T, w *world, a *away) {
		began := time.Now()
		w.say(ana, "yes")
		if took := time.Since(began).Truncate(time.Second); took != 30*time.Second {
			t.Errorf("took %v", took)
		}
		if res := w.results(); len(res) != 1 || !strings.Contains(res[0], "The tool is gone: the call did not run.") || a.waits.Load() != 1 {
			t.Errorf("results %q, waited %d times", res, a.waits.Load())
		}
		if w.tools["db__drop"].ran() != 0 {
			t.Error("it ran")
		}
	})
}

// What comes back otherwise than it was shown is asked again.
func TestASourceThatComesBackChanged(t *testing.T) {
	inAbsence(t, func(t *testing.T, w *world, a *away) {
		w.send(w.message(ana, "yes"))
		w.pass(time.Second)
		w.tools["db__drop"].spec.Target = "elsewhere"
		close(a.there)
		w.idle()
		if in := w.waiting(); len(in) != 1 || in[0].Purpose != core.PurposeChanged || w.tools["db__drop"].ran() != 0 {
			t.Errorf("waiting %+v, ran %d", in, w.tools["db__drop"].ran())
		}
	})
}

func TestAbortWhileASourceIsWaitedFor(t *testing.T) {
	inAbsence(t, func(t *testing.T, w *world, a *away) {
		w.send(w.message(ana, "yes"))
		synctest.Wait()
		began := time.Now()
		w.say(ana, "cancel")
		if took := time.Since(began).Truncate(time.Second); took != 0 || a.waits.Load() != 1 {
			t.Errorf("took %v, waited %d times", took, a.waits.Load())
		}
		w.wantLines("edit approval accepted", "note aborted")
		if n := w.tools["db__drop"].ran(); n != 0 {
			t.Errorf("ran %d times", n)
		}
	})
}

func TestStopWhileASourceIsWaitedFor(t *testing.T) {
	inAbsence(t, func(t *testing.T, w *world, a *away) {
		w.send(w.message(ana, "yes"))
		synctest.Wait()
		w.restart()
		synctest.Wait()
		close(a.there)
		w.idle()
		if in := w.waiting(); len(in) != 0 || w.tools["db__drop"].ran() != 1 {
			t.Errorf("waiting %+v, ran %d: nothing had begun, so nothing is unknown", in, w.tools["db__drop"].ran())
		}
	})
}

// Reads that were cut by a crash wait too, beside each other.
func TestReadsWaitForTheSource(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		slow(w.tools["db__read"], time.Hour)
		w.model = script(calls("", `db__read {"n":1}`, `db__read {"n":2}`))
		w.start()
		w.send(w.message(ana, "go"))
		synctest.Wait()
		a := &away{toolbox: toolbox{w}, source: "db__", there: make(chan struct{})}
		w.agent.Tools = a
		w.restart()
		w.pass(10 * time.Second)
		w.tools["db__read"].run = nil
		close(a.there)
		w.idle()
		if res := w.results(); len(res) != 2 || res[0] != "done" || res[1] != "done" {
			t.Errorf("results %q", res)
		}
	})
}

// A tool that is not of a source that may come is gone at once.
func TestAToolOfNobodyIsGone(t *testing.T) {
	inAbsence(t, func(t *testing.T, w *world, a *away) {
		a.source = "other__"
		delete(w.tools, "db__drop")
		began := time.Now()
		w.say(ana, "yes")
		if took := time.Since(began).Truncate(time.Second); took != 0 || a.waits.Load() != 0 {
			t.Errorf("took %v, waited %d times", took, a.waits.Load())
		}
		if res := w.results(); len(res) != 1 || !strings.Contains(res[0], "The tool is gone") {
			t.Errorf("results %q", res)
		}
	})
}
