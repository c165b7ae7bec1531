package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/channels"
	"parley/render"
)

// Send shows one part: text with its marks, or a document with the text as its caption. A caption that is too
// long for one goes ahead of the document as a message of its own, so that nothing is cut.
func (a *Adapter) Send(ctx context.Context, to channels.Target, part render.Part) (channels.Sent, error) {
	chat, topic, err := parsePlace(to.Place)
	if err != nil {
		return channels.Sent{}, &channels.SendError{Permanent: true, Err: err}
	}
	p := tgbotapi.Params{}
	p.AddNonZero64("chat_id", chat)
	p.AddNonZero64("message_thread_id", topic)
	if c, m, ok := parseMessageID(to.ReplyTo); ok && c == chat {
		p["reply_parameters"] = fmt.Sprintf(`{"message_id":%d,"allow_sending_without_reply":true}`, m)
	}
	if part.File != nil {
		return a.sendDocument(ctx, chat, topic, p, part)
	}
	return a.sendText(ctx, chat, topic, p, part)
}

func (a *Adapter) sendText(ctx context.Context, chat, topic int64, p tgbotapi.Params, part render.Part) (channels.Sent, error) {
	if blankText(part.Text) {
		return channels.Sent{}, &channels.SendError{Permanent: true, Err: errors.New("telegram: a part without text cannot be sent")}
	}
	addText(p, "text", "entities", part)
	if err := addKeyboard(p, part); err != nil {
		return channels.Sent{}, &channels.SendError{Refused: true, Err: err}
	}
	return a.deliver(ctx, chat, topic, func(out any) error { return a.api.call(ctx, "sendMessage", p, out) })
}

func (a *Adapter) sendDocument(ctx context.Context, chat, topic int64, p tgbotapi.Params, part render.Part) (channels.Sent, error) {
	if unitsOf(part.Text) > maxCaption {
		ahead := part
		ahead.File, ahead.Buttons = nil, nil
		if sent, err := a.sendText(ctx, chat, topic, p, ahead); err != nil {
			return sent, err
		}
		for _, name := range []string{"text", "entities", "link_preview_options", "reply_parameters"} {
			delete(p, name)
		}
		part.Text, part.Spans = "", nil
	}
	if !blankText(part.Text) {
		addText(p, "caption", "caption_entities", part)
	}
	if err := addKeyboard(p, part); err != nil {
		return channels.Sent{}, &channels.SendError{Refused: true, Err: err}
	}
	file := tgbotapi.RequestFile{Name: "document", Data: tgbotapi.FileBytes{Name: part.File.Name, Bytes: part.File.Data}}
	return a.deliver(ctx, chat, topic, func(out any) error { return a.api.upload(ctx, "sendDocument", p, file, out) })
}

// deliver makes one paced call that puts a message into a chat.
func (a *Adapter) deliver(ctx context.Context, chat, topic int64, call func(out any) error) (channels.Sent, error) {
	if err := a.await(ctx, chat); err != nil {
		return channels.Sent{}, err
	}
	var m struct {
		ID   int64 `json:"message_id"`
		Date int64 `json:"date"`
		Chat struct {
			ID int64 `json:"id"`
		} `json:"chat"`
	}
	if err := call(&m); err != nil {
		return channels.Sent{}, a.sendError(chat, topic, err)
	}
	if m.ID <= 0 {
		return channels.Sent{}, &channels.SendError{Unsure: true, Err: errors.New("telegram: the message was taken, but the answer does not name it")}
	}
	at := time.Unix(m.Date, 0).UTC()
	if m.Date == 0 {
		at = a.now()
	}
	if m.Chat.ID != 0 {
		chat = m.Chat.ID
	}
	return channels.Sent{Message: messageID(chat, m.ID), Order: uint64(m.ID), At: at}, nil
}

