package discord

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels/discord/discordtest"
	"parley/core"
)

// TR-02: what was said in the gap is fetched, in order, before what comes live; own messages, bots and edited ones
// among it are no answers.
func TestBackfillAfterAGap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.waiting = []discordtest.ID{r.room}
		r.start()
		r.say("before")
		r.srv.Invalidate(false)
		synctest.Wait()
		for i := range 230 {
			r.srv.Say(ana, r.room, fmt.Sprintf("n%d", i))
		}
		r.srv.Say(discordtest.User{ID: 9, Name: "b", Bot: true}, r.room, "yes")
		edited := r.srv.Say(ana, r.room, "hmm")
		r.srv.Edit(r.room, edited, "yes")
		after(time.Minute)
		r.ready()
		r.say("after")
		got := r.sink.Got()
		if len(got) != 232 || got[0].Text != "before" || got[231].Text != "after" {
			t.Fatalf("%d messages: %s\n%s", len(got), r.sink.Texts(), r.log)
		}
		for i, m := range got[1:231] {
			if m.Text != fmt.Sprintf("n%d", i) || !m.Shared || m.Addressed || m.Order == 0 || m.Conversation != conversation(r.room) {
				t.Fatalf("%d: %+v", i, m)
			}
		}
	})
}

// A start is a gap too: what was said since the prompt is fetched, though this process has heard nothing.
func TestBackfillAfterAStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.srv.Say(ana, r.dm, "long ago")
		prompt := r.send(r.dm, part("Deploy?"))
		r.srv.Say(ana, r.dm, "yes")
		r.waiting = []discordtest.ID{r.dm, r.room}
		r.inputs = []core.Input{{ID: "i1", Prompts: []core.Prompt{
			{Conversation: conversation(r.dm), Order: prompt.Order, Messages: []string{prompt.Message}}, {Conversation: "ops|other|1", Order: 1},
		}}}
		r.start()
		if m := r.sink.Only(t); m.Text != "yes" || m.Shared || !m.Addressed {
			t.Errorf("%+v", m)
		}
		if n := len(r.srv.Calls(discordtest.RouteHistory)); n != 1 {
			t.Errorf("%d pages were asked for", n)
		}
	})
}

// A gap that cannot be fetched is reported; one that can at the second try is not.
func TestBackfillFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.waiting = []discordtest.ID{r.dm}
		r.start()
		r.srv.Say(ana, r.dm, "before")
		synctest.Wait()
		r.srv.Fail(discordtest.RouteHistory, discordtest.Fault{Status: 500}, discordtest.Fault{Status: 429, RetryAfter: 2})
		r.srv.Invalidate(false)
		synctest.Wait()
		r.srv.Say(ana, r.dm, "one")
		after(time.Minute)
		if got := r.sink.Texts(); got != "before|one" || strings.Contains(r.log.String(), "may be missed") {
			t.Errorf("heard %q\n%s", got, r.log)
		}
		r.srv.Fail(discordtest.RouteHistory, discordtest.Fault{Status: 403, Code: 50001})
		r.srv.Invalidate(false)
		synctest.Wait()
		r.srv.Say(ana, r.dm, "two")
		after(time.Minute)
		r.logged("may be missed")
		r.srv.Say(ana, r.dm, "three")
		synctest.Wait()
		if got := r.sink.Texts(); got != "before|one|three" {
			t.Errorf("heard %q", got)
		}
	})
}
