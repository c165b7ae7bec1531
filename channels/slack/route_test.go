package slack

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/slack/slacktest"
	"parley/core"
)

func (r *rig) useStore() *rig { r.cfg.Knows = r.sink.Knows; r.a = mustNew(r.t, r.cfg); return r }

// A mention starts a thread, later messages in it need none, and other messages of the channel are not for us.
// RT-15: a plain yes in the thread arrives.
func TestMentionStartsAThread(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t).useStore()
		r.start()
		r.srv.Say(ana, ops, "good morning")
		root := r.srv.Say(ana, ops, slacktest.Mention("deploy"))
		r.srv.Say(ana, thread(ops, root), "yes")
		r.srv.Say(ben, ops, "yes")
		r.srv.Say(ben, thread(ops, r.srv.Say(ben, ops, "lunch?")), "yes")
		synctest.Wait()
		got := r.sink.Got()
		if r.sink.Texts() != "deploy|yes" {
			t.Fatalf("handed over %q", r.sink.Texts())
		}
		at := conversation(thread(ops, root))
		if m := got[0]; m.Conversation != at || !m.Addressed || !m.Shared || m.ID != messageID(ops.Channel, root) {
			t.Errorf("message %+v", m)
		}
		if m := got[1]; m.Conversation != at || m.Addressed || !m.Thread || !m.Shared {
			t.Errorf("message %+v", m)
		}
	})
}

// DU-24: after a restart a thread is still ours, as long as the store knows it.
func TestThreadsOutliveTheProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t).useStore()
		r.start()
		root := r.srv.Say(ana, ops, slacktest.Mention("deploy"))
		synctest.Wait()
		r.restart()
		r.srv.Say(ana, thread(ops, root), "yes")
		synctest.Wait()
		if r.sink.Texts() != "deploy|yes" {
			t.Errorf("handed over %q", r.sink.Texts())
		}
	})
}

// A store that cannot say whether a thread is ours is asked again; nothing is passed over meanwhile.
func TestThreadsWaitForTheStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		broken := 3
		r.cfg.Knows = func(context.Context, core.ConversationID) (bool, error) {
			if broken--; broken > 0 {
				return false, errors.New("locked")
			}
			return true, nil
		}
		r.a = mustNew(t, r.cfg)
		r.start()
		root := r.srv.Say(ana, ops, "old", slacktest.Silent)
		r.srv.Say(ana, thread(ops, root), "yes")
		after(time.Minute)
		if r.sink.Texts() != "yes" || r.srv.Unacked() != 0 {
			t.Errorf("handed over %q, %d left", r.sink.Texts(), r.srv.Unacked())
		}
	})
}

// RT-05: the fifth reply of an old thread mentions the bot: what follows stays in that thread.
func TestMentionInAnOldThread(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t).useStore()
		r.start()
		root := r.srv.Say(ben, ops, "the old topic")
		at := thread(ops, root)
		for range 4 {
			r.srv.Say(ben, at, "talk")
		}
		r.srv.Say(ana, at, slacktest.Mention("deploy"))
		synctest.Wait()
		m := r.sink.Only(t)
		if m.Conversation != conversation(at) || m.Text != "deploy" {
			t.Fatalf("message %+v", m)
		}
		_, _, place := m.Conversation.Parts()
		if _, err := r.a.Send(context.Background(), channels.Target{Place: place, ReplyTo: m.ID}, part("Deploy?")); err != nil {
			t.Fatal(err)
		}
		if len(r.srv.Sent(at)) != 1 || len(r.srv.Sent(ops)) != 0 {
			t.Error("the prompt is not in the thread")
		}
	})
}

// RT-06: a reply that is also sent to the channel is one message, in its thread.
func TestReplyAlsoSentToTheChannel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t).useStore()
		r.start()
		root := r.srv.Say(ana, ops, slacktest.Mention("deploy"))
		at := thread(ops, root)
		r.srv.Say(ana, at, "yes", slacktest.Field("subtype", "thread_broadcast"), slacktest.Field("root", map[string]any{"ts": root}))
		synctest.Wait()
		got := r.sink.Got()
		if r.sink.Texts() != "deploy|yes" || got[1].Conversation != conversation(at) {
			t.Errorf("handed over %+v", got)
		}
	})
}

