package channels

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"parley/core"
	"parley/core/turn"
	"parley/render"
)

// pollOutbox is how long a lost hint may delay a row; storeRetry how long a failed store is left alone.
const (
	pollOutbox = 15 * time.Second
	storeRetry = time.Second
)

// listEvery is the least time between two looks at a busy outbox: every send and every receipt of every
// conversation asks for one, and a look reads all that is in flight again.
const listEvery = 2 * time.Millisecond

// delivery sends what the outbox of one channel holds: the rows of a conversation in order, those of
// different conversations side by side.
type delivery struct {
	*port
	grace    time.Duration
	parallel int
	// started tells rows that a process before this one may have tried from those it cannot have.
	started time.Time
	freed   chan struct{}

	mu sync.Mutex
	// busy are the conversations whose oldest row is being sent or recorded; sending counts the former.
	busy    map[core.ConversationID]bool
	sending int
	// since are the conversations that were freed since the outbox was last listed: what the list says of them is
	// out of date, and would be sent a second time.
	since map[core.ConversationID]bool
	// unsure is, by row, the part whose last attempt in this process may have gone through.
	unsure map[string]int
	moved  map[core.ConversationID]core.Place
	// streaming are the replies that are shown while they are written; what is in it belongs to whoever made its
	// conversation busy. nextLook, of the loop alone, is when to look for more of them.
	streaming map[core.ConversationID]streamed
	nextLook  time.Time
}

func newDelivery(p *port, cfg Config) *delivery {
	return &delivery{
		port: p, grace: cfg.Grace, parallel: cfg.Parallel, started: cfg.Now(),
		freed: make(chan struct{}, 1),
		busy:  map[core.ConversationID]bool{}, since: map[core.ConversationID]bool{},
		unsure: map[string]int{}, moved: map[core.ConversationID]core.Place{},
		streaming: map[core.ConversationID]streamed{},
	}
}

// run delivers until ctx ends. What is being sent then has the grace to finish; what does not stays in the
// outbox, and is sent again by the next process with the mark of a copy.
func (d *delivery) run(ctx context.Context) {
	wake, stop := d.turns.Wake(d.name)
	defer stop()
	send, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var workers sync.WaitGroup
	for ctx.Err() == nil {
		wait := d.start(ctx, send, &workers)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-wake:
		case <-d.freed:
		case <-timer.C:
		}
		timer.Stop()
		if d.crowded() {
			_ = Sleep(ctx, listEvery) // the caller looks at ctx
		}
	}
	late := time.AfterFunc(d.grace, cut)
	workers.Wait()
	late.Stop()
}

// start begins to send every row that can be, and returns when to look again at the latest.
func (d *delivery) start(ctx, send context.Context, workers *sync.WaitGroup) time.Duration {
	for _, row := range d.turns.Glances(d.name) {
		if d.Adapter.Dialect().Edits && d.take(row.Conversation) {
			workers.Go(func() { d.glance(send, row) })
		}
	}
	rows, next, err := d.turns.Outbox(ctx, d.name, d.room())
	if err != nil {
		if ctx.Err() == nil {
			d.log.Error("the outbox could not be read", "err", err)
		}
		return storeRetry
	}
	for _, row := range rows {
		if d.takeListed(row.Conversation) {
			workers.Go(func() { d.work(send, row) })
		}
	}
	wait := d.stream(ctx, send, workers.Go)
	if !next.IsZero() {
		wait = min(wait, max(next.Sub(d.now()), 0))
	}
	return wait
}

// room is how many rows to list now: those in flight are listed too, and must not hide a free conversation.
func (d *delivery) room() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.since)
	return d.parallel + len(d.busy)
}

// crowded reports whether a look at the outbox would mostly find what is in flight.
func (d *delivery) crowded() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.busy) > d.parallel/4
}

// takeListed takes a conversation for a row of the last list, unless that is out of date; free has asked for
// another then.
func (d *delivery) takeListed(c core.ConversationID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.since[c] && d.takeNow(c)
}

func (d *delivery) take(c core.ConversationID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.takeNow(c)
}

// takeNow is take with mu held.
func (d *delivery) takeNow(c core.ConversationID) bool {
	if d.busy[c] || d.sending >= d.parallel {
		return false
	}
	d.busy[c] = true
	d.sending++
	return true
}

// sent makes room for another send while the receipt is being stored; free lets the conversation's next
// row go.
func (d *delivery) sent() {
	d.mu.Lock()
	d.sending--
	d.mu.Unlock()
	d.look()
}

func (d *delivery) free(c core.ConversationID) {
	d.mu.Lock()
	delete(d.busy, c)
	d.since[c] = true
	d.mu.Unlock()
	d.look()
}

