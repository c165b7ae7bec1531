package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"parley/core"
)

// Copies: humanInput.notify names conversations where a copy of each prompt goes. A copy answers the same
// input, which lives in its own conversation; a transaction concerns one conversation, so that a relay row of
// the home conversation carries what is to happen in the other.

// relayPrompts asks for a copy of a prompt at every place the agent notifies.
func (a *act) relayPrompts(in core.Input) error {
	var errs []error
	human := a.human
	if agent, ok := a.e.agents(in.Agent); ok {
		human = agent.Human
	}
	for _, to := range human.Notify {
		if to != a.conv.ID {
			errs = append(errs, a.out(core.Out{Kind: core.OutRelay, To: to, Run: in.Run, Input: in.ID, Step: in.Draft.Step}))
		}
	}
	return errors.Join(errs...)
}

// relayEdits asks for the edit of every copy of an input's prompts.
func (a *act) relayEdits(in core.Input) error {
	var errs []error
	var done []core.ConversationID
	for _, p := range in.Prompts {
		if p.Conversation != a.conv.ID && !slices.Contains(done, p.Conversation) {
			done = append(done, p.Conversation)
			errs = append(errs, a.out(core.Out{Kind: core.OutRelay, To: p.Conversation, Run: in.Run, Edits: []core.InputID{in.ID}}))
		}
	}
	return errors.Join(errs...)
}

// relay writes the row that a relay asks for, once, and then drops the relay.
func (e *Engine) relay(ctx context.Context, row core.Out) error {
	mark := fmt.Sprintf("relay:%s:%d", row.Conversation, row.Seq)
	err := e.act(ctx, row.To, false, func(a *act) error {
		seen, err := a.tx.Seen(mark)
		if err != nil {
			return err
		}
		if seen {
			return errNothing
		}
		o := core.Out{Kind: core.OutPrompt, Run: row.Run, Input: row.Input, Step: row.Step}
		if len(row.Edits) > 0 {
			o = core.Out{Kind: core.OutEdit, Run: row.Run, Edits: row.Edits}
		}
		return errors.Join(a.tx.MarkSeen(mark), a.out(o))
	})
	if err == nil {
		err = e.act(ctx, row.Conversation, false, func(a *act) error { return a.tx.DropOut(row.Seq) })
	}
	if err != nil {
		return fmt.Errorf("relay row %d of %s to %s: %w", row.Seq, row.Conversation, row.To, err)
	}
	return nil
}

// Forward has a row of a conversation that stands for a person said at the place where they are spoken to, unless
// its prompt stands there anyway.
func (e *Engine) Forward(ctx context.Context, row core.Out, to core.Place) error {
	agent, channel, _ := row.Conversation.Parts()
	row.To = core.NewConversation(agent, channel, to)
	home, err := e.homeOf(ctx, row)
	if err == nil && home == row.To {
		err = e.act(ctx, row.Conversation, false, func(a *act) error { return a.tx.DropOut(row.Seq) })
	} else if err == nil {
		err = e.relay(ctx, row)
	}
	if err != nil && !errors.Is(err, ErrNotFound) { // else it went before
		return fmt.Errorf("forward row %d of %s to %s: %w", row.Seq, row.Conversation, row.To, err)
	}
	return nil
}

// homeOf is the conversation that what a row shows lives in.
func (e *Engine) homeOf(ctx context.Context, row core.Out) (core.ConversationID, error) {
	id := row.Input
	if id == "" && row.Kind == core.OutEdit && len(row.Edits) > 0 {
		id = row.Edits[0]
	}
	if id == "" {
		return row.Conversation, nil
	}
	in, err := e.store.Input(ctx, id)
	return in.Conversation, err
}

// sentCopy records where a copy of a prompt stands: with its input first, then in the conversation it
// stands in. A prompt at home needs none of it.
func (e *Engine) sentCopy(ctx context.Context, row core.Out, r core.Receipt) error {
	if row.Kind != core.OutPrompt || !r.Prompted {
		return nil
	}
	home, err := e.homeOf(ctx, row)
	if errors.Is(err, ErrNotFound) || home == row.Conversation {
		return nil
	}
	if err != nil {
		return err
	}
	err = e.act(ctx, home, false, func(a *act) error {
		in, err := a.tx.Input(row.Input)
		if err != nil {
			return err
		}
		in.Prompts = append(in.Prompts, core.Prompt{
			Conversation: row.Conversation, Step: row.Step, Messages: r.Messages, Order: r.Order, DeliveredAt: r.At,
		})
		if err := a.putInput(in); err != nil || in.Pending() {
			return err
		}
		return a.relayEdits(in) // it ended while its copy was on the way
	})
	if err != nil {
		return err
	}
	return e.act(ctx, row.Conversation, false, func(a *act) error {
		if slices.Contains(a.conv.Copies, row.Input) {
			return errNothing
		}
		a.conv.Copies = append(a.conv.Copies, row.Input)
		return a.tx.PutConversation(a.conv)
	})
}

