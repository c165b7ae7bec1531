package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

const (
	// keepEvery is how often it is stored how far the bot has heard.
	keepEvery = time.Minute
	// keepFor is how long that counts: whoever starts the bot again later starts it anew.
	keepFor = 30 * 24 * time.Hour
	// crossed is by how much messages of different channels may come out of their order.
	crossed = 30 * time.Second
	// settled is how old they are when none is on its way any more; a dead connection is noticed sooner.
	settled = 2 * time.Minute
	// keepAtEnd bounds storing it once the program ends.
	keepAtEnd = 2 * time.Second
)

// hearing is how far the bot has heard: all up to it was handed in and is durable, or is told apart here.
type hearing struct {
	mu     sync.Mutex
	floor  snowflake               // it never goes back behind this; 0 before anything was remembered
	newest snowflake               // of all that was handed in
	calm   snowflake               // nothing up to it is still on its way
	flying map[snowflake]int       // received and not handed in yet
	last   map[snowflake]snowflake // by channel, the newest that was handed in
	owed   map[snowflake]*debt     // by channel, what could not be fetched or handed in
	gap    *gap                    // what is being fetched, nil once it is done

	storing  sync.Mutex
	stored   snowflake // what was stored last, and when; under storing
	storedAt time.Time
}

func newHearing() *hearing {
	return &hearing{flying: map[snowflake]int{}, last: map[snowflake]snowflake{}, owed: map[snowflake]*debt{}}
}

// debt is from where on a channel is to be fetched once more.
type debt struct {
	from snowflake
	busy bool // it is about to be
}

// begin sets where hearing begins, unless that is known.
func (h *hearing) begin(at snowflake) (first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if first = h.floor == 0; first {
		h.floor = at
	}
	return first
}

// low is the mark.
func (h *hearing) low() snowflake {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lowest()
}

// settle notes that a session has stood since long before now: nothing older is still on its way.
func (h *hearing) settle(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calm = max(h.calm, min(h.newest, snowflakeOf(now.Add(-settled))))
}

func (h *hearing) lowest() snowflake {
	low := max(h.newest.minus(crossed), h.calm)
	for id := range h.flying {
		low = min(low, id-1)
	}
	for _, d := range h.owed {
		low = min(low, d.from)
	}
	if h.gap != nil {
		low = min(low, h.gap.from)
	}
	h.floor = max(h.floor, low)
	return h.floor
}

// took notes that a message was received. It holds the mark back until gave.
func (h *hearing) took(m *message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.flying[m.ID]++
}

// gave notes that a message which was received is handed in, or that it could not be.
func (h *hearing) gave(m *message, ok bool) {
	if ok {
		h.raise(m)
	} else {
		h.owe(m.Channel, m.ID-1)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.flying[m.ID]--; h.flying[m.ID] <= 0 {
		delete(h.flying, m.ID)
	}
}

// raise notes that a message is handed in.
func (h *hearing) raise(m *message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.newest, h.last[m.Channel] = max(h.newest, m.ID), max(h.last[m.Channel], m.ID)
}

// owe notes from where a channel must be fetched again, and reports whether that was owed already.
func (h *hearing) owe(channel, from snowflake) (again bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.owed[channel]
	if again = d != nil; !again {
		d = &debt{from: from}
		h.owed[channel] = d
	}
	d.from, d.busy = min(d.from, from), false
	return again
}

// paid notes that a channel was fetched.
func (h *hearing) paid(channel snowflake) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.owed, channel)
}

// due takes the channels that are owed and that nobody fetches now.
func (h *hearing) due() (out []snowflake) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, d := range h.owed {
		if !d.busy {
			d.busy = true
			out = append(out, id)
		}
	}
	return out
}

// after is the message after which a channel is to be fetched: where a fetch ended early, else the newest of it
// that was handed in, else from.
func (h *hearing) after(channel, from snowflake) snowflake {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d := h.owed[channel]; d != nil {
		return d.from
	}
	return max(from, h.last[channel])
}

// open begins a gap: what was said since the mark is to be fetched. It takes the place of one that is not done.
func (h *hearing) open(g *gap) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g.from = h.lowest()
	h.gap = g
}

// close ends a gap, unless another took its place.
func (h *hearing) close(g *gap) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gap == g {
		h.gap = nil
	}
}

// kept is what is stored of a mark.
type kept struct {
	Heard snowflake `json:"heard"`
}

func keptName(channel string) string { return "discord/heard/" + channel }

// recall learns how far an earlier process has heard. One that is not known begins at the first session.
func (a *Adapter) recall(ctx context.Context) error {
	if a.memory == nil || a.heard.low() != 0 {
		return nil
	}
	raw, ok, err := a.memory.Recall(ctx, keptName(a.name))
	if err != nil {
		return fmt.Errorf("discord: recall how far the bot has heard: %w", err)
	}
	var k kept
	if ok {
		if err := json.Unmarshal(raw, &k); err != nil {
			a.log.Error("discord: how far the bot has heard cannot be read: what was said while it was away is not fetched", "err", err)
		}
	}
	if k.Heard != 0 {
		a.heard.begin(k.Heard)
	}
	return nil
}

// keep stores how far the bot has heard, where that changed.
func (a *Adapter) keep(ctx context.Context) {
	h := a.heard
	h.storing.Lock()
	defer h.storing.Unlock()
	at, now := h.low(), a.now()
	if a.memory == nil || at == 0 || at == h.stored && now.Sub(h.storedAt) < keepFor/2 {
		return
	}
	raw, err := json.Marshal(kept{at})
	if err == nil {
		err = a.memory.Remember(ctx, keptName(a.name), raw, keepFor)
	}
	switch {
	case err == nil:
		h.stored, h.storedAt = at, now
	case ctx.Err() == nil:
		a.log.Warn("discord: it was not stored how far the bot has heard: more is fetched after the next start", "err", err)
	}
}

// keepLate stores it once more when the program ends.
func (a *Adapter) keepLate(ctx context.Context) {
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepAtEnd)
	defer cancel()
	a.keep(late)
}
