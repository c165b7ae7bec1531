package telegram

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/telegram/telegramtest"
	"parley/core"
	"parley/render"
)

// RT-01: what is asked in topic 36 stays there: prompt, its edit, typing and the reply.
func TestTopicStaysTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		forum := r.srv.Forum(-100600)
		topic := r.srv.Topic(ana, forum)
		r.start()
		r.srv.Say(ana, topic, "@relay_bot deploy")
		synctest.Wait()
		m := r.sink.Only(t)
		if m.Conversation != conversation(topic) || m.ReplyTo != "" || !m.Shared || !m.Addressed || m.Text != "deploy" {
			t.Fatalf("message %+v", m)
		}
		_, _, place := m.Conversation.Parts()
		sent, err := r.a.Send(context.Background(), channels.Target{Place: place, ReplyTo: m.ID}, render.Part{Text: "Deploy?", Buttons: buttons("yes")})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.a.Typing(context.Background(), channels.Target{Place: place}); err != nil {
			t.Fatal(err)
		}
		prompt := r.srv.Sent(topic)[0]
		r.srv.Say(ana, topic, "yes", telegramtest.Reply(prompt.ID))
		if _, err := r.srv.Press(ben, topic, prompt.ID, "YES"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := r.sink.Got()[1]; got.ReplyTo != sent.Message || got.Conversation != m.Conversation || !got.Addressed {
			t.Errorf("the reply %+v is not bound to %s", got, sent.Message)
		}
		if got := r.sink.Pressed()[0]; got.Conversation != m.Conversation {
			t.Errorf("pressed in %s", got.Conversation)
		}
		if err := r.a.Edit(context.Background(), channels.Target{Place: place}, sent.Message, part("Approved")); err != nil {
			t.Fatal(err)
		}
		if n := len(r.srv.Messages(forum)); n != 0 {
			t.Errorf("%d messages in General", n)
		}
		if p := r.srv.Calls("sendChatAction")[0].Params; p["message_thread_id"] == "" {
			t.Error("typing is shown in General")
		}
		r.srv.CloseTopic(topic)
		_, err = r.a.Send(context.Background(), channels.Target{Place: place}, part("done"))
		if e := sendErr(t, err); !e.Permanent {
			t.Errorf("a deleted topic: %+v", e)
		}
	})
}

// RT-03: topics of a direct chat are conversations of their own.
func TestTopicOfADirectChat(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		topic := r.srv.Topic(ana, dm)
		r.start()
		r.srv.Say(ana, topic, "deploy")
		synctest.Wait()
		m := r.sink.Only(t)
		if m.Conversation != conversation(topic) || m.Shared || !m.Addressed || m.ReplyTo != "" {
			t.Fatalf("message %+v", m)
		}
		r.send(topic, part("Deploy?"))
		if len(r.srv.Sent(topic)) != 1 || len(r.srv.Sent(dm)) != 0 {
			t.Error("the prompt is not in the topic")
		}
	})
}

// RT-07: what has no text is no answer; service messages are nothing at all.
func TestMessagesWithoutText(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		photo := []any{map[string]any{"file_id": "p", "file_size": 10}}
		for field, value := range map[string]any{
			"sticker": map[string]any{"emoji": "👍"}, "photo": photo, "voice": map[string]any{"duration": 1},
			"location": map[string]any{"latitude": 1}, "poll": map[string]any{"question": "yes"},
		} {
			r.srv.Say(ana, dm, "", telegramtest.Field(field, value))
		}
		r.srv.Say(ana, dm, "yes", telegramtest.Field("photo", photo))
		r.srv.Say(ana, dm, "", telegramtest.Field("pinned_message", map[string]any{"message_id": 1, "chat": map[string]any{"id": 42}}))
		synctest.Wait()
		got := r.sink.Got()
		if len(got) != 6 {
			t.Fatalf("%d messages, want 5 without text and one with a caption", len(got))
		}
		for i, m := range got {
			if len(m.Files) != 1 || m.Files[0].Name == "" || m.Empty() != (i < 5) {
				t.Errorf("message %+v", m)
			}
		}
	})
}

// DU-08: one message delivered three times under three update ids has one identity.
func TestDuplicateDeliveriesShareAnIdentity(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		msg := map[string]any{"message_id": 9, "date": 1764000000, "chat": map[string]any{"id": 42, "type": "private"}, "from": map[string]any{"id": 42}, "text": "yes"}
		for range 3 {
			r.srv.Raw("message", msg, 42)
			after(time.Minute)
		}
		ids := map[string]bool{}
		for _, m := range r.sink.Got() {
			ids[m.ID+string(m.Conversation)] = true
		}
		if len(r.sink.Got()) != 3 || len(ids) != 1 {
			t.Errorf("identities %v", ids)
		}
	})
}

