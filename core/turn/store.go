package turn

import (
	"context"
	"errors"
	"time"

	"parley/core"
)

// Errors of a Store. Each is wrapped with the operation and the id.
var (
	// ErrFenced says that the claim is no longer current. The holder must stop; it left no trace.
	ErrFenced = errors.New("fenced: another holder has the conversation")
	// ErrNotFound says that no such row exists.
	ErrNotFound = errors.New("not found")
	// ErrDamaged says that the stored bytes cannot be read.
	ErrDamaged = errors.New("damaged")
)

// Claim is the right to advance one conversation. Token is random per claim and Epoch grows with every
// claim: both are checked by each write made under it.
type Claim struct {
	Conversation core.ConversationID
	Token        string
	Epoch        uint64
}

// Scope says what an Update is about and how urgent it is.
type Scope struct {
	// Conversation is locked for the transaction: all its reads and writes concern it.
	Conversation core.ConversationID
	// Claim, if set, fences the transaction: ErrFenced unless it is current.
	Claim *Claim
	// Lazy lets the commit wait up to 100 ms for another to ride on. Transactions of one conversation
	// keep the order in which they were handed in, lazy ones too.
	Lazy bool
}

// Store keeps everything durable. Rules live in core; a store writes rows and keeps its indexes in step
// with them. Several engines may share one; a claim decides who advances a conversation.
type Store interface {
	// Update runs f in one transaction and returns once it is durable. f may run more than once, so it
	// computes from what it reads. An error of f leaves no trace of its writes and is returned as it is.
	Update(ctx context.Context, at Scope, f func(Tx) error) error
	// View runs f on one consistent state. Nothing f gets is valid memory of the store: all is copied.
	View(ctx context.Context, conversation core.ConversationID, f func(Reader) error) error
	// Claim takes the conversation that has been due longest and that nobody holds; nil, nil if none is due.
	// Claims of a holder that died are free once their time to live has passed, at once where the
	// store knows that it died.
	Claim(ctx context.Context, ttl time.Duration) (*Claim, error)
	// Renew keeps a claim alive; ErrFenced if it is lost.
	Renew(ctx context.Context, c *Claim, ttl time.Duration) error
	// Wake receives a hint when something may be due; a lost hint is covered by polling.
	Wake() <-chan struct{}

	// Input and Run find a row by id alone; ErrNotFound if there is none.
	Input(ctx context.Context, id core.InputID) (core.Input, error)
	Run(ctx context.Context, id core.RunID) (core.Run, error)
	// Inputs is a page of inputs, oldest first; next is "" on the last page.
	Inputs(ctx context.Context, f InputFilter) (page []core.Input, next string, err error)
	// Overdue lists pending inputs whose time to answer ended at or before the store's now, oldest first.
	Overdue(ctx context.Context, limit int) ([]core.Input, error)
	// NextDeadline is when the next pending input expires; zero if none does.
	NextDeadline(ctx context.Context) (time.Time, error)
	// Outbox lists what is to be sent on a channel: of each conversation the oldest row only, and only if
	// its NextAt has come. next is the earliest NextAt that has not come, zero if none.
	Outbox(ctx context.Context, channel string, limit int) (rows []core.Out, next time.Time, err error)
	// Events lists the log after seq, oldest first, of one run where run is not "".
	Events(ctx context.Context, run core.RunID, after uint64, limit int) ([]core.Event, error)
	// Prune removes ended runs with all that belongs to them, deduplication keys and events older than
	// before, and never anything that waits. It returns how many runs went; call it again until 0.
	Prune(ctx context.Context, before time.Time, limit int) (int, error)
	// Now is the store's clock, by which every stored time is judged.
	Now() time.Time
	Close() error
}

// InputFilter selects inputs. The zero State is pending. Agent (the conversation's or the input's own),
// Responder, Run and Conversation narrow it where they are not "".
type InputFilter struct {
	State        core.InputState
	Agent        core.AgentID
	Responder    core.PersonID
	Run          core.RunID
	Conversation core.ConversationID
	After        string // the next of the page before
	Limit        int    // 0: 50
}

// Reader reads rows of the scope's conversation. A missing row is ErrNotFound.
type Reader interface {
	Now() time.Time
	// Conversation is the zero row with its ID set where nothing was stored yet.
	Conversation() (core.Conversation, error)
	// Held reports whether somebody holds a live claim on the conversation.
	Held() (bool, error)
	Run(core.RunID) (core.Run, error)
	// Journal returns the steps of a run in order.
	Journal(core.RunID) ([]core.Step, error)
	// Calls returns the calls of a run in order.
	Calls(core.RunID) ([]core.Call, error)
	// RunInputs returns the inputs of a run in the order they were opened.
	RunInputs(core.RunID) ([]core.Input, error)
	Input(core.InputID) (core.Input, error)
	// Seen reports whether a message of that platform id was accepted here before.
	Seen(messageID string) (bool, error)
	// Queue returns the messages that wait, oldest first, at most limit (0: all).
	Queue(limit int) ([]core.Queued, error)
	// Prompted finds the input that a platform message showed, whichever state it is in; "" if none.
	Prompted(messageID string) (core.InputID, error)
	// Out returns the rows of the outbox that are not sent, oldest first.
	Out() ([]core.Out, error)
}

// Tx writes rows of the scope's conversation. Each Put replaces the whole row and keeps its indexes.
type Tx interface {
	Reader
	PutConversation(core.Conversation) error
	PutRun(core.Run) error
	// Append adds steps at the end of a run's journal, which must hold at steps before it.
	Append(run core.RunID, at int, steps ...core.Step) error
	PutCall(core.Call) error
	// PutInput keeps the indexes: pending by time, agent and responder; deadline; the messages of its prompts.
	PutInput(core.Input) error
	// MarkSeen remembers a message's platform id for deduplication.
	MarkSeen(messageID string) error
	Enqueue(core.Message) (core.Queued, error)
	// PutQueued replaces a waiting message, Dequeue removes it.
	PutQueued(core.Queued) error
	Dequeue(seq uint64) error
	// AddOut appends to the outbox and returns the row with its Seq; PutOut replaces a row, DropOut removes one.
	AddOut(core.Out) (core.Out, error)
	PutOut(core.Out) error
	DropOut(seq uint64) error
	// AddEvent appends to the log.
	AddEvent(core.Event) error
	// TakeClaim claims the conversation for ttl whether or not it is due; nil where somebody holds it.
	TakeClaim(ttl time.Duration) (*Claim, error)
	// Release gives the scope's claim back. due: when the conversation is to be claimed again; zero: when woken.
	Release(due time.Time) error
	// WakeAt makes the conversation due at the given time, or earlier if it was.
	WakeAt(due time.Time) error
}
