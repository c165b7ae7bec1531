package slack

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/channeltest/faketest"
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
	sink *channeltest.Sink
	log  *channeltest.Log

	channeltest.Runner
	done func()
}

// Short names for what every platform's tests share.
var (
	bubble  = channeltest.Bubble
	after   = channeltest.After
	sendErr = channeltest.SendError
	printed = channeltest.Printed
)

type rigOption func(*slacktest.Config, *Config)

// byHTTP has events come by requests instead of a socket.
func byHTTP(s *slacktest.Config, c *Config) {
	s.EventsURL, c.AppToken = "http://bot.test/channels/work", ""
}

// newRig makes both ends. It belongs into a synctest bubble.
func newRig(t *testing.T, options ...rigOption) *rig {
	t.Helper()
	r := &rig{t: t, sink: &channeltest.Sink{}, log: &channeltest.Log{}}
	sc := slacktest.Config{}
	r.cfg = Config{
		Name: "work", Agent: "ops", BotToken: slacktest.DefaultBotToken, AppToken: slacktest.DefaultAppToken, SigningSecret: slacktest.DefaultSecret,
		Log: r.log.Logger(),
	}
	for _, o := range options {
		o(&sc, &r.cfg)
	}
	sc.EventsClient, r.done = faketest.InProcess(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { r.a.Handler().ServeHTTP(w, req) }))
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
	r.Stop()
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
func (r *rig) start() { r.Start(r.a, r.sink) }

// restart is a new process: an adapter that remembers nothing.
func (r *rig) restart() {
	r.t.Helper()
	if err := r.Stop(); err != nil {
		r.t.Fatal(err)
	}
	r.a = mustNew(r.t, r.cfg)
	r.start()
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
