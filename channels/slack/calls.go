package slack

import (
	"bytes"
	"context"
	"errors"

	slackapi "github.com/slack-go/slack"
)

// errNoTimestamp is an answer that says ok and does not name the message.
var errNoTimestamp = errors.New("the message was taken, but the answer does not name it")

// metadataType is the event type of the metadata that carries a part's key.
const metadataType = "parley_part"

// content is what a message shows.
type content struct {
	text    string
	literal bool // no marks in text
	blocks  []slackapi.Block
	key     string
}

// options are content as arguments; blocks are always named, since without them Slack keeps old ones.
func (m content) options() []slackapi.MsgOption {
	out := []slackapi.MsgOption{
		slackapi.MsgOptionText(m.text, false), slackapi.MsgOptionBlocks(m.blocks...),
		slackapi.MsgOptionDisableLinkUnfurl(), slackapi.MsgOptionDisableMediaUnfurl(),
	}
	if m.literal {
		out = append(out, slackapi.MsgOptionDisableMarkdown())
	}
	if m.key != "" {
		out = append(out, slackapi.MsgOptionMetadata(slackapi.SlackMetadata{EventType: metadataType, EventPayload: map[string]any{"key": m.key}}))
	}
	return out
}

// post sends a message. It returns its timestamp and the thread it really stands in.
func (c *client) post(ctx context.Context, channel, thread string, m content) (ts, in string, err error) {
	options := m.options()
	if thread != "" {
		options = append(options, slackapi.MsgOptionTS(thread))
	}
	err = c.do(ctx, callTimeout, "chat.postMessage", func(ctx context.Context) error {
		_, at, posted, err := c.api.PostMessageWithResponseContext(ctx, channel, options...)
		if err == nil && !validTS.MatchString(at) {
			err = errNoTimestamp
		}
		ts, in = at, posted.ThreadTimestamp
		return err
	})
	return ts, in, err
}

func (c *client) update(ctx context.Context, channel, ts string, m content) error {
	return c.do(ctx, callTimeout, "chat.update", func(ctx context.Context) error {
		_, _, _, err := c.api.UpdateMessageContext(ctx, channel, ts, m.options()...)
		return err
	})
}

func (c *client) postEphemeral(ctx context.Context, channel, thread, user, text string) error {
	options := []slackapi.MsgOption{slackapi.MsgOptionText(text, false), slackapi.MsgOptionDisableMarkdown()}
	if thread != "" {
		options = append(options, slackapi.MsgOptionTS(thread))
	}
	return c.do(ctx, callTimeout, "chat.postEphemeral", func(ctx context.Context) error {
		_, err := c.api.PostEphemeralContext(ctx, channel, user, options...)
		return err
	})
}

// since lists the messages of a channel or thread from oldest on, a hundred at most.
func (c *client) since(ctx context.Context, channel, thread, oldest string) (list []slackapi.Message, err error) {
	method := "conversations.history"
	if thread != "" {
		method = "conversations.replies"
	}
	err = c.do(ctx, callTimeout, method, func(ctx context.Context) error {
		if thread != "" {
			var err error
			list, _, _, err = c.api.GetConversationRepliesContext(ctx, &slackapi.GetConversationRepliesParameters{
				ChannelID: channel, Timestamp: thread, Oldest: oldest, Inclusive: true, Limit: 100, IncludeAllMetadata: true,
			})
			return err
		}
		r, err := c.api.GetConversationHistoryContext(ctx, &slackapi.GetConversationHistoryParameters{
			ChannelID: channel, Oldest: oldest, Inclusive: true, Limit: 100, IncludeAllMetadata: true,
		})
		if err == nil {
			list = r.Messages
		}
		return err
	})
	return list, err
}

// message is one message that stands outside threads.
func (c *client) message(ctx context.Context, channel, ts string) (m slackapi.Message, found bool, err error) {
	err = c.do(ctx, callTimeout, "conversations.history", func(ctx context.Context) error {
		r, err := c.api.GetConversationHistoryContext(ctx, &slackapi.GetConversationHistoryParameters{
			ChannelID: channel, Latest: ts, Oldest: ts, Inclusive: true, Limit: 1,
		})
		if err != nil {
			return err
		}
		for _, one := range r.Messages {
			if one.Timestamp == ts {
				m, found = one, true
			}
		}
		return nil
	})
	return m, found, err
}

func (c *client) channelInfo(ctx context.Context, channel string) (info *slackapi.Channel, err error) {
	err = c.do(ctx, callTimeout, "conversations.info", func(ctx context.Context) (err error) {
		info, err = c.api.GetConversationInfoContext(ctx, &slackapi.GetConversationInfoInput{ChannelID: channel})
		return err
	})
	return info, err
}

func (c *client) userInfo(ctx context.Context, user string) (u *slackapi.User, err error) {
	err = c.do(ctx, callTimeout, "users.info", func(ctx context.Context) (err error) {
		u, err = c.api.GetUserInfoContext(ctx, user)
		return err
	})
	return u, err
}

func (c *client) setStatus(ctx context.Context, channel, thread, status string) error {
	return c.do(ctx, callTimeout, "assistant.threads.setStatus", func(ctx context.Context) error {
		return c.api.SetAssistantThreadsStatusContext(ctx, slackapi.AssistantThreadsSetStatusParameters{ChannelID: channel, ThreadTS: thread, Status: status})
	})
}

func (c *client) authTest(ctx context.Context) (r *slackapi.AuthTestResponse, err error) {
	err = c.do(ctx, callTimeout, "auth.test", func(ctx context.Context) (err error) {
		r, err = c.api.AuthTestContext(ctx)
		return err
	})
	return r, err
}

// openSocket asks for a socket's address and does not open it: proof that Socket Mode is on.
func (c *client) openSocket(ctx context.Context) error {
	return c.do(ctx, callTimeout, "apps.connections.open", func(ctx context.Context) error {
		_, _, err := c.api.StartSocketModeContext(ctx)
		return err
	})
}

// offer uploads a file without showing it anywhere yet.
func (c *client) offer(ctx context.Context, name string, data []byte) (id string, err error) {
	err = c.do(ctx, uploadTimeout, "files.getUploadURLExternal", func(ctx context.Context) error {
		u, err := c.api.GetUploadURLExternalContext(ctx, slackapi.GetUploadURLExternalParameters{FileName: name, FileSize: len(data)})
		if err != nil {
			return err
		}
		id = u.FileID
		return c.api.UploadToURL(ctx, slackapi.UploadToURLParameters{UploadURL: u.UploadURL, Filename: name, Reader: bytes.NewReader(data)})
	})
	return id, err
}

// share shows an uploaded file in a channel or thread.
func (c *client) share(ctx context.Context, channel, thread, id, title, comment string) error {
	return c.do(ctx, callTimeout, "files.completeUploadExternal", func(ctx context.Context) error {
		_, err := c.api.CompleteUploadExternalContext(ctx, slackapi.CompleteUploadExternalParameters{
			Files: []slackapi.FileSummary{{ID: id, Title: title}}, Channel: channel, ThreadTimestamp: thread, InitialComment: comment,
		})
		return err
	})
}
