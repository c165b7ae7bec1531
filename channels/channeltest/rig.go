package channeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/core"
)

// Bubble runs f in virtual time, beside other tests.
func Bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

// After lets time pass in a bubble, and everything settle.
func After(d time.Duration) {
	t := time.NewTimer(d)
	<-t.C
	synctest.Wait()
}

// Runner runs one adapter, or something else, after another in a bubble. The zero value runs none.
type Runner struct {
	cancel context.CancelFunc // nil where nothing runs
	ended  chan error
}

// Start runs the adapter and waits until it stands still.
func (r *Runner) Start(a channels.Adapter, sink channels.Sink) {
	r.Go(func(ctx context.Context) error { return a.Run(ctx, sink) })
}

// Go is Start for what else runs until its context ends.
func (r *Runner) Go(run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	r.cancel, r.ended = cancel, ended
	go func() { ended <- run(ctx) }()
	synctest.Wait()
}

// Cancel ends the context of Run without waiting for it; Stop does.
func (r *Runner) Cancel() { r.cancel() }

// Stop ends Run and returns what it returned; nil where nothing runs.
func (r *Runner) Stop() error {
	if r.cancel == nil {
		return nil
	}
	r.cancel()
	return r.Result()
}

// Result waits until Run ends by itself, and returns what it returned.
func (r *Runner) Result() error {
	err := <-r.ended
	r.cancel()
	r.cancel = nil
	return err
}

// Over is Result where Run has ended by itself.
func (r *Runner) Over() (err error, over bool) {
	if len(r.ended) == 0 {
		return nil, false
	}
	return r.Result(), true
}

// Sink keeps what it is handed, each message once by its identity, as the store does.
type Sink struct {
	// Copies keeps the copies too.
	Copies bool

	mu       sync.Mutex
	refuse   func(core.Message) error
	press    func(context.Context, channels.Press) (channels.PressOutcome, error)
	messages []core.Message
	presses  []channels.Press
	handed   int
}

// Refuse decides each message before it is kept; nil refuses none.
func (s *Sink) Refuse(f func(core.Message) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = f
}

// OnPress answers presses.
func (s *Sink) OnPress(f func(context.Context, channels.Press) (channels.PressOutcome, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.press = f
}

// Message keeps a message.
func (s *Sink) Message(_ context.Context, m core.Message) error {
	s.mu.Lock()
	refuse := s.refuse
	s.mu.Unlock()
	if refuse != nil {
		if err := refuse(m); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handed++
	if s.Copies || !slices.ContainsFunc(s.messages, func(old core.Message) bool { return old.ID == m.ID && old.Conversation == m.Conversation }) {
		s.messages = append(s.messages, m)
	}
	return nil
}

// Press keeps a press.
func (s *Sink) Press(ctx context.Context, p channels.Press) (channels.PressOutcome, error) {
	s.mu.Lock()
	s.presses = append(s.presses, p)
	press := s.press
	s.mu.Unlock()
	if press != nil {
		return press(ctx, p)
	}
	return channels.PressOutcome{}, nil
}

// Got lists the messages that are kept.
func (s *Sink) Got() []core.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages)
}

// Handed counts the messages that were taken, with copies.
func (s *Sink) Handed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handed
}

// Pressed lists the presses.
func (s *Sink) Pressed() []channels.Press {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.presses)
}

// Knows reports whether a message of the conversation is kept.
func (s *Sink) Knows(_ context.Context, c core.ConversationID) (bool, error) {
	return slices.ContainsFunc(s.Got(), func(m core.Message) bool { return m.Conversation == c }), nil
}

// Texts joins what was said with "|".
func (s *Sink) Texts() string {
	var out []string
	for _, m := range s.Got() {
		out = append(out, m.Text)
	}
	return strings.Join(out, "|")
}

// Only is the one message that is kept; the test fails where there is another number of them.
func (s *Sink) Only(t testing.TB) core.Message {
	t.Helper()
	got := s.Got()
	if len(got) != 1 {
		t.Fatalf("the sink has %d messages, want 1: %+v", len(got), got)
	}
	return got[0]
}

// Log keeps what is logged, from debug on.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Logger writes into it.
func (l *Log) Logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Write appends.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String is all of it.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// SendError fails the test unless err is a *channels.SendError.
func SendError(t testing.TB, err error) *channels.SendError {
	t.Helper()
	var e *channels.SendError
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want a *channels.SendError", err, err)
	}
	return e
}

// Printed is a value in every form in which it is printed or sent on, with all that an error wraps.
func Printed(v any) string {
	s := fmt.Sprintf("%v %+v %#v %s %q", v, v, v, v, v)
	if raw, err := json.Marshal(v); err == nil {
		s += string(raw)
	}
	if err, ok := v.(error); ok {
		for err = errors.Unwrap(err); err != nil; err = errors.Unwrap(err) {
			s += fmt.Sprintf(" %v %+v %#v", err, err, err)
		}
	}
	return s
}

// Leak is the first of the secrets that s holds, as it is or as part of an address; "" for none.
func Leak(s string, secrets ...string) string {
	for _, secret := range secrets {
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
			if strings.Contains(s, form) {
				return secret
			}
		}
	}
	return ""
}

// FileFails fails the test unless a file is refused with that error, nil for any, and those words, in time and
// without a secret in what is said or logged.
func FileFails(t testing.TB, r channels.FileReader, m core.Message, want error, says string, log *Log, secrets ...string) {
	t.Helper()
	began := time.Now()
	got, err := r.ReadFile(context.Background(), m, m.Files[0])
	if err == nil || got != nil || want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), says) {
		t.Errorf("%d bytes, %v, want %v that says %q", len(got), err, want, says)
	}
	if d := time.Since(began); d > channels.FileTimeout {
		t.Errorf("it took %v", d)
	}
	if s := Leak(Printed(err)+log.String(), secrets...); s != "" {
		t.Errorf("%s is told: %v", s, err)
	}
}
