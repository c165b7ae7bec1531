package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/core"
)

// Outbox lists what is to be sent on a channel; see Store.Outbox.
// Relays are carried out here: they lead to rows of other conversations.
func (e *Engine) Outbox(ctx context.Context, channel string, limit int) (rows []core.Out, next time.Time, err error) {
	for {
		all, next, err := e.store.Outbox(ctx, channel, limit)
		if err != nil {
			return nil, next, err
		}
		rows, relays := all[:0:0], 0
		for _, row := range all {
			if row.Kind != core.OutRelay {
				rows = append(rows, row)
				continue
			}
			relays++
			if err := e.relay(ctx, row); err != nil {
				return nil, next, err
			}
		}
		if relays == 0 {
			return rows, next, nil
		}
	}
}

// Wake subscribes to hints that rows may wait on a channel; the second value ends the subscription.
func (e *Engine) Wake(channel string) (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		for {
			news := e.news.wait(channelTopic(channel))
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

// Glances takes the edits that are worth trying once: a prompt that was just answered says so, and that
// its call runs. They have no row (Seq is 0) and no receipt; the row of the run's next stop edits it for good.
func (e *Engine) Glances(channel string) []core.Out {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.glances[channel]
	delete(e.glances, channel)
	return out
}

// addGlance keeps a few edits for a channel; where nobody takes them they are dropped.
func (e *Engine) addGlance(c core.ConversationID, run core.RunID, in core.InputID) {
	const most = 1000
	e.mu.Lock()
	defer e.mu.Unlock()
	if ch := c.Channel(); !e.silent(ch) && len(e.glances[ch]) < most {
		e.glances[ch] = append(e.glances[ch], core.Out{Conversation: c, Kind: core.OutEdit, Run: run, Edits: []core.InputID{in}})
	}
}

// Sent records that a row was shown, and where. The receipt rides on the next commit.
func (e *Engine) Sent(ctx context.Context, row core.Out, r core.Receipt) error {
	if err := e.sentCopy(ctx, row, r); err != nil {
		return fmt.Errorf("record the receipt of row %d of %s: %w", row.Seq, row.Conversation, err)
	}
	// Where a prompt stands must be known before its answer comes; the rest rides on the next commit.
	err := e.act(ctx, row.Conversation, !r.Prompted, func(a *act) error {
		if err := errors.Join(a.tx.DropOut(row.Seq), a.edited(row, r)); err != nil || row.Input == "" {
			return err
		}
		in, err := a.tx.Input(row.Input)
		if errors.Is(err, ErrNotFound) {
			return nil // retention was faster
		}
		if err != nil || in.Conversation != a.conv.ID {
			return err
		}
		return a.receipt(in, row, r)
	})
	if err != nil {
		return fmt.Errorf("record the receipt of row %d of %s: %w", row.Seq, row.Conversation, err)
	}
	return nil
}

// edited keeps that the ends of the row's inputs were shown.
func (a *act) edited(row core.Out, r core.Receipt) error {
	for _, id := range row.Edits {
		in, err := a.tx.Input(id)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if in.Conversation != a.conv.ID {
			a.conv.Copies = slices.DeleteFunc(a.conv.Copies, func(x core.InputID) bool { return x == id })
			if err := a.tx.PutConversation(a.conv); err != nil {
				return err
			}
			continue
		}
		if err := a.closingShown(in, r.At); err != nil {
			return err
		}
	}
	return nil
}

func (a *act) closingShown(in core.Input, at time.Time) error {
	for i := range in.Prompts {
		if in.Prompts[i].ClosedAt.IsZero() && in.Prompts[i].Conversation == in.Conversation {
			in.Prompts[i].ClosedAt = at
		}
	}
	return a.putInput(in)
}

// receipt keeps where a prompt stands, and routes what waited to know.
func (a *act) receipt(in core.Input, row core.Out, r core.Receipt) error {
	if !r.Prompted || row.Kind != core.OutPrompt && row.Kind != core.OutReply {
		return nil
	}
	in.Prompts = append(in.Prompts, core.Prompt{
		Conversation: row.Conversation, Step: row.Step, Messages: r.Messages, Order: r.Order, DeliveredAt: r.At,
	})
	if err := a.putInput(in); err != nil {
		return err
	}
	if !in.Pending() { // it ended while its prompt was on the way
		return a.out(core.Out{Kind: core.OutEdit, Run: in.Run, Edits: []core.InputID{in.ID}})
	}
	return a.reroute()
}

// How long an attempt that failed is left alone: doubled each time, or as the platform asks.
const (
	firstRetry   = time.Second
	longestRetry = 5 * time.Minute
	promptRetry  = 15 * time.Minute // a prompt whose chat would not take it
)

// Failed records an attempt to send that did not succeed. A row whose target will not take it goes, and
// the run's history says so; a prompt is tried again later, and when the conversation is next heard of.
func (e *Engine) Failed(ctx context.Context, row core.Out, f Failure) error {
	err := e.act(ctx, row.Conversation, true, func(a *act) error {
		if f.Permanent {
			return a.undeliverable(row, f)
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

// undeliverable drops a row that its chat will not take. Nobody is told that anybody declined: a prompt waits
// on, is tried again later, and can be answered at every other door.
func (a *act) undeliverable(row core.Out, f Failure) error {
	err := errors.Join(a.tx.DropOut(row.Seq), a.event(core.Event{
		Type: core.EventUndeliverable, Run: row.Run, Input: row.Input,
		Data: data(map[string]string{"kind": string(row.Kind), "error": f.Err}),
	}))
	if err != nil || a.live() == nil || row.Kind != core.OutPrompt && row.Kind != core.OutReply {
		return err
	}
	return errors.Join(a.reroute(), a.wakeAt(a.now.Add(promptRetry)))
}

// Show loads what an outbox row names, in one view.
func (e *Engine) Show(ctx context.Context, row core.Out) (Shown, error) {
	s := Shown{Row: row, Lang: row.Lang}
	home, err := e.homeOf(ctx, row)
	if err != nil {
		return s, fmt.Errorf("load row %d of %s: %w", row.Seq, row.Conversation, err)
	}
	err = e.store.View(ctx, row.Conversation, func(r Reader) (err error) {
		s.Conversation, err = r.Conversation()
		return err
	})
	if err != nil {
		return s, fmt.Errorf("load row %d of %s: %w", row.Seq, row.Conversation, err)
	}
	err = e.store.View(ctx, home, func(r Reader) (err error) {
		s.Now = r.Now()
		if row.Input != "" {
			in, err := r.Input(row.Input)
			if err != nil {
				return err
			}
			s.Input = &in
			if row.Run == "" {
				row.Run = in.Run
			}
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
		if row.Kind == core.OutReply {
			s.Run.Text = row.Text
		}
		if s.Inputs, err = treeInputs(r, s.Run); err != nil {
			return err
		}
		for _, in := range s.Inputs {
			if slices.Contains(row.Edits, in.ID) {
				s.Edits = append(s.Edits, in)
			}
		}
		s.Calls, err = treeCalls(r, s.Run)
		return err
	})
	if err != nil {
		return s, fmt.Errorf("load row %d of %s: %w", row.Seq, row.Conversation, err)
	}
	id := home.Agent()
	if s.Input != nil && s.Input.Agent != "" {
		id = s.Input.Agent
	}
	s.Agent = string(id)
	if agent, ok := e.agents(id); ok && agent.Name != "" {
		s.Agent = agent.Name
	}
	return s, nil
}

func treeCalls(r Reader, root core.Run) ([]core.Call, error) {
	all, err := r.Calls(root.ID)
	for _, id := range root.Children {
		if err != nil {
			return nil, err
		}
		var more []core.Call
		more, err = r.Calls(id)
		all = append(all, more...)
	}
	return all, err
}
