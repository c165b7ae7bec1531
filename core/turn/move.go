package turn

import (
	"context"
	"errors"
	"fmt"

	"parley/core"
)

// Move follows a platform that put a conversation at another place, as when a group becomes a supergroup:
// what is said there is said in the conversation that was, and a prompt that waits is shown there, since the
// platform's order of messages begins anew.
func (e *Engine) Move(ctx context.Context, from core.ConversationID, to core.Place) error {
	agent, channel, place := from.Parts()
	there := core.NewConversation(agent, channel, to)
	if place == to {
		return nil
	}
	err := e.act(ctx, there, false, func(a *act) error {
		if a.conv.Alias == from || a.conv.Open != "" {
			return errNothing // known, or too late: people talk there already
		}
		a.conv.Alias = from
		return a.tx.PutConversation(a.conv)
	})
	if err == nil {
		err = e.act(ctx, from, false, func(a *act) error {
			if a.conv.Moved == to {
				return errNothing
			}
			a.conv.Moved = to
			if err := a.tx.PutConversation(a.conv); err != nil {
				return err
			}
			if live := a.live(); live != nil {
				return a.prompt(*live)
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("move %s to %s: %w", from, to, err)
	}
	return nil
}

// aliasError ends a transaction at a place that belongs to another conversation.
type aliasError struct{ to core.ConversationID }

func (e *aliasError) Error() string { return "goes on as " + string(e.to) }

// acceptMoved acts on a message in the conversation it belongs to, wherever the platform has put that.
func (e *Engine) acceptMoved(ctx context.Context, m core.Message) (core.Message, Accepted, error) {
	acc, err := e.acceptHere(ctx, m, true)
	var moved *aliasError
	for range 5 {
		if !errors.As(err, &moved) {
			break
		}
		m.Conversation = moved.to
		acc, err = e.acceptHere(ctx, m, true)
	}
	return m, acc, err
}
