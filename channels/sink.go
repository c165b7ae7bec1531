package channels

import (
	"context"
	"errors"
	"fmt"

	"parley/core"
	"parley/core/turn"
	"parley/render"
)

// sink is the entrance of one channel.
type sink struct{ *port }

// Message accepts m in the order of its conversation and returns once it is durable. Where storing fails,
// the error goes to the adapter and to the messages that stand behind it, so that the platform hands all of
// them in again in their order. The person is told to try again instead where that is no use: on a platform
// that cannot do so, and where the conversation's rows are damaged, which would hold up everybody else.
func (s sink) Message(ctx context.Context, m core.Message) error {
	if m.Conversation.Channel() != s.name {
		return fmt.Errorf("channel %s: message %s is of conversation %s: the adapter made its id for another channel", s.name, m.ID, m.Conversation)
	}
	if ok, err := s.lets(ctx, m.From); err != nil {
		return err
	} else if !ok {
		s.refuse(m)
		return nil
	}
	t, err := s.order.Enter(ctx, m.Conversation)
	if err != nil {
		return err
	}
	m.NotBefore = s.limit.take(m.From, s.now())
	got, err := s.turns.Accept(ctx, m)
	again := err != nil && s.redelivers() && !errors.Is(err, turn.ErrDamaged)
	if again {
		s.order.Leave(m.Conversation, t, err)
	} else {
		s.order.Leave(m.Conversation, t, nil)
	}
	if err != nil || got.Duplicate || !startsTurn(got.Did) {
		s.limit.giveBack(m.From)
	}
	if err != nil {
		return s.notStored(ctx, m, err, again)
	}
	if !got.Duplicate {
		s.observe.Reading(s.name, got.Did)
	}
	s.typing.poke()
	return nil
}

// notStored is what a message that could not be stored comes to.
func (s sink) notStored(ctx context.Context, m core.Message, err error, again bool) error {
	s.log.Error("message not stored", "conversation", m.Conversation, "message", m.ID, "err", err)
	if !again && ctx.Err() == nil {
		s.sayAside(m, render.Note(s.view(m.Lang, m.Shared), tryAgain))
		if errors.Is(err, turn.ErrDamaged) {
			return nil
		}
	}
	return fmt.Errorf("accept message %s of %s: %w", m.ID, m.Conversation, err)
}

// Moved keeps where the platform has put a conversation.
func (s sink) Moved(ctx context.Context, from core.ConversationID, to core.Place) error {
	if err := s.turns.Move(ctx, from, to); err != nil {
		s.log.Error("a move was not stored", "conversation", from, "to", to, "err", err)
		return err
	}
	return nil
}

var _ Mover = sink{}

// startsTurn reports whether the message counts against the limit: answers and cancel are free.
func startsTurn(d core.Doing) bool {
	switch d {
	case core.DoStart, core.DoQueue, core.DoSupersede:
		return true
	}
	return false
}

func (p *port) redelivers() bool {
	r, ok := p.Adapter.(Redelivers)
	return !ok || r.Redelivers()
}

// refuse tells a person who is not let in their id, once, where they meant the bot.
func (p *port) refuse(m core.Message) {
	if m.From == "" || !m.Addressed && m.Shared {
		return
	}
	if !p.told.first(m.From) {
		return
	}
	p.log.Info("refused", "person", m.From)
	p.sayAside(m, render.Refusal(p.view(m.Lang, m.Shared), m.From))
}

// Press settles the input a button names, by the same rules as a typed answer. The line says why not, or
// that the answer was not stored; in that case there is an error too.
func (s sink) Press(ctx context.Context, p Press) (PressOutcome, error) {
	v := s.view(p.Lang, true)
	if ok, err := s.lets(ctx, p.From); err != nil {
		return PressOutcome{Line: line(render.Note(v, tryAgain))}, err
	} else if !ok {
		return PressOutcome{Line: line(render.Refusal(s.view(p.Lang, true), p.From))}, nil
	}
	in, err := s.turns.Settle(ctx, turn.Settlement{
		Input: p.Input, From: p.From, Via: "button", Typed: p.Reply, Step: p.Step,
	})
	var no *core.AnswerError
	switch {
	case err == nil:
		s.typing.poke()
		return PressOutcome{}, nil
	case errors.As(err, &no):
		return PressOutcome{Line: line(render.Refused(v, in, no))}, nil
	default:
		s.log.Error("answer not stored", "input", p.Input, "err", err)
		return PressOutcome{Line: line(render.Note(v, tryAgain))}, fmt.Errorf("settle input %s: %w", p.Input, err)
	}
}