// await waits for the chat's turn.
func (a *Adapter) await(ctx context.Context, chat int64) error {
	over, err := a.pace.Turn(ctx, paceKey(chat))
	switch {
	case err != nil:
		return &channels.SendError{Err: fmt.Errorf("telegram: not sent: %w", err)}
	case over > 0:
		return &channels.SendError{After: over, Err: fmt.Errorf("telegram: chat %d may be written to again in %s", chat, over.Round(time.Second))}
	}
	return nil
}

// Edit replaces the text, marks and buttons of a message of ours.
func (a *Adapter) Edit(ctx context.Context, to channels.Target, message string, part render.Part) error {
	chat, id, ok := parseMessageID(message)
	if !ok {
		return fmt.Errorf("telegram message %q: %w", message, channels.ErrCannotEdit)
	}
	if part.File == nil && blankText(part.Text) {
		return &channels.SendError{Permanent: true, Err: errors.New("telegram: a message cannot be edited to nothing")}
	}
	err := a.edit(ctx, chat, id, part, part.File != nil)
	var failed *callError
	if errors.As(err, &failed) && failed.Code == 400 && failed.says("no text in the message to edit") {
		err = a.edit(ctx, chat, id, part, true)
	}
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &failed):
		return err
	case failed.Code == 400 && failed.says("message is not modified"):
		return nil
	case failed.Code == 400 && failed.says("message to edit not found", "message can't be edited", "message_id_invalid", "message_author_required", "no caption in the message"):
		return fmt.Errorf("%w: %w", channels.ErrCannotEdit, failed)
	}
	_, topic, _ := parsePlace(to.Place)
	return a.sendError(chat, topic, failed)
}

func (a *Adapter) edit(ctx context.Context, chat, id int64, part render.Part, caption bool) error {
	if err := a.await(ctx, chat); err != nil {
		return err
	}
	p := tgbotapi.Params{}
	p.AddNonZero64("chat_id", chat)
	p.AddNonZero64("message_id", id)
	method := "editMessageText"
	if caption {
		method = "editMessageCaption"
		part = shortCaption(part)
		addText(p, "caption", "caption_entities", part)
	} else {
		addText(p, "text", "entities", part)
	}
	if err := addKeyboard(p, part); err != nil {
		return &channels.SendError{Refused: true, Err: err}
	}
	return a.api.call(ctx, method, p, nil)
}

// shortCaption fits the text of an edit under a document: what was asked stands in the document itself.
func shortCaption(part render.Part) render.Part {
	if unitsOf(part.Text) <= maxCaption {
		return part
	}
	units := utf16.Encode([]rune(part.Text))[:maxCaption-2]
	if utf16.IsSurrogate(rune(units[len(units)-1])) {
		units = units[:len(units)-1]
	}
	part.Text, part.Spans = string(utf16.Decode(units))+" …", nil
	return part
}

// Typing shows "typing…" for five seconds. A chat that is held is left alone.
func (a *Adapter) Typing(ctx context.Context, to channels.Target) error {
	chat, topic, err := parsePlace(to.Place)
	if err != nil {
		return &channels.SendError{Permanent: true, Err: err}
	}
	if a.pace.Held(paceKey(chat)) {
		return nil
	}
	p := tgbotapi.Params{"action": "typing"}
	p.AddNonZero64("chat_id", chat)
	p.AddNonZero64("message_thread_id", topic)
	if err := a.api.call(ctx, "sendChatAction", p, nil); err != nil {
		return a.sendError(chat, topic, err)
	}
	return nil
}

// sendError says what a failed call means for the message. Where the token itself is refused the message is
// kept: the operator will mend that, and Run says so.
func (a *Adapter) sendError(chat, topic int64, err error) error {
	var e *callError
	if !errors.As(err, &e) {
		return err // already a *channels.SendError
	}
	out := &channels.SendError{Err: e, Unsure: e.unsure()}
	switch {
	case e.Code == 429:
		out.After = max(e.RetryAfter, time.Second)
		a.pace.Hold(paceKey(chat), out.After)
	case e.MigrateTo != 0:
		a.log.Info("telegram: the group became a supergroup", "from", chat, "to", e.MigrateTo)
		out.Moved = placeOf(e.MigrateTo, 0)
	case e.Code == 401 || e.Code == 404:
		out.After = time.Minute
	case e.Code == 403:
		out.Permanent, out.Err = true, fmt.Errorf("%w: %s", e, fixFor(e))
	case e.Code == 400 && e.says(gone...):
		out.Permanent, out.Err = true, fmt.Errorf("%w: %s", e, fixFor(e))
	case e.Code == 400 || e.Code == 413:
		out.Refused = true
	}
	return out
}

