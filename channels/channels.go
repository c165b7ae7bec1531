// Package channels carries messages between people and the engine.
//
// # Words
//
// An Adapter speaks one platform. The Hub owns the adapters: it starts each again after a passing failure,
// stops for good the one that needs the operator, hands what they receive to the engine and delivers what
// the engine's outbox holds. A Line is one part of what a row of the outbox shows, with the voice that
// speaks. A glance is an edit that is worth one try.
//
// # In
//
// Messages of one conversation reach the engine one at a time in the order in which the adapter handed them
// in; a slow conversation holds up no other. Sink.Message returns nil only once the message is durable: only
// then an adapter acknowledges it. Where it fails, the messages behind it in its conversation fail with it,
// so that a platform that delivers again delivers in order; where a platform cannot, or where it would be
// no use, the person is told to try again. Messages of bots, our own, edits and the like never reach the
// sink: adapters drop them.
//
// Nobody is let in who is not named, unless a channel is public. A stranger is told their id once a process,
// beside the outbox, since nothing a stranger sends is stored. Beyond the rate limit a message is accepted
// like any other, with the time before which it starts no turn; answers, commands and cancel cost nothing.
//
// # Out
//
// Rows of one conversation go out in order, those of different conversations side by side. A row first
// brings the prompts of its ended inputs up to date, then says its own words, and ends with its prompt if
// that still waits. Each part has the same key at every try and in every process.
//
//   - A part that is known to be sent is never sent again: a retry goes on after it.
//   - An attempt that may have gone through is repeated once; the second such counts as sent. A prompt whose
//     last part has no known place takes no typed answer.
//   - A row that an earlier process wrote, or that may have gone through, is shown with the mark of a copy,
//     since nobody knows whether the process before this one died between sending and storing the receipt.
//   - A part whose form is refused is sent once more as plain text.
//   - An edit that fails holds its row back three times, not longer.
//   - Where a platform cannot edit, how an input ended is said in a line if it is not plain from the chat.
//
// The link of a URL step goes to its asker alone where others read the prompt (Finder); where that cannot be
// done it stands in the prompt.
//
// A typing indicator never stands while a row is being sent.
//
// # While it is written
//
// A channel that streams shows the reply of a run once writing takes longer than a second, changes what it
// shows at most every second, every three where others read along, and never while a row of its conversation is
// being sent or waits. It is shown in the best of three ways that the platform takes at that place:
//
//   - as a draft, which is no message and gone by itself (Drafter);
//   - in a message that grows by what is added to it (Streamer);
//   - in a message that is edited.
//
// The row of the reply then replaces the text of the message, and what does not fit goes on in new messages, as
// does a prompt. Where the message can no longer be edited it is deleted and the reply is sent whole. Which
// message it is is remembered before it is first shown (Memory), so that after a kill the reply ends in that
// message too: written on, replaced, or deleted. Without a Memory it stands as one unfinished copy then. It is no
// prompt, and nobody answers it.
//
// # What adapters share
//
// Lanes, Turnstile, Pacer, Backoff, HTTPClient, Download and ButtonPayload are what every adapter needs of the
// same kind.
package channels

import (
	"context"
	"errors"
	"time"

	"parley/core"
	"parley/core/turn"
	"parley/render"
)

// Turns is what a channel asks of the engine.
type Turns interface {
	// Accept stores one message and does what it means, in one transaction. It returns once that is durable:
	// only then may the platform be told that the message arrived. The same message again is Duplicate.
	Accept(ctx context.Context, m core.Message) (turn.Accepted, error)
	// Settle ends an input by name: a button, a request. The error of a refused answer is a *core.AnswerError.
	Settle(ctx context.Context, s turn.Settlement) (core.Input, error)
	// Outbox, Sent and Failed drive delivery; Wake hints that rows may wait.
	Outbox(ctx context.Context, channel string, limit int) (rows []core.Out, next time.Time, err error)
	Sent(ctx context.Context, row core.Out, r core.Receipt) error
	Failed(ctx context.Context, row core.Out, f turn.Failure) error
	Wake(channel string) (<-chan struct{}, func())
	// Move follows a platform that put a conversation at another place.
	Move(ctx context.Context, from core.ConversationID, to core.Place) error
	// Forward hands a row to another place of its channel: the chat with a person whom its conversation names.
	Forward(ctx context.Context, row core.Out, to core.Place) error
	// Glances takes the edits that are worth trying once: they have no row and no receipt.
	Glances(channel string) []core.Out
	// Partials lists the replies of a channel that are being written, in no order. Wake hints when there is more.
	Partials(ctx context.Context, channel string) []turn.Partial
	// Show loads what an outbox row names, for rendering.
	Show(ctx context.Context, row core.Out) (turn.Shown, error)
	// Idle waits until the conversation stands still: no run is running and nothing of it waits to be sent.
	Idle(ctx context.Context, c core.ConversationID) error
	// Working lists the conversations of a channel whose run is running now, for typing indicators. It
	// reads memory only.
	Working(ctx context.Context, channel string) ([]core.ConversationID, error)
	// Waiting lists the pending inputs that are shown or to be shown in a conversation, in their order.
	Waiting(ctx context.Context, c core.ConversationID) ([]core.Input, error)
}

