package discord

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// drainGrace is how long what was received may take to be handed in once the program ends.
const drainGrace = 3 * time.Second

// lanes do the jobs of one key one after another, and those of different keys side by side. Nobody who puts
// a job in ever waits: the gateway's reader must not.
type lanes struct {
	log  *slog.Logger
	ctx  context.Context // of the jobs
	cut  context.CancelFunc
	work sync.WaitGroup

	mu sync.Mutex
	m  map[string][]func(context.Context)
}

func newLanes(ctx context.Context, log *slog.Logger) *lanes {
	l := &lanes{log: log, m: map[string][]func(context.Context){}}
	l.ctx, l.cut = context.WithCancel(context.WithoutCancel(ctx))
	return l
}

func (l *lanes) put(key string, job func(context.Context)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.m[key] = append(l.m[key], job)
	if len(l.m[key]) == 1 {
		l.work.Go(func() { l.drain(key) })
	}
}

func (l *lanes) drain(key string) {
	for more := true; more; {
		l.mu.Lock()
		job := l.m[key][0]
		l.mu.Unlock()
		l.do(job)
		more = l.done(key)
	}
}

// done takes the first job off its lane and reports whether others stand behind it. A lane that is empty is
// gone in the same step, so that the next job begins a new one.
func (l *lanes) done(key string) (more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := l.m[key][1:]
	if more = len(rest) > 0; more {
		l.m[key] = rest
	} else {
		delete(l.m, key)
	}
	return more
}

// do keeps a panic in one job from ending the others.
func (l *lanes) do(job func(context.Context)) {
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("discord: an event was lost: handling it panicked", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	job(l.ctx)
}

// wait returns once all jobs are done, or were cut off after the grace and ended.
func (l *lanes) wait(grace time.Duration) {
	late := time.AfterFunc(grace, l.cut)
	l.work.Wait()
	late.Stop()
	l.cut()
}
