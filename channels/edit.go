package channels

import (
	"context"
	"errors"
	"time"

	"parley/core"
	"parley/core/turn"
	"parley/render"
)

// editTries is how often a row is held back for an edit that fails: what it says is worth more.
const editTries = 3

// glanceTimeout is how long an edit may take that nobody waits for.
const glanceTimeout = 5 * time.Second

// edit brings the prompts of the row's ended inputs up to date. It returns what has to be said instead where
// the platform has no edits; fail, if not nil, is a try to be made again.
func (d *delivery) edit(ctx context.Context, v render.View, s turn.Shown) (unseen []Line, fail *turn.Failure) {
	v.Again = false
	var said []core.Input
	for _, in := range s.Edits {
		err := d.editInput(ctx, v, s, in)
		var se *SendError
		switch {
		case err == nil:
		case errors.Is(err, ErrCannotEdit):
			said = append(said, in)
		case errors.As(err, &se) && se.Permanent, s.Row.Tries >= editTries:
			d.log.Warn("a prompt could not be edited", "conversation", s.Row.Conversation, "input", in.ID, "err", err)
		default:
			fail = &turn.Failure{Sent: s.Row.Parts, Err: err.Error()}
			if se != nil {
				fail.After = se.After
			}
			return nil, fail
		}
	}
	return outcomeLines(v, s, said), nil
}

// editInput edits every prompt of an input that stands in the row's conversation: the newest to how it
// ended, those of earlier questions of a set to one line, so that their buttons are gone. The first failure
// that is not for good is returned, once all have been tried.
func (d *delivery) editInput(ctx context.Context, v render.View, s turn.Shown, in core.Input) (failed error) {
	closed := render.Closed(v, in, callOf(s, in))
	passed := render.Note(v, render.NoteData{Code: core.NoteAlready, Input: &in})
	newest := newestStep(in, s.Row.Conversation)
	for _, p := range in.Prompts {
		if p.Conversation != s.Row.Conversation || len(p.Messages) == 0 {
			continue
		}
		parts := closed
		if p.Step != newest {
			parts = passed
			if !v.Dialect.Buttons {
				continue
			}
		}
		if !v.Dialect.Edits {
			return ErrCannotEdit
		}
		err := d.editOne(ctx, s.Row, p.Messages[len(p.Messages)-1], parts[len(parts)-1])
		if err != nil && (failed == nil || permanent(failed)) {
			failed = err
		}
	}
	return failed
}

func permanent(err error) bool {
	var se *SendError
	return errors.As(err, &se) && se.Permanent
}

// newestStep is the Draft.Step of the input's last prompt in a conversation.
func newestStep(in core.Input, c core.ConversationID) (step int) {
	for _, p := range in.Prompts {
		if p.Conversation == c {
			step = p.Step
		}
	}
	return step
}

// editOne replaces one message; with plain text where the platform refuses the form.
func (d *delivery) editOne(ctx context.Context, row core.Out, message string, part render.Part) error {
	to := d.targetOf(row, 0)
	to.ReplyTo, to.Voice = "", VoiceAsk
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	err := d.Adapter.Edit(ctx, to, message, part)
	var se *SendError
	if errors.As(err, &se) && se.Refused {
		err = d.Adapter.Edit(ctx, to, message, render.Part{Text: part.Plain, Plain: part.Plain})
		if errors.As(err, &se) && se.Refused {
			return &SendError{Permanent: true, Err: err}
		}
	}
	return err
}

// outcomeLines say how inputs ended where their prompts cannot be edited, as far as that is not said in the
// chat anyway: a new message superseded them, or they were answered at another door than the chat's own
// text; and which that were accepted did not run, since something else came first. Cancelling and expiry have their own
// notes; the former says that nothing runs any more.
func outcomeLines(v render.View, s turn.Shown, ended []core.Input) (out []Line) {
	var superseded []core.Input
	for _, in := range ended {
		if s.Row.Note != core.NoteAborted {
			if parts := render.NotRun(v, in, callOf(s, in)); len(parts) > 0 {
				out = append(out, voiced(VoiceNote, parts)...)
				continue
			}
		}
		home, _ := core.HomePrompt(in)
		switch {
		case !home.ClosedAt.IsZero():
		case in.State == core.InputSuperseded:
			superseded = append(superseded, in)
		case in.State.Settled() && in.Settled != nil && in.Settled.Via != "chat" && in.Settled.Via != "terminal":
			out = append(out, voiced(VoiceNote, render.Note(v, render.NoteData{Code: core.NoteAlready, Input: &in}))...)
		}
	}
	if len(superseded) > 0 {
		n := render.NoteData{Code: core.NoteSuperseded, Inputs: superseded, Person: superseded[0].Settled.By}
		out = append(out, voiced(VoiceNote, render.Note(v, n))...)
	}
	return out
}

// glance makes the edits that are worth one try: a prompt that was just answered says so while its call
// runs. A row that is being sent to the same conversation goes first and makes them needless.
func (d *delivery) glance(ctx context.Context, row core.Out) {
	defer d.free(row.Conversation)
	defer d.sent()
	try, cancel := context.WithTimeout(ctx, glanceTimeout)
	defer cancel()
	s, err := d.turns.Show(try, row)
	if err != nil {
		return
	}
	if _, fail := d.edit(try, d.viewOf(s), s); fail != nil {
		d.log.Debug("a passing edit failed", "conversation", row.Conversation, "err", fail.Err)
	}
}
