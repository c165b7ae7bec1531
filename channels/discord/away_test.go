package discord

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels/discord/discordtest"
	"parley/core"
)

// What is said while the program is away is heard when it is back, as it would have been live: in a channel, in
// threads, also one that was archived meanwhile, and in a direct chat.
func TestAway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newAway(t)
		old, quiet := a.srv.Thread(a.room, true), a.srv.Channel(a.guild)
		a.chats = append(a.chats, old)
		a.srv.Say(ana, a.room, "<@4242> one")
		a.srv.Say(ana, a.thread, "in the thread")
		a.srv.Say(ana, old, "in the old thread")
		a.srv.Say(ana, a.dm, "direct")
		a.srv.Say(discordtest.User{ID: 9, Name: "b", Bot: true}, a.room, "<@4242> a bot")
		a.srv.Say(ana, a.room, "<@4242> a webhook", discordtest.Field("webhook_id", "77"))
		edited := a.srv.Say(ana, a.room, "<@4242> hmm")
		a.srv.Edit(a.room, edited, "<@4242> drop it")
		a.srv.Say(ben, a.room, "<@4242> two")
		a.srv.Archive(old, false)
		a.back()
		a.heard(a.room, "one", "two")
		a.heard(a.thread, "in the thread")
		a.heard(old, "in the old thread")
		a.heard(a.dm, "direct")
		for _, m := range a.sink.Got() {
			if !m.Addressed && !m.Thread || m.Shared != (m.Conversation != conversation(a.dm)) || m.Order == 0 || m.SentAt.IsZero() {
				t.Errorf("%+v", m)
			}
		}
		if n := a.asked(quiet); n != 0 {
			t.Errorf("%d pages of a channel where nothing was said", n)
		}
		// Killed at once: all of it is fetched again, and is known. After a while it is not.
		a.kill()
		a.back()
		after(5 * time.Minute)
		a.kill()
		n, handed := a.asked(0), a.sink.Handed()
		a.back()
		a.heard(a.room, "one", "two")
		if a.asked(0) != n || a.sink.Handed() != handed {
			t.Errorf("%d more pages, %d more messages though nothing was said", a.asked(0)-n, a.sink.Handed()-handed)
		}
	})
}

// A stop in peace stores how far the bot has heard.
func TestAwayAfterAStop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newAwayFirst(t)
		a.start()
		before := a.book.mark(t)
		after(50 * time.Second)
		id := a.say("hello")
		if err := a.Stop(); err != nil || a.book.mark(t) <= before || a.book.mark(t) >= snowflake(id) {
			t.Errorf("%v, the mark is %s after %s, the message is %s", err, a.book.mark(t), before, id)
		}
		a.srv.Say(ana, a.dm, "direct")
		a.back()
		a.heard(a.dm, "direct")
	})
}

// A bot that was never heard of fetches nothing old; from its first session on it misses nothing.
func TestAwayFirstStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newAwayFirst(t)
		a.srv.Say(ana, a.room, "<@4242> before its time")
		a.srv.Say(ana, a.dm, "before its time")
		after(time.Second)
		a.start()
		a.srv.Say(ana, a.dm, "live")
		after(time.Second)
		a.kill()
		a.srv.Say(ana, a.room, "<@4242> one")
		a.back()
		a.heard(a.room, "one")
		a.heard(a.dm, "live")
	})
}

// More than a page: in order, and what comes live stands behind.
func TestAwayManyPages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newAway(t)
		var want []string
		for i := range 230 {
			want = append(want, fmt.Sprintf("n%d", i))
			a.srv.Say(ana, a.room, "<@4242> "+want[i])
		}
		a.sink.Refuse(func(m core.Message) error {
			if m.Text == "n120" {
				a.srv.Say(ana, a.room, "<@4242> live")
			}
			return nil
		})
		a.back()
		a.heard(a.room, append(want, "live")...)
		if n := a.asked(a.room); n != 3 {
			t.Errorf("%d pages", n)
		}
	})
}

// Older than the bound is left alone, save where an input waits.
func TestAwayTooOld(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newAway(t)
		prompt := a.srv.Say(a.srv.Bot(), a.thread, "Deploy?")
		a.waiting = []discordtest.ID{a.thread}
		a.inputs = []core.Input{{Prompts: []core.Prompt{{Conversation: conversation(a.thread), Order: uint64(prompt)}}}}
		for _, at := range []discordtest.ID{a.room, a.dm, a.thread} {
			a.srv.Say(ana, at, "<@4242> old")
		}
		after(maxAge - time.Minute)
		for _, at := range []discordtest.ID{a.room, a.dm, a.thread} {
			a.srv.Say(ana, at, "<@4242> new")
		}
		after(2 * time.Minute)
		a.back()
		a.heard(a.room, "new")
		a.heard(a.dm, "new")
		a.heard(a.thread, "old", "new")
	})
}

