package telegram

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/channels"
	"parley/render"
)

var (
	_ channels.Drafter = (*Adapter)(nil)
	_ channels.Deleter = (*Adapter)(nil)
)

// Draft shows part as what is being written in a direct chat, for half a minute or until a message is sent.
// Groups have no drafts, and a server that does not know them is not asked again.
func (a *Adapter) Draft(ctx context.Context, to channels.Target, part render.Part) error {
	chat, topic, err := parsePlace(to.Place)
	if err != nil {
		return &channels.SendError{Permanent: true, Err: err}
	}
	if chat < 0 || a.noDrafts.Load() {
		return channels.ErrNoStream
	}
	if blankText(part.Text) {
		return nil
	}
	if wait := a.pace.Try(paceKey(chat)); wait > 0 {
		return &channels.SendError{After: wait, Err: fmt.Errorf("telegram: chat %d may be written to again in %s", chat, wait)}
	}
	p := tgbotapi.Params{"draft_id": draftID(to.Key)}
	p.AddNonZero64("chat_id", chat)
	p.AddNonZero64("message_thread_id", topic)
	addText(p, "text", "entities", part)
	delete(p, "link_preview_options")
	delete(p, "disable_web_page_preview")
	err = a.api.call(ctx, "sendMessageDraft", p, nil)
	var e *callError
	if errors.As(err, &e) && e.Code == 404 {
		a.noDrafts.Store(true)
		a.log.Debug("telegram: replies are shown by edits: the server knows no drafts", "err", err)
		return channels.ErrNoStream
	}
	if errors.As(err, &e) && e.Code == 400 && !e.says(gone...) {
		return channels.ErrNoStream
	}
	if err != nil {
		return a.sendError(chat, topic, err)
	}
	return nil
}

// draftID is a number for a key, never 0: the draft of one number is drawn over.
func draftID(key string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // it never fails
	return strconv.FormatInt(int64(h.Sum32()>>1)|1, 10)
}

// Delete takes a message of ours back, which Telegram allows for two days.
func (a *Adapter) Delete(ctx context.Context, to channels.Target, message string) error {
	chat, id, ok := parseMessageID(message)
	if !ok {
		return fmt.Errorf("telegram message %q cannot be deleted", message)
	}
	if err := a.await(ctx, chat); err != nil {
		return err
	}
	p := tgbotapi.Params{}
	p.AddNonZero64("chat_id", chat)
	p.AddNonZero64("message_id", id)
	err := a.api.call(ctx, "deleteMessage", p, nil)
	var e *callError
	if err == nil || errors.As(err, &e) && e.Code == 400 && e.says("message to delete not found") {
		return nil
	}
	_, topic, _ := parsePlace(to.Place)
	return a.sendError(chat, topic, err)
}
