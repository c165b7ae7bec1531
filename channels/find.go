package channels

import (
	"context"
	"errors"
	"time"

	"parley/core"
	"parley/core/turn"
	"parley/render"
)

// Finder is implemented by adapters that can speak with a person alone. Find returns the place of that chat and
// opens it where need be; it wakes nobody. Its error is a *SendError: Permanent where there is none to be had.
//
// A conversation whose place is written as a person ("slack:U0123") is the chat with them that has not been
// found yet: what is to be said there is forwarded to the place that Find returns.
type Finder interface {
	Find(ctx context.Context, who core.PersonID) (core.Place, error)
}

// Whisperer is implemented by adapters that can show text to one person where others are. Its error is a
// *SendError.
type Whisperer interface {
	Whisper(ctx context.Context, to Target, who core.PersonID, text string) error
}

// unfoundRetry is how long a person is left alone whom the platform will not let us speak with: the operator
// may mend that while the prompt waits.
const unfoundRetry = 15 * time.Minute

// voiceLink marks the line that stands for a link which was sent apart, so that the parts of the row keep
// their numbers. It is never sent.
const voiceLink Voice = "link"

// personAt is the person that a conversation's place names, if it does, on a platform that can find them.
func (d *delivery) personAt(c core.ConversationID) (core.PersonID, bool) {
	_, _, place := c.Parts()
	_, finds := d.Adapter.(Finder)
	who, err := core.ParsePerson(string(place))
	return who, finds && err == nil
}

// find is where a person is spoken to alone.
func (d *delivery) find(ctx context.Context, who core.PersonID) (core.Place, *SendError) {
	f, ok := d.Adapter.(Finder)
	if !ok {
		return "", &SendError{Permanent: true, Err: errors.New("this channel cannot speak with a person alone")}
	}
	try, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	place, err := f.Find(try, who)
	return place, asSendError(err)
}

func asSendError(err error) *SendError {
	var se *SendError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &se):
		return se
	}
	return &SendError{Err: err}
}

// forward hands a row to the chat with a person.
func (d *delivery) forward(ctx context.Context, row core.Out, who core.PersonID) *turn.Failure {
	place, err := d.find(ctx, who)
	if err != nil {
		fail := &turn.Failure{After: err.After, Err: "find " + string(who) + ": " + err.Error()}
		if err.Permanent {
			s, err := d.turns.Show(ctx, row)
			fail.Permanent = err == nil && len(promptLines(render.View{}, s)) == 0 || errors.Is(err, turn.ErrNotFound)
			fail.After = unfoundRetry
		}
		return fail
	}
	if err := d.turns.Forward(ctx, row, place); err != nil {
		return &turn.Failure{Err: err.Error()}
	}
	return nil
}

// copied reports whether the row shows an input of another conversation. Who reads a copy is not known, so that
// it is shown as where others read along.
func copied(s turn.Shown) bool {
	in := s.Input
	if in == nil && len(s.Edits) > 0 {
		in = &s.Edits[0]
	}
	return in != nil && in.Conversation != "" && in.Conversation != s.Row.Conversation
}

// apart sends the link of a URL step to its asker alone where others read its prompt, ahead of the row and
// counted as its first part; the part has no id where that cannot be done, and then the prompt holds the link.
func (d *delivery) apart(ctx context.Context, v *render.View, s *turn.Shown) (first []Line, fail *turn.Failure) {
	switch prompt := promptLines(*v, *s); {
	case len(prompt) == 0 || s.Input.Kind != core.KindURL || !v.Shared:
		return nil, nil
	case copied(*s):
		v.Apart = true // its home sees to the link
		return nil, nil
	}
	if len(s.Row.Parts) == 0 {
		id, fail := d.sendLink(ctx, *v, *s)
		if fail != nil {
			return nil, fail
		}
		s.Row.Parts = []string{id}
	}
	v.Apart = s.Row.Parts[0] != ""
	return []Line{{Voice: voiceLink}}, nil
}

// elsewhere stands for the id of the part that was sent to the asker alone.
const elsewhere = "elsewhere"

// sendLink returns the message that holds the link, "" where nothing can be said to the asker alone.
func (d *delivery) sendLink(ctx context.Context, v render.View, s turn.Shown) (id string, fail *turn.Failure) {
	asker := s.Input.Responders.Asker
	v.Shared, v.Again = false, false
	link := render.Link(v, *s.Input)
	place, err := d.find(ctx, asker)
	for _, part := range link {
		if err == nil {
			err = d.sendAlone(ctx, s.Row, place, part)
		}
	}
	if err != nil && err.Permanent {
		d.log.Info("a link goes to its asker where others are: there is no direct chat", "asker", asker, "err", err)
		err = d.whisper(ctx, s.Row, asker, render.PlainText(link))
	}
	switch {
	case err == nil:
		return elsewhere, nil
	case err.Permanent, s.Row.Tries >= editTries:
		d.log.Warn("a link could not be sent to its asker alone, it stands in the prompt", "conversation", s.Row.Conversation, "asker", asker, "err", err)
		return "", nil
	}
	return "", &turn.Failure{After: err.After, Err: "the link for " + string(asker) + " alone: " + err.Error()}
}

// sendAlone sends one part of a link to the chat with its asker.
func (d *delivery) sendAlone(ctx context.Context, row core.Out, place core.Place, part render.Part) *SendError {
	to := d.targetOf(row, 0)
	to.Place, to.ReplyTo, to.Voice = place, "", VoiceNote
	to.Key = core.Digest(to.Key, part.Text)
	try, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	_, failed := d.Adapter.Send(try, to, part)
	err := asSendError(failed)
	if err != nil && (err.Refused || err.Moved != "") {
		err.Permanent = true
	}
	return err
}

func (d *delivery) whisper(ctx context.Context, row core.Out, who core.PersonID, text string) *SendError {
	w, ok := d.Adapter.(Whisperer)
	if !ok {
		return &SendError{Permanent: true, Err: errors.New("this channel shows everything to everybody")}
	}
	try, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	return asSendError(w.Whisper(try, d.targetOf(row, 0), who, text))
}
