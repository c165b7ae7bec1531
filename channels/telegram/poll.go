package telegram

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/channels"
)

// stuckPause is how long the loop waits for the updates in hand before it asks for more beside them.
const stuckPause = time.Second

// poll receives by getUpdates until ctx ends or only the operator can help. It returns after all it started
// has ended.
func (a *Adapter) poll(ctx context.Context, sink channels.Sink) error {
	ctx, stop := context.WithCancel(ctx)
	b := newBacklog(func(u update) error { return a.handle(ctx, sink, u) }, a.log)
	defer b.wait()
	defer stop()
	var rest channels.Backoff
	rival := false
	wait := time.Duration(0) // the first answer comes at once, so that a quiet bot is soon known to be ready
	for {
		b.settle(ctx, stuckPause)
		raw, err := a.getUpdates(ctx, b.offset(), wait)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			if rival {
				a.log.Info("telegram: polling works again")
			}
			rival = false
			rest.Reset()
			a.setReady(nil)
			wait = a.timeout
			b.take(ctx, raw)
			continue
		}
		if fatal := a.fatal(err); fatal != nil {
			return fatal
		}
		a.setReady(err)
		wait = 0
		d := max(rest.Pause(), wanted(err))
		switch {
		case webhookSet(err):
			a.log.Warn("telegram: a webhook was set meanwhile: another instance may be running", "err", err)
			if err := a.dropWebhook(ctx); err != nil {
				a.log.Warn("telegram: could not remove it", "err", err)
			}
		case conflict(err) && !rival:
			rival = true
			a.log.Warn("telegram: somebody else polls with this token: a second instance may be running, stop one of them", "err", err)
		case !conflict(err):
			a.log.Warn("telegram: polling failed, trying again", "after", d.Round(time.Millisecond), "err", err)
		}
		if err := channels.Sleep(ctx, d); err != nil {
			return err
		}
	}
}

// getUpdates asks for what comes from offset on, and confirms what is before it; 0 confirms nothing. Where
// there is nothing the answer takes as long as wait.
func (a *Adapter) getUpdates(ctx context.Context, offset int64, wait time.Duration) ([]json.RawMessage, error) {
	p := tgbotapi.Params{
		"timeout": strconv.Itoa(int(wait / time.Second)), "limit": "100", "allowed_updates": allowedUpdates,
	}
	p.AddNonZero64("offset", offset)
	var raw []json.RawMessage
	err := a.api.poll(ctx, wait, "getUpdates", p, &raw)
	return raw, err
}

// backlog is what was received and is not confirmed yet. Each chat has a lane: its updates are handled one
// after another, and one that fails is tried again before the next; other chats go on meanwhile.
type backlog struct {
	handle func(update) error
	log    logger
	lanes  channels.Lanes[int64]

	mu      sync.Mutex
	order   []*pending // as received, from the first that is not done
	known   map[int64]*pending
	next    int64         // the offset once all is done
	changed chan struct{} // closed and replaced when something is done
}

type logger interface {
	Error(msg string, args ...any)
	Warn(msg string, args ...any)
}

type pending struct {
	update
	done bool
}

func newBacklog(handle func(update) error, log logger) *backlog {
	return &backlog{
		handle: handle, log: log, known: map[int64]*pending{}, changed: make(chan struct{}),
	}
}

// offset is the first update that must come again if the process died now. It does not assume that ids grow:
// after a quiet week Telegram starts over anywhere.
func (b *backlog) offset() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.order) > 0 {
		return b.order[0].ID
	}
	return b.next
}

// take puts what was received into the lanes. An update that cannot be read is logged by its id and counts as
// done: it would be no clearer the next time, and all others stand behind it.
func (b *backlog) take(ctx context.Context, raw []json.RawMessage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range raw {
		u, err := decodeUpdate(r)
		if u.ID == 0 {
			u.ID = b.next // ids within a stream follow one another
		}
		if u.ID == 0 || b.known[u.ID] != nil {
			continue
		}
		p := &pending{update: u}
		b.order = append(b.order, p)
		b.known[u.ID] = p
		b.next = u.ID + 1
		if err != nil {
			b.log.Error("telegram: skipped an update that cannot be read", "update", u.ID, "err", err)
			p.done = true
			continue
		}
		b.lanes.Put(p.chatID(), func() { b.do(ctx, p) })
	}
	b.trim()
}

// do handles an update, and marks it done unless ctx ended first.
func (b *backlog) do(ctx context.Context, p *pending) {
	if !b.insist(ctx, p) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p.done = true
	b.trim()
}

// insist handles an update until that works; false if ctx ended first.
func (b *backlog) insist(ctx context.Context, p *pending) bool {
	var rest channels.Backoff
	for {
		if ctx.Err() != nil {
			return false
		}
		err := b.handle(p.update)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		d := rest.Pause()
		b.log.Warn("telegram: an update was not taken, trying again", "update", p.ID, "after", d.Round(time.Millisecond), "err", err)
		if channels.Sleep(ctx, d) != nil {
			return false
		}
	}
}

// trim drops what is done from the front and tells whoever waits. b.mu is held.
func (b *backlog) trim() {
	for len(b.order) > 0 && b.order[0].done {
		delete(b.known, b.order[0].ID)
		b.order = b.order[1:]
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// settle waits until all in hand is done, for at most limit.
func (b *backlog) settle(ctx context.Context, limit time.Duration) {
	t := time.NewTimer(limit)
	defer t.Stop()
	for {
		b.mu.Lock()
		empty, changed := len(b.order) == 0, b.changed
		b.mu.Unlock()
		if empty {
			return
		}
		select {
		case <-changed:
		case <-t.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// wait returns once no lane is worked on.
func (b *backlog) wait() { b.lanes.Wait() }
