package program

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"parley/core"
)

// storyPoll is how long lost news may delay a line of the log.
const storyPoll = 30 * time.Second

// told are the events that the log tells of at the level info: who did what, in which run and conversation,
// and nothing of what was said.
var told = map[core.EventType]string{
	core.EventRunStarted: "a turn began", core.EventRunFinished: "a turn ended", core.EventSetAside: "a turn cannot go on and is kept for the operator",
	core.EventApproval: "an input is asked for", core.EventElicitation: "an input is asked for", core.EventInputResolved: "an input ended",
	core.EventRefused: "an answer of somebody who may not was refused", core.EventChanged: "a call was changed before its approval",
	core.EventRevealed: "masked values of a call were shown", core.EventUndeliverable: "a prompt could not be shown",
}

// tellStory writes what happens into the log until ctx ends.
func (a *app) tellStory(ctx context.Context) error {
	if !a.log.Enabled(ctx, slog.LevelInfo) {
		<-ctx.Done()
		return nil
	}
	cursor, known := uint64(0), false
	for ctx.Err() == nil {
		news := a.engine.News("")
		err := error(nil)
		if !known {
			cursor, err = a.engine.LastEvent(ctx)
			known = err == nil
		} else {
			cursor, err = a.tellFrom(ctx, cursor)
		}
		if err != nil && ctx.Err() == nil {
			a.log.Error("the store could not be read for the log", "err", err)
		}
		timer := time.NewTimer(storyPoll)
		select {
		case <-ctx.Done():
		case <-news:
		case <-timer.C:
		}
		timer.Stop()
	}
	return nil
}

// tellFrom tells what the store's log has after a place, and returns the place it has come to.
func (a *app) tellFrom(ctx context.Context, cursor uint64) (uint64, error) {
	const page = 200
	for {
		events, err := a.engine.Events(ctx, "", cursor, page)
		if err != nil {
			return cursor, err
		}
		for _, ev := range events {
			a.tellEvent(ctx, ev)
			cursor = ev.Seq
		}
		if len(events) < page {
			return cursor, nil
		}
	}
}

func (a *app) tellEvent(ctx context.Context, ev core.Event) {
	text, ok := told[ev.Type]
	if !ok {
		return
	}
	attrs := []slog.Attr{slog.String("conversation", string(ev.Conversation)), slog.String("run", string(ev.Run))}
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	add("input", string(ev.Input))
	add("call", string(ev.Call))
	person := string(ev.By)
	switch {
	case ev.Input != "":
		if in, err := a.engine.Input(ctx, ev.Input); err == nil {
			add("kind", string(in.Kind))
			if ev.Type == core.EventInputResolved {
				add("state", string(in.State))
			}
		}
	case ev.Type == core.EventRunStarted:
		if run, err := a.engine.RunByID(ctx, ev.Run); err == nil {
			person = string(run.Asker())
		}
	case ev.Type == core.EventRunFinished:
		var d struct {
			Status string `json:"status"`
		}
		if json.Unmarshal(ev.Data, &d) == nil {
			add("status", d.Status)
		}
	}
	add("person", person)
	add("via", ev.Via)
	level := slog.LevelInfo
	if ev.Type == core.EventSetAside || ev.Type == core.EventUndeliverable {
		level = slog.LevelWarn
	}
	a.log.LogAttrs(ctx, level, text, attrs...)
}
