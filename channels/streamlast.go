package channels

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/core"
	"parley/core/turn"
)

// Memory keeps small values over restarts: which message shows a reply that was being written.
type Memory interface {
	// Remember stores a value durably under a name, for ttl at least.
	Remember(ctx context.Context, name string, value []byte, ttl time.Duration) error
	// Recall returns it; ok is false where there is none.
	Recall(ctx context.Context, name string) (value []byte, ok bool, err error)
}

// streamKept is how long it is remembered which message shows a reply: a run that was cut off goes on long
// before.
const streamKept = 7 * 24 * time.Hour

// streamNote is what is remembered of a reply that is shown while it is written, one a conversation. It is
// stored before the first call and after it, and once more before a row takes the message over.
//
//	intended ──▶ stands ──▶ taken by a row: no other row and no other reply may have it
type streamNote struct {
	Run core.RunID `json:"run"`
	// Key and Since are those of the first call, by which the message is found where Message is "".
	Key     string    `json:"key"`
	Since   time.Time `json:"since"`
	Message string    `json:"message,omitempty"`
	Order   uint64    `json:"order,omitempty"`
	// Row is the row that took it, 0 for none.
	Row uint64 `json:"row,omitempty"`
}

func noteName(c core.ConversationID) string { return "streamed/" + string(c) }

// intend remembers that a reply is about to be shown, where that may be needed: what cannot be remembered is
// not shown.
func (d *delivery) intend(ctx context.Context, s *streamed, p turn.Partial) error {
	if d.memory == nil || s.doubt {
		return nil
	}
	if err := d.remember(ctx, p.Conversation, streamNote{Run: p.Run, Key: s.to.Key, Since: s.began}); err != nil {
		return fmt.Errorf("%w: %w", errNotKept, err)
	}
	return nil
}

// errNotKept is a note that was not stored.
var errNotKept = errors.New("it was not stored that a reply is shown while it is written")

// note remembers which message shows a reply, and which row has taken it.
func (d *delivery) note(ctx context.Context, c core.ConversationID, s *streamed, row uint64) {
	if d.memory == nil {
		return
	}
	n := streamNote{Run: s.run, Key: s.to.Key, Since: s.began, Message: s.message, Order: s.order, Row: row}
	if err := d.remember(ctx, c, n); err != nil {
		d.log.Warn("it was not stored which message shows a reply while it is written: after a kill it may stand there unfinished", "conversation", c, "err", err)
	}
}

func (d *delivery) remember(ctx context.Context, c core.ConversationID, n streamNote) error {
	raw, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return d.memory.Remember(ctx, noteName(c), raw, streamKept)
}

// recall is what is remembered of a conversation; the zero value for nothing.
func (d *delivery) recall(ctx context.Context, c core.ConversationID) (n streamNote, err error) {
	if d.memory == nil || !d.streams {
		return n, nil
	}
	raw, ok, err := d.memory.Recall(ctx, noteName(c))
	if err == nil && ok {
		err = json.Unmarshal(raw, &n)
	}
	return n, err
}

// adopt goes on with the message in which a process before this one has shown the reply.
func (d *delivery) adopt(ctx context.Context, s *streamed, p turn.Partial) error {
	n, err := d.recall(ctx, p.Conversation)
	if err != nil || n.Run != p.Run || n.Row != 0 {
		return err
	}
	d.takeUp(s, n)
	return nil
}

// takeUp knows a reply as it was remembered. What cannot be found is as if it had never been shown.
func (d *delivery) takeUp(s *streamed, n streamNote) {
	if n.Message == "" && !d.keyed() {
		return
	}
	s.to.Key, s.began = n.Key, n.Since
	s.message, s.order, s.doubt = n.Message, n.Order, n.Message == ""
	if s.message != "" {
		s.way = asEdits
	}
}

