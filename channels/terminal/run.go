package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"parley/channels"
	"parley/core"
	"parley/core/turn"
	"parley/render"
)

// Run shows what waits, then takes a line whenever the turn stands still. It returns nil at the end of the
// input, once the turn has ended or waits, and when ctx ends; a *channels.Permanent when the output is gone
// or the input cannot be read.
func (a *Adapter) Run(ctx context.Context, sink channels.Sink) error {
	idle, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.gone, cancel)() // nobody reads any more: no use in waiting for the turn
	lines := newLineReader(a.cfg.In, a.place)
	defer close(lines.stop)
	if err := a.welcome(idle); err != nil {
		return a.end(ctx, err)
	}
	for {
		a.ask()
		got, ok := lines.next(idle)
		a.unask(!ok || errors.Is(got.err, io.EOF))
		switch {
		case !ok:
			return a.end(ctx, nil)
		case errors.Is(got.err, errTooLong):
			a.note("That line is longer than 1 MiB and was not taken. Send a shorter one.")
			continue
		case errors.Is(got.err, io.EOF):
			return a.end(ctx, a.leave(idle))
		case got.err != nil:
			return &channels.Permanent{Channel: a.cfg.Name, Hint: "the input cannot be read", Err: got.err}
		case strings.TrimSpace(got.line) == "":
			continue
		}
		if err := a.take(ctx, sink, got); err != nil {
			continue
		}
		if err := a.cfg.Turns.Idle(idle, a.conv); err != nil {
			return a.end(ctx, err)
		}
	}
}

// leave waits until the turn stands still, and says where that is for a question which will not wait for an answer.
func (a *Adapter) leave(ctx context.Context) error {
	if err := a.cfg.Turns.Idle(ctx, a.conv); err != nil {
		return err
	}
	waiting, err := a.cfg.Turns.Waiting(ctx, a.conv)
	if err == nil && slices.ContainsFunc(waiting, turn.Held) {
		a.note("The question ends without an answer: its tool can wait only while Parley runs. The turn goes on at the next start.")
	}
	return err
}

// end is how Run ends: quietly where ctx has ended, for good where the output is gone.
func (a *Adapter) end(ctx context.Context, err error) error {
	a.mu.Lock()
	broken := a.broken
	a.mu.Unlock()
	switch {
	case broken != nil:
		return &channels.Permanent{Channel: a.cfg.Name, Hint: "the output is closed; what waits is shown at the next start", Err: broken}
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("terminal: %w", err)
	}
	return nil
}

// welcome waits until what an earlier process left has been said, and shows the live prompt again unless
// this process has shown it. Nothing of that is stored: the prompt keeps its place, and every line that is
// read now stands after it.
func (a *Adapter) welcome(ctx context.Context) error {
	if err := a.cfg.Turns.Idle(ctx, a.conv); err != nil {
		return err
	}
	waiting, err := a.cfg.Turns.Waiting(ctx, a.conv)
	if err != nil {
		return err
	}
	for _, in := range waiting {
		a.after(in)
	}
	waiting = slices.DeleteFunc(waiting, func(in core.Input) bool { // about to be closed: that alone is said
		return !in.ExpiresAt.IsZero() && !in.ExpiresAt.After(a.cfg.Now())
	})
	if len(waiting) == 0 || a.shown(waiting[0]) {
		return nil
	}
	in := waiting[0]
	row := core.Out{
		Kind: core.OutPrompt, Conversation: a.conv, Run: in.Run, Input: in.ID, Step: in.Draft.Step, Lang: a.cfg.Lang,
	}
	s, err := a.cfg.Turns.Show(ctx, row)
	if err != nil {
		return err
	}
	s.Row, s.Input = row, &in
	v := render.View{Dialect: a.Dialect(), Lang: s.Lang, Agent: s.Agent, Now: a.cfg.Now()}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range channels.Lines(v, s) {
		if err := a.write(l.Voice, l.Part.Text); err != nil {
			return err
		}
	}
	return nil
}

// after keeps the order growing where the clock has gone back since the input was shown.
func (a *Adapter) after(in core.Input) {
	for _, p := range in.Prompts {
		if p.Conversation == a.conv {
			a.last.Store(max(a.last.Load(), p.Order)) // no line is read yet
		}
	}
}

// shown reports whether this process wrote the input's newest prompt.
func (a *Adapter) shown(in core.Input) bool {
	p, ok := core.HomePrompt(in)
	if !ok || p.Step != in.Draft.Step || len(p.Messages) == 0 {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sent[p.Messages[len(p.Messages)-1]]
}

// take hands a line in, and then echoes it on a pipe: a line that is echoed is stored. Nothing else is
// written meanwhile, so that the echo stands before what the line leads to. The line is handed in even when
// ctx has ended, since it cannot be read again; where it could not be stored the hub tells the person.
func (a *Adapter) take(ctx context.Context, sink channels.Sink, got read) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := sink.Message(context.WithoutCancel(ctx), core.Message{
		ID: fmt.Sprintf("l%016x-%s", got.order, a.cfg.NewID()), Conversation: a.conv, From: a.cfg.Person,
		Text: got.line, Order: got.order, SentAt: a.cfg.Now(), Addressed: true, Command: command(got.line), Lang: a.cfg.Lang,
	})
	if !a.cfg.Interactive {
		_ = a.write(voiceYou, visible(got.line)) // a broken output is noticed by whoever waits next
	}
	return err
}

// note says a line of Parley's own.
func (a *Adapter) note(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.write(channels.VoiceNote, parley+text)
}

// ask shows where to type; unask tells that the line is over, or that there is none.
func (a *Adapter) ask() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cfg.Interactive && a.broken == nil {
		a.asking = true
		_, _ = io.WriteString(a.cfg.Out, mark) // the next write tells if it failed
	}
}

func (a *Adapter) unask(ended bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ended && a.asking && a.broken == nil {
		_, _ = io.WriteString(a.cfg.Out, "\n") // nobody typed the end of this line
	}
	a.asking = false
}
