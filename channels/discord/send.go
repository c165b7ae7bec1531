package discord

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"

	"parley/channels"
	"parley/core"
	"parley/render"
)

// flagNoPreviews keeps links in a message from being shown as cards.
const flagNoPreviews = 1 << 2

// Messages as they are sent. The library has no nonce, and writes empty lists as null.
type (
	creation struct {
		Content    string                           `json:"content,omitempty"`
		Nonce      string                           `json:"nonce,omitempty"`
		Enforce    bool                             `json:"enforce_nonce,omitempty"`
		Flags      int                              `json:"flags"`
		Mentions   discordgo.MessageAllowedMentions `json:"allowed_mentions"`
		Reference  *answered                        `json:"message_reference,omitempty"`
		Components []discordgo.MessageComponent     `json:"components,omitempty"`
		Files      []upload                         `json:"attachments,omitempty"`
	}
	edition struct {
		Content    string                           `json:"content"`
		Flags      int                              `json:"flags"`
		Mentions   discordgo.MessageAllowedMentions `json:"allowed_mentions"`
		Components []discordgo.MessageComponent     `json:"components"` // empty takes the buttons away
	}
	answered struct {
		Message snowflake `json:"message_id"`
		Channel snowflake `json:"channel_id"`
		Fail    bool      `json:"fail_if_not_exists"`
	}
	upload struct {
		ID   int    `json:"id"`
		Name string `json:"filename"`
	}
)

// nobody lets a message ping no one.
func nobody() discordgo.MessageAllowedMentions {
	return discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}
}

// Send shows one part: text with its buttons, and a file if it has one.
func (a *Adapter) Send(ctx context.Context, to channels.Target, part render.Part) (channels.Sent, error) {
	id, err := parsePlace(to.Place)
	if err != nil {
		return channels.Sent{}, &channels.SendError{Permanent: true, Err: err}
	}
	if part.File == nil && blankText(part.Text) {
		return channels.Sent{}, &channels.SendError{Permanent: true, Err: errors.New("discord: a part without text cannot be sent")}
	}
	m := creation{
		Content: contentOf(part), Nonce: nonceOf(to.Key), Flags: flagNoPreviews, Mentions: nobody(),
		Components: components(part.Buttons),
	}
	m.Enforce = m.Nonce != ""
	if c, msg, ok := parseMessageID(to.ReplyTo); ok && c == id {
		m.Reference = &answered{Message: msg, Channel: c}
	}
	if part.File != nil {
		m.Files = []upload{{Name: part.File.Name}}
	}
	sent, err := a.post(ctx, id, m, part.File)
	if e := isCall(err); e != nil && m.Reference != nil && (e.Code == codeNoHistory || e.Code == codeInvalidForm && e.about("message_reference")) {
		m.Reference = nil // replying needs a right of its own; saying it does not
		sent, err = a.post(ctx, id, m, part.File)
	}
	if err != nil {
		return channels.Sent{}, a.sendError(id, to.Key, err)
	}
	a.rooms.join(id)
	a.doubts.clear(to.Key)
	return sent, nil
}

// contentOf is the text to send. Where a part was refused its plain text comes: unmarked, so that what would
// be marks in it are taken for signs.
func contentOf(part render.Part) string {
	if part.Text != "" && part.Text == part.Plain {
		if escaped := literal(part.Text); unitsOf(escaped) <= maxText {
			return escaped
		}
	}
	return part.Text
}

// nonceOf makes the key of a part short enough for a nonce.
func nonceOf(key string) string {
	if len(key) > maxNonce {
		return core.Digest(key)
	}
	return key
}

const maxNonce = 25

// How often, and after which pauses, an attempt whose outcome is not known is made again at once. The nonce
// makes Discord return the message that is there instead of a second one.
var again = []time.Duration{time.Second, 2 * time.Second}

// post makes the message. Its error is a *callError or a *channels.SendError.
func (a *Adapter) post(ctx context.Context, id snowflake, m creation, file *render.File) (channels.Sent, error) {
	for try := 0; ; try++ {
		sent, err := a.postOnce(ctx, id, m, file)
		e := isCall(err)
		if e == nil || !e.unsure() || !m.Enforce || try >= len(again) || ctx.Err() != nil {
			return sent, err
		}
		if channels.Sleep(ctx, again[try]) != nil {
			return sent, err
		}
	}
}

