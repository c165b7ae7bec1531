package slack

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/channels"
	"parley/render"
)

// Looking for a message that may have been sent: how far back, how often that may fail before it is sent
// again, and how long one look may take.
const (
	lookBack    = 5 * time.Minute
	mostLooks   = 3
	findTimeout = 10 * time.Second
)

// attempt is a part that may have gone through.
type attempt struct {
	since time.Time
	file  string // the id of a file that was being shared, "" for a message
	looks int
}

// escaped writes text that has no marks.
var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// contentOf is a part as a message. A part whose Text is its Plain holds nothing but literal text.
func contentOf(part render.Part, key string) content {
	m := content{text: part.Text, key: key, blocks: blocksOf(part.Text, part.Buttons)}
	if part.Plain != "" && part.Text == part.Plain && len(part.Buttons) == 0 && strings.ContainsAny(part.Text, "&<>*_~`") {
		m.text, m.literal = escaped.Replace(part.Text), true
	}
	return m
}

// Send shows one part: a message, or a document with the text as its comment.
func (a *Adapter) Send(ctx context.Context, to channels.Target, part render.Part) (channels.Sent, error) {
	channel, thread, err := parsePlace(to.Place)
	if err != nil {
		return channels.Sent{}, &channels.SendError{Permanent: true, Err: err}
	}
	if part.File == nil && strings.TrimSpace(part.Text) == "" {
		return channels.Sent{}, &channels.SendError{Permanent: true, Err: errors.New("slack: a part without text cannot be sent")}
	}
	if sent, done, err := a.before(ctx, channel, thread, to); done || err != nil {
		return sent, err
	}
	if err := a.await(ctx, channel); err != nil {
		return channels.Sent{}, err
	}
	if part.File != nil {
		return a.sendFile(ctx, channel, thread, to.Key, part)
	}
	began := a.now()
	ts, in, err := a.api.post(ctx, channel, thread, contentOf(part, to.Key))
	if err != nil {
		return a.after(ctx, channel, thread, to.Key, attempt{since: began}, err)
	}
	if thread != "" && in != thread {
		a.log.Warn("slack: the thread is gone, a message stands outside it", "channel", channel, "thread", thread)
	}
	return a.sent(channel, thread, to, ts), nil
}

// sent remembers what was posted, and says so.
func (a *Adapter) sent(channel, thread string, to channels.Target, ts string) channels.Sent {
	a.unsure.forget(to.Key)
	switch {
	case thread == "":
		a.roots.set(messageID(channel, ts), true)
	case to.Voice == channels.VoiceSay || to.Voice == channels.VoiceAsk:
		a.threads.set(string(to.Place), true)
	}
	return receipt(channel, ts)
}

func receipt(channel, ts string) channels.Sent {
	return channels.Sent{Message: messageID(channel, ts), Order: orderOf(ts), At: timeOf(ts)}
}

// before looks for a part that an earlier attempt, or a process before this one, may have sent.
func (a *Adapter) before(ctx context.Context, channel, thread string, to channels.Target) (sent channels.Sent, done bool, err error) {
	key := to.Key
	try, ok := a.unsure.get(key)
	if !ok {
		try.since = to.Since
	}
	if key == "" || try.since.IsZero() {
		return sent, false, nil
	}
	ts, err := a.find(ctx, channel, thread, key, try)
	var e *callError
	switch {
	case err == nil && ts != "":
		a.unsure.forget(key)
		return receipt(channel, ts), true, nil
	case err == nil && to.Passing && thread != "": // a stream carries no key
		if ts, err = a.findStream(ctx, channel, thread, try.since); err != nil || ts == "" {
			break
		}
		return receipt(channel, ts), true, nil
	case err != nil && errors.As(err, &e) && e.passing() && try.looks < mostLooks:
		try.looks++
		a.unsure.set(key, try)
		return sent, false, &channels.SendError{After: e.After, Err: err}
	case err != nil:
		a.log.Warn("slack: it cannot be seen whether a message was sent; it is sent again", "channel", channel, "err", err)
	}
	return sent, false, nil
}

