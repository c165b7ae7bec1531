package slack

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// How long a failed job waits before the next try: from a second, twice as long each time.
const (
	firstPause = time.Second
	lastPause  = 30 * time.Second
)

// backoff is the growing pause between tries.
type backoff struct{ next time.Duration }

// pause is how long to wait now: between half and all of the step, so that many bots do not come back at once.
func (b *backoff) pause() time.Duration {
	step := max(b.next, firstPause)
	b.next = min(2*step, lastPause)
	return step/2 + rand.N(step/2)
}

// maxWaiting bounds what may wait in memory; beyond it nothing is taken in, and Slack brings it again.
const maxWaiting = 10000

var errFull = errors.New("slack: too much waits to be stored")

// inbox handles what was received: the jobs of a lane one after another, and one that fails is tried again
// before the next; other lanes go on meanwhile.
type inbox struct {
	ctx  context.Context
	log  *slog.Logger
	work sync.WaitGroup

	mu    sync.Mutex
	lanes map[string][]*job
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
	return &inbox{ctx: ctx, log: log, lanes: map[string][]*job{}, known: map[string]*job{}}
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
	b.lanes[lane] = append(b.lanes[lane], j)
	if len(b.lanes[lane]) == 1 {
		b.work.Go(func() { b.drain(lane) })
	}
	return j, nil
}

// drain handles a lane until it is empty or the inbox ends.
func (b *inbox) drain(lane string) {
	for more := true; more; {
		b.mu.Lock()
		j := b.lanes[lane][0]
		b.mu.Unlock()
		j.err = b.insist(j)
		more = b.handled(lane, j)
		close(j.done)
	}
}

// handled takes a job off its lane and reports whether others stand behind it. A lane that is empty is gone
// in the same step, so that the next job begins a new one.
func (b *inbox) handled(lane string, j *job) (more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.known, j.id)
	rest := b.lanes[lane][1:]
	if more = len(rest) > 0; more {
		b.lanes[lane] = rest
	} else {
		delete(b.lanes, lane)
	}
	return more
}

// insist does a job until that works; the error of the context if that ended first.
func (b *inbox) insist(j *job) error {
	var rest backoff
	for {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		err := j.do(b.ctx)
		if err == nil {
			return nil
		}
		d := max(rest.pause(), wanted(err))
		if b.ctx.Err() == nil {
			b.log.Warn("slack: not taken, trying again", "id", j.id, "after", d.Round(time.Millisecond), "err", err)
		}
		if err := sleep(b.ctx, d); err != nil {
			return err
		}
	}
}

// wait returns once no lane is worked on.
func (b *inbox) wait() { b.work.Wait() }

// sleep waits, or ends with ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
