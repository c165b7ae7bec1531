package channels

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"parley/core"
	"parley/core/turn"
	"parley/render"
)

// A reply is shown while it is written once it takes longer than streamEvery, and its message is edited no
// more often than that: every platform takes one call a second in a chat. Where others read along it is
// every streamEveryShared, since a group's limit is for all that is said there.
const (
	streamEvery       = time.Second
	streamEveryShared = 3 * time.Second
	streamLook        = 250 * time.Millisecond // between two looks at what is being written
	streamTimeout     = 15 * time.Second       // of one call: rows wait behind it
	streamTries       = 3                      // calls that may fail in a row
)

// streamMark ends what is not all yet.
const streamMark = " …"

// streamed is the message that shows the reply of one run while it is written. It is known in memory only:
// after a crash it stands as it is, and the reply is sent as a new message.
type streamed struct {
	run core.RunID
	// source is the agent's text as of the last call, shown its first part as it stands, without the mark.
	source string
	shown  render.Part
	// message is the platform's id, "" while nothing stands that could be edited.
	message string
	order   uint64
	next    time.Time // no call before it
	fails   int
	over    bool // given up for this run

	loaded bool
	every  time.Duration
	view   render.View
	to     Target
}

// stream begins to show what has been written since the last look, and returns when to look again.
func (d *delivery) stream(ctx, send context.Context, begin func(func())) time.Duration {
	if !d.streams {
		return pollOutbox
	}
	now := d.now()
	if wait := d.nextLook.Sub(now); wait > 0 {
		return min(wait, streamLook)
	}
	d.nextLook = now.Add(streamLook)
	wait := pollOutbox
	all := d.turns.Partials(ctx, d.name)
	for _, p := range all {
		after, due := d.due(p, now)
		if due {
			begin(func() { d.showPartial(send, p) })
		} else if after > 0 {
			wait = min(wait, after)
		}
	}
	d.forgetUnshown(all)
	return wait
}

// due takes the conversation where there is something to show now, as take does. Else after is how long that
// is to wait, 0 where something else wakes the loop.
func (d *delivery) due(p turn.Partial, now time.Time) (after time.Duration, due bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy[p.Conversation] || d.sending >= d.parallel {
		return 0, false
	}
	s, ok := d.streaming[p.Conversation]
	if !ok || s.run != p.Run {
		s = streamed{run: p.Run, next: now.Add(streamEvery)}
		d.streaming[p.Conversation] = s
	}
	if s.over || p.Text == "" || p.Text == s.source {
		return 0, false
	}
	if after = s.next.Sub(now); after > 0 {
		return min(after, streamEveryShared), false
	}
	d.busy[p.Conversation] = true
	d.sending++
	return 0, true
}

// forgetUnshown drops what is known of replies that ended before anything of them was shown.
func (d *delivery) forgetUnshown(live []turn.Partial) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c, s := range d.streaming {
		if s.message == "" && !d.busy[c] && !slices.ContainsFunc(live, func(p turn.Partial) bool { return p.Conversation == c }) {
			delete(d.streaming, c)
		}
	}
}

// shows reports whether a reply that is not all yet stands in a conversation: its mark says that the agent
// works.
func (d *delivery) shows(c core.ConversationID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.streaming[c].message != ""
}

func (d *delivery) streamedIn(c core.ConversationID) (streamed, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.streaming[c]
	return s, ok
}

func (d *delivery) forgetStreamed(c core.ConversationID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.streaming, c)
}