// guest is the input of another conversation that a message answers by its copy here: the one it replies
// to, or the only one that waits where nothing of this conversation is open. nil for none.
func (e *Engine) guest(ctx context.Context, m core.Message) (in *core.Input, bound bool, err error) {
	var id core.InputID
	err = e.store.View(ctx, m.Conversation, func(r Reader) error {
		seen, err := r.Seen(m.ID)
		if err != nil || seen {
			return err
		}
		if m.ReplyTo != "" {
			id, err = r.Prompted(m.ReplyTo)
			bound = id != ""
			return err
		}
		conv, err := r.Conversation()
		if err == nil && len(conv.Copies) == 1 && conv.Open == "" {
			id = conv.Copies[0]
		}
		return err
	})
	if err != nil || id == "" || m.Command != "" || len(m.Files) > 0 {
		return nil, false, err
	}
	found, err := e.store.Input(ctx, id)
	if errors.Is(err, ErrNotFound) || found.Conversation == m.Conversation {
		return nil, false, nil
	}
	return &found, bound, err
}

// acceptGuest lets a message act on an input of another conversation. taken is false where the message is
// an ordinary one of its own conversation.
func (e *Engine) acceptGuest(ctx context.Context, m core.Message) (acc Accepted, taken bool, err error) {
	in, bound, err := e.guest(ctx, m)
	if in == nil || err != nil {
		return acc, false, err
	}
	agent, ok := e.agents(in.Conversation.Agent())
	if !ok {
		return acc, false, nil
	}
	r := e.deps.Read(*in, m, agent.Human)
	step, stands := copyStep(*in, m, bound)
	if !bound && (m.Shared && agent.Human.Bound && !m.Addressed || !m.Addressed && !m.Thread && !e.MayAnswer(*in, m.From)) {
		return acc, false, nil // a reply, a mention or a button is demanded; what strangers say among themselves is theirs
	}
	if r.Kind == core.ReadOther || !stands || !bound && (r.Kind != core.ReadAnswer || !in.Pending()) {
		return acc, false, nil
	}
	s := Settlement{Input: in.ID, From: m.From, Via: "chat", Typed: m.Text, Step: step}
	_, err = e.Settle(ctx, s)
	o := core.Out{Kind: core.OutNote, Input: in.ID, Person: m.From, ReplyTo: m.ID, Lang: m.Lang, Step: step}
	var no *core.AnswerError
	switch {
	case err == nil:
	case !errors.As(err, &no):
		return acc, false, err
	case no.Code == core.AnswerForbidden:
		told, err := e.toldAtHome(ctx, *in, m.From)
		if err != nil {
			return acc, false, err
		}
		if !told {
			o.Note = core.NoteNotAllowed
		}
	case no.Code == core.AnswerConflict:
		o.Note = core.NoteAlready
	default:
		o.Note, o.Hint = core.NoteUnclear, r.Hint
	}
	acc = Accepted{Did: core.DoAnswer, Run: in.Run, Input: in.ID}
	return acc, true, e.act(ctx, m.Conversation, false, func(a *act) error {
		if err := a.tx.MarkSeen(m.ID); err != nil || o.Note == "" {
			return err
		}
		acc.Did = core.DoNote
		return a.out(o)
	})
}

// toldAtHome reports whether somebody was told already who may answer, and remembers that they are now.
func (e *Engine) toldAtHome(ctx context.Context, in core.Input, who core.PersonID) (told bool, err error) {
	err = e.act(ctx, in.Conversation, false, func(a *act) error {
		now, err := a.tx.Input(in.ID)
		if err != nil {
			return err
		}
		told, err = a.told(now, who, core.NoteNotAllowed)
		return err
	})
	return told, err
}

// copyStep is the Draft.Step of the copy that a message answers, and whether the message stands after it.
func copyStep(in core.Input, m core.Message, bound bool) (step int, stands bool) {
	for i := len(in.Prompts) - 1; i >= 0; i-- {
		p := in.Prompts[i]
		if p.Conversation != m.Conversation {
			continue
		}
		if bound && slices.Contains(p.Messages, m.ReplyTo) {
			return p.Step, true
		}
		if !bound && p.Step == in.Draft.Step {
			return p.Step, m.Order > p.Order
		}
	}
	return 0, false
}
