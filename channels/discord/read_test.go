package discord

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"parley/channels/discord/discordtest"
	"parley/core"
)

// testReader is a reader of bot 4242 with the role 501.
var testReader = reader{
	me: self{user: 4242, app: 4243}, ours: mentionsOf(4242, []snowflake{501}), roles: []snowflake{501}, agent: "ops", channel: "guild",
}

// base is a plain message of ana in a channel of a server; change overlays its fields.
func decode(t *testing.T, change string) *message {
	t.Helper()
	fields := map[string]json.RawMessage{}
	for _, s := range []string{`{"id":"661720242585600009","channel_id":"77","guild_id":"5","channel_type":0,"type":0,"content":"yes","author":{"id":"42","username":"ana"},"edited_timestamp":null}`, change} {
		if err := json.Unmarshal([]byte(s), &fields); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return &m
}

// AU-05: only a person's own new words are heard.
func TestWhatIsNoMessage(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"no author":           `{"author":null}`,
		"bot":                 `{"author":{"id":"42","bot":true}}`,
		"system":              `{"author":{"id":"42","system":true}}`,
		"ourselves":           `{"author":{"id":"4242"}}`,
		"webhook":             `{"webhook_id":"900"}`,
		"proxied by a bot":    `{"webhook_id":"900","application_id":"466378653216014359"}`,
		"forward":             `{"content":"","message_reference":{"type":1,"message_id":"1"}}`,
		"forward with words":  `{"message_reference":{"type":1,"message_id":"1"}}`,
		"snapshots":           `{"message_snapshots":[{"message":{"content":"yes"}}]}`,
		"edited":              `{"edited_timestamp":"2026-01-01T00:00:00+00:00"}`,
		"ephemeral":           `{"flags":64}`,
		"empty":               `{"content":""}`,
		"an embed alone":      `{"content":"","embeds":[{"title":"yes"}]}`,
		"slash command":       `{"type":20}`,
		"context menu":        `{"type":23}`,
		"pin":                 `{"type":6}`,
		"join":                `{"type":7}`,
		"thread made":         `{"type":18}`,
		"thread's first":      `{"type":21}`,
		"automod":             `{"type":24}`,
		"a type of next year": `{"type":99}`,
		"no id":               `{"id":null}`,
		"no channel":          `{"channel_id":""}`,
	} {
		if m, why := testReader.message(decode(t, change), room{}); m != nil || why == "" {
			t.Errorf("%s is heard: %+v", name, m)
		}
	}
}

