package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/slack/slacktest"
	"parley/core"
	"parley/render"
)

// The people and places of the tests.
const (
	ana = "UANA"
	ben = "UBEN"
)

var (
	dm   = slacktest.Where{Channel: "DANA"}
	bens = slacktest.Where{Channel: "DBEN"}
	ops  = slacktest.Where{Channel: "C0OPS"}
	trio = slacktest.Where{Channel: "G0TRIO"}
)

// rig is an adapter at work against a Slack inside the process.
type rig struct {
	t    *testing.T
	srv  *slacktest.Server
	a    *Adapter
	cfg  Config
	sink *sink
	log  *logBuffer

	cancel context.CancelFunc
	ended  chan error
	done   func()
}

type rigOption func(*slacktest.Config, *Config)

// byHTTP has events come by requests instead of a socket.
func byHTTP(s *slacktest.Config, c *Config) {
	s.EventsURL, c.AppToken = "http://bot.test/channels/work", ""
}

// newRig makes both ends. It belongs into a synctest bubble.
func newRig(t *testing.T, options ...rigOption) *rig {
	t.Helper()
	r := &rig{t: t, sink: &sink{}, log: &logBuffer{}}
	sc := slacktest.Config{}
	r.cfg = Config{
		Name: "work", Agent: "ops", BotToken: slacktest.DefaultBotToken, AppToken: slacktest.DefaultAppToken, SigningSecret: slacktest.DefaultSecret,
		Log: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, o := range options {
		o(&sc, &r.cfg)
	}
	sc.EventsClient, r.done = slacktest.InProcess(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { r.a.Handler().ServeHTTP(w, req) }))
	r.srv = slacktest.New(sc)
	r.cfg.APIURL, r.cfg.Client = r.srv.URL, r.srv.Client()
	r.a = mustNew(t, r.cfg)
	for _, u := range []slacktest.User{{ID: ana, Locale: "de-DE"}, {ID: ben}} {
		r.srv.AddUser(u)
		r.srv.DM(u.ID)
	}
	r.srv.Open(ops.Channel, slacktest.Public)
	r.srv.Open(trio.Channel, slacktest.Several)
	t.Cleanup(r.close)
	return r
}

func (r *rig) close() {
	r.stop()
	r.srv.Close()
	r.done()
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

// restart is a new process: an adapter that remembers nothing.
func (r *rig) restart() {
	r.t.Helper()
	if err := r.stop(); err != nil {
		r.t.Fatal(err)
	}
	r.a = mustNew(r.t, r.cfg)
	r.start()
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

// both runs f once for each way in.
func both(t *testing.T, f func(t *testing.T, how rigOption)) {
	t.Helper()
	t.Parallel()
	for name, how := range map[string]rigOption{"socket": func(*slacktest.Config, *Config) {}, "http": byHTTP} {
		t.Run(name, func(t *testing.T) { bubble(t, func(t *testing.T) { f(t, how) }) })
	}
}

// send sends a part and fails the test where that fails.
func (r *rig) send(at slacktest.Where, part render.Part) channels.Sent {
	r.t.Helper()
	sent, err := r.a.Send(context.Background(), to(at), part)
	if err != nil {
		r.t.Fatalf("Send: %v", err)
	}
	return sent
}

func to(at slacktest.Where) channels.Target {
	return channels.Target{Place: placeOf(at.Channel, at.Thread), Voice: channels.VoiceAsk}
}

func conversation(at slacktest.Where) core.ConversationID {
	return core.NewConversation("ops", "work", placeOf(at.Channel, at.Thread))
}

// thread is the place of a root's thread.
func thread(at slacktest.Where, root string) slacktest.Where {
	return slacktest.Where{Channel: at.Channel, Thread: root}
}

func who(user string) core.PersonID { return personID(slacktest.DefaultTeam, user) }

// sink keeps what it is handed, each message once by its identity as the store does. refuse, if set, decides
// each message before it is kept.
type sink struct {
	mu       sync.Mutex
	refuse   func(core.Message) error
	press    func(channels.Press) (channels.PressOutcome, error)
	messages []core.Message
	presses  []channels.Press
	handed   int // with copies
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
	s.handed++
	for _, old := range s.messages {
		if old.ID == m.ID && old.Conversation == m.Conversation {
			return nil
		}
	}
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

// knows is Config.Knows of a store that has what the sink was given.
func (s *sink) knows(_ context.Context, c core.ConversationID) (bool, error) {
	for _, m := range s.got() {
		if m.Conversation == c {
			return true, nil
		}
	}
	return false, nil
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

// buttons are the buttons of an input, labelled in capitals.
func buttons(replies ...string) (out []render.Button) {
	for _, s := range replies {
		out = append(out, render.Button{Label: strings.ToUpper(s), Input: "in0001", Reply: s})
	}
	return out
}

func raw(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
