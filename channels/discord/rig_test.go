package discord

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"parley/channels"
	"parley/channels/discord/discordtest"
	"parley/core"
	"parley/render"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ana = discordtest.User{ID: 42, Name: "ana"}
	ben = discordtest.User{ID: 43, Name: "ben"}
)

// rig is an adapter at work against a Discord inside the process.
type rig struct {
	t    *testing.T
	srv  *discordtest.Server
	a    *Adapter
	sink *sink
	log  *logBuffer

	guild, room, dm discordtest.ID
	// waiting are the channels that are said to wait for an answer, inputs their prompts, once a test starts it.
	waiting []discordtest.ID
	inputs  []core.Input

	cancel context.CancelFunc
	ended  chan error
}

type rigOption func(*discordtest.Config, *Config)

func contentOff(s *discordtest.Config, _ *Config) { s.ContentOff = true }

// newRig makes both ends, with a server, a channel and ana's direct chat. It belongs into a synctest bubble.
func newRig(t *testing.T, options ...rigOption) *rig {
	t.Helper()
	r := &rig{t: t, sink: &sink{}, log: &logBuffer{}}
	sc := discordtest.Config{Now: clock}
	cfg := Config{
		Name: "guild", Agent: "ops", Clock: clock, Waiting: r.waits,
		Inputs: func(context.Context, core.ConversationID) ([]core.Input, error) { return r.inputs, nil },
		Log:    slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, o := range options {
		o(&sc, &cfg)
	}
	r.srv = discordtest.New(sc)
	cfg.APIURL = r.srv.URL
	if cfg.Token == "" {
		cfg.Token = r.srv.Token()
	}
	transport := &http.Transport{DialContext: r.srv.Dial}
	cfg.Client, cfg.Dial = &http.Client{Transport: transport}, r.srv.Dial
	r.a = mustNew(t, cfg)
	r.guild = r.srv.Guild()
	r.room, r.dm = r.srv.Channel(r.guild), r.srv.DM(ana)
	t.Cleanup(func() {
		r.stop()
		transport.CloseIdleConnections()
		r.srv.Close()
		if c := r.srv.Complaints(); len(c) > 0 {
			t.Errorf("the server complains: %q", c)
		}
	})
	return r
}

// clock is virtual time after the epoch of snowflakes.
func clock() time.Time { return time.Now().AddDate(20, 0, 0) }

func (r *rig) waits(context.Context) (out []core.ConversationID, err error) {
	for _, id := range r.waiting {
		out = append(out, conversation(id))
	}
	return append(out, "ops|other|1", "ops|guild|no-number"), nil
}

func mustNew(t testing.TB, cfg Config) *Adapter {
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

// say lets ana speak to the bot in the channel, and waits until it is handled.
func (r *rig) say(text string, how ...discordtest.Said) discordtest.ID {
	id := r.srv.Say(ana, r.room, "<@"+discordtest.BotID.String()+"> "+text, how...)
	synctest.Wait()
	return id
}

// send sends a part and fails the test where that fails.
func (r *rig) send(at discordtest.ID, part render.Part) channels.Sent {
	r.t.Helper()
	sent, err := r.a.Send(context.Background(), to(at), part)
	if err != nil {
		r.t.Fatalf("Send: %v", err)
	}
	return sent
}

func to(at discordtest.ID) channels.Target {
	return channels.Target{Place: core.Place(at.String()), Key: "key-of-a-part"}
}

func conversation(at discordtest.ID) core.ConversationID {
	return core.NewConversation("ops", "guild", core.Place(at.String()))
}

// sink keeps what it is handed. Its functions, where set, decide first.
type sink struct {
	mu       sync.Mutex
	refuse   func(core.Message) error
	press    func(context.Context, channels.Press) (channels.PressOutcome, error)
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

func (s *sink) Press(ctx context.Context, p channels.Press) (channels.PressOutcome, error) {
	s.mu.Lock()
	s.presses = append(s.presses, p)
	press := s.press
	s.mu.Unlock()
	if press != nil {
		return press(ctx, p)
	}
	return channels.PressOutcome{}, nil
}

func (s *sink) setRefuse(f func(core.Message) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = f
}

func (s *sink) setPress(f func(context.Context, channels.Press) (channels.PressOutcome, error)) {
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
		r.t.Fatalf("the sink has %d messages, want 1: %+v\n%s", len(got), got, r.log)
	}
	return got[0]
}

// ready fails the test unless the session stands.
func (r *rig) ready() {
	r.t.Helper()
	if err := r.a.Ready(); err != nil || r.srv.Live() != 1 {
		r.t.Fatalf("not connected: %v, %d sessions\n%s", err, r.srv.Live(), r.log)
	}
}

// logged fails the test unless the log holds a text.
func (r *rig) logged(text string) {
	r.t.Helper()
	if !strings.Contains(r.log.String(), text) {
		r.t.Errorf("the log does not say %q:\n%s", text, r.log)
	}
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

// buttons are what an approval shows.
func buttons(input string) []render.Button {
	return []render.Button{{Label: "Approve", Input: core.InputID(input), Reply: "yes"}, {Label: "Decline", Input: core.InputID(input), Reply: "no"}}
}