func TestReadMessages(t *testing.T) {
	t.Parallel()
	const plain = `{}`
	for name, c := range map[string]struct {
		change string
		at     room
		want   func(*core.Message)
	}{
		"overheard":          {plain, room{}, func(*core.Message) {}},
		"mention":            {`{"content":"<@4242> yes"}`, room{}, func(m *core.Message) { m.Addressed = true }},
		"old mention":        {`{"content":"<@!4242>, yes"}`, room{}, func(m *core.Message) { m.Addressed = true }},
		"role mention":       {`{"content":"<@&501> yes","mention_roles":["501"]}`, room{}, func(m *core.Message) { m.Addressed = true }},
		"at the end":         {`{"content":"yes <@4242>!"}`, room{}, func(m *core.Message) { m.Addressed = true }},
		"at both ends twice": {`{"content":"<@4242> <@&501>: yes, <@4242> <@!4242>"}`, room{}, func(m *core.Message) { m.Addressed = true }},
		"in the middle": {`{"content":"ask <@4242> now"}`, room{}, func(m *core.Message) {
			m.Addressed, m.Text = true, "ask <@4242> now"
		}},
		"somebody else": {`{"content":"<@43> yes"}`, room{}, func(m *core.Message) { m.Text = "<@43> yes" }},
		"mention of a longer id": {`{"content":"<@42421> yes"}`, room{}, func(m *core.Message) {
			m.Text = "<@42421> yes"
		}},
		"another role": {`{"content":"<@&502> yes","mention_roles":["502"]}`, room{}, func(m *core.Message) { m.Text = "<@&502> yes" }},
		"reply to us": {`{"type":19,"message_reference":{"message_id":"8","channel_id":"77"},"referenced_message":{"author":{"id":"4242"}}}`, room{}, func(m *core.Message) {
			m.Addressed, m.ReplyTo = true, "77:8"
		}},
		"reply to us that pings": {`{"type":19,"message_reference":{"message_id":"8"},"referenced_message":null,"mentions":[{"id":"4242"}]}`, room{}, func(m *core.Message) {
			m.Addressed, m.ReplyTo = true, "77:8"
		}},
		"reply to another": {`{"type":19,"message_reference":{"message_id":"8"},"referenced_message":{"author":{"id":"43"}}}`, room{}, func(m *core.Message) {
			m.ReplyTo = "77:8"
		}},
		"reply elsewhere": {`{"type":19,"message_reference":{"message_id":"8","channel_id":"78"}}`, room{}, func(m *core.Message) { m.ReplyTo = "78:8" }},
		"direct":          {`{"guild_id":null,"channel_type":1}`, room{}, func(m *core.Message) { m.Addressed, m.Shared = true, false }},
		"direct, no type": {`{"guild_id":null,"channel_type":null}`, room{kind: 1}, func(m *core.Message) { m.Addressed, m.Shared = true, false }},
		"group direct":    {`{"guild_id":null,"channel_type":3}`, room{}, func(*core.Message) {}},
		"history of a server": {`{"guild_id":null,"channel_type":null}`, room{guild: 5}, func(*core.Message) {
		}},
		"our thread":         {plain, room{kind: 11, ours: true}, func(m *core.Message) { m.Thread = true }},
		"a thread of others": {plain, room{kind: 11}, func(*core.Message) {}},
		"a forum's post":     {plain, room{kind: 12, ours: true}, func(m *core.Message) { m.Thread = true }},
		"escaped":            {`{"content":"eu\\_west \\*1\\*"}`, room{}, func(m *core.Message) { m.Text = "eu_west *1*" }},
		"file":               {`{"attachments":[{"filename":"a.pdf","content_type":"application/pdf","size":9}]}`, room{}, func(m *core.Message) { m.Files = []core.File{{Name: "a.pdf", Type: "application/pdf", Size: 9}} }},
		"file alone":         {`{"content":"","attachments":[{}]}`, room{}, func(m *core.Message) { m.Text, m.Files = "", []core.File{{Name: "file"}} }},
		"sticker, poll":      {`{"sticker_items":[{"name":"Wave"}],"poll":{"x":1}}`, room{}, func(m *core.Message) { m.Files = []core.File{{Name: "sticker Wave"}, {Name: "poll"}} }},
		"command":            {`{"content":"<@4242> /Cancel"}`, room{}, func(m *core.Message) { m.Addressed, m.Text, m.Command = true, "/Cancel", "cancel" }},
		"another's command":  {`{"content":"/cancel"}`, room{}, func(m *core.Message) { m.Text = "/cancel" }},
		"in direct":          {`{"content":"/help","guild_id":null,"channel_type":1}`, room{}, func(m *core.Message) { m.Addressed, m.Shared, m.Text, m.Command = true, false, "/help", "help" }},
		"no command":         {`{"content":"<@4242> /deploy now"}`, room{}, func(m *core.Message) { m.Addressed, m.Text = true, "/deploy now" }},
		"an unknown component": {`{"components":[{"type":18,"component":{"type":22}}]}`, room{}, func(*core.Message) {
		}},
		"bot: null": {`{"author":{"id":"42","bot":null}}`, room{}, func(*core.Message) {}},
	} {
		want := core.Message{
			ID: "77:661720242585600009", Conversation: "ops|guild|77", From: "discord:42", Text: "yes", Order: 661720242585600009,
			SentAt: time.UnixMilli(661720242585600009>>22 + 1420070400000).UTC(), Shared: true,
		}
		c.want(&want)
		got, why := testReader.message(decode(t, c.change), c.at)
		if got == nil {
			t.Errorf("%s: dropped: %s", name, why)
			continue
		}
		if !slices.Equal(got.Files, want.Files) {
			t.Errorf("%s: files %+v, want %+v", name, got.Files, want.Files)
		}
		got.Files, want.Files = nil, nil
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Errorf("%s:\n got %s\nwant %s", name, a, b)
		}
	}
}

func TestUnescape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`plain`: `plain`, `a\_b`: `a_b`, `\`: `\`, `a\`: `a\`, `\\`: `\`, `\\_`: `\_`, `C:\new`: `C:\new`, `1\. x`: `1. x`,
		"`a\\_b` c\\_d": "`a\\_b` c_d", "```\n\\*\n``` \\*": "```\n\\*\n``` *", "\\`a\\_b\\`": "`a_b`", "` \\_": "` _",
		`\é`: `\é`, `\ x`: `\ x`, `\~\~yes\~\~`: `~~yes~~`,
	} {
		if got := unescape(in); got != want {
			t.Errorf("unescape(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzUnescape(f *testing.F) {
	for _, s := range []string{`a\_b`, "`x\\_`", "```\n\\\\\n```", `\`, "\\`\\`"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := unescape(s)
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Errorf("%q becomes invalid: %q", s, got)
		}
		if strings.ReplaceAll(got, `\`, "") != strings.ReplaceAll(s, `\`, "") {
			t.Errorf("%q loses more than backslashes: %q", s, got)
		}
	})
}

// What literal writes is read again as it was, and holds no live mark.
func FuzzLiteral(f *testing.F) {
	for _, s := range []string{"# a", "1. x", "[ok](https://evil.example)", "> q\n- l", "a_b*c", "```", `\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsAny(s, "\u200b") || !utf8.ValidString(s) {
			t.Skip()
		}
		if got := unescape(strings.ReplaceAll(literal(s), "\u200b", "")); got != s {
			t.Errorf("%q comes back as %q", s, got)
		}
	})
}