// RT-04: the same word in the channel, another thread, a direct chat and a group chat belongs to none of them.
func TestAnswersStayWhereTheyAreSaid(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t).useStore()
		r.start()
		one := r.srv.Say(ana, ops, slacktest.Mention("one"))
		two := r.srv.Say(ana, ops, slacktest.Mention("two"))
		synctest.Wait()
		for _, at := range []slacktest.Where{ops, thread(ops, two), dm, trio} {
			r.srv.Say(ana, at, "yes")
		}
		synctest.Wait()
		seen := map[core.ConversationID]bool{}
		for _, m := range r.sink.Got()[2:] {
			seen[m.Conversation] = true
		}
		if len(seen) != 3 || seen[conversation(thread(ops, one))] || !seen[conversation(thread(ops, two))] || !seen[conversation(dm)] || !seen[conversation(trio)] {
			t.Errorf("conversations %v", seen)
		}
	})
}

// A group chat is one conversation, in which what does not mention the bot is overheard. app_mention does not
// say what kind of channel it is in.
func TestGroupChat(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t).useStore()
		r.srv.Swapped(true)
		r.start()
		r.srv.Say(ana, trio, slacktest.Mention("deploy"))
		r.srv.Say(ben, trio, "what a day")
		synctest.Wait()
		got := r.sink.Got()
		if r.sink.Texts() != "deploy|what a day" || got[0].Conversation != conversation(trio) || got[1].Conversation != conversation(trio) {
			t.Fatalf("handed over %+v", got)
		}
		if !got[0].Addressed || !got[0].Shared || got[1].Addressed || got[1].Thread {
			t.Errorf("messages %+v", got)
		}
	})
}

// What mentions the bot in a group chat arrives twice, and overtakes nothing that was said before it, however
// long that takes.
func TestGroupChatKeepsItsOrder(t *testing.T) {
	both(t, func(t *testing.T, how rigOption) {
		r := newRig(t, how)
		r.start()
		r.srv.Say(ana, trio, "morning")
		after(time.Second)
		r.sink.Refuse(func(m core.Message) error {
			if m.Text == "no" {
				<-time.After(2 * time.Second) // virtual
			}
			return nil
		})
		for _, swapped := range []bool{false, true} {
			r.srv.Swapped(swapped)
			r.srv.Say(ben, trio, slacktest.Mention("no"))
			r.srv.Say(ana, trio, slacktest.Mention("yes"))
			after(time.Minute)
		}
		if got := r.sink.Texts(); got != "morning|no|yes|no|yes" {
			t.Errorf("handed over %q", got)
		}
	})
}

// A thread that a person opens in a direct chat is a conversation of its own; one under a prompt answers that
// prompt, after a restart too.
func TestThreadsInDirectChats(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t).useStore()
		r.start()
		root := r.srv.Say(ana, dm, "deploy")
		synctest.Wait()
		r.srv.Say(ana, thread(dm, root), "aside")
		prompt := r.send(dm, part("Deploy?"))
		_, ts, _ := parseMessageID(prompt.Message)
		r.srv.Say(ana, thread(dm, ts), "yes")
		synctest.Wait()
		got := r.sink.Got()
		if len(got) != 3 || got[1].Conversation != conversation(thread(dm, root)) || !got[1].Addressed || got[1].ReplyTo != "" {
			t.Fatalf("messages %+v", got)
		}
		if m := got[2]; m.Conversation != conversation(dm) || m.ReplyTo != prompt.Message {
			t.Errorf("message %+v", m)
		}
		// The root of an assistant's thread is the bot's too, and no prompt.
		root = r.srv.Say(slacktest.BotUser, dm, "New chat", slacktest.Field("subtype", "assistant_app_thread"), slacktest.Silent)
		r.srv.Say(ana, thread(dm, root), "hello")
		synctest.Wait()
		if m := r.sink.Got()[3]; m.Conversation != conversation(thread(dm, root)) || m.ReplyTo != "" || !m.Addressed {
			t.Errorf("in an assistant's thread: message %+v", m)
		}
		r.restart()
		r.srv.Say(ana, thread(dm, ts), "yes again")
		synctest.Wait()
		if m := r.sink.Got()[4]; m.Conversation != conversation(dm) || m.ReplyTo != prompt.Message {
			t.Errorf("after a restart: message %+v", m)
		}
	})
}

