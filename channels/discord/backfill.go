package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"

	"parley/channels"
	"parley/core"
)

const (
	pageSize = 100 // messages a call, the most that Discord gives
	maxPages = 20
	// fetchTries is how often a page is asked for before its channel has to wait.
	fetchTries = 4
)

var errTooMany = fmt.Errorf("discord: more than %d messages were missed", maxPages*pageSize)

// waiting lists the channels where an input waits.
func (w *worker) waiting(ctx context.Context) map[snowflake]core.ConversationID {
	if w.a.waiting == nil {
		return nil
	}
	list, err := w.a.waiting(ctx)
	if err != nil && ctx.Err() == nil {
		w.log.Error("discord: answers given while the bot was away may be missed: the waiting conversations could not be listed", "err", err)
	}
	out := map[snowflake]core.ConversationID{}
	for _, c := range list {
		_, name, place := c.Parts()
		if id, err := parsePlace(place); err == nil && name == w.a.name {
			out[id] = c
		}
	}
	return out
}

// catchUp fetches what was said in a channel during a gap, before a message of it.
func (w *worker) catchUp(ctx context.Context, g *gap, id, before snowflake) {
	from, err := w.from(ctx, g, id)
	if err == nil && from != 0 {
		from, err = w.fetch(ctx, id, from, before)
	}
	switch {
	case ctx.Err() != nil:
	case err == nil:
		w.a.heard.paid(id)
	case refuses(err):
		w.a.heard.paid(id)
		level := slog.LevelWarn
		if isCall(err).Status == http.StatusNotFound {
			level = slog.LevelInfo // deleted: nobody can be answered there
		}
		w.log.Log(ctx, level, "discord: messages sent while the bot was away may be missed: the channel does not let it read them", "at", id.String(), "err", err)
	case errors.Is(err, errTooMany):
		w.a.heard.paid(id)
		w.log.Error("discord: messages sent while the bot was away may be missed; who wrote them can write them again",
			"at", id.String(), "after", from.time(), "err", err)
	default:
		if !w.a.heard.owe(id, from) {
			w.log.Error("discord: messages sent while the bot was away could not be fetched; that is tried again",
				"at", id.String(), "after", from.time(), "err", err)
		}
	}
}

// refuses reports whether Discord does not let the bot look at a channel, now or later.
func refuses(err error) bool {
	e := isCall(err)
	return e != nil && e.Status >= 400 && e.Status < 500 && e.Status != http.StatusTooManyRequests && e.Status != http.StatusUnauthorized
}

// from is the message after which to fetch: the newest that was handed in, but not too old, unless an input has
// waited for longer. Where the bot was never heard of before it is the oldest prompt that waits, 0 for none: there is
// nothing to be missed.
func (w *worker) from(ctx context.Context, g *gap, id snowflake) (snowflake, error) {
	since := g.from
	if g.first {
		since = 0
	}
	from, least := w.a.heard.after(id, since), snowflakeOf(w.a.now().Add(-maxAge))
	if c, waits := g.waits()[id]; waits {
		prompt, err := w.prompt(ctx, c)
		switch {
		case err != nil || from == 0:
			return cmp.Or(from, prompt), err
		case prompt != 0:
			least = min(least, prompt)
		}
	}
	if from == 0 {
		return 0, nil
	}
	return max(from, least), nil
}

// prompt is the oldest prompt that waits in a conversation, 0 for none.
func (w *worker) prompt(ctx context.Context, c core.ConversationID) (oldest snowflake, err error) {
	if w.a.inputs == nil {
		return 0, nil
	}
	inputs, err := w.a.inputs(ctx, c)
	for _, in := range inputs {
		for _, p := range in.Prompts {
			if p.Conversation == c && p.Order != 0 && (oldest == 0 || snowflake(p.Order) < oldest) {
				oldest = snowflake(p.Order)
			}
		}
	}
	return oldest, err
}

// fetch reads a channel between two messages, and hands in what it finds in order. It returns how far it came.
func (w *worker) fetch(ctx context.Context, id, from, before snowflake) (snowflake, error) {
	select {
	case w.fetching <- struct{}{}:
		defer func() { <-w.fetching }()
	case <-ctx.Done():
		return from, ctx.Err()
	}
	at, known := w.a.rooms.get(id)
	if !known {
		var err error
		if at, err = w.a.look(ctx, id); err != nil || at.last != 0 && at.last <= from {
			return from, err
		}
	}
	for n := range maxPages {
		page, err := w.page(ctx, id, from)
		if err != nil {
			return from, err
		}
		if n == 0 && len(page) == 0 && at.last > from {
			w.log.Info("discord: nothing can be read of what was sent while the bot was away: it was deleted, or the bot may not Read Message History", "at", id.String())
		}
		for _, m := range w.inOrder(page) {
			if m.ID >= before {
				return from, nil
			}
			m.Channel, m.Guild = id, at.guild // which a channel's history leaves out
			if !w.message(ctx, m) {
				return from, fmt.Errorf("discord: hand in a missed message: %w", ctx.Err())
			}
			w.a.heard.raise(m)
			from = max(from, m.ID)
		}
		if len(page) < pageSize {
			return from, nil
		}
	}
	return from, errTooMany
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

// page asks for the next messages, several times if need be; but once where others have tried that in vain, since
// what comes live waits for it.
func (w *worker) page(ctx context.Context, id, after snowflake) (page []json.RawMessage, err error) {
	if err := w.quiet(ctx); err != nil {
		return nil, err
	}
	rest := channels.Backoff{Longest: lastPause}
	at := fmt.Sprintf("%s?limit=%d&after=%s", discordgo.EndpointChannelMessages(id.String()), pageSize, after)
	for try := 1; ; try++ {
		page = nil
		if err = w.a.api.get(ctx, "read what was missed", at, &page); err == nil || refuses(err) {
			w.failing.Store(false)
			return page, err
		}
		e := isCall(err)
		if e != nil && (e.Global || e.RetryAfter > lastPause) {
			w.quietTill.Store(w.a.now().Add(e.RetryAfter).UnixNano())
		}
		switch {
		case ctx.Err() != nil, e != nil && (e.Status == http.StatusUnauthorized || e.RetryAfter > lastPause):
			return nil, err
		case try == fetchTries || w.failing.Load():
			w.failing.Store(true)
			return nil, err
		}
		d := rest.Pause()
		if e != nil {
			d = max(d, e.RetryAfter)
		}
		if channels.Sleep(ctx, d) != nil {
			return nil, err
		}
	}
}

// quiet waits out a limit that is on all calls. One that lasts long is an error: what comes live is not to wait.
func (w *worker) quiet(ctx context.Context) error {
	d := time.Unix(0, w.quietTill.Load()).Sub(w.a.now())
	switch {
	case d <= 0:
		return nil
	case d > lastPause:
		return fmt.Errorf("discord: it takes no calls for %s", d.Round(time.Second))
	}
	return channels.Sleep(ctx, d)
}