// A place that does not let the bot read is skipped with one line, and not asked again.
func TestAwayForbidden(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newAway(t)
		closed, gone := a.srv.Channel(a.guild), a.srv.DM(ben)
		a.chats = append(a.chats, gone)
		a.srv.Say(ana, closed, "<@4242> unread")
		a.srv.Say(ana, a.room, "<@4242> read")
		a.srv.Deny(closed, 50001)
		a.srv.Remove(gone)
		a.back()
		a.heard(a.room, "read")
		a.heard(closed)
		for _, at := range []discordtest.ID{closed, gone} {
			if n := strings.Count(a.log.String(), "at="+at.String()); n != 1 {
				t.Errorf("%d lines about %s\n%s", n, at, a.log)
			}
		}
		after(5 * time.Minute)
		if n := a.asked(closed); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

// Killed in the middle of catching up the program begins again where it began; each message is handed in.
func TestAwayKilledAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newAway(t)
		var want []string
		for i := range 130 {
			want = append(want, fmt.Sprintf("n%d", i))
			a.srv.Say(ana, a.room, "<@4242> "+want[i])
		}
		a.srv.Say(ana, a.dm, "direct")
		mark := a.book.mark(t)
		for _, last := range []string{"n0", "n50", "n120"} {
			a.sink.Refuse(func(m core.Message) error {
				if m.Text == last {
					a.Cancel()
					return context.Canceled
				}
				return nil
			})
			a.a = mustNew(t, a.cfg)
			a.start()
			a.sink.Refuse(nil)
			if err := a.Stop(); err != nil || a.book.mark(t) != mark {
				t.Fatalf("%v; the mark went from %s to %s", err, mark, a.book.mark(t))
			}
		}
		a.back()
		a.heard(a.room, want...)
		a.heard(a.dm, "direct")
	})
}

// The mark never passes a message that is not stored yet, whatever is stored elsewhere meanwhile.
func TestAwayHeldBack(t *testing.T) {
	for _, name := range []string{"fetched", "live"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a := newAway(t)
				stuck := make(chan struct{})
				a.sink.Refuse(func(m core.Message) error {
					if m.Text == "slow" {
						<-stuck
						return context.Canceled
					}
					return nil
				})
				if name == "live" {
					a.back()
				}
				slow := a.srv.Say(ana, a.room, "<@4242> slow")
				if name == "fetched" {
					a.back()
				}
				for range 10 {
					a.srv.Say(ana, a.dm, "direct")
					after(time.Minute)
				}
				if at := a.book.mark(t); at >= snowflake(slow) {
					t.Errorf("the mark is at %s, %s is not stored", at, slow)
				}
				a.book.set(func(n *notebook) { n.shut = true }) // as the kill does
				a.Cancel()
				close(stuck)
				a.kill()
				a.sink.Refuse(nil)
				a.back()
				a.heard(a.room, "slow")
			})
		})
	}
}

// Pages that cannot be had hold up no conversation for long, and are fetched later; till then the mark stays.
func TestAwayBrokenForAWhile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newAway(t)
		rooms := []discordtest.ID{a.room}
		for range 40 {
			rooms = append(rooms, a.srv.Channel(a.guild))
		}
		for _, at := range rooms {
			a.srv.Say(ana, at, "<@4242> missed")
		}
		mark := a.book.mark(t)
		a.srv.Fail(discordtest.RouteHistory, discordtest.Fault{Status: 500, Times: 10000})
		a.back()
		for _, at := range rooms {
			a.srv.Say(ana, at, "<@4242> live")
			synctest.Wait()
			a.heard(at, "live")
		}
		after(5 * time.Minute)
		if a.book.mark(t) != mark {
			t.Errorf("the mark went from %s to %s", mark, a.book.mark(t))
		}
		a.srv.Mend()
		after(2 * time.Minute)
		for _, at := range rooms {
			a.heard(at, "live", "missed")
			if n := strings.Count(a.log.String(), "tried again\" channel=guild at="+at.String()); n != 1 {
				t.Errorf("%d lines about %s\n%s", n, at, a.log)
			}
		}
		after(5 * time.Minute)
		if a.book.mark(t) <= mark {
			t.Error("the mark stays")
		}
	})
}

// A chat that nobody knew of is fetched when something comes live there, before that.
func TestAwayUnknownChat(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newAway(t)
		dm := a.srv.DM(ben)
		a.srv.Say(ben, dm, "first")
		a.back()
		a.heard(dm)
		a.srv.Say(ben, dm, "second")
		a.srv.Say(ben, dm, "third")
		synctest.Wait()
		a.heard(dm, "first", "second", "third")
		if n := a.asked(dm); n != 1 {
			t.Errorf("%d pages", n)
		}
	})
}

