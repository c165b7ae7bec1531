package channels

import "sync"

// Lanes do the jobs of one key one after another, in the order in which they were put in, and those of
// different keys side by side. Nobody who puts a job in waits, and nothing is kept of a key that is quiet.
// The zero value is ready.
type Lanes[K comparable] struct {
	work sync.WaitGroup
	mu   sync.Mutex
	m    map[K][]func() // the first is being done
}

// Put puts a job at the end of its key's lane.
func (l *Lanes[K]) Put(key K, job func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.m == nil {
		l.m = map[K][]func(){}
	}
	l.m[key] = append(l.m[key], job)
	if len(l.m[key]) == 1 {
		l.work.Go(func() { l.drain(key) })
	}
}

// Wait returns once no job is left.
func (l *Lanes[K]) Wait() { l.work.Wait() }

func (l *Lanes[K]) drain(key K) {
	for more := true; more; {
		l.mu.Lock()
		job := l.m[key][0]
		l.mu.Unlock()
		job()
		more = l.done(key)
	}
}

// done takes the first job off its lane and reports whether others stand behind it. A lane that is empty is
// gone in the same step, so that the next job begins a new one.
func (l *Lanes[K]) done(key K) (more bool) {
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