// look has the loop list the outbox again.
func (d *delivery) look() {
	select {
	case d.freed <- struct{}{}:
	default:
	}
}

// work sends one row and records what became of it.
func (d *delivery) work(ctx context.Context, row core.Out) {
	defer d.free(row.Conversation)
	receipt, fail, err := d.try(ctx, row)
	d.sent()
	record := func(ctx context.Context) error { return d.turns.Sent(ctx, row, receipt) }
	switch {
	case err != nil:
		if ctx.Err() == nil {
			d.log.Error("a row of the outbox could not be loaded", "conversation", row.Conversation, "row", row.Seq, "err", err)
			_ = Sleep(ctx, storeRetry) // the caller looks at ctx
		}
		return
	case fail != nil:
		if ctx.Err() != nil {
			return // cut at the end: the row stays as it is
		}
		d.log.Warn("not sent", "conversation", row.Conversation, "row", row.Seq, "kind", row.Kind,
			"permanent", fail.Permanent, "unsure", fail.Unsure, "tries", row.Tries+1, "err", fail.Err)
		record = func(ctx context.Context) error { return d.turns.Failed(ctx, row, *fail) }
	}
	d.observe.Delivery(d.name, deliveredOf(fail))
	if fail == nil || fail.Permanent {
		d.settle(row)
	}
	d.record(ctx, row, record)
}

// record stores a receipt, again and again if need be: what was sent must not be sent twice. It gives up
// with the grace of the end.
func (d *delivery) record(ctx context.Context, row core.Out, store func(context.Context) error) {
	for {
		try, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.grace)
		err := store(try)
		cancel()
		switch {
		case err == nil, errors.Is(err, turn.ErrNotFound):
			return
		case ctx.Err() != nil:
			d.log.Error("a receipt was not stored: the row may be sent again", "conversation", row.Conversation, "row", row.Seq, "err", err)
			return
		}
		d.log.Error("a receipt could not be stored, it is tried again", "conversation", row.Conversation, "row", row.Seq, "err", err)
		_ = Sleep(ctx, storeRetry) // the caller looks at ctx
	}
}

// try renders and sends one row. err says that it could not be loaded; nothing was sent then.
func (d *delivery) try(ctx context.Context, row core.Out) (r core.Receipt, fail *turn.Failure, err error) {
	defer func() {
		if p := recover(); p != nil {
			d.log.Error("sending a row panicked", "panic", p, "stack", string(debug.Stack()))
			fail = &turn.Failure{Err: fmt.Sprintf("panicked: %v", p)}
		}
	}()
	if who, ok := d.personAt(row.Conversation); ok {
		return r, d.forward(ctx, row, who), nil
	}
	s, err := d.turns.Show(ctx, row)
	switch {
	case errors.Is(err, turn.ErrNotFound):
		return r, &turn.Failure{Permanent: true, Err: "what it names is gone"}, nil
	case err != nil:
		return r, nil, err
	}
	if s.Conversation.Moved != "" {
		d.move(row.Conversation, s.Conversation.Moved)
	}
	defer d.typing.quiet(ctx, row.Conversation)()
	v := d.viewOf(s)
	unseen, fail := d.edit(ctx, v, s)
	var lines []Line
	if fail == nil {
		lines, fail = d.apart(ctx, &v, &s)
	}
	if fail == nil {
		lines = append(append(lines, unseen...), Lines(v, s)...)
		var stands *streamed
		if stands, fail = d.standing(ctx, row, lines); fail == nil {
			r, fail = d.send(ctx, s.Row, lines, stands)
		}
	}
	return r, fail, nil
}

// viewOf is how the row's conversation sees things. A row that this process did not write, or that may have
// gone through, is marked as a copy; not where its first parts are known, which must split as they did.
func (d *delivery) viewOf(s turn.Shown) render.View {
	v := d.view(s.Lang, s.Conversation.Shared || copied(s))
	v.Agent = s.Agent
	if !s.Now.IsZero() {
		v.Now = s.Now
	}
	v.Again = len(s.Row.Parts) == 0 && d.maybeSent(s.Row)
	v.Names = namesOf(d.Adapter, s.Row.Conversation)
	return v
}

// maybeSent reports whether parts of the row may stand in the chat that nobody knows of.
func (d *delivery) maybeSent(row core.Out) bool {
	return row.Unsure > 0 || row.CreatedAt.Before(d.started)
}

// key names one part of one row, the same at every try and in every process.
func key(row core.Out, part int) string {
	return core.Digest(string(row.Conversation), strconv.FormatUint(row.Seq, 10), strconv.Itoa(part))
}
