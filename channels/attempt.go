package channels

import (
	"context"
	"errors"
	"slices"
	"time"

	"parley/core"
	"parley/core/turn"
	"parley/render"
)

// sendTimeout bounds one attempt, so that an adapter that hangs holds up its conversation and no more.
const sendTimeout = 2 * time.Minute

// send shows lines in order, from the first that is not known to be sent; the agent's first words in the
// message that stands for them, if there is one. Of a row that ends with a prompt the receipt names the
// prompt's parts only: a reply to the agent's words is no reply to the prompt.
func (d *delivery) send(ctx context.Context, row core.Out, lines []Line, stands *streamed) (core.Receipt, *turn.Failure) {
	ids := slices.Clone(row.Parts)
	last := Sent{At: d.now()}
	for i := len(ids); i < len(lines); i++ {
		sent, done, fail := d.replace(ctx, row, stands, lines[i])
		if !done {
			to := d.targetOf(row, i)
			to.Voice = lines[i].Voice
			if i == 1 && lines[0].Voice == voiceLink {
				to.ReplyTo = row.ReplyTo
			}
			sent, fail = d.sendPart(ctx, row, i, to, lines[i].Part)
		}
		if fail != nil {
			fail.Sent = ids
			return core.Receipt{}, fail
		}
		ids, last = append(ids, sent.Message), sent
	}
	r := core.Receipt{Order: last.Order, At: last.At}
	if r.At.IsZero() {
		r.At = d.now()
	}
	prompt := len(lines) > 0 && lines[len(lines)-1].Voice == VoiceAsk
	// A prompt whose last part has no known place takes no typed answer; the engine shows it again.
	r.Prompted = prompt && last.Message != ""
	for i, id := range ids {
		if id != "" && (!prompt || i < len(lines) && lines[i].Voice == VoiceAsk) {
			r.Messages = append(r.Messages, id)
		}
	}
	return r, nil
}

// sendPart shows one part: as it is, as plain text where the platform refuses its form, at its new place
// where the conversation has moved. An attempt that may have gone through is repeated once by a later try;
// the second such counts as sent, without a message id.
func (d *delivery) sendPart(ctx context.Context, row core.Out, i int, to Target, part render.Part) (Sent, *turn.Failure) {
	plain, moved := false, false
	for {
		try, cancel := context.WithTimeout(ctx, sendTimeout)
		sent, err := d.Adapter.Send(try, to, part)
		cancel()
		if err == nil {
			return sent, nil
		}
		var se *SendError
		if !errors.As(err, &se) {
			se = &SendError{Unsure: true, Err: err}
		}
		switch {
		case se.Moved != "" && !moved:
			moved, to.Place = true, se.Moved
			d.move(row.Conversation, se.Moved)
			if err := d.turns.Move(ctx, row.Conversation, se.Moved); err != nil {
				d.log.Error("a move was not stored", "conversation", row.Conversation, "err", err)
			}
		case se.Refused && !plain && part.File == nil:
			d.log.Warn("the platform refused a part's form, it is sent as plain text", "conversation", row.Conversation, "row", row.Seq, "err", err)
			plain, part = true, render.Part{Text: part.Plain, Plain: part.Plain}
		case se.Unsure && ctx.Err() == nil && d.unsureTwice(row, i):
			return Sent{At: d.now()}, nil
		default:
			return Sent{}, &turn.Failure{
				Unsure: se.Unsure, Permanent: se.Permanent || se.Refused, After: se.After, Err: err.Error(),
			}
		}
	}
}

// targetOf is where part i of a row goes; only the first answers a message.
func (d *delivery) targetOf(row core.Out, i int) Target {
	to := target(row.Conversation, "")
	if i == 0 {
		to.ReplyTo = row.ReplyTo
	}
	to.Key = key(row, i)
	if d.maybeSent(row) {
		to.Since = row.CreatedAt
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if place, ok := d.moved[row.Conversation]; ok {
		to.Place = place
	}
	return to
}

func (d *delivery) move(c core.ConversationID, place core.Place) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.moved[c] = place
}

// unsureTwice remembers that part i of the row may have gone through, and reports whether that was so
// before. It is known per process: after a restart one more copy may follow, rather than a part be lost.
func (d *delivery) unsureTwice(row core.Out, i int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := key(row, -1)
	if before, ok := d.unsure[k]; ok && before == i {
		return true
	}
	d.unsure[k] = i
	return false
}

// settle forgets what was remembered of a row.
func (d *delivery) settle(row core.Out) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.unsure, key(row, -1))
}
