package slack

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	slackapi "github.com/slack-go/slack"

	"parley/channels"
	"parley/core"
)

var (
	_ channels.Streamer = (*Adapter)(nil)
	_ channels.Deleter  = (*Adapter)(nil)
	_ channels.Keyed    = (*Adapter)(nil)
)

// What passes soon keeps to the limits that Slack documents for each method in a workspace, in a minute: 20
// streams begun, 100 additions, 50 edits. Whatever counts may use the rest.
var perMethod = map[string]channels.Pace{
	"chat.startStream":  {Every: 3 * time.Second, Burst: 5},
	"chat.appendStream": {Every: 600 * time.Millisecond, Burst: 10},
	"chat.update":       {Every: 1200 * time.Millisecond, Burst: 10},
}

// clockSkew is how far Slack's clock and ours may be apart when a stream is looked for.
const clockSkew = 10 * time.Second

// Keyed is true: messages carry their key as metadata, and a stream is told by its thread.
func (a *Adapter) Keyed() bool { return true }

// passing lets a call through whose turn it is, and tells how long it would have to wait.
func (a *Adapter) passing(method string) error {
	if wait := a.methods.Try(method); wait > 0 {
		return &channels.SendError{After: wait, Err: fmt.Errorf("slack %s: not now, to stay within the limit of the method", method)}
	}
	return nil
}

// OpenStream begins a message in a thread that grows. Outside direct chats Slack wants to know whom it is for.
func (a *Adapter) OpenStream(ctx context.Context, to channels.Target, text string) (channels.Sent, error) {
	channel, thread, err := parsePlace(to.Place)
	if err != nil {
		return channels.Sent{}, &channels.SendError{Permanent: true, Err: err}
	}
	team, user := recipient(to.For)
	if off, _ := a.noStream.get(channel); off || thread == "" || user == "" && !strings.HasPrefix(channel, "D") {
		return channels.Sent{}, channels.ErrNoStream
	}
	if wait := a.pace.Try(channel); wait > 0 {
		return channels.Sent{}, &channels.SendError{After: wait, Err: fmt.Errorf("slack: channel %s may be written to again in %s", channel, wait)}
	}
	if err := a.passing("chat.startStream"); err != nil {
		return channels.Sent{}, err
	}
	ts, err := a.api.startStream(ctx, channel, thread, team, user, defused(text))
	if err != nil {
		return channels.Sent{}, a.streamError(channel, err)
	}
	return a.sent(channel, thread, to, ts), nil
}

// GrowStream adds to it.
func (a *Adapter) GrowStream(ctx context.Context, _ channels.Target, message, more string) error {
	channel, ts, ok := parseMessageID(message)
	if !ok {
		return fmt.Errorf("slack message %q: %w", message, channels.ErrCannotEdit)
	}
	if err := a.passing("chat.appendStream"); err != nil {
		return err
	}
	if err := a.api.appendStream(ctx, channel, ts, defused(more)); err != nil {
		return a.streamError(channel, err)
	}
	return nil
}

// Delete takes a message of ours back, one that still grows too.
func (a *Adapter) Delete(ctx context.Context, _ channels.Target, message string) error {
	channel, ts, ok := parseMessageID(message)
	if !ok {
		return fmt.Errorf("slack message %q cannot be deleted", message)
	}
	err := a.api.delete(ctx, channel, ts)
	if hasCode(err, "streaming_state_conflict") {
		if err = a.api.stopStream(ctx, channel, ts); err == nil {
			err = a.api.delete(ctx, channel, ts)
		}
	}
	if err == nil || hasCode(err, "message_not_found") {
		return nil
	}
	return a.sendError(channel, err)
}

