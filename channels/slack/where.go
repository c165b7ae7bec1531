package slack

import (
	"context"
	"errors"
	"time"
)

// lookTimeout bounds a look-up that a message waits for: it is to be acknowledged within three seconds.
const lookTimeout = 2 * time.Second

// kindOf is the kind of a channel whose event does not say it. Where Slack does not tell either it is taken
// for a channel.
func (a *Adapter) kindOf(ctx context.Context, channel string) (string, error) {
	if kind, ok := a.kinds.get(channel); ok {
		return kind, nil
	}
	within, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	c, err := a.api.channelInfo(within, channel)
	var e *callError
	switch {
	case err == nil && c.IsIM:
		a.kinds.set(channel, direct)
		return direct, nil
	case err == nil && c.IsMpIM:
		a.kinds.set(channel, several)
		return several, nil
	case errors.As(err, &e) && !e.passing() || err == nil:
		a.kinds.set(channel, "channel")
		return "channel", nil
	}
	return "", err
}

// ownRoot reports whether a thread stands under a message that the bot posted outside threads: a prompt in a
// direct chat, a copy in a channel. The root of an assistant's thread is no such message.
func (a *Adapter) ownRoot(ctx context.Context, in post) (bool, error) {
	me := a.self()
	if in.under != "" && in.under != me.user {
		return false, nil
	}
	id := messageID(in.channel, in.thread)
	if ours, ok := a.roots.get(id); ok {
		return ours, nil
	}
	within, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	root, found, err := a.api.message(within, in.channel, in.thread)
	var e *callError
	if err != nil && errors.As(err, &e) && e.passing() {
		return false, err
	}
	ours := err == nil && found && root.SubType != "assistant_app_thread" && (root.User == me.user || root.BotID != "" && root.BotID == me.bot)
	a.roots.set(id, ours)
	return ours, nil
}