func (a *Adapter) postOnce(ctx context.Context, id snowflake, m creation, file *render.File) (channels.Sent, error) {
	var made struct {
		ID      snowflake `json:"id"`
		Channel snowflake `json:"channel_id"`
	}
	k := call{op: "send a message", method: http.MethodPost, endpoint: discordgo.EndpointChannelMessages(id.String()), body: m, out: &made}
	if file != nil {
		k.files = []*discordgo.File{{Name: file.Name, Reader: bytes.NewReader(file.Data)}}
	}
	if err := a.paced(ctx, id, k); err != nil {
		return channels.Sent{}, err
	}
	if made.ID == 0 {
		return channels.Sent{}, &channels.SendError{Unsure: true, Err: errors.New("discord: the message was taken, but the answer does not name it")}
	}
	return channels.Sent{Message: messageID(id, made.ID), Order: uint64(made.ID), At: made.ID.time()}, nil
}

// paced makes a call to a channel when its turn has come.
func (a *Adapter) paced(ctx context.Context, id snowflake, k call) error {
	route := id.String()
	over, err := a.pace.Turn(ctx, route)
	switch {
	case err != nil:
		return &channels.SendError{Err: fmt.Errorf("discord: not sent: %w", err)}
	case over > 0:
		return &channels.SendError{After: over, Err: fmt.Errorf("discord: channel %s may be written to again in %s", id, over.Round(time.Millisecond))}
	}
	h, err := a.api.do(ctx, k)
	if h != nil {
		a.learn(route, h)
	}
	if e := isCall(err); e != nil && e.Status == http.StatusTooManyRequests {
		if a.pace.Hold(route, e.RetryAfter); e.Global {
			a.pace.HoldAll(e.RetryAfter)
		}
	}
	return err
}

// Edit replaces the text and buttons of a message of ours. A thread that was archived meanwhile is opened
// again first, as it would be by a new message.
func (a *Adapter) Edit(ctx context.Context, to channels.Target, message string, part render.Part) error {
	id, msg, ok := parseMessageID(message)
	if !ok {
		return fmt.Errorf("discord message %q: %w", message, channels.ErrCannotEdit)
	}
	if part.File == nil && blankText(part.Text) {
		return &channels.SendError{Permanent: true, Err: errors.New("discord: a message cannot be edited to nothing")}
	}
	k := call{
		op: "edit a message", method: http.MethodPatch, endpoint: discordgo.EndpointChannelMessage(id.String(), msg.String()),
		body: edition{Content: contentOf(part), Flags: flagNoPreviews, Mentions: nobody(), Components: components(part.Buttons)},
	}
	err := a.paced(ctx, id, k)
	if e := isCall(err); e != nil && e.Code == codeArchived && a.unarchive(ctx, id) == nil {
		err = a.paced(ctx, id, k)
	}
	e := isCall(err)
	switch {
	case err == nil:
		return nil
	case e != nil && (e.Code == codeUnknownMessage || e.Code == codeNotOurs):
		return fmt.Errorf("%w: %w", channels.ErrCannotEdit, e)
	}
	return a.sendError(id, "", err)
}

func (a *Adapter) unarchive(ctx context.Context, id snowflake) error {
	return a.paced(ctx, id, call{
		op: "open a thread again", method: http.MethodPatch, endpoint: discordgo.EndpointChannel(id.String()), body: map[string]bool{"archived": false},
	})
}

// Typing shows "is typing…" for ten seconds. A channel that is held is left alone.
func (a *Adapter) Typing(ctx context.Context, to channels.Target) error {
	id, err := parsePlace(to.Place)
	if err != nil {
		return &channels.SendError{Permanent: true, Err: err}
	}
	if a.pace.Held(id.String()) {
		return nil
	}
	_, err = a.api.do(ctx, call{op: "show typing", method: http.MethodPost, endpoint: discordgo.EndpointChannelTyping(id.String())})
	if err != nil {
		return a.sendError(id, "", err)
	}
	return nil
}
