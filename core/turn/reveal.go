package turn

import (
	"context"
	"errors"
	"fmt"

	"parley/core"
)

// Reveal returns an input to somebody who may answer it and wants to see its masked values. In one
// transaction: it is checked that they may, and the audit says that they looked, or that they were refused.
// The error of a refusal is a *core.AnswerError.
func (e *Engine) Reveal(ctx context.Context, id core.InputID, by core.PersonID, via string) (core.Input, error) {
	in, err := e.store.Input(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return core.Input{}, core.ErrNoInput(id)
	}
	if err != nil {
		return core.Input{}, fmt.Errorf("reveal input %s: %w", id, err)
	}
	may := false
	err = e.act(ctx, in.Conversation, false, func(a *act) (err error) {
		if in, err = a.tx.Input(id); err != nil {
			return err
		}
		may = core.MayAnswer(in, a.humanFor(&in), by)
		what := core.EventRevealed
		if !may {
			what = core.EventRefused
		}
		return a.event(core.Event{Type: what, Run: in.Run, Call: in.Call, Input: id, By: by, Via: via})
	})
	switch {
	case err != nil:
		return core.Input{}, fmt.Errorf("reveal input %s: %w", id, err)
	case !may:
		return core.Input{}, core.ErrForbidden(in, by)
	}
	return in, nil
}
