package turn

import (
	"context"
	"errors"
	"fmt"

	"parley/core"
)

// Settling is what became of one settlement.
type Settling struct {
	// Input is how it stands now.
	Input core.Input
	// Now says that this settlement ended it; false: it had been ended before in the same way.
	Now bool
	// Resumed is the open run of its conversation where settling made it runnable, "" while it waits on others.
	Resumed core.RunID
	// Run is that run as it was made runnable, so that whoever tells of it need not read it again.
	Run core.Run
}

// Unsettled is the refusal of one of several settlements. Done are those before it that took effect: none,
// unless they concern several conversations and the input of At ended between the check and the settling.
type Unsettled struct {
	At   int
	Err  *core.AnswerError
	Done []Settling
}

func (e *Unsettled) Error() string { return fmt.Sprintf("answer %d: %v", e.At+1, e.Err) }

// Unwrap gives the refusal.
func (e *Unsettled) Unwrap() error { return e.Err }

// SettleAll ends several inputs by name, all or none; its result has the order of the settlements. A refused
// one is an *Unsettled, and then nothing changed. Those of one conversation share a transaction. Of several
// conversations all are checked first, then settled one conversation after the other: only an input that ends
// in between is left out, with those behind it, and the error says what was done before.
func (e *Engine) SettleAll(ctx context.Context, all []Settlement) ([]Settling, error) {
	groups, err := e.byConversation(ctx, all)
	if err != nil {
		return nil, err
	}
	out := make([]Settling, len(all))
	if len(groups) > 1 {
		for _, g := range groups {
			if err := e.settleGroup(ctx, all, g, make([]Settling, len(all)), true); err != nil {
				return nil, err
			}
		}
	}
	var done []Settling
	for _, g := range groups {
		if err := e.settleGroup(ctx, all, g, out, false); err != nil {
			var no *Unsettled
			if errors.As(err, &no) {
				no.Done = done
			}
			return nil, err
		}
		for _, i := range g.at {
			done = append(done, out[i])
		}
	}
	return out, nil
}

// group is the settlements of one conversation, by their place in the list.
type group struct {
	conversation core.ConversationID
	at           []int
}

func (e *Engine) byConversation(ctx context.Context, all []Settlement) ([]group, error) {
	var groups []group
	place := map[core.ConversationID]int{}
	for i, s := range all {
		in, err := e.store.Input(ctx, s.Input)
		if errors.Is(err, ErrNotFound) {
			return nil, &Unsettled{At: i, Err: core.ErrNoInput(s.Input)}
		}
		if err != nil {
			return nil, fmt.Errorf("settle input %s: %w", s.Input, err)
		}
		g, ok := place[in.Conversation]
		if !ok {
			g = len(groups)
			place[in.Conversation] = g
			groups = append(groups, group{conversation: in.Conversation})
		}
		groups[g].at = append(groups[g].at, i)
	}
	return groups, nil
}

// errOnlyChecked undoes a transaction that found nothing to refuse.
var errOnlyChecked = errors.New("only checked")

// settleGroup settles what concerns one conversation, in one transaction: every answer, or nothing but the
// record of a refusal.
func (e *Engine) settleGroup(ctx context.Context, all []Settlement, g group, out []Settling, check bool) error {
	var no *Unsettled
	err := e.act(ctx, g.conversation, false, func(a *act) error {
		no = nil
		if err := a.expireDue(); err != nil {
			return err
		}
		for _, i := range g.at {
			s, refused, err := a.settleOne(all[i])
			var ae *core.AnswerError
			switch {
			case err != nil:
				return err
			case errors.As(refused, &ae):
				if no = (&Unsettled{At: i, Err: ae}); len(all) > 1 {
					return errOnlyChecked // of several nothing stays
				}
				return nil
			case refused != nil:
				return refused
			}
			out[i] = s
		}
		if check {
			return errOnlyChecked
		}
		return a.report(g, out)
	})
	switch {
	case err != nil && !errors.Is(err, errOnlyChecked):
		return fmt.Errorf("settle inputs of %s: %w", g.conversation, err)
	case no == nil:
		return nil
	case len(all) > 1 && no.Err.Code == core.AnswerForbidden:
		if err := e.recordRefusal(ctx, g.conversation, all[no.At]); err != nil {
			return err
		}
	}
	return no
}

// settleOne is settleNamed with a word on whether it ended the input.
func (a *act) settleOne(s Settlement) (Settling, error, error) {
	before, err := a.tx.Input(s.Input)
	if err != nil {
		return Settling{}, nil, err
	}
	in, refused, err := a.settleNamed(s)
	return Settling{Input: in, Now: before.Pending()}, refused, err
}

// report reads how the inputs of a group stand at the end of their transaction.
func (a *act) report(g group, out []Settling) error {
	for _, i := range g.at {
		in, err := a.tx.Input(out[i].Input.ID)
		if err != nil {
			return err
		}
		out[i].Input = in
		if out[i].Now && a.run != nil && a.run.Status == core.RunRunning && in.State.Settled() {
			out[i].Resumed, out[i].Run = a.run.ID, *a.run
		}
	}
	return nil
}

// recordRefusal keeps in the audit that somebody who may not answered, where the rest was undone.
func (e *Engine) recordRefusal(ctx context.Context, c core.ConversationID, s Settlement) error {
	err := e.act(ctx, c, false, func(a *act) error {
		in, err := a.tx.Input(s.Input)
		if err != nil {
			return err
		}
		return a.event(core.Event{Type: core.EventRefused, Run: in.Run, Input: in.ID, By: s.From, Via: s.Via})
	})
	if err != nil {
		return fmt.Errorf("record a refused answer to input %s: %w", s.Input, err)
	}
	return nil
}
