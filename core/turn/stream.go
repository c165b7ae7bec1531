package turn

import (
	"context"

	"parley/core"
	"parley/core/model"
)

// Partial is how far the reply of a run has come while the model writes it. It is in memory only: the reply
// that counts is the one of the row of the run's next stop.
type Partial struct {
	Conversation core.ConversationID
	Run          core.RunID
	// Text is all of it so far; "" where what there was has been taken back, or nothing was written yet.
	Text string
}

// partial is a Partial as the engine keeps it, one a conversation.
type partial struct {
	run  core.RunID
	text string
	// clear says that nothing of before the run waits to be sent, which has to stand above its text.
	clear bool
}

// partials are the replies that are being written. A channel is told once that there is more, then not
// again until it has looked.
type partials struct {
	texts map[core.ConversationID]*partial
	told  map[string]bool // by channel
}

// Partials lists the replies of a channel that are being written, those of conversations left out in which
// something still waits to be sent. A run is listed from its first word until it stops or waits: its row is
// written after that. Wake hints when there is more.
func (e *Engine) Partials(ctx context.Context, channel string) (out []Partial) {
	e.mu.Lock()
	delete(e.partials.told, channel)
	var behind []Partial
	for c, p := range e.partials.texts {
		switch {
		case c.Channel() != channel:
		case p.clear:
			out = append(out, Partial{c, p.run, p.text})
		default:
			behind = append(behind, Partial{c, p.run, p.text})
		}
	}
	e.mu.Unlock()
	for _, p := range behind {
		if e.clear(ctx, p) {
			out = append(out, p)
		}
	}
	return out
}

// clear reports whether nothing waits to be sent in a conversation, and remembers that it was so.
func (e *Engine) clear(ctx context.Context, p Partial) bool {
	var rows []core.Out
	err := e.store.View(ctx, p.Conversation, func(r Reader) (err error) {
		rows, err = r.Out()
		return err
	})
	if err != nil || len(rows) > 0 {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := e.partials.texts[p.Conversation]; now != nil && now.run == p.Run {
		now.clear = true
	}
	return true
}

// ask asks the model, and keeps how far its reply has come where the channel shows that. Nobody sees the
// words of a child run: they are for its parent.
func (d *driver) ask(ctx context.Context, req model.Request) (model.Response, error) {
	c := d.claim.Conversation
	if d.root != d || !d.e.streams(c.Channel()) {
		return d.agent.Model.Generate(ctx, req)
	}
	return model.Stream(ctx, d.agent.Model, req, func(soFar string) { d.e.written(c, d.run.ID, soFar) })
}

// advance goes through the run to its next stop. What was streamed of it ends here, before the row of the
// stop is written, so that it never follows that row.
func (d *driver) advance() error {
	defer d.e.unwritten(d.claim.Conversation)
	return d.turn()
}

func (e *Engine) written(c core.ConversationID, run core.RunID, text string) {
	e.mu.Lock()
	p := e.partials.texts[c]
	if p == nil || p.run != run {
		p = &partial{run: run}
		e.partials.texts[c] = p
	}
	p.text = text
	told := e.partials.told[c.Channel()]
	e.partials.told[c.Channel()] = true
	e.mu.Unlock()
	if !told {
		e.news.ring(channelTopic(c.Channel()))
	}
}

func (e *Engine) unwritten(c core.ConversationID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.partials.texts, c)
}
