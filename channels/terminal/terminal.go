// Package terminal is the channel of demo and chat: one person, one agent, one conversation, on a reader and
// a writer.
//
// # Order
//
// What is written and what is read gets its place from the clock in nanoseconds, strictly growing, and never
// behind a prompt that an earlier process showed. A prompt counts as shown when its write returned. The next
// line is read only while the turn stands still, so that a line always stands after the prompt that was on
// the screen before it; a line that waited in a pipe counts as read then. A turn stands still too while a tool
// waits for the answer inside its call. What is shown while a line is awaited stands below a line that had been
// read by then.
//
// # On a pipe
//
// One message a line. Each line of output begins with say: (the agent), ask: (a prompt), note: (Parley) or
// you: (what was read). At the end of the input the adapter waits until the turn stands still and ends.
//
// # On a terminal
//
// Three things begin at the left edge: Parley's notes with their mark, prompts with a rule, and the mark where to
// type. All other text is moved in, line by line and where a line is broken, so that no reply can look like them.
//
// # Leaving
//
// End of input (ctrl-D) ends it, as does its context (ctrl-C). What waits stays in the store; the next start
// shows the live prompt again. What a tool asked inside its call ends without an answer, which is said.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/channels"
	"parley/core"
	"parley/core/turn"
	"parley/render"
)

// Turns is what the terminal asks of the engine beside its sink.
type Turns interface {
	Idle(ctx context.Context, c core.ConversationID) error
	Waiting(ctx context.Context, c core.ConversationID) ([]core.Input, error)
	Show(ctx context.Context, row core.Out) (turn.Shown, error)
}

// Config is what a terminal is made of. In, Out, Now, NewID, Turns, Agent and Person are needed.
type Config struct {
	// Name is the channel's name; "" is "terminal".
	Name  string
	Agent core.AgentID
	// Person is who types: local:NAME.
	Person core.PersonID
	// Session tells apart conversations of one agent and person; "" is "default".
	Session string
	In      io.Reader
	Out     io.Writer
	// Interactive says that a person sits at a terminal: no prefixes, and a mark where to type.
	Interactive bool
	// Columns is how wide a terminal is now; where it is nil or tells 0, lines are broken as for 80.
	Columns func() int
	// Lang is the person's language as a BCP 47 tag.
	Lang  string
	Turns Turns
	Now   func() time.Time
	// NewID makes the random part of a message's id.
	NewID func() string
}

// Adapter is the terminal as a channel.
type Adapter struct {
	cfg  Config
	conv core.ConversationID

	last atomic.Uint64 // the newest place given

	mu sync.Mutex // held while something is written
	// sent are the prompts this process wrote, by message id.
	sent map[string]bool
	// asking says that the mark where to type stands on the last line.
	asking bool
	broken error
	// gone ends with the first write that failed.
	gone    context.Context
	breakUp context.CancelFunc
}

// New returns the adapter. It reads and writes nothing before Run and Send.
func New(cfg Config) (*Adapter, error) {
	switch {
	case cfg.In == nil, cfg.Out == nil, cfg.Now == nil, cfg.NewID == nil, cfg.Turns == nil:
		return nil, errors.New("terminal: In, Out, Now, NewID and Turns are needed")
	case cfg.Agent == "":
		return nil, errors.New("terminal: name the agent to talk to")
	case cfg.Person.Surface() != "local":
		return nil, fmt.Errorf("terminal: person %q: want local:NAME", cfg.Person)
	}
	if cfg.Name == "" {
		cfg.Name = "terminal"
	}
	if cfg.Session == "" {
		cfg.Session = "default"
	}
	name := strings.TrimPrefix(string(cfg.Person), "local:")
	place := core.Place(name + "/" + cfg.Session)
	a := &Adapter{cfg: cfg, conv: core.NewConversation(cfg.Agent, cfg.Name, place), sent: map[string]bool{}}
	a.gone, a.breakUp = context.WithCancel(context.Background())
	return a, nil
}

// Conversation is the one conversation of this terminal.
func (a *Adapter) Conversation() core.ConversationID { return a.conv }

// Name is the channel's name.
func (a *Adapter) Name() string { return a.cfg.Name }

// Dialect is plain text without limits, edits or buttons.
func (a *Adapter) Dialect() render.Dialect {
	return render.Dialect{Name: "terminal", Style: render.Plain, Slash: true}
}

// Redelivers is false: a line is read once.
func (a *Adapter) Redelivers() bool { return false }

// Send writes one part. A part that could not be written in full may have been seen; once that has
// happened nothing more is written, and Run ends.
func (a *Adapter) Send(_ context.Context, to channels.Target, part render.Part) (channels.Sent, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.write(to.Voice, part.Text); err != nil {
		return channels.Sent{}, err
	}
	order := a.place()
	id := fmt.Sprintf("t%016x", order)
	a.sent[id] = true
	return channels.Sent{Message: id, Order: order, At: a.cfg.Now()}, nil
}

// Edit is not possible: what is written stays.
func (a *Adapter) Edit(context.Context, channels.Target, string, render.Part) error {
	return channels.ErrCannotEdit
}

// Typing shows nothing.
func (a *Adapter) Typing(context.Context, channels.Target) error { return channels.ErrNoTyping }

// place is the next place in the order of the conversation. It waits for nobody: a line that is read while a prompt
// is being written stands above it.
func (a *Adapter) place() uint64 {
	for {
		last := a.last.Load()
		next := max(last+1, uint64(max(a.cfg.Now().UnixNano(), 0)))
		if a.last.CompareAndSwap(last, next) {
			return next
		}
	}
}

// columns is how wide the terminal is; 0 for a pipe.
func (a *Adapter) columns() int {
	if !a.cfg.Interactive {
		return 0
	}
	if a.cfg.Columns != nil {
		if n := a.cfg.Columns(); n > 0 {
			return n
		}
	}
	return 80
}

// write writes text as voice says it, in one write. The caller holds mu. The error is a *channels.SendError.
func (a *Adapter) write(v channels.Voice, text string) error {
	if a.broken != nil { // nothing is tried, so it is known not to be seen
		return &channels.SendError{Err: a.broken}
	}
	out := format(v, text, a.columns())
	if a.asking {
		out = "\r  \r" + out + mark
	}
	if _, err := io.WriteString(a.cfg.Out, out); err != nil {
		a.broken = fmt.Errorf("terminal: write: %w", err)
		a.breakUp()
		return &channels.SendError{Unsure: true, Err: a.broken}
	}
	return nil
}