// A server that is away itself is fetched once it is back; a start before that begins where this one did.
func TestAwayOutage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newAway(t)
		a.srv.Outage(a.guild, true)
		a.srv.Say(ana, a.room, "<@4242> one")
		a.srv.Say(ana, a.dm, "direct")
		a.chats = []discordtest.ID{a.dm}
		a.back()
		a.heard(a.dm, "direct")
		a.heard(a.room)
		mark := a.book.mark(t)
		after(10 * time.Minute)
		if a.book.mark(t) != mark {
			t.Errorf("the mark went from %s to %s", mark, a.book.mark(t))
		}
		a.srv.Outage(a.guild, false)
		synctest.Wait()
		a.heard(a.room, "one")
		// Within a session as well.
		a.srv.Outage(a.guild, true)
		a.srv.Say(ana, a.room, "<@4242> two", discordtest.Unheard())
		a.srv.Outage(a.guild, false)
		synctest.Wait()
		a.heard(a.room, "one", "two")
	})
}

// A server that the bot has left, or has come to, holds nothing up and is not read.
func TestAwayOtherServers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newAway(t)
		guild := a.srv.Guild()
		room := a.srv.Channel(guild)
		a.srv.Leave(guild)
		a.srv.Say(ana, room, "<@4242> before it came")
		a.srv.Outage(a.guild, true)
		a.chats = nil
		a.back()
		mark := a.book.mark(t)
		a.srv.Leave(a.guild)
		a.srv.Join(guild)
		a.srv.Say(ana, room, "<@4242> welcome")
		after(5 * time.Minute)
		a.heard(room, "welcome")
		if n := a.asked(room); n != 0 {
			t.Errorf("%d pages", n)
		}
		if a.book.mark(t) <= mark {
			t.Error("the mark stays")
		}
	})
}

// Limits are kept: a long one is waited out beside the conversation, one of all calls by all channels.
func TestAwayLimited(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newAway(t)
		other := a.srv.Channel(a.guild)
		a.srv.Say(ana, a.room, "<@4242> missed")
		a.srv.Say(ana, other, "<@4242> missed")
		a.srv.Fail(discordtest.RouteHistory, discordtest.Fault{Status: 429, RetryAfter: 600, Global: true, Times: 100})
		a.back()
		a.say("live")
		a.heard(a.room, "live")
		after(9 * time.Minute)
		if n := a.asked(0); n > atOnce { // those that were under way when the first was refused
			t.Errorf("%d pages were asked for", n)
		}
		a.srv.Mend()
		after(3 * time.Minute)
		a.heard(a.room, "live", "missed")
		a.heard(other, "missed")
	})
}

// What was deleted, or may not be read, is not there: the log says so.
func TestAwayDeleted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newAway(t)
		a.srv.Delete(a.room, a.srv.Say(ana, a.room, "<@4242> never mind"))
		a.back()
		a.heard(a.room)
		a.logged("may not Read Message History")
	})
}

// Of very many channels the newest are looked at.
func TestAwayManyPlaces(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newAway(t)
		var rooms []discordtest.ID
		for range maxPlaces + 3 {
			room := a.srv.Channel(a.guild)
			a.srv.Say(ana, room, "<@4242> hi")
			rooms = append(rooms, room)
		}
		a.back()
		a.heard(rooms[2])
		a.heard(rooms[3], "hi")
		a.heard(rooms[len(rooms)-1], "hi")
		if n := strings.Count(a.log.String(), "only the newest channels"); n != 1 {
			t.Errorf("%d lines\n%s", n, a.log)
		}
		a.srv.Say(ana, rooms[2], "<@4242> anybody?")
		synctest.Wait()
		a.heard(rooms[2], "hi", "anybody?")
	})
}

// A store that does not say how far the bot has heard fails the start, which is made again; one that does not take
// it costs nothing but a line. What cannot be read is nothing.
func TestAwayStoreFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newAway(t)
		a.srv.Say(ana, a.room, "<@4242> one")
		a.book.set(func(n *notebook) { n.err = errors.New("disk full") })
		a.a = mustNew(t, a.cfg)
		a.start()
		if err, over := a.Over(); !over || err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Fatalf("Run: %v, %t", err, over)
		}
		a.book.set(func(n *notebook) { n.err = nil })
		a.back()
		a.heard(a.room, "one")
		a.book.set(func(n *notebook) { n.err = errors.New("disk full") })
		after(5 * time.Minute)
		a.logged("more is fetched after the next start")
		a.kill()
		a.book.set(func(n *notebook) { n.err, n.m[keptName("guild")] = nil, []byte("[") })
		a.srv.Say(ana, a.room, "<@4242> two")
		a.back()
		a.logged("cannot be read")
		a.heard(a.room, "one")
	})
}