// AU-05: bots, webhooks and our own messages never get through.
func TestBotsNeverAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t).useStore()
		r.start()
		root := r.srv.Say(ana, ops, slacktest.Mention("deploy"))
		at := thread(ops, root)
		r.send(at, part("Deploy? approve"))
		r.srv.Say("", at, "approve", slacktest.Field("subtype", "bot_message"), slacktest.Field("bot_id", "B1"), slacktest.Field("username", "ana"))
		r.srv.Say("UOTHERBOT", at, "approve", slacktest.Field("bot_id", "B2"))
		r.srv.Say("USLACKBOT", at, "approve")
		r.srv.Say(slacktest.BotUser, at, "approve")
		r.srv.Say("", at, "approve", slacktest.Field("subtype", "bot_message"), slacktest.Field("workflow_id", "Wf1"))
		r.srv.PressValue(slacktest.BotUser, ops.Channel, r.srv.Sent(at)[0].TS, "in0001:0:approve")
		synctest.Wait()
		if got := r.sink.Texts(); got != "deploy" || len(r.sink.Pressed()) != 0 || r.srv.Unacked() != 0 {
			t.Errorf("got through: %q, %+v", got, r.sink.Pressed())
		}
	})
}

// AU-11: neither an edit nor a deletion is an answer; reactions are none either (SU-11).
func TestEditsNeverAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		ts := r.srv.Say(ana, dm, "hmm")
		synctest.Wait()
		r.send(dm, part("Delete?"))
		r.srv.Edit(dm.Channel, ts, "yes")
		r.srv.Remove(dm.Channel, ts)
		for _, emoji := range []string{"white_check_mark", "+1"} {
			r.srv.Raw(dm.Channel, map[string]any{"type": "reaction_added", "user": ana, "reaction": emoji, "item": map[string]any{"type": "message", "channel": dm.Channel, "ts": ts}})
		}
		synctest.Wait()
		if got := r.sink.Texts(); got != "hmm" || r.srv.Unacked() != 0 {
			t.Errorf("handed over %q, %d left", got, r.srv.Unacked())
		}
	})
}

// AU-10: identity includes the workspace; people of another, guests and closed accounts are outsiders.
func TestOutsiders(t *testing.T) {
	both(t, func(t *testing.T, how rigOption) {
		r := newRig(t, how)
		r.srv.AddUser(slacktest.User{ID: "UAWAY", Team: "T0AWAY"})
		r.srv.AddUser(slacktest.User{ID: "UGUEST", Guest: true})
		r.srv.AddUser(slacktest.User{ID: "UGONE", Deleted: true})
		r.srv.AddUser(slacktest.User{ID: "UROBOT", Bot: true})
		r.start()
		var root string
		for _, user := range []string{ana, "UAWAY", "UGUEST", "UGONE", "UROBOT"} {
			root = r.srv.Say(user, ops, slacktest.Mention("hello"))
			after(time.Second)
		}
		r.send(thread(ops, root), part("Deploy?"))
		r.srv.PressValue("UAWAY", ops.Channel, r.srv.Sent(thread(ops, root))[0].TS, "in0001:0:approve")
		after(time.Second)
		want := map[core.PersonID]bool{who(ana): false, "slack:T0AWAY/UAWAY": true, who("UGUEST"): true, who("UGONE"): true, who("UROBOT"): true}
		for _, m := range r.sink.Got() {
			outside, ok := want[m.From]
			if got, err := r.a.Outsider(context.Background(), m.From); !ok || got != outside || err != nil {
				t.Errorf("%s is an outsider: %v, %v", m.From, got, err)
			}
			delete(want, m.From)
		}
		if len(want) != 0 {
			t.Errorf("not heard of: %v", want)
		}
		if p := r.sink.Pressed(); len(p) != 1 || p[0].From != "slack:T0AWAY/UAWAY" {
			t.Errorf("pressed %+v", p)
		}
	})
}

// Persons of a configuration that name no workspace are those of ours.
func TestCanonical(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		if got := r.a.Canonical("slack:UANA"); got != "slack:UANA" {
			t.Errorf("%s before the workspace is known", got)
		}
		if err := r.a.introduce(context.Background()); err != nil {
			t.Fatal(err)
		}
		for in, want := range map[core.PersonID]core.PersonID{
			"slack:UANA": who(ana), "slack:T0AWAY/UANA": "slack:T0AWAY/UANA", "telegram:42": "telegram:42", "slack:": "slack:",
		} {
			if got := r.a.Canonical(in); got != want {
				t.Errorf("%s is %s, want %s", in, got, want)
			}
		}
		if n := r.a.Names(); len(n) != 1 || n[0] != "@"+slacktest.BotUser {
			t.Errorf("names %v", n)
		}
	})
}