// AU-05: bots never get through, our own messages least of all.
func TestBotsNeverAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, hearsAll)
		group := r.srv.Supergroup(-100500)
		r.start()
		sent := r.send(group, part("Delete?"))
		_, prompt, _ := parseMessageID(sent.Message)
		bot := telegramtest.User{ID: 4343, Username: "other_bot", IsBot: true}
		r.srv.Say(bot, group, "approve", telegramtest.Reply(prompt))
		r.srv.Say(ana, group, "yes", telegramtest.Reply(prompt), telegramtest.Field("via_bot", map[string]any{"id": 4343, "is_bot": true}))
		r.srv.Forward(ana, group, "yes", ben)
		r.srv.Forward(ana, dm, "yes", ana)
		r.srv.PressData(bot, group, prompt, "in0001:0:yes")
		r.srv.Raw("channel_post", map[string]any{"message_id": 1, "chat": map[string]any{"id": -100500, "type": "channel"}, "text": "yes"}, -100500)
		synctest.Wait()
		if got := r.sink.Got(); len(got) != 0 {
			t.Errorf("got through: %+v", got)
		}
		if got := r.sink.Pressed(); len(got) != 0 {
			t.Errorf("pressed: %+v", got)
		}
	})
}

// AU-06: an anonymous admin is nobody, and is told so once, whatever the configuration lists.
func TestAnonymousAdminIsRefusedWithAHint(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, hearsAll)
		group := r.srv.Supergroup(-100500)
		r.start()
		r.srv.SayAnonymously(group, "yes")
		r.srv.SayAnonymously(group, "yes!")
		synctest.Wait()
		if got := r.sink.Got(); len(got) != 0 {
			t.Errorf("got through: %+v", got)
		}
		hints := r.srv.Sent(group)
		if len(hints) != 1 || !strings.Contains(hints[0].Text, "Remain anonymous") {
			t.Fatalf("hints %+v", hints)
		}
		// As a channel it is the same; a hint that failed is given the next time.
		other := r.srv.Supergroup(-100700)
		r.srv.Fail("sendMessage", telegramtest.Fault{Status: 500})
		for range 3 {
			r.srv.Say(telegramtest.User{ID: channelBot, IsBot: true}, other, "yes", telegramtest.Field("sender_chat", map[string]any{"id": -100900, "type": "channel"}))
			synctest.Wait()
		}
		if len(r.srv.Sent(other)) != 1 || len(r.sink.Got()) != 0 {
			t.Errorf("%d hints", len(r.srv.Sent(other)))
		}
		// Their press is that of a real person.
		r.send(group, render.Part{Text: "Delete?", Buttons: buttons("yes")})
		if _, err := r.srv.Press(ana, group, r.srv.Sent(group)[1].ID, "YES"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := r.sink.Pressed(); len(got) != 1 || got[0].From != "telegram:42" {
			t.Errorf("pressed %+v", got)
		}
	})
}

// AU-11: an edit is never an answer and never anything else.
func TestEditsNeverAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		id := r.srv.Say(ana, dm, "hmm")
		synctest.Wait()
		r.send(dm, part("Delete?"))
		r.srv.Edit(dm, id, "yes")
		synctest.Wait()
		if got := r.sink.Texts(); got != "hmm" {
			t.Errorf("handed over %q", got)
		}
		if p := r.srv.Pending(); len(p) != 0 {
			t.Errorf("updates %v are not confirmed", p)
		}
	})
}

// CF-01: with privacy mode on what is said in a group arrives as a reply, a mention or a command.
func TestPrivacyMode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		group := r.srv.Supergroup(-100500)
		r.start()
		_, prompt, _ := parseMessageID(r.send(group, part("Delete?")).Message)
		r.srv.Say(ana, group, "yes") // never arrives
		r.srv.Say(ana, group, "yes one", telegramtest.Reply(prompt))
		r.srv.Say(ana, group, "@relay_bot yes two")
		r.srv.Say(ana, group, "/cancel@relay_bot")
		r.srv.Say(ana, group, "/cancel@other_bot")
		synctest.Wait()
		if got := r.sink.Texts(); got != "yes one|yes two|/cancel" {
			t.Errorf("handed over %q", got)
		}
		for _, m := range r.sink.Got() {
			if !m.Addressed || !m.Shared || m.Conversation != conversation(group) {
				t.Errorf("message %+v", m)
			}
		}
	})
}

// A command is one only if nothing stands behind it, as on every platform.
func TestWordsBehindACommandMakeItText(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		for _, text := range []string{"/cancel please", "/status now", "/cancel", "/start abc"} {
			r.srv.Say(ana, dm, text)
		}
		synctest.Wait()
		for i, want := range []string{"", "", "cancel", "start"} {
			if got := r.sink.Got()[i].Command; got != want {
				t.Errorf("message %d is the command %q, want %q", i, got, want)
			}
		}
	})
}

// The same number on two platforms or chats names two persons and two messages.
func TestIdentities(t *testing.T) {
	t.Parallel()
	if personID(42) != "telegram:42" || personID(42).Surface() != "telegram" {
		t.Error(personID(42))
	}
	if messageID(1, 23) == messageID(12, 3) {
		t.Error("two messages share an identity")
	}
	if core.NewConversation("ops", "tg", placeOf(-1, 2)) == core.NewConversation("ops", "tg", placeOf(-1, 0)) {
		t.Error("a topic and its chat share a conversation")
	}
}

func TestDialectAndNames(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		d := r.a.Dialect()
		if d.Limit != 4096 || d.Style != render.Entities || !d.Buttons || !d.Edits || !d.Files || !d.Slash {
			t.Errorf("dialect %+v", d)
		}
		if n := r.a.Names(); n != nil {
			t.Errorf("names %v before the bot is known", n)
		}
		r.start()
		if n := r.a.Names(); len(n) != 1 || n[0] != "@relay_bot" {
			t.Errorf("names %v", n)
		}
	})
}
