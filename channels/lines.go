package channels

import (
	"strings"

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
// empty reply, or the prompt of an input that has ended or moved on.
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
		out = append(out, voiced(VoiceNote, render.Reply(v, s.Run.Reason))...)
	}
	return out
}

func promptLines(v render.View, s turn.Shown) []Line {
	if s.Input == nil || !s.Input.Pending() || s.Input.Draft.Step != s.Row.Step {
		return nil
	}
	return voiced(VoiceAsk, render.Prompt(v, *s.Input))
}

func noteData(s turn.Shown) render.NoteData {
	n := render.NoteData{
		Code: s.Row.Note, Hint: s.Row.Hint, Person: s.Row.Person,
		Input: s.Input, Call: inputCall(s), Inputs: s.Inputs,
	}
	if s.Run.ID != "" {
		n.Run = &s.Run
	}
	return n
}

// inputCall is the call that the row's input belongs to; nil if there is none.
func inputCall(s turn.Shown) *core.Call {
	if s.Input == nil {
		return nil
	}
	for i := range s.Calls {
		if s.Calls[i].ID == s.Input.Call {
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

// outcomeUnseen reports whether how the input ended is not said in its chat anyway, so that a channel without
// edits must say it: a new message superseded it, or it was answered at another door than the chat's own
// text. Cancelling and expiry have their own notes.
func outcomeUnseen(in core.Input) bool {
	switch {
	case in.State == core.InputSuperseded:
		return true
	case !in.State.Settled() || in.Settled == nil:
		return false
	}
	return in.Settled.Via != "chat" && in.Settled.Via != "terminal"
}
