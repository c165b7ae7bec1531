package discord

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/discord/discordtest"
	"parley/core"
	"parley/core/turn"
	"parley/render"
)

// hub runs a Hub over the rig's adapter on an engine that decides nothing.
func (r *rig) hub(turns *channeltest.Turns) {
	r.t.Helper()
	h, err := channels.NewHub(channels.Config{
		Turns: turns, Now: clock, Log: r.a.log, Channels: []channels.Channel{{Adapter: r.a, Access: channels.Access{Public: true}}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.Go(h.Run)
}

// DU-03: the process dies between the send and its receipt, and the next one sends the row again, marked as
// a copy: on Discord the prompt that stands there is the one, and it stays alone.
func TestOneLivePromptAcrossAKill(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		first := r.send(r.room, render.Part{Text: "Deploy?", Buttons: buttons("i1")})
		after(20 * time.Second)
		transport := &http.Transport{DialContext: r.srv.Dial}
		defer transport.CloseIdleConnections()
		next := mustNew(t, Config{Name: "guild", Agent: "ops", Token: r.srv.Token(), APIURL: r.srv.URL, Clock: clock, Client: &http.Client{Transport: transport}})
		again, err := next.Send(context.Background(), to(r.room), render.Part{Text: "Sent again: Deploy?", Buttons: buttons("i1")})
		if err != nil || again != first {
			t.Errorf("sent %+v, then %+v, %v", first, again, err)
		}
		if got := r.srv.Sent(r.room); len(got) != 1 || len(got[0].Buttons) != 2 {
			t.Errorf("%+v", got)
		}
	})
}

// TR-06 and RT-13 through the Hub: a send that timed out is made again and recorded once; one that cannot be
// made is recorded as such, with what to do, and the log says so too.
func TestDeliveryThroughTheHub(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		turns := channeltest.NewTurns(clock)
		closed := r.srv.Channel(r.guild)
		r.srv.Deny(closed, 50001)
		r.srv.Fail(discordtest.RouteSend, discordtest.Fault{Hang: true, Applied: true})
		r.hub(turns)
		turns.Put(core.Out{Conversation: conversation(r.room), Kind: core.OutReply, Run: "one"})
		turns.Put(core.Out{Conversation: conversation(closed), Kind: core.OutReply, Run: "two"})
		after(3 * time.Minute)
		if got := r.srv.Sent(r.room); len(got) != 1 || !strings.Contains(got[0].Content, "reply one") {
			t.Errorf("sent %+v", got)
		}
		if got := turns.Receipts(); len(got) != 1 || len(got[0].Messages) != 1 || got[0].Order == 0 {
			t.Errorf("receipts %+v", got)
		}
		f := turns.Failures()
		if len(f) == 0 || !f[len(f)-1].Permanent || !strings.Contains(f[len(f)-1].Err, "View Channel") {
			t.Errorf("failures %+v", f)
		}
		r.logged("View Channel")
	})
}

// TR-01: a gateway that falls silent is left within two heartbeats; the log and the health say so meanwhile.
func TestSilenceIsNoticed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.ready()
		r.srv.Next(discordtest.Plan{Refuse: 503})
		r.srv.Mute()
		began := time.Now()
		for r.a.Ready() == nil && time.Since(began) < time.Hour {
			after(100 * time.Millisecond)
		}
		if took := time.Since(began); took > 2*41250*time.Millisecond {
			t.Errorf("noticed after %s", took)
		}
		r.logged("stopped answering heartbeats")
		after(time.Minute)
		r.ready()
	})
}

// TR-02: the gateway asks for a reconnect, and Ana says yes in the gap: the session is resumed and the
// answer handed in once.
func TestAnswerInTheGap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.waiting = []discordtest.ID{r.dm}
		r.start()
		r.srv.Say(ana, r.dm, "deploy")
		synctest.Wait()
		r.srv.Reconnect()
		r.srv.Say(ana, r.dm, "yes")
		after(time.Minute)
		if got := r.sink.Texts(); got != "deploy|yes" {
			t.Errorf("heard %q", got)
		}
		if len(r.srv.Calls(discordtest.RouteHistory)) != 0 {
			t.Error("a resumed session has no gap to fetch")
		}
	})
}

// TR-07: Discord cannot hand a message in again, so a person whose message was not stored is told.
func TestMessageIsNotStored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		turns := channeltest.NewTurns(clock)
		r.hub(turns)
		turns.OnAccept = failingAccept
		r.srv.Say(ana, r.dm, "yes")
		after(time.Second)
		if got := r.srv.Sent(r.dm); len(got) != 1 {
			t.Errorf("told %+v", got)
		}
	})
}

// TR-10: typing is shown while the agent works.
func TestTypingWhileItWorks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		turns := channeltest.NewTurns(clock)
		turns.SetWorking(conversation(r.dm))
		r.hub(turns)
		after(10 * time.Second)
		if r.srv.Typed(r.dm) == 0 {
			t.Error("no typing")
		}
		turns.SetWorking()
		after(5 * time.Second)
		n := r.srv.Typed(r.dm)
		after(5 * time.Minute)
		if r.srv.Typed(r.dm) != n {
			t.Error("typing after the end")
		}
	})
}

func failingAccept(context.Context, core.Message) (turn.Accepted, error) {
	return turn.Accepted{}, errors.New("disk full")
}
