package discord

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"parley/channels"
)

// drainGrace is how long what was received may take to be handed in once the program ends.
const drainGrace = 3 * time.Second

// lanes are channels.Lanes whose jobs outlive ctx by a grace. The gateway's reader puts them in, and never
// waits.
type lanes struct {
	log  *slog.Logger
	ctx  context.Context // of the jobs
	cut  context.CancelFunc
	jobs channels.Lanes[string]
}

func newLanes(ctx context.Context, log *slog.Logger) *lanes {
	l := &lanes{log: log}
	l.ctx, l.cut = context.WithCancel(context.WithoutCancel(ctx))
	return l
}

func (l *lanes) put(key string, job func(context.Context)) {
	l.jobs.Put(key, func() { l.do(job) })
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
	l.jobs.Wait()
	late.Stop()
	l.cut()
}
