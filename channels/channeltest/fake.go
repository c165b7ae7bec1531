package channeltest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"parley/channels"
	"parley/core"
	"parley/render"
)

// Shown is one message of the bot as the platform shows it now.
type Shown struct {
	ID      string
	Place   core.Place
	Order   uint64
	Voice   channels.Voice
	Key     string
	ReplyTo string
	Part    render.Part
	// Edits counts how often it was replaced.
	Edits int
}

// Failing is what the next attempt to send does. Lost says that the message was shown nevertheless.
type Failing struct {
	Err  error
	Lost bool
}

// Fake is an adapter with its platform in memory. Its zero value is not valid; NewFake makes one.
type Fake struct {
	name    string
	dialect render.Dialect
	// Now is the platform's clock.
	Now func() time.Time
	// OnTyping, if set, is called by Typing.
	OnTyping func(channels.Target)
	// OnFind, if set, says where a person is spoken to alone.
	OnFind func(core.PersonID) (core.Place, error)
	// Knows makes it a platform on which a message can be found by its key.
	Knows bool
	// OneChance makes it a platform that cannot hand a message in again.
	OneChance bool

	mu      sync.Mutex
	order   uint64
	shown   []Shown
	counts  map[core.Place]int
	more    map[core.Place]chan struct{} // closed at the place's next message
	files   [][]byte                     // by their Ref, nil for what was forgotten
	stalled bool
	failing []Failing
	editErr []error // of the next edits
	hold    chan struct{}
	held    int
	runs    int
	sink    channels.Sink
	running chan struct{}
	crash   chan error
}

// NewFake returns an adapter of that name and dialect.
func NewFake(name string, d render.Dialect) *Fake {
	return &Fake{
		name: name, dialect: d, Now: time.Now, running: make(chan struct{}), crash: make(chan error),
		counts: map[core.Place]int{}, more: map[core.Place]chan struct{}{},
	}
}

// Name is the channel's name.
func (f *Fake) Name() string { return f.name }

// Dialect is what it was made with.
func (f *Fake) Dialect() render.Dialect { return f.dialect }

// Redelivers is false for a platform with OneChance.
func (f *Fake) Redelivers() bool { return !f.OneChance }

// Run receives until ctx ends or Crash.
func (f *Fake) Run(ctx context.Context, sink channels.Sink) error {
	f.mu.Lock()
	f.sink = sink
	f.runs++
	close(f.running)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.running = make(chan struct{})
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-f.crash:
		return err
	}
}

// Crash lets Run return err, nil for the end of its input.
func (f *Fake) Crash(err error) { f.crash <- err }

// Runs counts how often it was started.
func (f *Fake) Runs() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runs
}

// Sink is where it hands messages in; it waits until Run is called.
func (f *Fake) Sink() channels.Sink {
	f.mu.Lock()
	running := f.running
	f.mu.Unlock()
	<-running
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sink
}

// Next takes the next number of the platform's order.
func (f *Fake) Next() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.order++
	return f.order
}

// Say hands in a message, with an id and an order of its own where m has none, and returns its id.
func (f *Fake) Say(ctx context.Context, m core.Message) (string, error) {
	if m.Order == 0 {
		m.Order = f.Next()
	}
	if m.ID == "" {
		m.ID = fmt.Sprintf("m%d", m.Order)
	}
	if m.SentAt.IsZero() {
		m.SentAt = f.Now()
	}
	return m.ID, f.Sink().Message(ctx, m)
}

// Fail makes the next attempts to send fail, one after the other.
func (f *Fake) Fail(with ...Failing) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failing = append(f.failing, with...)
}

// FailEdits makes the next n edits fail.
func (f *Fake) FailEdits(n int, err error) { f.EditErrs(slices.Repeat([]error{err}, n)...) }

// EditErrs makes the next edits fail with these, one after the other.
func (f *Fake) EditErrs(errs ...error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.editErr = errs
}

// Hold keeps every attempt to send waiting until release is called or its context ends.
func (f *Fake) Hold() (release func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := make(chan struct{})
	f.hold = ch
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		close(ch)
		f.hold = nil
	}
}

// Held counts the attempts that were kept waiting.
func (f *Fake) Held() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held
}