// standing is the message that the row's first words replace: the one that showed this reply while it was
// written, in this process or the one before. One whose run has stopped with other words, or without any, loses
// its mark and stays; one that still grows is left alone. Whichever it is, nothing of it counts: it is no prompt,
// and no part of one. fail, if not nil, is a try to be made again.
func (d *delivery) standing(ctx context.Context, row core.Out, lines []Line) (*streamed, *turn.Failure) {
	first := slices.IndexFunc(lines, func(l Line) bool { return l.Voice == VoiceSay })
	if first >= 0 && first < len(row.Parts) {
		return nil, nil // an earlier try has shown it
	}
	s, ok := d.streamedIn(row.Conversation)
	if !ok || !s.loaded {
		n, err := d.recall(ctx, row.Conversation)
		switch {
		case err != nil:
			return nil, &turn.Failure{Sent: row.Parts, Err: err.Error()}
		case n.Run != row.Run || n.Row != 0 && n.Row != row.Seq:
			return nil, nil
		}
		s = streamed{run: n.Run, to: d.targetOf(row, 0)}
		d.takeUp(&s, n)
	}
	if row.Kind == core.OutReply && row.Run == s.run && first >= 0 && (s.message != "" || s.doubt) {
		d.keepStreamed(row.Conversation, s)
		d.note(ctx, row.Conversation, &s, row.Seq)
		return &s, nil
	}
	writes := func(p turn.Partial) bool { return p.Conversation == row.Conversation && p.Run == s.run }
	if slices.ContainsFunc(d.turns.Partials(ctx, d.name), writes) {
		return nil, nil
	}
	d.forgetStreamed(row.Conversation)
	if s.message != "" {
		d.note(ctx, row.Conversation, &s, row.Seq)
		d.leave(ctx, row, &s)
	}
	return nil, nil
}

// leave takes the mark off a reply that comes to no more, or the reply away where nobody knows what it says.
func (d *delivery) leave(ctx context.Context, row core.Out, s *streamed) {
	try, cancel := context.WithTimeout(ctx, glanceTimeout)
	defer cancel()
	var err error
	if s.shown.Text != "" {
		err = d.editOne(try, row, s.message, s.shown)
	} else {
		err = d.withdraw(try, row, s.message)
	}
	if err != nil {
		d.log.Debug("an unfinished reply keeps its mark", "conversation", row.Conversation, "err", err)
	}
}

// withdraw deletes a message of ours, where the platform can.
func (d *delivery) withdraw(ctx context.Context, row core.Out, message string) error {
	del, ok := d.Adapter.(Deleter)
	if !ok {
		return errors.New("this channel cannot delete")
	}
	return del.Delete(ctx, d.targetOf(row, 0), message)
}

// replace puts a line into the message that stands for it, so that nothing is shown twice. done is false where
// there is none, or none that can be edited: that one is deleted, and the line is sent. An edit that may go
// through later is a try to be made again.
func (d *delivery) replace(ctx context.Context, row core.Out, s *streamed, l Line) (sent Sent, done bool, fail *turn.Failure) {
	if s == nil || s.message == "" && !s.doubt || l.Voice != VoiceSay || l.Part.File != nil {
		return Sent{}, false, nil
	}
	err := d.locate(ctx, s, l)
	if err == nil {
		err = d.editOne(ctx, row, s.message, l.Part)
	}
	var se *SendError
	switch {
	case err == nil:
		sent = Sent{Message: s.message, Order: s.order, At: d.now()}
	case errors.Is(err, ErrCannotEdit), permanent(err), row.Tries >= editTries:
		d.log.Warn("a reply is sent anew: the message that stood for it could not be edited", "conversation", row.Conversation, "row", row.Seq, "err", err)
		if s.message == "" {
			break
		}
		if gone := d.withdraw(ctx, row, s.message); gone != nil {
			d.log.Warn("the unfinished reply could not be deleted", "conversation", row.Conversation, "row", row.Seq, "err", gone)
		}
	default:
		fail = &turn.Failure{Err: err.Error()}
		if errors.As(err, &se) {
			fail.After = se.After
		}
		return Sent{}, true, fail
	}
	s.message, s.doubt = "", false
	d.forgetStreamed(row.Conversation)
	return sent, err == nil, nil
}

// locate learns which message a first call has made that may have gone through; where it has not, it sends the
// line itself.
func (d *delivery) locate(ctx context.Context, s *streamed, l Line) error {
	if s.message != "" {
		return nil
	}
	try, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	to := s.to
	to.Passing, to.Since = true, s.began
	sent, err := d.Adapter.Send(try, to, l.Part)
	if err != nil {
		return err
	}
	if sent.Message == "" {
		return ErrCannotEdit
	}
	s.message, s.order = sent.Message, sent.Order
	return nil
}
