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

// A reply is shown while it is written once it takes longer than streamEvery, and its message is changed no
// more often than that: every platform takes one call a second in a chat. Where others read along it is
// every streamEveryShared, since a group's limit is for all that is said there.
const (
	streamEvery       = time.Second
	streamEveryShared = 3 * time.Second
	streamLook        = 250 * time.Millisecond // between two looks at what is being written
	streamTimeout     = 15 * time.Second       // of one call: rows wait behind it
	streamTries       = 3                      // calls that may fail in a row
	draftEvery        = 20 * time.Second       // a draft is gone after 30 s
)

// streamMark ends what is not all yet.
const streamMark = " …"

// streamed is how the reply of one run is shown while it is written.
type streamed struct {
	run core.RunID
	// source is the agent's text as of the last call, shown its first part as it stands, without the mark.
	source string
	shown  render.Part
	// message is the platform's id, "" while nothing stands that could be edited.
	message string
	order   uint64
	next    time.Time // no call before it
	drawn   time.Time // the last call that went well
	fails   int
	over    bool // given up for this run

	loaded bool
	every  time.Duration
	view   render.View
	to     Target
	way    streamWay
	flowed string // what of source a stream of the platform's own has
	// doubt says that a first call may have gone through: the message is found by the key of to, from began on.
	doubt bool
	began time.Time
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
	if s.over || p.Text == "" {
		return 0, false
	}
	next := s.next
	if p.Text == s.source {
		if s.way != asDraft || s.drawn.IsZero() {
			return 0, false
		}
		next = s.drawn.Add(draftEvery)
	}
	if after = next.Sub(now); after > 0 {
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
		if s.message == "" && !s.doubt && !d.busy[c] && !slices.ContainsFunc(live, func(p turn.Partial) bool { return p.Conversation == c }) {
			delete(d.streaming, c)
		}
	}
}

// shows reports whether a reply that is not all yet stands in a conversation: its mark says that the agent
// works.
func (d *delivery) shows(c core.ConversationID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.streaming[c]
	return s.message != "" || s.way == asDraft && !s.drawn.IsZero()
}

func (d *delivery) streamedIn(c core.ConversationID) (streamed, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.streaming[c]
	return s, ok
}

func (d *delivery) keepStreamed(c core.ConversationID, s streamed) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.streaming[c] = s
}

func (d *delivery) forgetStreamed(c core.ConversationID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.streaming, c)
}

// showPartial shows how far a reply that is being written has come.
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
	d.keepStreamed(p.Conversation, s)
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
	again := p.Text == s.source // a draft that would be gone
	s.source = p.Text
	parts := render.Reply(s.view, p.Text)
	if len(parts) == 0 || parts[0].Text == s.shown.Text && !again {
		return nil
	}
	defer d.typing.quiet(ctx, p.Conversation)()
	if s.message == "" {
		err = d.open(ctx, s, p, parts[0])
	} else {
		err = d.enlarge(ctx, s, p, parts[0])
	}
	s.next = d.now().Add(s.every)
	if err != nil {
		s.source = ""
		if !errors.Is(err, errNotKept) {
			d.failed(s, err)
		}
		return err
	}
	s.shown, s.fails, s.drawn = parts[0], 0, d.now()
	return nil
}

// failed decides whether to go on after a call that failed. A message that stands is kept: the row tries it
// once more.
func (d *delivery) failed(s *streamed, err error) {
	var se *SendError
	known := errors.As(err, &se)
	// A platform that knows keys may not call unsure what a repetition would find.
	unsure := s.message == "" && s.way != asDraft && (!known || se.Unsure || d.keyed() && !se.Permanent && !se.Refused && se.After == 0)
	s.doubt = s.doubt || unsure && d.keyed()
	if known && se.After > 0 && !unsure {
		s.next = d.now().Add(max(se.After, s.every)) // it is too much just now, which is no failure
		return
	}
	s.fails++
	switch {
	case errors.Is(err, ErrCannotEdit), permanent(err), s.fails >= streamTries:
		s.over = true
	case unsure && !s.doubt, s.message == "" && known && se.Moved != "":
		s.over = true // it may stand there, and cannot be found again
	case known && se.After > s.every:
		s.next = d.now().Add(se.After)
	}
}

// load learns how the conversation sees things, once, and what a process before this one has shown.
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
	s.to.Voice, s.to.For, s.to.Passing = VoiceSay, shown.Run.Asker(), true
	s.to.Since = time.Time{}
	s.to.Key = core.Digest(string(p.Conversation), string(p.Run), "while it is written", d.now().Format(time.RFC3339Nano))
	s.every = streamEvery
	if shown.Conversation.Shared {
		s.every = streamEveryShared
	}
	s.way = d.firstWay()
	if err := d.adopt(ctx, s, p); err != nil {
		return err
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