// Adapter is one platform.
type Adapter interface {
	// Name is the channel's name in the configuration.
	Name() string
	// Dialect is how the platform shows text, with its limits.
	Dialect() render.Dialect
	// Run receives until ctx ends. It hands each message to the sink and acknowledges it to the platform only
	// after the sink returned nil. A permanent failure (a bad token) is returned as a *Permanent.
	Run(ctx context.Context, sink Sink) error
	// Send shows one part. A *SendError says whether it may have gone through and when to try again.
	Send(ctx context.Context, to Target, part render.Part) (Sent, error)
	// Edit replaces a part that was sent. ErrCannotEdit where the platform has no edits.
	Edit(ctx context.Context, to Target, message string, part render.Part) error
	// Typing shows for a few seconds that the agent works, where the platform can.
	Typing(ctx context.Context, to Target) error
}

// Sink takes what an adapter received.
type Sink interface {
	// Message returns nil once the message is durable.
	Message(ctx context.Context, m core.Message) error
	// Press is a native button of a prompt.
	Press(ctx context.Context, p Press) (PressOutcome, error)
}

// Mover is a Sink that follows conversations to another place. Moved returns nil once that is durable.
type Mover interface {
	Moved(ctx context.Context, from core.ConversationID, to core.Place) error
}

// Target is where a part goes.
type Target struct {
	Place core.Place
	// ReplyTo is the platform's message the part answers, "" for none.
	ReplyTo string
	// Key is an idempotency key for platforms that honour one: the same at every try of this part.
	Key string
	// Since, if not zero, says that the part may stand there already, from that time on: an earlier process,
	// or an attempt without a clear answer, may have sent it. Platforms that can look for its Key do.
	Since time.Time
	// Voice says who speaks, for a channel that shows it.
	Voice Voice
	// For is who the part is for, "" where that is not told.
	For core.PersonID
	// Passing says that what is shown is replaced soon: the call comes back at once where it would have to wait
	// for its turn.
	Passing bool
}

// Voice is who speaks in a part.
type Voice string

// The voices.
const (
	VoiceSay  Voice = "say"  // the agent
	VoiceAsk  Voice = "ask"  // a prompt
	VoiceNote Voice = "note" // Parley itself
)

// Sent is the platform's word for a part that was sent.
type Sent struct {
	Message string
	Order   uint64
	At      time.Time
}

// Press is a native button of a prompt: it does what typing Reply would do, and names its input.
type Press struct {
	Input        core.InputID
	Reply        string
	Step         int // the Draft.Step of the prompt it stands under
	From         core.PersonID
	Conversation core.ConversationID
	// ID is the platform's identity of the press.
	ID string
	// Lang is the person's language where the platform tells it.
	Lang string
}

// PressOutcome is the line for the person who pressed, alone; "" if there is nothing to say.
type PressOutcome struct {
	Line string
}

// Permanent is a failure that waiting does not mend; Hint says what the operator must do.
type Permanent struct {
	Channel string
	Hint    string
	Err     error
}

func (e *Permanent) Error() string {
	return "channel " + e.Channel + ": " + e.Hint + ": " + e.Err.Error()
}
func (e *Permanent) Unwrap() error { return e.Err }

// SendError is an attempt to send or edit that failed.
type SendError struct {
	// Unsure says that it may have gone through: the connection broke after the request was sent.
	Unsure bool
	// Permanent says that the target will not take it, now or later.
	Permanent bool
	// Refused says that the platform would not take the part's form; plain text may do.
	Refused bool
	// After is how long the platform asks to wait, 0 if it did not say.
	After time.Duration
	// Moved, if not "", is where the conversation stands now.
	Moved core.Place
	Err   error // without secrets
}

func (e *SendError) Error() string { return e.Err.Error() }
func (e *SendError) Unwrap() error { return e.Err }

// ErrCannotEdit is returned by Edit where the platform has no edits.
var ErrCannotEdit = errors.New("this channel cannot edit")

// ErrNoTyping is returned by Typing where the platform never shows it: it is not called again.
var ErrNoTyping = errors.New("this channel does not show typing")

// Redelivers is what an adapter says of a platform that cannot hand a message in again after Sink.Message
// failed. An adapter without it redelivers. Where Redelivers is false the Hub tells the person to try again.
type Redelivers interface{ Redelivers() bool }

// Namer is implemented by adapters that can write a person the way their platform shows them, without
// waking anybody; "" where they cannot.
type Namer interface {
	NameOf(place core.Place, who core.PersonID) string
}

// Readiness is implemented by adapters that know whether they are connected: nil, or why not.
type Readiness interface{ Ready() error }
