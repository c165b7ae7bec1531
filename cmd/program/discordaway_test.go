package program

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"parley/channels/discord/discordtest"
	"parley/core"
	"parley/store/bolt"
)

// awayStage is a Discord whose program has run and was stopped: what is said now is said to nobody.
type awayStage struct {
	*stage
	srv              *discordtest.Server
	room, thread, dm discordtest.ID
}

func newAwayStage(t *testing.T) *awayStage {
	t.Helper()
	p := newDiscord(t)
	a := &awayStage{srv: p.srv, room: p.room, thread: p.srv.Thread(p.room, true), dm: p.srv.DM(discordUsers["ana"])}
	a.stage = newStage(t, p)
	p.live()
	for _, at := range []discordtest.ID{a.room, a.thread, a.dm} {
		a.tell("ana", at, "hello")
		a.answered(at, "Hello!", 1)
	}
	if code := a.serve.end(syscall.SIGTERM); code != exitDone {
		t.Errorf("exit code %d\n%s", code, a.serve.story())
	}
	return a
}

// tell says something that means the bot.
func (a *awayStage) tell(who string, at discordtest.ID, text string) {
	if at == a.room {
		text = "<@" + discordtest.BotID.String() + "> " + text
	}
	a.srv.Say(discordUsers[who], at, text)
}

// answered waits until the bot said something so often in a channel.
func (a *awayStage) answered(at discordtest.ID, text string, times int) {
	a.t.Helper()
	a.wait(fmt.Sprintf("%q %d times", text, times), func() bool { return a.count(at, text) >= times })
	if n := a.count(at, text); n != times {
		a.t.Errorf("%q is said %d times, want %d", text, n, times)
	}
}

func (a *awayStage) count(at discordtest.ID, text string) (n int) {
	for _, m := range a.srv.Sent(at) {
		if strings.Contains(unmarked.Replace(m.Content), text) {
			n++
		}
	}
	return n
}

// turns counts the turns that began. The program has ended.
func (a *awayStage) turns() (n int) {
	a.t.Helper()
	s, err := bolt.Open(a.store, bolt.Options{})
	must(a.t, err)
	events, err := s.Events(a.t.Context(), "", 0, 100000)
	must(a.t, err)
	for _, e := range events {
		if e.Type == core.EventRunStarted {
			n++
		}
	}
	must(a.t, s.Close())
	return n
}

// TestDiscordAway: what is said in a channel, in a thread and in a direct chat while the program is down is answered
// once it is up, each once, over a kill: a mention starts a turn, an answer answers. Others' words start nothing.
func TestDiscordAway(t *testing.T) {
	t.Parallel()
	a := newAwayStage(t)
	closed := a.srv.Channel(a.srv.Guild())
	a.tell("ana", a.room, "thanks")
	a.tell("mallory", a.room, "hello")
	a.srv.Say(discordUsers["ana"], a.room, "hello everybody")
	a.srv.Say(discordtest.User{ID: 9, Name: "b", Bot: true}, a.room, "<@"+discordtest.BotID.String()+"> thanks")
	a.srv.Say(discordUsers["ana"], closed, "<@"+discordtest.BotID.String()+"> thanks")
	a.srv.Deny(closed, 50001)
	a.tell("ana", a.thread, "thanks")
	a.tell("ana", a.dm, deleteIt)
	a.start()
	a.answered(a.room, "You are welcome.", 1)
	a.answered(a.room, "Hello!", 2)
	a.answered(a.thread, "You are welcome.", 1)
	a.answered(a.dm, dropPrompt, 1)
	before := len(a.srv.Sent(a.dm))
	a.tell("ana", a.dm, "/status") // what answers it has the receipt of the prompt behind it
	a.wait("the status is told", func() bool { return len(a.srv.Sent(a.dm)) > before })
	a.serve.kill()
	if n := strings.Count(a.serve.story(), "at="+closed.String()); n != 1 {
		t.Errorf("%d lines about the closed channel\n%s", n, a.serve.story())
	}

	a.tell("ana", a.dm, "yes")
	a.tell("ana", a.room, "goodbye")
	a.start()
	a.answered(a.dm, "Done: the database staging is gone.", 1)
	a.answered(a.room, "Goodbye.", 1)
	a.done(1)
	if n := a.turns(); n != 3+4+1 {
		t.Errorf("%d turns began\n%s", n, a.serve.story())
	}
}

// TestDiscordAwayKilledAgain kills the program in the middle of catching up, with the same being said live: no
// message is lost, none starts two turns.
func TestDiscordAwayKilledAgain(t *testing.T) {
	t.Parallel()
	a := newAwayStage(t)
	const n = 110 // more than a page
	for range n {
		a.tell("ana", a.dm, "thanks")
	}
	for kills := range 3 {
		a.start()
		want := 10 * (kills + 1)
		a.wait("some are answered", func() bool { return a.count(a.dm, "You are welcome.") >= want })
		a.serve.kill()
	}
	a.tell("ana", a.room, "thanks")
	a.start()
	a.wait("the program is there", func() bool { return a.srv.Live() > 0 })
	a.tell("ana", a.dm, "goodbye")
	a.tell("ana", a.room, "goodbye")
	a.wait("all is answered", func() bool {
		return a.count(a.dm, "Goodbye.") == 1 && a.count(a.room, "Goodbye.") == 1 && a.count(a.room, "You are welcome.") == 1
	})
	a.answered(a.dm, "You are welcome.", n)
	a.done(0)
	if got := a.turns(); got != 3+n+3 {
		t.Errorf("%d turns began for %d messages\n%s", got, 3+n+3, a.serve.story())
	}
}
