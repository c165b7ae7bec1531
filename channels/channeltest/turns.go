package channeltest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"parley/channels"
	"parley/core"
	"parley/core/turn"
)

// Turns is an engine that decides nothing. Its functions, where set, replace what it does.
type Turns struct {
	// Now is the clock that NextAt of a row is judged by.
	Now func() time.Time
	// OnAccept and OnSettle answer for the engine.
	OnAccept func(context.Context, core.Message) (turn.Accepted, error)
	OnSettle func(context.Context, turn.Settlement) (core.Input, error)
	// OnShow completes what a row names.
	OnShow func(core.Out) (turn.Shown, error)
	// OnSent may refuse a receipt.
	OnSent func(core.Out, core.Receipt) error

	mu       sync.Mutex
	accepted []core.Message
	rows     []core.Out
	seq      uint64
	receipts []core.Receipt
	failures []turn.Failure
	working  []core.ConversationID
	waiting  []core.Input
	glances  []core.Out
	partials map[core.ConversationID]turn.Partial
	clear    map[core.ConversationID]core.RunID // no row waited since the run began to write
	wakes    map[string]chan struct{}
	changed  chan struct{}
}

var _ channels.Turns = (*Turns)(nil)

// NewTurns returns an engine on that clock.
func NewTurns(now func() time.Time) *Turns {
	return &Turns{Now: now, wakes: map[string]chan struct{}{}, changed: make(chan struct{})}
}

// Accept records the message.
func (f *Turns) Accept(ctx context.Context, m core.Message) (turn.Accepted, error) {
	got := turn.Accepted{Did: core.DoStart}
	if f.OnAccept != nil {
		var err error
		if got, err = f.OnAccept(ctx, m); err != nil {
			return got, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.accepted = append(f.accepted, m)
	return got, nil
}

// Accepted lists the messages accepted so far.
func (f *Turns) Accepted() []core.Message {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.accepted)
}

// Settle asks OnSettle.
func (f *Turns) Settle(ctx context.Context, s turn.Settlement) (core.Input, error) {
	if f.OnSettle == nil {
		return core.Input{}, core.ErrNoInput(s.Input)
	}
	return f.OnSettle(ctx, s)
}

// Put adds a row to the outbox and wakes its channel.
func (f *Turns) Put(row core.Out) core.Out {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq++
	row.Seq = f.seq
	if row.CreatedAt.IsZero() {
		row.CreatedAt = f.Now()
	}
	f.rows = append(f.rows, row)
	f.tell(row.Conversation.Channel())
	return row
}

// Outbox lists the oldest row of each conversation whose time has come.
func (f *Turns) Outbox(_ context.Context, channel string, limit int) (rows []core.Out, next time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := map[core.ConversationID]bool{}
	for _, r := range f.rows {
		if r.Conversation.Channel() != channel || seen[r.Conversation] {
			continue
		}
		seen[r.Conversation] = true
		switch {
		case r.NextAt.After(f.Now()):
			if next.IsZero() || r.NextAt.Before(next) {
				next = r.NextAt
			}
		case len(rows) < limit:
			rows = append(rows, r)
		}
	}
	return rows, next, nil
}

// Sent takes a row out of the outbox.
func (f *Turns) Sent(_ context.Context, row core.Out, r core.Receipt) error {
	if f.OnSent != nil {
		if err := f.OnSent(row, r); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(row)
	f.receipts = append(f.receipts, r)
	return nil
}

// Failed puts a row off by a second, or by what the platform asked for.
func (f *Turns) Failed(_ context.Context, row core.Out, why turn.Failure) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures = append(f.failures, why)
	if why.Permanent {
		f.drop(row)
		return nil
	}
	for i := range f.rows {
		if f.rows[i].Seq != row.Seq {
			continue
		}
		r := &f.rows[i]
		r.Tries++
		if why.Unsure {
			r.Unsure++
		}
		r.Parts, r.Error = why.Sent, why.Err
		r.NextAt = f.Now().Add(max(why.After, time.Second))
	}
	f.tell(row.Conversation.Channel())
	return nil
}

func (f *Turns) drop(row core.Out) {
	f.rows = slices.DeleteFunc(f.rows, func(r core.Out) bool { return r.Seq == row.Seq })
	f.tell(row.Conversation.Channel())
}

// Rows lists what is not sent yet.
func (f *Turns) Rows() []core.Out {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.rows)
}

