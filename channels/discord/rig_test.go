package discord

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"parley/channels"
	"parley/channels/channeltest"
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
	cfg  Config
	sink *channeltest.Sink
	log  *channeltest.Log

	guild, room, dm discordtest.ID
	// waiting are the channels that are said to wait for an answer, inputs their prompts, once a test starts it.
	waiting []discordtest.ID
	inputs  []core.Input

	channeltest.Runner
}

// Short names for what every platform's tests share.
var (
	bubble  = channeltest.Bubble
	after   = channeltest.After
	sendErr = channeltest.SendError
	printed = channeltest.Printed
)

type rigOption func(*discordtest.Config, *Config)

func contentOff(s *discordtest.Config, _ *Config) { s.ContentOff = true }

// newRig makes both ends, with a server, a channel and ana's direct chat. It belongs into a synctest bubble.
func newRig(t *testing.T, options ...rigOption) *rig {
	t.Helper()
	r := &rig{t: t, sink: &channeltest.Sink{Copies: true}, log: &channeltest.Log{}}
	sc := discordtest.Config{Now: clock}
	cfg := Config{
		Name: "guild", Agent: "ops", Clock: clock, Waiting: r.waits,
		Inputs: func(context.Context, core.ConversationID) ([]core.Input, error) { return r.inputs, nil },
		Log:    r.log.Logger(),
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
	r.cfg = cfg
	r.a = mustNew(t, cfg)
	r.guild = r.srv.Guild()
	r.room, r.dm = r.srv.Channel(r.guild), r.srv.DM(ana)
	t.Cleanup(func() {
		r.Stop()
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
func (r *rig) start() { r.Start(r.a, r.sink) }

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

// part is a part of text alone.
func part(text string) render.Part { return render.Part{Text: text} }

// buttons are what an approval shows.
func buttons(input string) []render.Button {
	return []render.Button{{Label: "Approve", Input: core.InputID(input), Reply: "yes"}, {Label: "Decline", Input: core.InputID(input), Reply: "no"}}
}
