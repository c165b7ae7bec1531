package rest

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"sync"

	"parley/core"
)

const (
	// ringSize is how many of the newest events are kept for all streams.
	ringSize = 4096
	// batch is how many events are read or handed out at once.
	batch = 256
)

// entry is one event of the log: to whom it concerns, and its frame as it is written; nil of one that is not
// streamed.
type entry struct {
	seq    uint64
	runs   []core.RunID   // its run and those above it
	agents []core.AgentID // of those runs and of the conversation
	frame  []byte
	last   bool // it is the end of runs[0]
}

// selector is what a stream is about: a run with those below it, or an agent.
type selector struct {
	run   core.RunID
	agent core.AgentID
}

func (s selector) wants(e entry) bool {
	if e.frame == nil {
		return false
	}
	if s.run != "" {
		return slices.Contains(e.runs, s.run)
	}
	return slices.Contains(e.agents, s.agent)
}

// feed reads the log once for all streams. Whoever wants to go on reads what is new for everybody; nobody
// does while nobody listens.
type feed struct {
	rows Rows

	mu        sync.Mutex
	listeners int
	begun     bool
	ring      []entry
	floor     uint64 // the ring holds every event after it …
	last      uint64 // … up to this
	news      <-chan struct{}
	lines     map[core.RunID]lineage
}

func newFeed(rows Rows) *feed { return &feed{rows: rows, lines: map[core.RunID]lineage{}} }

// join counts a listener, up to a limit; leave takes it back.
func (f *feed) join(most int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listeners >= most {
		return false
	}
	f.listeners++
	return true
}

func (f *feed) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listeners--; f.listeners == 0 { // what comes meanwhile is not worth reading
		f.begun, f.ring, f.news, f.lines = false, nil, nil, map[core.RunID]lineage{}
	}
}

// end is the place of the newest event.
func (f *feed) end(ctx context.Context) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.refresh(ctx, false)
	return f.last, err
}

// page is what a stream gets next: entries after its place in order, and its new place. Where there is no
// more now, news is closed once there may be.
func (f *feed) page(ctx context.Context, s selector, place uint64, force bool) (out []entry, to uint64, news <-chan struct{}, err error) {
	f.mu.Lock()
	if err := f.refresh(ctx, force); err != nil {
		f.mu.Unlock()
		return nil, place, nil, err
	}
	if place < f.floor {
		end := f.last
		f.mu.Unlock()
		out, to, err = f.behind(ctx, s, place, end)
		return out, to, nil, err
	}
	defer f.mu.Unlock()
	for _, e := range f.ring[sort.Search(len(f.ring), func(i int) bool { return f.ring[i].seq > place }):] {
		if len(out) == batch {
			return out, to, nil, nil
		}
		if to = e.seq; s.wants(e) {
			out = append(out, e)
		}
	}
	return out, max(place, f.last), f.news, nil
}

// refresh takes what is new into the ring, if there may be anything.
func (f *feed) refresh(ctx context.Context, force bool) (err error) {
	select {
	case <-f.news:
	default:
		if f.news != nil && !force {
			return nil
		}
	}
	news := f.rows.News("") // before the look, so that nothing falls between
	if !f.begun {
		if f.last, err = newest(ctx, f.rows, f.last); err != nil {
			return err
		}
		f.floor, f.begun = f.last, true
	}
	for {
		events, err := f.rows.Events(ctx, "", f.last, batch)
		if err != nil {
			return err
		}
		for _, ev := range events {
			e, err := f.entry(ctx, ev, f.lines)
			if err != nil {
				return err
			}
			f.add(e)
		}
		if len(events) < batch {
			f.news = news
			return nil
		}
	}
}

func (f *feed) add(e entry) {
	if len(f.ring) == ringSize { // an eighth at a time, so that moving the rest is rare
		n := ringSize / 8
		f.floor = f.ring[n-1].seq
		f.ring = append(make([]entry, 0, ringSize), f.ring[n:]...)
	}
	if len(f.lines) > ringSize {
		f.lines = map[core.RunID]lineage{}
	}
	f.ring = append(f.ring, e)
	f.last = e.seq
}

// newest finds the place of the newest event, which is at or after from: the log says only what comes after
// a place.
func newest(ctx context.Context, rows Rows, from uint64) (uint64, error) {
	after := func(n uint64) (uint64, bool, error) {
		events, err := rows.Events(ctx, "", n, 1)
		if err != nil || len(events) == 0 {
			return 0, false, err
		}
		return events[0].Seq, true, nil
	}
	low, some, err := after(from)
	if err != nil || !some {
		return from, err
	}
	high := low + 1 // grows until nothing comes after it
	for step := uint64(1); ; step *= 2 {
		n, some, err := after(high)
		if err != nil {
			return 0, err
		}
		if !some {
			break
		}
		low, high = n, n+step
	}
	for low < high { // something is at low, nothing after high
		mid := low + (high-low)/2
		n, some, err := after(mid)
		switch {
		case err != nil:
			return 0, err
		case some:
			low = n
		case mid == low:
			return low, nil
		default:
			high = mid
		}
	}
	return low, nil
}

