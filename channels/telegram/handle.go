package telegram

import (
	"context"
	"fmt"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/channels"
)

// hintTimeout bounds a line that the adapter says by itself, and the answer to a press: the chat waits.
const hintTimeout = 10 * time.Second

// unstored is what a person is told whose press could not be stored, where the sink has no words for it.
const unstored = "That could not be stored. Nothing has changed; please press again."

// handle does what one update asks for. nil: it may be confirmed. Otherwise it must come again.
func (a *Adapter) handle(ctx context.Context, sink channels.Sink, u update) error {
	r := reader{me: a.self(), agent: a.agent, channel: a.name}
	switch in := r.read(u); {
	case in.message != nil:
		if err := sink.Message(ctx, *in.message); err != nil {
			return fmt.Errorf("telegram update %d: %w", u.ID, err)
		}
	case in.press != nil:
		return a.press(ctx, sink, *in.press)
	case in.stray != "":
		a.reply(ctx, in.stray, "")
	case in.hidden != nil:
		a.unmask(ctx, in.hidden)
	case in.moved != nil:
		a.log.Info("telegram: a group became a supergroup; its conversation goes on at the new id", "from", in.moved[0], "to", in.moved[1])
		if m, ok := sink.(channels.Mover); ok {
			return m.Moved(ctx, r.conversation(in.moved[0], 0), placeOf(in.moved[1], 0))
		}
	case u.Member != nil:
		a.log.Info("telegram: membership changed", "chat", u.Member.Chat.ID, "status", u.Member.New.Status)
	default:
		a.log.Debug("telegram: update not for the agent", "update", u.ID, "why", in.dropped)
	}
	return nil
}

// press settles and then answers: the spinner ends only after it is durable. A press that could not be stored
// is told to the person, who presses again; only at shutdown it is left for Telegram to bring again.
func (a *Adapter) press(ctx context.Context, sink channels.Sink, p channels.Press) error {
	out, err := sink.Press(ctx, p)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		a.log.Error("telegram: a press was not stored", "input", p.Input, "err", err)
		if out.Line == "" {
			out.Line = unstored
		}
	}
	a.reply(ctx, p.ID, out.Line)
	return nil
}

func (a *Adapter) reply(ctx context.Context, press, line string) {
	within, cancel := context.WithTimeout(ctx, hintTimeout)
	defer cancel()
	a.answer(within, press, line)
}

// unmask tells, once a chat and process, that nobody can be told apart behind an anonymous admin or a channel.
func (a *Adapter) unmask(ctx context.Context, m *message) {
	a.log.Info("telegram: ignored a message of an anonymous sender", "chat", m.Chat.ID)
	if _, told := a.hinted.LoadOrStore(m.Chat.ID, true); told {
		return
	}
	p := tgbotapi.Params{
		"text": "I cannot tell who you are while you write as the group or a channel, so this does not count. " +
			"Please switch \"Remain anonymous\" off in your admin rights, or choose your own account to write as.",
		"reply_parameters": fmt.Sprintf(`{"message_id":%d,"allow_sending_without_reply":true}`, m.ID),
	}
	p.AddNonZero64("chat_id", m.Chat.ID)
	p.AddNonZero64("message_thread_id", m.topic())
	within, cancel := context.WithTimeout(ctx, hintTimeout)
	defer cancel()
	over, err := a.pace.Turn(within, paceKey(m.Chat.ID))
	if err == nil && over == 0 {
		err = a.api.call(within, "sendMessage", p, nil)
	}
	if err != nil || over > 0 {
		a.hinted.Delete(m.Chat.ID)
		a.log.Warn("telegram: could not hint at anonymity", "chat", m.Chat.ID, "err", err)
	}
}