// showPartial sends the message of a reply that is being written, or edits it.
func (d *delivery) showPartial(ctx context.Context, p turn.Partial) {
	defer d.free(p.Conversation)
	defer d.sent()
	s, _ := d.streamedIn(p.Conversation)
	try, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	err := d.grow(try, &s, p)
	if err != nil {
		d.log.Debug("a reply could not be shown while it is written", "conversation", p.Conversation, "over", s.over, "err", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.streaming[p.Conversation] = s
}

// grow shows the first part of the text so far. What it cannot show is no loss: the row of the reply comes.
func (d *delivery) grow(ctx context.Context, s *streamed, p turn.Partial) (err error) {
	defer func() {
		if r := recover(); r != nil {
			d.log.Error("showing a reply while it is written panicked", "panic", r, "stack", string(debug.Stack()))
			s.over = true
		}
	}()
	if !s.loaded {
		if err := d.load(ctx, s, p); err != nil {
			s.next, s.over = d.now().Add(streamEvery), errors.Is(err, turn.ErrNotFound)
			return err
		}
	}
	s.source = p.Text
	parts := render.Reply(s.view, p.Text)
	if len(parts) == 0 || parts[0].Text == s.shown.Text {
		return nil
	}
	defer d.typing.quiet(ctx, p.Conversation)()
	if s.message == "" {
		var sent Sent
		if sent, err = d.Adapter.Send(ctx, s.to, marked(parts[0])); err == nil {
			s.message, s.order = sent.Message, sent.Order
			s.over = s.message == ""
		}
	} else {
		err = d.Adapter.Edit(ctx, s.to, s.message, marked(parts[0]))
	}
	s.next = d.now().Add(s.every)
	if err != nil {
		s.source = ""
		s.failed(err, d.now())
		return err
	}
	s.shown, s.fails = parts[0], 0
	return nil
}

// failed decides whether to go on after a call that failed.
func (s *streamed) failed(err error, now time.Time) {
	var se *SendError
	known := errors.As(err, &se)
	s.fails++
	switch {
	case errors.Is(err, ErrCannotEdit), permanent(err):
		s.over, s.message = true, "" // the reply needs a message of its own
	case s.message == "" && (!known || se.Unsure || se.Moved != ""):
		s.over = true // it may stand there, and cannot be found again
	case s.fails >= streamTries:
		s.over = true
	case known && se.After > s.every:
		s.next = now.Add(se.After)
	}
}

// load learns how the conversation sees things, once.
func (d *delivery) load(ctx context.Context, s *streamed, p turn.Partial) error {
	row := core.Out{Conversation: p.Conversation, Kind: core.OutReply, Run: p.Run, CreatedAt: d.now()}
	shown, err := d.turns.Show(ctx, row)
	if err != nil {
		return err
	}
	if shown.Conversation.Moved != "" {
		d.move(p.Conversation, shown.Conversation.Moved)
	}
	row.ReplyTo = shown.Run.Message.ID
	s.view = d.viewOf(shown)
	if s.view.Dialect.Limit > 0 {
		s.view.Dialect.Limit -= len([]rune(streamMark))
	}
	s.to = d.targetOf(row, 0)
	s.to.Voice = VoiceSay
	s.to.Key = core.Digest(string(p.Conversation), string(p.Run), "while it is written", d.now().Format(time.RFC3339Nano))
	s.every = streamEvery
	if shown.Conversation.Shared {
		s.every = streamEveryShared
	}
	s.loaded = true
	return nil
}

// marked is a part with the mark of what is not all yet.
func marked(p render.Part) render.Part {
	p.Text += streamMark
	p.Plain += streamMark
	return p
}

// standing is the message that the row's first words replace: the one that showed this reply while it was
// written. One whose run has stopped with other words, or without any, loses its mark and stays; one
// that still grows is left alone. Whichever it is, nothing of it counts: it is no prompt, and no part of one.
func (d *delivery) standing(ctx context.Context, row core.Out, lines []Line) *streamed {
	s, ok := d.streamedIn(row.Conversation)
	if !ok {
		return nil
	}
	says := slices.ContainsFunc(lines, func(l Line) bool { return l.Voice == VoiceSay })
	if row.Kind == core.OutReply && row.Run == s.run && s.message != "" && says {
		return &s
	}
	writes := func(p turn.Partial) bool { return p.Conversation == row.Conversation && p.Run == s.run }
	if slices.ContainsFunc(d.turns.Partials(ctx, d.name), writes) {
		return nil
	}
	d.forgetStreamed(row.Conversation)
	if s.message == "" {
		return nil
	}
	try, cancel := context.WithTimeout(ctx, glanceTimeout)
	defer cancel()
	if err := d.editOne(try, row, s.message, s.shown); err != nil {
		d.log.Debug("an unfinished reply keeps its mark", "conversation", row.Conversation, "err", err)
	}
	return nil
}

// replace puts a line into the message that stands for it, so that nothing is shown twice. done is false where
// there is none, or none that can be edited: then the line is sent. An edit that may go through later is a try
// to be made again.
func (d *delivery) replace(ctx context.Context, row core.Out, s *streamed, l Line) (sent Sent, done bool, fail *turn.Failure) {
	if s == nil || s.message == "" || l.Voice != VoiceSay || l.Part.File != nil {
		return Sent{}, false, nil
	}
	err := d.editOne(ctx, row, s.message, l.Part)
	var se *SendError
	switch {
	case err == nil:
		sent = Sent{Message: s.message, Order: s.order, At: d.now()}
	case errors.Is(err, ErrCannotEdit), permanent(err), row.Tries >= editTries:
		d.log.Warn("a reply is sent anew: the message that stood for it could not be edited", "conversation", row.Conversation, "row", row.Seq, "err", err)
	default:
		fail = &turn.Failure{Err: err.Error()}
		if errors.As(err, &se) {
			fail.After = se.After
		}
		return Sent{}, true, fail
	}
	s.message = ""
	d.forgetStreamed(row.Conversation)
	return sent, err == nil, nil
}