// lineage is a run with what stands above it.
type lineage struct {
	runs   []core.RunID
	agents []core.AgentID
}

// lineage loads the runs above a run; seen keeps what was loaded.
func (f *feed) lineage(ctx context.Context, id core.RunID, seen map[core.RunID]lineage) (lineage, error) {
	if l, ok := seen[id]; ok || id == "" {
		return l, nil
	}
	run, err := f.rows.RunByID(ctx, id)
	if isGone(err) { // retention was faster
		return lineage{runs: []core.RunID{id}}, nil
	}
	if err != nil {
		return lineage{}, err
	}
	above, err := f.lineage(ctx, run.Parent, seen)
	l := lineage{runs: append([]core.RunID{id}, above.runs...), agents: append([]core.AgentID{agentOf(run)}, above.agents...)}
	seen[id] = l
	return l, err
}

// entry makes the frame of an event from the rows as they stand.
func (f *feed) entry(ctx context.Context, ev core.Event, seen map[core.RunID]lineage) (entry, error) {
	e := entry{seq: ev.Seq, agents: []core.AgentID{ev.Conversation.Agent()}}
	if !slices.Contains(streamed, ev.Type) {
		return e, nil
	}
	l, err := f.lineage(ctx, ev.Run, seen)
	if err != nil {
		return e, err
	}
	e.runs, e.agents, e.last = l.runs, append(e.agents, l.agents...), ev.Type == core.EventRunFinished
	e.frame, err = frame(ctx, f.rows, ev)
	return e, err
}

// behind is a page for a stream that is behind the ring, of events up to end.
func (f *feed) behind(ctx context.Context, s selector, place, end uint64) (out []entry, to uint64, err error) {
	var events []core.Event
	if s.run != "" {
		events, to, err = f.tree(ctx, s.run, place, end)
	} else {
		events, to, err = f.log(ctx, place, end)
	}
	if err != nil {
		return nil, place, err
	}
	seen := map[core.RunID]lineage{}
	for _, ev := range events {
		e, err := f.entry(ctx, ev, seen)
		if err != nil {
			return nil, place, err
		}
		if s.wants(e) {
			out = append(out, e)
		}
	}
	return out, to, nil
}

// log is a page of the whole log.
func (f *feed) log(ctx context.Context, place, end uint64) ([]core.Event, uint64, error) {
	events, err := f.rows.Events(ctx, "", place, batch)
	if err != nil {
		return nil, place, err
	}
	full := len(events) == batch
	events = slices.DeleteFunc(events, func(e core.Event) bool { return e.Seq > end })
	if full && len(events) > 0 {
		end = events[len(events)-1].Seq
	}
	return events, end, nil
}

// tree is a page of the log of a run and those below it. The runs are read after end was, so that each that
// has an event up to end is among them.
func (f *feed) tree(ctx context.Context, root core.RunID, place, end uint64) ([]core.Event, uint64, error) {
	runs, err := f.below(ctx, root)
	if err != nil {
		return nil, place, err
	}
	var all []core.Event
	for _, id := range runs {
		events, err := f.rows.Events(ctx, id, place, batch)
		if err != nil {
			return nil, place, err
		}
		if len(events) == batch {
			end = min(end, events[batch-1].Seq)
		}
		all = append(all, events...)
	}
	all = slices.DeleteFunc(all, func(e core.Event) bool { return e.Seq > end })
	slices.SortFunc(all, func(a, b core.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	return all, end, nil
}

// below are a run and the runs below it. A root lists all of them.
func (f *feed) below(ctx context.Context, id core.RunID) ([]core.RunID, error) {
	run, err := f.rows.RunByID(ctx, id)
	if err != nil {
		return nil, err
	}
	root := run
	for root.Parent != "" {
		if root, err = f.rows.RunByID(ctx, root.Parent); err != nil {
			return nil, err
		}
	}
	out := []core.RunID{id}
	for _, child := range root.Children { // a parent stands before its children
		c, err := f.rows.RunByID(ctx, child)
		if err != nil {
			return nil, err
		}
		if slices.Contains(out, c.Parent) {
			out = append(out, child)
		}
	}
	return out, nil
}