func TestPlacesAndIdentities(t *testing.T) {
	t.Parallel()
	for _, bad := range []core.Place{"", "0", "x", "-1", "1/2", "99999999999999999999999"} {
		if _, err := parsePlace(bad); err == nil {
			t.Errorf("place %q is taken", bad)
		}
	}
	for _, bad := range []string{"", "1", "1:", ":1", "0:1", "1:0", "1:2:3", "a:b"} {
		if _, _, ok := parseMessageID(bad); ok {
			t.Errorf("identity %q is taken", bad)
		}
	}
	if c, m, ok := parseMessageID(messageID(7, 8)); c != 7 || m != 8 || !ok {
		t.Error("an identity does not come back")
	}
	if got := snowflake(175928847299117063).time(); got.UnixMilli() != 1462015105796 {
		t.Errorf("a snowflake's time is %s", got)
	}
}

// AU-11: an edit, to "yes" or anything, and a deletion are neither answers nor messages; nor are pins and
// resolved links, which come as updates without an author.
func TestEditsAndDeletions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		id := r.say("hmm")
		prompt := r.send(r.room, part("Deploy?"))
		r.srv.Edit(r.room, id, "<@4242> yes")
		r.srv.Dispatch("MESSAGE_UPDATE", map[string]any{"id": id, "channel_id": r.room, "embeds": []any{}})
		r.srv.Delete(r.room, id)
		_, p, _ := parseMessageID(prompt.Message)
		r.srv.Dispatch("MESSAGE_REACTION_ADD", map[string]any{"message_id": p, "channel_id": r.room, "user_id": "42", "emoji": map[string]any{"name": "✅"}})
		synctest.Wait()
		if m := r.sink.Only(t); m.Text != "hmm" {
			t.Errorf("%+v", m)
		}
	})
}

// AU-05 over the wire: bots, webhooks, forwards and our own messages never reach the engine.
func TestOthersAreNotHeard(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.srv.Say(discordtest.User{ID: 9, Name: "other_bot", Bot: true}, r.room, "<@4242> approve")
		r.srv.Say(ana, r.room, "<@4242> approve", discordtest.Field("webhook_id", discordtest.ID(5)))
		r.srv.Forward(ana, r.room, "approve")
		r.srv.Say(ana, r.room, "<@4242> approve", discordtest.Type(21))
		r.send(r.room, part("<@4242> approve"))
		synctest.Wait()
		if got := r.sink.Got(); len(got) != 0 {
			t.Errorf("heard %+v", got)
		}
	})
}

// An event that comes twice, as after a resume, is handed in as the same message: the store knows it.
func TestDuplicateEvents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.say("hello")
		r.srv.Again(1)
		synctest.Wait()
		got := r.sink.Got()
		if len(got) != 2 || got[0].ID != got[1].ID || got[0].Order != got[1].Order {
			t.Errorf("%+v", got)
		}
	})
}

// In a thread that the bot is part of every message is heard as meant for it, in any other only what is.
func TestThreads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		ours := r.srv.Thread(r.room, true)
		r.start()
		others := r.srv.Thread(r.room, false)
		r.srv.Say(ana, ours, "one")
		r.srv.Say(ana, others, "two")
		r.srv.Say(ana, others, "three")
		synctest.Wait()
		got := r.sink.Got()
		threads := map[string]bool{}
		for _, m := range got {
			threads[m.Text] = m.Thread && m.Shared && !m.Addressed
		}
		if len(got) != 3 || !threads["one"] || threads["two"] || threads["three"] {
			t.Errorf("%+v", got)
		}
		if n := len(r.srv.Calls(discordtest.RouteThreadMe)); n != 1 {
			t.Errorf("asked %d times whether it is in a thread", n)
		}
		r.send(others, part("here I am"))
		r.srv.Say(ana, others, "four")
		synctest.Wait()
		if got := r.sink.Got(); !got[len(got)-1].Thread {
			t.Error("whoever writes in a thread is part of it")
		}
		r.srv.Dispatch("THREAD_MEMBERS_UPDATE", map[string]any{"id": ours, "removed_member_ids": []string{"4242"}})
		r.srv.Say(ana, ours, "five")
		synctest.Wait()
		if got := r.sink.Got(); got[len(got)-1].Thread {
			t.Error("it was taken out of the thread")
		}
	})
}

// The bot's own role is its name too, once the gateway has told of it.
func TestNames(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		if r.a.Names() != nil {
			t.Error("names before it knows itself")
		}
		r.start()
		role := r.srv.Role(r.guild).String()
		if got := r.a.Names(); !slices.Equal(got, []string{"<@4242>", "<@!4242>", "<@&" + role + ">"}) {
			t.Errorf("names %q", got)
		}
		r.srv.Say(ana, r.room, "<@&"+role+"> hello")
		synctest.Wait()
		if m := r.sink.Only(t); m.Text != "hello" || !m.Addressed {
			t.Errorf("%+v", m)
		}
		if got := r.a.NameOf("1", "discord:42"); got != "@ana" {
			t.Errorf("ana is %q", got)
		}
		if got := r.a.NameOf("1", "discord:43"); got != "" {
			t.Errorf("a stranger is %q", got)
		}
	})
}
