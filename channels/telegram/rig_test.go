package telegram

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/telegram/telegramtest"
	"parley/core"
	"parley/render"
)

var updateGolden = flag.Bool("update", false, "write the golden files anew")

var (
	ana  = telegramtest.User{ID: 42, Username: "ana", Lang: "de"}
	ben  = telegramtest.User{ID: 43, Username: "ben"}
	dm   = telegramtest.Where{Chat: 42}
	bens = telegramtest.Where{Chat: 43}
)

// rig is an adapter at work against a Bot API server inside the process.
type rig struct {
	t    *testing.T
	srv  *telegramtest.Server
	a    *Adapter
	sink *sink
	log  *logBuffer

	cancel context.CancelFunc
	ended  chan error
}

type rigOption func(*telegramtest.Config, *Config)

func hearsAll(s *telegramtest.Config, _ *Config) { s.HearsAll = true }

// newRig makes both ends. It belongs into a synctest bubble.
func newRig(t *testing.T, options ...rigOption) *rig {
	t.Helper()
	r := &rig{t: t, sink: &sink{}, log: &logBuffer{}}
	sc := telegramtest.Config{}
	cfg := Config{
		Name: "tg", Agent: "ops", APIURL: "http://api.test", PublicURL: "https://bot.test",
		Log: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, o := range options {
		o(&sc, &cfg)
	}
	sc.HookClient = &http.Client{Transport: hookTransport{r}}
	r.srv = telegramtest.New(sc)
	cfg.Token = r.srv.Token()
	cfg.Client = &http.Client{Transport: telegramtest.Through(r.srv)}
	r.a = mustNew(t, cfg)
	r.srv.Private(ana)
	r.srv.Private(ben)
	t.Cleanup(func() { r.stop(); r.srv.Close() })
	return r
}

// hookTransport leads webhook requests to whichever adapter the rig has now.
type hookTransport struct{ r *rig }

func (h hookTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	return telegramtest.Through(h.r.a.Handler()).RoundTrip(req)
}

func mustNew(t *testing.T, cfg Config) *Adapter {
	t.Helper()
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// start runs the adapter and waits until it stands still.
func (r *rig) start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.ended = cancel, make(chan error, 1)
	ended := r.ended
	go func() { ended <- r.a.Run(ctx, r.sink) }()
	synctest.Wait()
}

// stop ends Run and returns what it returned.
func (r *rig) stop() error {
	if r.cancel == nil {
		return nil
	}
	r.cancel()
	r.cancel = nil
	return <-r.ended
}

// after lets time pass and everything settle.
func after(d time.Duration) {
	t := time.NewTimer(d)
	<-t.C
	synctest.Wait()
}

// bubble runs f in virtual time.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

// send sends a text and fails the test where that fails.
func (r *rig) send(at telegramtest.Where, part render.Part) channels.Sent {
	r.t.Helper()
	sent, err := r.a.Send(context.Background(), to(at), part)
	if err != nil {
		r.t.Fatalf("Send: %v", err)
	}
	return sent
}

func to(at telegramtest.Where) channels.Target {
	return channels.Target{Place: placeOf(at.Chat, at.Topic)}
}

func conversation(at telegramtest.Where) core.ConversationID {
	return core.NewConversation("ops", "tg", placeOf(at.Chat, at.Topic))
}

// sink keeps what it is handed. Refuse, if set, decides each message before it is kept.
type sink struct {
	mu       sync.Mutex
	refuse   func(core.Message) error
	press    func(channels.Press) (channels.PressOutcome, error)
	messages []core.Message
	presses  []channels.Press
}

func (s *sink) Message(_ context.Context, m core.Message) error {
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
	s.messages = append(s.messages, m)
	return nil
}

func (s *sink) Press(_ context.Context, p channels.Press) (channels.PressOutcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.presses = append(s.presses, p)
	if s.press != nil {
		return s.press(p)
	}
	return channels.PressOutcome{}, nil
}

func (s *sink) setRefuse(f func(core.Message) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = f
}

func (s *sink) setPress(f func(channels.Press) (channels.PressOutcome, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.press = f
}

func (s *sink) got() []core.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]core.Message(nil), s.messages...)
}

func (s *sink) pressed() []channels.Press {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]channels.Press(nil), s.presses...)
}

// texts joins what was said, for comparing.
func (s *sink) texts() string {
	var out []string
	for _, m := range s.got() {
		out = append(out, m.Text)
	}
	return strings.Join(out, "|")
}

// only is the one message that was handed in.
func (r *rig) only() core.Message {
	r.t.Helper()
	got := r.sink.got()
	if len(got) != 1 {
		r.t.Fatalf("the sink has %d messages, want 1: %+v", len(got), got)
	}
	return got[0]
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// sendErr asserts that err is a *channels.SendError.
func sendErr(t *testing.T, err error) *channels.SendError {
	t.Helper()
	var e *channels.SendError
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want a *channels.SendError", err, err)
	}
	return e
}

// part is a part of text alone.
func part(text string) render.Part { return render.Part{Text: text} }