// gone are the phrases of a 400 that no other form of the message would change.
var gone = []string{
	"chat not found", "chat_id is empty", "group chat was", "peer_id_invalid", "user not found", "thread not found",
	"topic_deleted", "topic_closed", "topic deleted", "topic closed", "not enough rights", "have no rights", "chat_write_forbidden",
	"chat_restricted", "chat_admin_required", "need administrator rights", "input_user_deactivated",
}

// fixFor says what the operator can do about a chat that takes no messages.
func fixFor(e *callError) string {
	switch {
	case e.says("blocked by the user"):
		return "the person must unblock the bot and press Start"
	case e.says("can't initiate"), e.says("chat not found"):
		return "the person must open the bot and press Start, or the bot must be added to the group"
	case e.says("kicked"), e.says("not a member"):
		return "add the bot to the group again"
	case e.says("deactivated"):
		return "the account or group is gone"
	case e.says("topic", "thread"):
		return "the topic was closed or deleted: open it again, or write to the bot in another"
	}
	return "give the bot the right to write there"
}

// addText puts text and its marks into a call. There is no parser on the way that could refuse it, and no
// preview that could show more than it says.
func addText(p tgbotapi.Params, field, marks string, part render.Part) {
	p[field] = part.Text
	if es := entitiesOf(part); len(es) > 0 {
		if raw, err := json.Marshal(es); err == nil {
			p[marks] = string(raw)
		}
	}
	if field == "text" {
		p["link_preview_options"] = `{"is_disabled":true}`
		p["disable_web_page_preview"] = "true" // for servers older than link_preview_options
	}
}

// entitiesOf turns spans into entities, without those that lie outside the text.
func entitiesOf(part render.Part) []tgbotapi.MessageEntity {
	n := unitsOf(part.Text)
	var out []tgbotapi.MessageEntity
	for _, s := range part.Spans {
		if s.Start < 0 || s.Length <= 0 || s.Length > n-s.Start {
			continue
		}
		out = append(out, tgbotapi.MessageEntity{Type: string(s.Kind), Offset: s.Start, Length: s.Length})
	}
	return out
}

func addKeyboard(p tgbotapi.Params, part render.Part) error {
	rows, err := keyboard(part.Buttons)
	p.AddNonEmpty("reply_markup", rows)
	return err
}

// unitsOf is the length in UTF-16 code units.
func unitsOf(s string) int {
	n := utf8.RuneCountInString(s)
	for _, r := range s {
		if r > 0xffff {
			n++
		}
	}
	return n
}

func blankText(s string) bool { return strings.TrimSpace(s) == "" }

// answer ends the spinner of a pressed button, with a line for that person alone.
func (a *Adapter) answer(ctx context.Context, press, line string) {
	p := tgbotapi.Params{"callback_query_id": press}
	if line = cut(strings.TrimSpace(line), 200); line != "" {
		p["text"] = line
		p["show_alert"] = strconv.FormatBool(utf8.RuneCountInString(line) > 60) // a toast is gone too soon to be read
	}
	var e *callError
	switch err := a.api.call(ctx, "answerCallbackQuery", p, nil); {
	case err == nil:
	case errors.As(err, &e) && e.Code == 400:
		a.log.Debug("telegram: a press was too old to be answered", "err", err)
	default:
		a.log.Warn("telegram: a press was not answered", "err", err)
	}
}

// cut shortens a line to n runes, visibly.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-2]) + " …"
}
