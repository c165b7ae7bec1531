package turn

import (
	"context"
	"slices"

	"parley/core"
)

// checkAbort reads whether somebody wants the run to stop.
func (d *driver) checkAbort() error {
	run, err := d.e.store.Run(d.hard, d.root.run.ID)
	if err == nil && run.Abort != nil {
		return errAborted
	}
	return err
}

// cut ends what goes on for a conversation, once its run is to be aborted.
type cut struct{ cancel context.CancelFunc }

// untilAbort is a context for what an abort cuts: the model, and waiting for a tool. It ends with the engine
// too. An abort from before is not seen by it: check after this.
func (d *driver) untilAbort() (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(d.soft)
	e, c, own := d.e, d.claim.Conversation, &cut{cancel}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cuts[c] = append(e.cuts[c], own)
	return ctx, func() {
		cancel()
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.cuts[c] = slices.DeleteFunc(e.cuts[c], func(x *cut) bool { return x == own }); len(e.cuts[c]) == 0 {
			delete(e.cuts, c)
		}
	}
}

// cutShort ends what an abort cuts of a conversation.
func (e *Engine) cutShort(c core.ConversationID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, x := range e.cuts[c] {
		x.cancel()
	}
}
