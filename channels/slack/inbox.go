package slack

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"parley/channels"
)

// maxWaiting bounds what may wait in memory; beyond it nothing is taken in, and Slack brings it again.
const maxWaiting = 10000

var errFull = errors.New("slack: too much waits to be stored")

// inbox handles what was received: the jobs of a lane one after another, and one that fails is tried again
// before the next; other lanes go on meanwhile.
type inbox struct {
	ctx   context.Context
	log   *slog.Logger
	lanes channels.Lanes[string]
	work  sync.WaitGroup // what jobs leave behind

	mu    sync.Mutex
	known map[string]*job
}

// job is one message or press. done is closed once it was handled; err says then whether it was.
type job struct {
	id   string
	do   func(context.Context) error
	done chan struct{}
	err  error
}

func newInbox(ctx context.Context, log *slog.Logger) *inbox {
	return &inbox{ctx: ctx, log: log, known: map[string]*job{}}
}

// submit puts a job into its lane. One of the same id that waits already stands for it.
func (b *inbox) submit(lane, id string, do func(context.Context) error) (*job, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if j := b.known[id]; j != nil {
		return j, nil
	}
	if err := b.ctx.Err(); err != nil {
		return nil, err
	}
	if len(b.known) >= maxWaiting {
		return nil, errFull
	}
	j := &job{id: id, do: do, done: make(chan struct{})}
	b.known[id] = j
	b.lanes.Put(lane, func() { b.handle(j) })
	return j, nil
}

// handle does a job, and says so.
func (b *inbox) handle(j *job) {
	j.err = b.insist(j)
	b.mu.Lock()
	delete(b.known, j.id)
	b.mu.Unlock()
	close(j.done)
}

// insist does a job until that works; the error of the context if that ended first.
func (b *inbox) insist(j *job) error {
	var rest channels.Backoff
	for {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		err := j.do(b.ctx)
		if err == nil {
			return nil
		}
		d := max(rest.Pause(), wanted(err))
		if b.ctx.Err() == nil {
			b.log.Warn("slack: not taken, trying again", "id", j.id, "after", d.Round(time.Millisecond), "err", err)
		}
		if err := channels.Sleep(b.ctx, d); err != nil {
			return err
		}
	}
}

// wait returns once no lane is worked on.
func (b *inbox) wait() {
	b.lanes.Wait()
	b.work.Wait()
}
