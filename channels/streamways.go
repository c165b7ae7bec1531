package channels

import (
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/core/turn"
	"parley/render"
)

// ErrNoStream is returned by a Drafter or Streamer where the platform takes none at that place: the reply is
// then shown by edits.
var ErrNoStream = errors.New("nothing is streamed at this place")

// Drafter is implemented by adapters whose platform can show what is being written without making a message of
// it: a draft is gone by itself after half a minute, or once a message is sent.
type Drafter interface {
	// Draft shows part in place of the draft of the same Target.Key. ErrNoStream where there are none.
	Draft(ctx context.Context, to Target, part render.Part) error
}

// Streamer is implemented by adapters whose platform lets a message grow by what is added to it. Text is the
// agent's own, cut where no mark is cut apart; what it shows is preliminary: Edit ends the stream and replaces
// all of it. Errors are like those of Send and Edit; ErrNoStream where there is none, or no more.
type Streamer interface {
	OpenStream(ctx context.Context, to Target, text string) (Sent, error)
	GrowStream(ctx context.Context, to Target, message, more string) error
}

// Deleter is implemented by adapters that can take back a message of ours.
type Deleter interface {
	Delete(ctx context.Context, to Target, message string) error
}

// Keyed is implemented by adapters that recognise a part: true says that Send with a Key and Since returns the
// message that stands there with that key, as far as the platform can tell.
type Keyed interface{ Keyed() bool }

// streamWay is how a reply is shown while it is written.
type streamWay int

const (
	asEdits streamWay = iota
	asStream
	asDraft
)

// firstWay is the best that the adapter knows; open falls back to edits.
func (d *delivery) firstWay() streamWay {
	switch d.Adapter.(type) {
	case Drafter:
		return asDraft
	case Streamer:
		return asStream
	}
	return asEdits
}

func (d *delivery) keyed() bool {
	k, ok := d.Adapter.(Keyed)
	return ok && k.Keyed()
}

// open shows the first of a reply, in the best way that the platform takes there.
func (d *delivery) open(ctx context.Context, s *streamed, p turn.Partial, part render.Part) (err error) {
	if s.way == asDraft {
		if err = d.Adapter.(Drafter).Draft(ctx, s.to, marked(part)); !errors.Is(err, ErrNoStream) {
			return err
		}
		s.way = asEdits
	}
	if s.began.IsZero() {
		s.began = d.now()
	}
	if s.doubt { // what may stand there is found by Send
		s.way, s.to.Since = asEdits, s.began
	}
	if err := d.intend(ctx, s, p); err != nil {
		return err
	}
	var sent Sent
	if s.way == asStream {
		more := flowing(p.Text, "")
		if more == "" {
			return nil
		}
		if sent, err = d.Adapter.(Streamer).OpenStream(ctx, s.to, more); errors.Is(err, ErrNoStream) {
			s.way = asEdits
		} else {
			s.flowed = more
		}
	}
	if s.way == asEdits {
		sent, err = d.Adapter.Send(ctx, s.to, marked(part))
	}
	if err != nil {
		return err
	}
	s.message, s.order, s.doubt = sent.Message, sent.Order, false
	s.over = s.message == ""
	d.note(ctx, p.Conversation, s, 0)
	return nil
}

// enlarge brings what stands up to date.
func (d *delivery) enlarge(ctx context.Context, s *streamed, p turn.Partial, part render.Part) error {
	if s.way == asStream {
		more := flowing(p.Text, s.flowed)
		if more == "" && strings.HasPrefix(p.Text, s.flowed) {
			return nil
		}
		err := ErrNoStream // the text was taken back: what stands must be replaced
		if more != "" {
			err = d.Adapter.(Streamer).GrowStream(ctx, s.to, s.message, more)
		}
		if !errors.Is(err, ErrNoStream) {
			if err == nil {
				s.flowed += more
			}
			return err
		}
		s.way = asEdits
	}
	return d.Adapter.Edit(ctx, s.to, s.message, marked(part))
}

// mostFlowing is how much of a text a stream is given, in bytes: the rest is shown by the row.
const mostFlowing = 3000

// flowing is what of a text can be added to what a stream has of it: up to where no mark or link can be cut
// apart. It is "" where there is nothing to add.
func flowing(text, has string) string {
	more, ok := strings.CutPrefix(text, has)
	if !ok || len(has) >= mostFlowing {
		return ""
	}
	if room := mostFlowing - len(has); len(more) > room {
		for room > 0 && !utf8.RuneStart(more[room]) {
			room--
		}
		more = more[:room]
	}
	for len(more) > 0 {
		r, n := utf8.DecodeLastRuneInString(more)
		if r > unicode.MaxASCII && r != utf8.RuneError || unicode.IsSpace(r) {
			break
		}
		more = more[:len(more)-n]
	}
	return more
}
