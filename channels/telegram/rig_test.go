package telegram

import (
	"context"
	"flag"
	"net/http"
	"testing"

	"parley/channels"
	"parley/channels/channeltest"
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
	cfg  Config
	sink *channeltest.Sink
	log  *channeltest.Log

	channeltest.Runner
}

// Short names for what every platform's tests share.
var (
	bubble  = channeltest.Bubble
	after   = channeltest.After
	sendErr = channeltest.SendError
	printed = channeltest.Printed
)

type rigOption func(*telegramtest.Config, *Config)

func hearsAll(s *telegramtest.Config, _ *Config) { s.HearsAll = true }

// newRig makes both ends. It belongs into a synctest bubble.
func newRig(t *testing.T, options ...rigOption) *rig {
	t.Helper()
	r := &rig{t: t, sink: &channeltest.Sink{Copies: true}, log: &channeltest.Log{}}
	sc := telegramtest.Config{}
	cfg := Config{
		Name: "tg", Agent: "ops", APIURL: "http://api.test", PublicURL: "https://bot.test",
		Log: r.log.Logger(),
	}
	for _, o := range options {
		o(&sc, &cfg)
	}
	sc.HookClient = &http.Client{Transport: hookTransport{r}}
	r.srv = telegramtest.New(sc)
	cfg.Token = r.srv.Token()
	cfg.Client = &http.Client{Transport: telegramtest.Through(r.srv)}
	r.cfg = cfg
	r.a = mustNew(t, cfg)
	r.srv.Private(ana)
	r.srv.Private(ben)
	t.Cleanup(func() { r.Stop(); r.srv.Close() })
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
func (r *rig) start() { r.Start(r.a, r.sink) }

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

// part is a part of text alone.
func part(text string) render.Part { return render.Part{Text: text} }
