package bolt

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	bbolt "go.etcd.io/bbolt"

	"parley/core/turn"
)

// lazyWait is how long a lazy update waits for another commit to ride on.
const lazyWait = 100 * time.Millisecond

// maxBatch bounds how many updates share a commit, and so how long the first of them waits.
const maxBatch = 1024

// job is one update on its way. done is closed when err and panicked are final.
type job struct {
	at       turn.Scope
	f        func(*tx) error
	begun    bool // guarded by queue.mu
	err      error
	panicked any
	done     chan struct{}
}

func (j *job) finish(err error) {
	j.err = err
	close(j.done)
}

// queue orders the updates. One goroutine at a time drains it, and none while nothing waits.
type queue struct {
	mu       sync.Mutex
	waiting  []*job
	urgent   bool // something of what waits is not lazy, or has waited long enough
	draining bool
	closed   bool
	idle     chan struct{} // closed when the last drain of a closed queue is over
	lazy     *time.Timer
}

// submit queues f and waits until it is durable or failed. A closure that has not begun when ctx ends is dropped.
func (s *Store) submit(ctx context.Context, at turn.Scope, f func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.readOnly {
		return fmt.Errorf("store: update %q: %w", at.Conversation, ErrReadOnly)
	}
	j := &job{at: at, f: f, done: make(chan struct{})}
	if err := s.enqueue(j); err != nil {
		return err
	}
	select {
	case <-j.done:
	case <-ctx.Done():
		if s.drop(j) {
			return ctx.Err()
		}
		<-j.done
	}
	if j.panicked != nil {
		panic(j.panicked)
	}
	return j.err
}

func (s *Store) enqueue(j *job) error {
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return fmt.Errorf("store: update %q: %w", j.at.Conversation, ErrClosed)
	}
	q.waiting = append(q.waiting, j)
	if !j.at.Lazy {
		s.hurry()
	} else if !q.urgent && q.lazy == nil {
		q.lazy = time.AfterFunc(lazyWait, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.lazy = nil
			s.hurry()
		})
	}
	return nil
}

// hurry has what waits written now: urgent implies draining. The caller holds the lock.
func (s *Store) hurry() {
	q := &s.queue
	if len(q.waiting) == 0 {
		return
	}
	if q.urgent = true; !q.draining {
		q.draining = true
		go s.drain()
	}
}

// drop takes a job out that has not begun.
func (s *Store) drop(j *job) bool {
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if j.begun {
		return false
	}
	for i, w := range q.waiting {
		if w == j {
			q.waiting = append(q.waiting[:i:i], q.waiting[i+1:]...)
			break
		}
	}
	return true
}

// take hands out what waits, in order; nil ends the drain.
func (q *queue) take() []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.urgent || len(q.waiting) == 0 {
		q.urgent, q.draining = false, false
		if q.closed {
			close(q.idle)
		}
		return nil
	}
	n := min(len(q.waiting), maxBatch)
	batch := q.waiting[:n:n]
	if q.waiting = q.waiting[n:]; len(q.waiting) == 0 {
		q.waiting, q.urgent = nil, false
		if q.lazy != nil {
			q.lazy.Stop()
			q.lazy = nil
		}
	}
	for _, j := range batch {
		j.begun = true
	}
	return batch
}

// closeQueue refuses further updates, writes what waits and returns when that is done.
func (s *Store) closeQueue() {
	q := &s.queue
	q.mu.Lock()
	first := !q.closed
	if first {
		q.closed, q.idle = true, make(chan struct{})
		if q.lazy != nil {
			q.lazy.Stop()
			q.lazy = nil
		}
		if s.hurry(); !q.draining {
			close(q.idle)
		}
	}
	idle := q.idle
	q.mu.Unlock()
	<-idle
}

func (s *Store) drain() {
	debug.SetPanicOnFault(true)
	r := &run{s: s}
	defer func() {
		// Only a closure that ended its goroutine (a test's FailNow) leads here with work left.
		if len(r.todo) > 0 {
			r.todo[r.at].finish(errGone)
			rest := slices.Delete(r.todo, r.at, r.at+1)
			s.queue.mu.Lock()
			s.queue.waiting = append(rest, s.queue.waiting...)
			s.queue.urgent = true
			s.queue.mu.Unlock()
			go s.drain()
		}
	}()
	for r.todo = s.gather(); r.todo != nil; r.todo = s.gather() {
		for n := len(r.todo); n > 0; {
			n = r.batch(n)
		}
	}
}

// gather lets whoever is ready to run hand in an update first: those that the last commit set free most of
// all. Where nobody is, it costs nothing.
func (s *Store) gather() []*job {
	runtime.Gosched()
	return s.queue.take()
}

var (
	errGone    = errors.New("store: the update ended its goroutine instead of returning")
	errUndo    = errors.New("undo")
	errNothing = errors.New("nothing written")
)

// run is a drain at work.
type run struct {
	s    *Store
	todo []*job
	at   int // which of them runs
}

// batch runs the first n jobs in one transaction and returns how many to run in the next. A job that
// failed before it wrote left no trace and disturbs nobody. One that failed after is undone together
// with those before it: these go again by themselves, then it comes first and is undone alone.
func (r *run) batch(n int) int {
	jobs := r.todo[:n]
	errs, panics := make([]error, n), make([]any, n)
	dirty, woke := false, false
	err := r.s.update(func(btx *bbolt.Tx) error {
		for i, j := range jobs {
			r.at = i
			t := &tx{s: r.s, btx: btx, conv: j.at.Conversation, claim: j.at.Claim, now: r.s.clock()}
			panics[i], errs[i] = t.run(j.f)
			if t.dirty && (errs[i] != nil || panics[i] != nil) {
				return errUndo
			}
			dirty, woke = dirty || t.dirty, woke || t.woke
		}
		if !dirty {
			return errNothing
		}
		return nil
	})
	switch {
	case errors.Is(err, errUndo) && r.at > 0:
		return r.at
	case errors.Is(err, errUndo):
		jobs = jobs[:1]
	case errors.Is(err, errNothing):
	case err != nil:
		for i := range jobs {
			errs[i], panics[i] = fmt.Errorf("store: commit: %w", err), nil
		}
	default:
		r.s.commits.Add(1)
	}
	r.s.updates.Add(uint64(len(jobs)))
	r.todo = r.todo[len(jobs):]
	if woke {
		r.s.hint()
	}
	for i, j := range jobs {
		j.panicked = panics[i]
		j.finish(errs[i])
	}
	return len(r.todo)
}

// update is bbolt's Update with a panic over a damaged page as an error.
func (s *Store) update(f func(*bbolt.Tx) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = damage{cause: r}.err()
		}
	}()
	return s.db.Update(f)
}

// run calls f behind the fence. A panic of f is returned.
func (t *tx) run(f func(*tx) error) (panicked any, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case damage:
			err = r.err()
		default:
			panicked = r
		}
	}()
	if t.claim != nil {
		if t.claim.Conversation != t.conv {
			return nil, fmt.Errorf("store: claim on %q used for %q", t.claim.Conversation, t.conv)
		}
		if _, err := t.fence(t.claim); err != nil {
			return nil, err
		}
	}
	return nil, f(t)
}
