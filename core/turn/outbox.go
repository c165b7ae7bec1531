package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/core"
)

// Outbox lists what is to be sent on a channel; see Store.Outbox.
func (e *Engine) Outbox(ctx context.Context, channel string, limit int) (rows []core.Out, next time.Time, err error) {
	return e.store.Outbox(ctx, channel, limit)
}

// Wake subscribes to hints that rows may wait on a channel; the second value ends the subscription.
func (e *Engine) Wake(string) (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		for {
			news := e.news.wait()
			select {
			case ch <- struct{}{}:
			default:
			}
			select {
			case <-ctx.Done():
				return
			case <-news:
			}
		}
	}()
	return ch, stop
}

// Sent records that a row was shown, and where. The receipt rides on the next commit.
func (e *Engine) Sent(ctx context.Context, row core.Out, r core.Receipt) error {
	err := e.act(ctx, row.Conversation, true, func(a *act) error {
		if err := a.tx.DropOut(row.Seq); err != nil {
			return err
		}
		if row.Input == "" {
			return nil
		}
		in, err := a.tx.Input(row.Input)
		if errors.Is(err, ErrNotFound) {
			return nil // retention was faster
		}
		if err != nil {
			return err
		}
		return a.receipt(in, row, r)
	})
	if err != nil {
		return fmt.Errorf("record the receipt of row %d of %s: %w", row.Seq, row.Conversation, err)
	}
	return nil
}

// receipt keeps where a prompt stands, or that its end was shown, and routes what waited to know.
func (a *act) receipt(in core.Input, row core.Out, r core.Receipt) error {
	switch {
	case row.Kind == core.OutEdit && !in.Pending():
		for i := range in.Prompts {
			if in.Prompts[i].ClosedAt.IsZero() {
				in.Prompts[i].ClosedAt = r.At
			}
		}
		return a.putInput(in)
	case r.Prompted && (row.Kind == core.OutPrompt || row.Kind == core.OutReply):
		in.Prompts = append(in.Prompts, core.Prompt{
			Conversation: row.Conversation, Step: row.Step, Messages: r.Messages, Order: r.Order, DeliveredAt: r.At,
		})
		if err := a.putInput(in); err != nil {
			return err
		}
		return a.reroute()
	}
	return nil
}

// How long an attempt that failed is left alone: doubled each time, or as the platform asks.
const (
	firstRetry   = time.Second
	longestRetry = 5 * time.Minute
)

// Failed records an attempt to send that did not succeed. A row whose target will not take it goes, and
// the run's history says so; the prompt is shown again when the conversation is next heard of.
func (e *Engine) Failed(ctx context.Context, row core.Out, f Failure) error {
	err := e.act(ctx, row.Conversation, true, func(a *act) error {
		if f.Permanent {
			return errors.Join(a.tx.DropOut(row.Seq), a.event(core.Event{
				Type: core.EventUndeliverable, Run: row.Run, Input: row.Input,
				Data: data(map[string]string{"kind": string(row.Kind), "error": f.Err}),
			}))
		}
		row := row
		row.Tries++
		if f.Unsure {
			row.Unsure++
		}
		wait := f.After
		if wait == 0 {
			wait = min(firstRetry<<min(row.Tries-1, 10), longestRetry)
		}
		row.Parts, row.NextAt, row.Error = f.Sent, a.now.Add(wait), f.Err
		return a.tx.PutOut(row)
	})
	if err != nil {
		return fmt.Errorf("record the failure of row %d of %s: %w", row.Seq, row.Conversation, err)
	}
	return nil
}

// Show loads what an outbox row names, in one view.
func (e *Engine) Show(ctx context.Context, row core.Out) (Shown, error) {
	s := Shown{Row: row, Lang: row.Lang}
	err := e.store.View(ctx, row.Conversation, func(r Reader) (err error) {
		s.Now = r.Now()
		if s.Conversation, err = r.Conversation(); err != nil {
			return err
		}
		if row.Input != "" {
			in, err := r.Input(row.Input)
			if err != nil {
				return err
			}
			s.Input, row.Run = &in, in.Run
		}
		id := row.Run
		if id == "" {
			id = s.Conversation.Open // a status is about what is open
		}
		if id == "" {
			return nil
		}
		if s.Run, err = r.Run(id); err != nil {
			return err
		}
		if s.Inputs, err = r.RunInputs(id); err != nil {
			return err
		}
		s.Calls, err = r.Calls(id)
		return err
	})
	if err != nil {
		return s, fmt.Errorf("load row %d of %s: %w", row.Seq, row.Conversation, err)
	}
	if agent, ok := e.agents(row.Conversation.Agent()); ok {
		s.Agent = agent.Name
	}
	if s.Agent == "" {
		s.Agent = string(row.Conversation.Agent())
	}
	return s, nil
}