// Send shows a part, or fails as told.
func (f *Fake) Send(ctx context.Context, to channels.Target, part render.Part) (channels.Sent, error) {
	f.mu.Lock()
	hold := f.hold
	if hold != nil {
		f.held++
	}
	f.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return channels.Sent{}, &channels.SendError{Unsure: true, Err: ctx.Err()}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.failing) > 0 {
		next := f.failing[0]
		f.failing = f.failing[1:]
		if next.Lost {
			f.show(to, part)
		}
		if next.Err != nil {
			return channels.Sent{}, next.Err
		}
	}
	if i := slices.IndexFunc(f.shown, func(s Shown) bool { return s.Key == to.Key && s.Place == to.Place }); f.Knows && !to.Since.IsZero() && i >= 0 {
		return channels.Sent{Message: f.shown[i].ID, Order: f.shown[i].Order, At: f.Now()}, nil
	}
	s := f.show(to, part)
	return channels.Sent{Message: s.ID, Order: s.Order, At: f.Now()}, nil
}

// Keyed is Knows.
func (f *Fake) Keyed() bool { return f.Knows }

// Delete takes a message away.
func (f *Fake) Delete(_ context.Context, to channels.Target, message string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := len(f.shown)
	f.shown = slices.DeleteFunc(f.shown, func(s Shown) bool { return s.ID == message && s.Place == to.Place })
	if len(f.shown) == before {
		return &channels.SendError{Permanent: true, Err: fmt.Errorf("no message %s to delete", message)}
	}
	return nil
}

func (f *Fake) show(to channels.Target, part render.Part) Shown {
	f.order++
	s := Shown{
		ID: fmt.Sprintf("b%d", f.order), Place: to.Place, Order: f.order, Voice: to.Voice, Key: to.Key,
		ReplyTo: to.ReplyTo, Part: part,
	}
	f.shown = append(f.shown, s)
	f.counts[to.Place]++
	if ch := f.more[to.Place]; ch != nil {
		close(ch)
		delete(f.more, to.Place)
	}
	return s
}

// Edit replaces a message.
func (f *Fake) Edit(_ context.Context, to channels.Target, message string, part render.Part) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.dialect.Edits {
		return channels.ErrCannotEdit
	}
	if len(f.editErr) > 0 {
		next := f.editErr[0]
		f.editErr = f.editErr[1:]
		return next
	}
	for i := range f.shown {
		if f.shown[i].ID == message && f.shown[i].Place == to.Place {
			f.shown[i].Part = part
			f.shown[i].Edits++
			return nil
		}
	}
	return &channels.SendError{Permanent: true, Err: fmt.Errorf("no message %s to edit", message)}
}

// Find asks OnFind; without it nobody is spoken to alone.
func (f *Fake) Find(_ context.Context, who core.PersonID) (core.Place, error) {
	if f.OnFind == nil {
		return "", &channels.SendError{Permanent: true, Err: fmt.Errorf("%s is nowhere", who)}
	}
	return f.OnFind(who)
}

// Typing tells OnTyping.
func (f *Fake) Typing(_ context.Context, to channels.Target) error {
	if f.OnTyping == nil {
		return channels.ErrNoTyping
	}
	f.OnTyping(to)
	return nil
}

// Shown lists what a place shows of the bot, oldest first.
func (f *Fake) Shown(place core.Place) (out []Shown) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.shown {
		if s.Place == place {
			out = append(out, s)
		}
	}
	return out
}

// Keep keeps what a file holds, and returns what it is found by.
func (f *Fake) Keep(data []byte) (ref string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files = append(f.files, data)
	return strconv.Itoa(len(f.files))
}

// Forget forgets what all files hold.
func (f *Fake) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.files)
}

// Stall keeps the next ReadFile waiting until its context ends.
func (f *Fake) Stall() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stalled = true
}

// ReadFile returns what Keep was given.
func (f *Fake) ReadFile(ctx context.Context, _ core.Message, file core.File) ([]byte, error) {
	f.mu.Lock()
	stalled := f.stalled
	f.stalled = false
	n, err := strconv.Atoi(file.Ref)
	var data []byte
	if err == nil && n > 0 && n <= len(f.files) {
		data = f.files[n-1]
	}
	f.mu.Unlock()
	switch {
	case stalled:
		<-ctx.Done()
		return nil, ctx.Err()
	case data == nil:
		return nil, channels.ErrFileGone
	case len(data) > channels.MaxFile:
		return nil, channels.ErrFileTooBig
	}
	return data, nil
}
