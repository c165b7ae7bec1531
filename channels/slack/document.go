package slack

import (
	"context"
	"errors"
	"time"

	"parley/channels"
	"parley/render"
)

// A shared file becomes a message a little later: how often and how long apart to look for it. What follows
// must not overtake it.
const (
	shareLooks = 8
	sharePause = 400 * time.Millisecond
)

// sendFile uploads a document and shows it with the part's text as its comment.
func (a *Adapter) sendFile(ctx context.Context, channel, thread, key string, part render.Part) (channels.Sent, error) {
	if len(part.File.Data) == 0 {
		return channels.Sent{}, &channels.SendError{Permanent: true, Err: errors.New("slack: an empty file cannot be sent")}
	}
	id, err := a.api.offer(ctx, part.File.Name, part.File.Data)
	if err != nil {
		out := a.sendError(channel, err)
		out.Unsure = false // nothing is shown before it is shared
		return channels.Sent{}, out
	}
	try := attempt{since: a.now(), file: id}
	if err := a.api.share(ctx, channel, thread, id, part.File.Name, contentOf(part, "").text); err != nil {
		return a.after(ctx, channel, thread, key, try, err)
	}
	a.unsure.forget(key)
	for range shareLooks {
		ts, err := a.find(ctx, channel, thread, key, try)
		var e *callError
		switch {
		case err == nil && ts != "":
			return receipt(channel, ts), nil
		case err != nil && errors.As(err, &e) && !e.passing():
			return channels.Sent{At: a.now()}, nil // it was shared; where, Slack does not tell
		}
		if channels.Sleep(ctx, sharePause) != nil {
			break
		}
	}
	a.log.Warn("slack: a file was shared and is not seen in the channel yet", "channel", channel, "file", id)
	return channels.Sent{At: a.now()}, nil
}