// Nobody waits for users.info but those who are let in only as members: then an error says to ask again.
func TestPeopleWhoCannotBeLookedUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		ctx := context.Background()
		r.srv.Fail("users.info", slacktest.Fault{Status: 500}, slacktest.Fault{Hang: true}, slacktest.Fault{Status: 429, RetryAfter: 5})
		r.start()
		r.srv.Say(ana, dm, "yes")
		after(time.Millisecond)
		if got := r.sink.Texts(); got != "yes" {
			t.Fatalf("handed over %q", got)
		}
		for range 2 {
			if outside, err := r.a.Outsider(ctx, who(ana)); err == nil || outside {
				t.Errorf("an outsider: %v, %v", outside, err)
			}
			after(2 * time.Second)
		}
		calls := len(r.srv.Calls("users.info"))
		if _, err := r.a.Outsider(ctx, who(ana)); err == nil || len(r.srv.Calls("users.info")) != calls+1 {
			t.Errorf("%v after %d calls", err, len(r.srv.Calls("users.info")))
		}
		if _, err := r.a.Outsider(ctx, who(ana)); err == nil || len(r.srv.Calls("users.info")) != calls+1 {
			t.Error("Slack asked to wait, and was asked again")
		}
		after(5 * time.Second)
		if outside, err := r.a.Outsider(ctx, who(ana)); err != nil || outside {
			t.Errorf("an outsider: %v, %v", outside, err)
		}
		r.srv.Fail("users.info", slacktest.Fault{Error: "missing_scope", Needed: "users:read"})
		if outside, err := r.a.Outsider(ctx, who(ben)); err != nil || outside || !strings.Contains(r.log.String(), "users:read") {
			t.Errorf("an outsider: %v, %v", outside, err)
		}
		if outside, err := r.a.Outsider(ctx, who("UNOBODY")); err != nil || !outside {
			t.Errorf("an outsider: %v, %v", outside, err)
		}
		// What was known goes on being believed while Slack does not answer.
		after(2 * peopleFor)
		r.srv.Fail("users.info", slacktest.Fault{Status: 500})
		if outside, err := r.a.Outsider(ctx, who(ana)); err != nil || outside {
			t.Errorf("an outsider: %v, %v", outside, err)
		}
	})
}

// A person is shown by name and id, without a mention; nobody is named of whom nothing was heard.
func TestNameOf(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.srv.AddUser(slacktest.User{ID: ana, Name: "Ana <!here> " + strings.Repeat("x", 60)})
		r.start()
		r.srv.Say(ana, dm, "hello")
		r.srv.Say(ben, bens, "hello")
		synctest.Wait()
		if got := r.a.NameOf("DANA", who(ana)); !strings.HasPrefix(got, "Ana <!here> xx") || !strings.HasSuffix(got, "… (UANA)") || len([]rune(got)) > 50 {
			t.Errorf("%q", got)
		}
		for _, p := range []core.PersonID{who(ben), who("UCLEO"), "slack:UANA", "telegram:42"} {
			if got := r.a.NameOf("DANA", p); got != "" {
				t.Errorf("%s is called %q", p, got)
			}
		}
	})
}

// A message with a file, or a forwarded one, says so and is left to the engine.
func TestMessagesWithFiles(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.srv.Say(ana, dm, "", slacktest.Field("subtype", "file_share"), slacktest.Field("files", []any{map[string]any{"name": "a.txt", "size": 3, "mimetype": "text/plain"}}))
		r.srv.Say(ana, dm, "yes", slacktest.Field("attachments", []any{map[string]any{"is_share": true}}))
		r.srv.Say(ana, dm, "", slacktest.Field("subtype", "pinned_item"))
		synctest.Wait()
		got := r.sink.Got()
		if len(got) != 2 || len(got[0].Files) != 1 || got[0].Files[0].Name != "a.txt" || !got[0].Empty() || len(got[1].Files) != 1 {
			t.Errorf("messages %+v", got)
		}
	})
}