// streamError says what a failed call means for a stream. Where Slack refuses streams for good edits are used:
// in that channel, or for the message that somebody stopped.
func (a *Adapter) streamError(channel string, err error) error {
	var e *callError
	if !errors.As(err, &e) || e.Code == "" || e.passing() {
		return a.sendError(channel, err)
	}
	switch e.Code {
	case "stopped_by_user": // the person has read enough; the reply itself comes all the same
		return &channels.SendError{Permanent: true, Err: e}
	case "message_not_in_streaming_state", "streaming_state_conflict", "message_not_found", "message_not_owned_by_app", "msg_too_long":
	default:
		if e.Method == "chat.startStream" && fixFor(e.Code) == "" {
			a.noStream.set(channel, true)
			a.log.Debug("slack: replies are shown by edits in this channel", "channel", channel, "err", e)
		}
	}
	return fmt.Errorf("%w: %w", channels.ErrNoStream, e)
}

// recipient is the workspace and the id of a person; both are "" for nobody of Slack's.
func recipient(who core.PersonID) (team, user string) {
	id, ours := strings.CutPrefix(string(who), surface)
	team, user, ok := strings.Cut(id, "/")
	if !ours || !ok || !validUser.MatchString(user) || !validUser.MatchString(team) {
		return "", ""
	}
	return team, user
}

// findStream is the message of ours in a thread that grows since then, "" for none: such a message carries no key
// of ours, and nobody has edited it.
func (a *Adapter) findStream(ctx context.Context, channel, thread string, since time.Time) (ts string, err error) {
	within, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	list, err := a.api.since(within, channel, thread, strconv.FormatInt(since.Add(-clockSkew).Unix(), 10)+".000000")
	if err != nil {
		return "", err
	}
	me := a.self()
	for _, m := range list {
		ours := m.User == me.user || m.BotID != "" && m.BotID == me.bot
		if ours && m.Timestamp != thread && m.Metadata.EventType == "" && m.Edited == nil && len(m.Files) == 0 && validTS.MatchString(m.Timestamp) {
			ts = m.Timestamp
		}
	}
	return ts, nil
}

// defuse makes of an agent's Markdown what wakes nobody and opens no preview: neither calls, nor controls, nor
// links come alive while it is preliminary.
var defuse = strings.NewReplacer(
	"<", "&lt;", ">", "&gt;", "@", "@\u2060", "://", ":\u2060//", "](", "]\u2060(", "www.", "www\u2060.", "mailto:", "mailto\u2060:", "tel:", "tel\u2060:",
)

func defused(text string) string { return defuse.Replace(text) }

func hasCode(err error, code string) bool {
	var e *callError
	return errors.As(err, &e) && e.Code == code
}

func (c *client) startStream(ctx context.Context, channel, thread, team, user, text string) (ts string, err error) {
	options := []slackapi.MsgOption{slackapi.MsgOptionTS(thread), slackapi.MsgOptionMarkdownText(text)}
	if !strings.HasPrefix(channel, "D") {
		options = append(options, slackapi.MsgOptionRecipientTeamID(team), slackapi.MsgOptionRecipientUserID(user))
	}
	err = c.do(ctx, callTimeout, "chat.startStream", func(ctx context.Context) (err error) {
		_, ts, err = c.api.StartStreamContext(ctx, channel, options...)
		if err == nil && !validTS.MatchString(ts) {
			err = errNoTimestamp
		}
		return err
	})
	return ts, err
}

func (c *client) appendStream(ctx context.Context, channel, ts, more string) error {
	return c.do(ctx, callTimeout, "chat.appendStream", func(ctx context.Context) error {
		_, _, err := c.api.AppendStreamContext(ctx, channel, ts, slackapi.MsgOptionMarkdownText(more))
		return err
	})
}

// stopStream ends a stream; one that has ended already is no failure.
func (c *client) stopStream(ctx context.Context, channel, ts string) error {
	err := c.do(ctx, callTimeout, "chat.stopStream", func(ctx context.Context) error {
		_, _, err := c.api.StopStreamContext(ctx, channel, ts)
		return err
	})
	if hasCode(err, "message_not_in_streaming_state") {
		return nil
	}
	return err
}

func (c *client) delete(ctx context.Context, channel, ts string) error {
	return c.do(ctx, callTimeout, "chat.delete", func(ctx context.Context) error {
		_, _, err := c.api.DeleteMessageContext(ctx, channel, ts)
		return err
	})
}
