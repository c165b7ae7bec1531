package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"parley/channels"
	"parley/core"
)

const (
	pageSize = 100 // messages a call, the most that Discord gives
	maxPages = 20
	// fetchTries is how often a page is asked for before the gap is reported as such.
	fetchTries = 4
)

// heard is, by channel, the newest message that was handed in: where fetching begins after a gap.
type heard struct {
	mu sync.Mutex
	m  map[snowflake]snowflake
}

func (h *heard) mark(m *message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.m == nil {
		h.m = map[snowflake]snowflake{}
	}
	h.m[m.Channel] = max(h.m[m.Channel], m.ID)
}

func (h *heard) last(channel snowflake) snowflake {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.m[channel]
}

// backfill reads again what was said, while there was no session, in the conversations that wait for an
// answer. What the store has seen already it knows.
func (w *worker) backfill(ctx context.Context) {
	if w.a.waiting == nil {
		return
	}
	list, err := w.a.waiting(ctx)
	if err != nil {
		if ctx.Err() == nil {
			w.log.Error("discord: messages sent while the bot was away may be missed: the waiting conversations could not be listed", "err", err)
		}
		return
	}
	for _, c := range list {
		_, name, place := c.Parts()
		id, err := parsePlace(place)
		if name != w.a.name || err != nil {
			continue
		}
		// In the conversation's lane: what comes live stands behind what was missed.
		w.put(id.String(), func(context.Context) { w.catchUp(ctx, c, id) })
	}
}

// catchUp fetches one channel's gap.
func (w *worker) catchUp(ctx context.Context, c core.ConversationID, id snowflake) {
	from, err := w.from(ctx, c, id)
	if err == nil && from != 0 {
		err = w.fetch(ctx, id, from)
	}
	if err != nil && ctx.Err() == nil {
		w.log.Error("discord: messages sent while the bot was away may be missed; who wrote them can write them again",
			"conversation", c, "after", from.time(), "err", err)
	}
}

// from is the message after which to fetch: the last that was handed in, else the oldest prompt that waits.
// It is 0 where neither is known: then there is no answer to be missed.
func (w *worker) from(ctx context.Context, c core.ConversationID, id snowflake) (snowflake, error) {
	from := w.a.heard.last(id)
	if from != 0 || w.a.inputs == nil {
		return from, nil
	}
	inputs, err := w.a.inputs(ctx, c)
	if err != nil {
		return 0, err
	}
	for _, in := range inputs {
		for _, p := range in.Prompts {
			if p.Conversation == c && p.Order != 0 && (from == 0 || snowflake(p.Order) < from) {
				from = snowflake(p.Order)
			}
		}
	}
	return from, nil
}

// fetch reads a channel from a message on, and hands in what it finds in order.
func (w *worker) fetch(ctx context.Context, id, from snowflake) error {
	at, err := w.a.look(ctx, id)
	if err != nil {
		return err
	}
	for range maxPages {
		page, err := w.page(ctx, id, from)
		if err != nil {
			return err
		}
		for _, m := range w.inOrder(page) {
			m.Channel, m.Guild = id, at.guild // which a channel's history leaves out
			from = max(from, m.ID)
			w.message(ctx, m)
		}
		if len(page) < pageSize {
			return nil
		}
	}
	return fmt.Errorf("discord: more than %d messages were missed", maxPages*pageSize)
}

// inOrder reads what a page holds, the oldest first: Discord gives the newest first.
func (w *worker) inOrder(page []json.RawMessage) []*message {
	var out []*message
	for _, raw := range page {
		m := &message{}
		if err := json.Unmarshal(raw, m); err != nil {
			w.log.Error("discord: skipped a missed message that cannot be read", "err", err)
			continue
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b *message) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// page asks for the next messages, several times if need be.
func (w *worker) page(ctx context.Context, id, after snowflake) (page []json.RawMessage, err error) {
	rest := channels.Backoff{Longest: lastPause}
	at := fmt.Sprintf("%s?limit=%d&after=%s", discordgo.EndpointChannelMessages(id.String()), pageSize, after)
	for range fetchTries {
		page = nil
		if err = w.a.api.get(ctx, "read what was missed", at, &page); err == nil {
			return page, nil
		}
		e := isCall(err)
		if ctx.Err() != nil || e != nil && e.Status >= 400 && e.Status < 500 && e.Status != 429 {
			return nil, err
		}
		d := rest.Pause()
		if e != nil {
			d = max(d, min(e.RetryAfter, time.Minute))
		}
		if channels.Sleep(ctx, d) != nil {
			return nil, err
		}
	}
	return nil, err
}
