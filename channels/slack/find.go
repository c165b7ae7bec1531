package slack

import (
	"context"
	"errors"
	"fmt"
	"strings"

	slackapi "github.com/slack-go/slack"

	"parley/channels"
	"parley/core"
)

var (
	_ channels.Finder    = (*Adapter)(nil)
	_ channels.Whisperer = (*Adapter)(nil)
)

// Find opens the direct chat with a person, which shows them nothing yet. It needs the scope im:write.
func (a *Adapter) Find(ctx context.Context, who core.PersonID) (core.Place, error) {
	id, ours := strings.CutPrefix(string(who), surface)
	user := id[strings.LastIndexByte(id, '/')+1:]
	if !ours || !validUser.MatchString(user) {
		return "", &channels.SendError{Permanent: true, Err: fmt.Errorf("slack: %s is nobody in Slack", who)}
	}
	if channel, ok := a.chats.get(user); ok {
		return placeOf(channel, ""), nil
	}
	channel, err := a.api.open(ctx, user)
	if err != nil {
		return "", a.unfound(err)
	}
	a.chats.set(user, channel)
	a.kinds.set(channel, direct)
	return placeOf(channel, ""), nil
}

// unfound says what a failure to open a chat means. A right that the app lacks does not come by waiting.
func (a *Adapter) unfound(err error) *channels.SendError {
	out := &channels.SendError{Err: err}
	var e *callError
	if !errors.As(err, &e) {
		return out
	}
	out.Err, out.After = e, e.After
	if hint := hintFor(e, botSide); hint != "" && e.Code != "" {
		out.Err = fmt.Errorf("%w: %s", e, hint)
	}
	out.Permanent = e.Code != "" && !e.passing()
	return out
}

// Whisper shows text to one person where others are, until they reload.
func (a *Adapter) Whisper(ctx context.Context, to channels.Target, who core.PersonID, text string) error {
	channel, thread, err := parsePlace(to.Place)
	id, ours := strings.CutPrefix(string(who), surface)
	user := id[strings.LastIndexByte(id, '/')+1:]
	if err != nil || !ours || !validUser.MatchString(user) {
		return &channels.SendError{Permanent: true, Err: fmt.Errorf("slack: %s is not at %s", who, to.Place)}
	}
	if err := a.api.postEphemeral(ctx, channel, thread, user, escaped.Replace(text)); err != nil {
		return a.unfound(err)
	}
	return nil
}

// open is the channel of the direct chat with a user.
func (c *client) open(ctx context.Context, user string) (channel string, err error) {
	err = c.do(ctx, callTimeout, "conversations.open", func(ctx context.Context) error {
		chat, _, _, err := c.api.OpenConversationContext(ctx, &slackapi.OpenConversationParameters{Users: []string{user}})
		if err == nil && (chat == nil || !validChannel.MatchString(chat.ID)) {
			err = fmt.Errorf("the answer names no chat with %s", user)
		}
		if err == nil {
			channel = chat.ID
		}
		return err
	})
	return channel, err
}
