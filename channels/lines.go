package channels

import (
	"strings"
	"time"

	"parley/core"
	"parley/core/turn"
	"parley/render"
)

// Line is one part of an outbox row, with who speaks in it.
type Line struct {
	Voice Voice
	Part  render.Part
}

// Lines renders what an outbox row shows, in order. It is empty where there is nothing to say any more: an
// empty reply, or the prompt of an input that has ended, moved on or is overdue.
func Lines(v render.View, s turn.Shown) []Line {
	switch s.Row.Kind {
	case core.OutReply:
		return append(replyLines(v, s), promptLines(v, s)...)
	case core.OutPrompt:
		return promptLines(v, s)
	case core.OutNote:
		return voiced(VoiceNote, render.Note(v, noteData(s)))
	}
	return nil
}

func replyLines(v render.View, s turn.Shown) (out []Line) {
	if strings.TrimSpace(s.Run.Text) != "" {
		out = voiced(VoiceSay, render.Reply(v, s.Run.Text))
	}
	if s.Run.Status == core.RunFailed && s.Run.Reason != "" && s.Run.Reason != s.Run.Text {
		out = append(out, voiced(VoiceNote, render.Failed(v, s.Run.Reason))...)
	}
	return out
}

func promptLines(v render.View, s turn.Shown) []Line {
	if s.Input == nil || !s.Input.Pending() || s.Input.Draft.Step != s.Row.Step || overdue(*s.Input, v.Now) {
		return nil
	}
	return voiced(VoiceAsk, render.Prompt(v, *s.Input))
}

// overdue reports whether nobody can answer an input any more, though it is not closed yet.
func overdue(in core.Input, now time.Time) bool {
	return !in.ExpiresAt.IsZero() && !now.IsZero() && !in.ExpiresAt.After(now)
}

func noteData(s turn.Shown) render.NoteData {
	n := render.NoteData{
		Code: s.Row.Note, Hint: s.Row.Hint, Person: s.Row.Person,
		Input: s.Input, Inputs: s.Inputs, Text: s.Row.Text,
	}
	if s.Input != nil {
		n.Call = callOf(s, *s.Input)
	}
	if s.Run.ID != "" {
		n.Run = &s.Run
	}
	return n
}

// callOf is the call that an input belongs to; nil if it is not among those shown.
func callOf(s turn.Shown, in core.Input) *core.Call {
	for i := range s.Calls {
		if s.Calls[i].ID == in.Call {
			return &s.Calls[i]
		}
	}
	return nil
}

func voiced(who Voice, parts []render.Part) []Line {
	out := make([]Line, len(parts))
	for i, p := range parts {
		out[i] = Line{who, p}
	}
	return out
}
