package turn

import (
	"context"
	"time"

	"parley/core"
)

// Waiting lists the pending inputs of a conversation's open run, in their order.
func (e *Engine) Waiting(ctx context.Context, c core.ConversationID) ([]core.Input, error) {
	var out []core.Input
	err := e.store.View(ctx, c, func(r Reader) error {
		out = nil
		conv, err := r.Conversation()
		if err != nil || conv.Open == "" {
			return err
		}
		run, err := r.Run(conv.Open)
		if err != nil {
			return err
		}
		all, err := treeInputs(r, run)
		for _, in := range all {
			if in.Pending() {
				out = append(out, in)
			}
		}
		return err
	})
	return out, err
}

// Working lists the conversations of a channel whose run is being advanced in this process.
func (e *Engine) Working(_ context.Context, channel string) ([]core.ConversationID, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []core.ConversationID
	for c := range e.working {
		if c.Channel() == channel {
			out = append(out, c)
		}
	}
	return out, nil
}

// Idle waits until a conversation stands still: nothing runs or is about to, and nothing waits to be sent.
func (e *Engine) Idle(ctx context.Context, c core.ConversationID) error {
	for {
		news := e.news.wait(string(c))
		still, err := e.still(ctx, c)
		if err != nil || still {
			return err
		}
		timer := time.NewTimer(30 * time.Second) // another process may have moved it
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-news:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (e *Engine) still(ctx context.Context, c core.ConversationID) (still bool, err error) {
	err = e.store.View(ctx, c, func(r Reader) error {
		still = false
		held, err := r.Held()
		if err != nil || held {
			return err
		}
		rows, err := r.Out()
		if err != nil || len(rows) > 0 {
			return err
		}
		conv, err := r.Conversation()
		if err != nil {
			return err
		}
		if conv.Open != "" {
			run, err := r.Run(conv.Open)
			still = err == nil && (run.Status == core.RunInputRequired || run.SetAside != "")
			return err
		}
		queue, err := r.Queue(1)
		_, known := e.agents(c.Agent())
		still = len(queue) == 0 || !known || queue[0].Message.NotBefore.After(r.Now())
		return err
	})
	return still, err
}