// Receipts lists what was reported as sent.
func (f *Turns) Receipts() []core.Receipt {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.receipts)
}

// Failures lists the attempts that failed.
func (f *Turns) Failures() []turn.Failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.failures)
}

// Wake hints after every change of the channel's rows.
func (f *Turns) Wake(channel string) (<-chan struct{}, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wakes[channel] == nil {
		f.wakes[channel] = make(chan struct{}, 1)
	}
	return f.wakes[channel], func() {}
}

// Glance adds an edit that is tried once.
func (f *Turns) Glance(row core.Out) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.glances = append(f.glances, row)
	f.tell(row.Conversation.Channel())
}

// Move is not needed here: nothing moves.
func (f *Turns) Move(context.Context, core.ConversationID, core.Place) error { return nil }

// Forward puts the row, as a new one, into the conversation of the place.
func (f *Turns) Forward(_ context.Context, row core.Out, to core.Place) error {
	agent, channel, _ := row.Conversation.Parts()
	row.Conversation, row.Parts, row.Tries = core.NewConversation(agent, channel, to), nil, 0
	f.Put(row)
	return nil
}

// Glances takes them.
func (f *Turns) Glances(string) []core.Out {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.glances
	f.glances = nil
	return out
}

// Write says how far the reply of a run has come; Unwrite that it has stopped, which comes before its row.
func (f *Turns) Write(p turn.Partial) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.partials == nil {
		f.partials, f.clear = map[core.ConversationID]turn.Partial{}, map[core.ConversationID]core.RunID{}
	}
	f.partials[p.Conversation] = p
	f.tell(p.Conversation.Channel())
}

// Unwrite ends what Write began.
func (f *Turns) Unwrite(c core.ConversationID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.partials, c)
	delete(f.clear, c)
}

// Partials lists what is being written, from when no row of the conversation waited on.
func (f *Turns) Partials(_ context.Context, channel string) (out []turn.Partial) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c, p := range f.partials {
		if c.Channel() != channel {
			continue
		}
		if !slices.ContainsFunc(f.rows, func(r core.Out) bool { return r.Conversation == c }) {
			f.clear[c] = p.Run
		}
		if f.clear[c] == p.Run {
			out = append(out, p)
		}
	}
	return out
}

// tell wakes a channel's delivery, and whoever waits for Idle.
func (f *Turns) tell(channel string) {
	if ch := f.wakes[channel]; ch != nil {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// Show asks OnShow, else names the row and a reply of its run's id.
func (f *Turns) Show(_ context.Context, row core.Out) (turn.Shown, error) {
	if f.OnShow != nil {
		return f.OnShow(row)
	}
	return turn.Shown{Row: row, Run: core.Run{ID: row.Run, Text: fmt.Sprintf("reply %s", row.Run)}}, nil
}

// SetWorking says which conversations have a running run.
func (f *Turns) SetWorking(c ...core.ConversationID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.working = c
	close(f.changed)
	f.changed = make(chan struct{})
}

// Working lists them.
func (f *Turns) Working(context.Context, string) ([]core.ConversationID, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.working), nil
}

// SetWaiting says which inputs wait.
func (f *Turns) SetWaiting(in ...core.Input) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting = in
}

// Waiting lists those of a conversation.
func (f *Turns) Waiting(_ context.Context, c core.ConversationID) (out []core.Input, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, in := range f.waiting {
		if in.Conversation == c {
			out = append(out, in)
		}
	}
	return out, nil
}

// Idle waits until no row of the conversation is left.
func (f *Turns) Idle(ctx context.Context, c core.ConversationID) error {
	for {
		f.mu.Lock()
		busy := slices.ContainsFunc(f.rows, func(r core.Out) bool { return r.Conversation == c })
		busy = busy || slices.Contains(f.working, c)
		changed := f.changed
		f.mu.Unlock()
		if !busy {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