// after handles a failed attempt: one without a clear answer is looked up at once.
func (a *Adapter) after(ctx context.Context, channel, thread, key string, try attempt, err error) (channels.Sent, error) {
	out := a.sendError(channel, err)
	if !out.Unsure || key == "" {
		return channels.Sent{}, out
	}
	a.unsure.set(key, try)
	if ctx.Err() != nil {
		return channels.Sent{}, out
	}
	if ts, err := a.find(ctx, channel, thread, key, try); err == nil && ts != "" {
		a.unsure.forget(key)
		return receipt(channel, ts), nil
	}
	return channels.Sent{}, out
}

// find is the timestamp of the message with that key or file, "" if there is none.
func (a *Adapter) find(ctx context.Context, channel, thread, key string, try attempt) (string, error) {
	within, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	oldest := strconv.FormatInt(try.since.Add(-lookBack).Unix(), 10) + ".000000"
	list, err := a.api.since(within, channel, thread, oldest)
	if err != nil {
		return "", err
	}
	me := a.self()
	for _, m := range list {
		if m.User != me.user && (m.BotID == "" || m.BotID != me.bot) {
			continue
		}
		if m.Metadata.EventType == metadataType && m.Metadata.EventPayload["key"] == key {
			return m.Timestamp, nil
		}
		for _, f := range m.Files {
			if try.file != "" && f.ID == try.file {
				return m.Timestamp, nil
			}
		}
	}
	return "", nil
}

// await waits for the channel's turn.
func (a *Adapter) await(ctx context.Context, channel string) error {
	over, err := a.pace.Turn(ctx, channel)
	switch {
	case err != nil:
		return &channels.SendError{Err: fmt.Errorf("slack: not sent: %w", err)}
	case over > 0:
		return &channels.SendError{After: over, Err: fmt.Errorf("slack: channel %s may be written to again in %s", channel, over.Round(time.Second))}
	}
	return nil
}

// Edit replaces the text and the controls of a message of ours, and ends its stream.
func (a *Adapter) Edit(ctx context.Context, to channels.Target, message string, part render.Part) error {
	channel, ts, ok := parseMessageID(message)
	if !ok {
		return fmt.Errorf("slack message %q: %w", message, channels.ErrCannotEdit)
	}
	if strings.TrimSpace(part.Text) == "" {
		return &channels.SendError{Permanent: true, Err: errors.New("slack: a message cannot be edited to nothing")}
	}
	if to.Passing {
		if err := a.passing("chat.update"); err != nil {
			return err
		}
	}
	err := a.api.update(ctx, channel, ts, contentOf(part, ""))
	if hasCode(err, "streaming_state_conflict") { // it still grows: this is the end of that
		if err = a.api.stopStream(ctx, channel, ts); err == nil {
			err = a.api.update(ctx, channel, ts, contentOf(part, ""))
		}
	}
	var e *callError
	if errors.As(err, &e) {
		switch e.Code {
		case "message_not_found", "cant_update_message", "edit_window_closed", "streaming_state_conflict":
			return fmt.Errorf("%w: %w", channels.ErrCannotEdit, e)
		}
		return a.sendError(channel, e)
	}
	return err
}

// Typing sets the status line of a thread, which the next message or two minutes take away. Where there is
// none it does nothing.
func (a *Adapter) Typing(ctx context.Context, to channels.Target) error {
	channel, thread, err := parsePlace(to.Place)
	if err != nil {
		return &channels.SendError{Permanent: true, Err: err}
	}
	if mute, _ := a.noStatus.get(channel); mute || thread == "" || a.pace.Held(channel) {
		return nil
	}
	err = a.api.setStatus(ctx, channel, thread, "is working…")
	var e *callError
	if errors.As(err, &e) && !e.passing() {
		a.noStatus.set(channel, true)
		a.log.Debug("slack: it cannot be shown that the agent works", "channel", channel, "err", err)
	}
	return nil
}
