package program

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/discord/discordtest"
	"parley/channels/slack/slacktest"
	"parley/channels/telegram/telegramtest"
	"parley/core"
	"parley/core/coretest"
)

// The names of these tests are those of the bugs in other programs that they hold off.

// everywhere is a server of each platform, with a direct chat of one person.
type everywhere struct {
	t        *testing.T
	slack    *slacktest.Server
	telegram *telegramtest.Server
	discord  *discordtest.Server
	dm       discordtest.ID
}

func openEverywhere(t *testing.T) *everywhere {
	t.Helper()
	e := &everywhere{t: t, slack: newSlack(t, slacktest.Config{}).srv, discord: newDiscord(t).srv}
	var err error
	e.telegram, err = telegramtest.Start(telegramtest.Config{})
	must(t, err)
	t.Cleanup(e.telegram.Close)
	e.slack.DM("UANA")
	e.telegram.Private(ana)
	e.dm = e.discord.DM(discordUsers["ana"])
	return e
}

// channelsOf are the channels of one agent, open to everybody.
func (e *everywhere) channelsOf() []ChannelConfig {
	public := AccessConfig{Public: true}
	return []ChannelConfig{
		{Name: "sl", Type: "slack", Agent: "ops", BotToken: slacktest.DefaultBotToken, AppToken: slacktest.DefaultAppToken, APIURL: e.slack.URL, Access: public},
		{Name: "tg", Type: "telegram", Agent: "ops", BotToken: Secret(e.telegram.Token()), APIURL: e.telegram.URL, Access: public},
		{Name: "di", Type: "discord", Agent: "ops", BotToken: Secret(e.discord.Token()), APIURL: e.discord.URL, Access: public},
	}
}

// say says a text in each direct chat, as each platform's client hands it over.
func (e *everywhere) say(text string) {
	e.slack.Say("UANA", slacktest.Where{Channel: "DANA"}, strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "✅", ":white_check_mark:", "👍", ":+1:").Replace(text))
	e.telegram.Say(ana, telegramtest.Where{Chat: ana.ID}, text)
	e.discord.Say(discordUsers["ana"], e.dm, text)
}

// TestRP19OneTableThroughEveryPlatform: what people type means the same on every platform and through the API.
func TestRP19OneTableThroughEveryPlatform(t *testing.T) {
	t.Parallel()
	e := openEverywhere(t)
	turns := channeltest.NewTurns(time.Now)
	a, err := newApp(&Config{
		Store:  StoreConfig{Path: filepath.Join(t.TempDir(), "p.db")},
		Models: map[string]ModelConfig{"m": {Provider: "scripted"}},
		Agents: map[string]AgentConfig{"ops": {Model: "m"}}, Channels: e.channelsOf(),
	}, slog.New(slog.DiscardHandler))
	must(t, err)
	t.Cleanup(func() { must(t, a.close()) })
	adapters, cfg := map[string]channels.Adapter{}, channels.Config{Turns: turns, Now: time.Now, Log: a.log}
	for _, ch := range a.cfg.Channels {
		adapter, _, err := a.adapterOf(ch)
		must(t, err)
		adapters[ch.Name] = adapter
		cfg.Channels = append(cfg.Channels, channels.Channel{Adapter: adapter, Access: channels.Access{Public: true}})
	}
	hub, err := channels.NewHub(cfg)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- hub.Run(ctx) }()
	t.Cleanup(func() { cancel(); must(t, <-done) })
	wait, stop := context.WithTimeout(ctx, patience)
	defer stop()
	must(t, e.discord.Wait(wait, func() bool { return e.discord.Live() > 0 }))

	read := channels.NewReader(channels.ReaderConfig{Adapter: func(name string) channels.Adapter { return adapters[name] }})
	in := coretest.Input("approval")
	for i, c := range []struct{ text, want string }{
		{"yes", "answer true"}, {"YES!", "answer true"}, {"Yes, please.", "answer true"}, {"`approve`", "answer true"}, {"approve & thanks", ""},
		{"✅", "answer true"}, {"no", "answer false"}, {"no, don't approve", "answer false"}, {"nope", "answer false"}, {"👍", "unclear"},
		{"yes?", "unclear"}, {"yes, but not now", "other"}, {"<yes>", ""}, {"yes no", "unclear"}, {"cancel", "cancel"}, {"what does it drop?", "other"},
	} {
		e.say(c.text)
		tick := time.NewTicker(5 * time.Millisecond)
		for late := time.Now().Add(patience); len(turns.Accepted()) < 3*(i+1); <-tick.C {
			if time.Now().After(late) {
				t.Fatalf("%q: %d messages arrived", c.text, len(turns.Accepted()))
			}
		}
		tick.Stop()
		api := core.Message{Conversation: core.NewConversation("ops", "api", "x"), Text: c.text}
		want := outcome(read(in, api, core.DefaultHumanInput()))
		if c.want != "" && want != c.want {
			t.Errorf("%q by the API is %q, want %q", c.text, want, c.want)
		}
		for _, m := range turns.Accepted()[3*i:] {
			if got := outcome(read(in, m, core.DefaultHumanInput())); got != want {
				t.Errorf("%q on %s arrives as %q and is %q, by the API %q", c.text, m.Conversation.Channel(), m.Text, got, want)
			}
		}
	}
}

func outcome(r core.Reading) string {
	if r.Kind == core.ReadAnswer {
		return fmt.Sprint("answer ", r.Yes)
	}
	return r.Kind.String()
}

// TestRT09OnlyTheChatThatAskedGetsThePrompt: the agent is on every platform.
func TestRT09OnlyTheChatThatAskedGetsThePrompt(t *testing.T) {
	t.Parallel()
	e := openEverywhere(t)
	dir := t.TempDir()
	var list []any
	for _, ch := range e.channelsOf() {
		one := map[string]any{"name": ch.Name, "type": ch.Type, "agent": "ops", "botToken": ch.BotToken.Reveal(), "apiURL": ch.APIURL, "access": map[string]any{"public": true}}
		if ch.AppToken != "" {
			one["appToken"] = ch.AppToken.Reveal()
		}
		list = append(list, one)
	}
	doc, err := json.Marshal(map[string]any{
		"store": map[string]any{"path": "p.db"}, "models": map[string]any{"script": map[string]any{"provider": "scripted"}},
		"agents": map[string]any{"ops": map[string]any{"model": "script", "builtins": []string{"demo"}}}, "channels": list,
	})
	must(t, err)
	config := filepath.Join(dir, "config.json")
	must(t, os.WriteFile(config, doc, 0o600))
	p := start(t, "serve", "--config", config)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	at := telegramtest.Where{Chat: ana.ID}
	told := func(text string) {
		t.Helper()
		if err := e.telegram.Wait(ctx, func() bool {
			all := e.telegram.Sent(at)
			return len(all) > 0 && strings.Contains(all[len(all)-1].Text, text)
		}); err != nil {
			t.Fatalf("%q does not come\n%s", text, p.story())
		}
	}
	must(t, e.discord.Wait(ctx, func() bool { return e.discord.Live() > 0 }))
	e.telegram.Say(ana, at, deleteIt)
	told(dropPrompt)
	e.telegram.Say(ana, at, "yes")
	told("Done: the database staging is gone.")
	if n := len(e.slack.Sent(slacktest.Where{Channel: "DANA"})) + len(e.discord.Sent(e.dm)); n != 0 {
		t.Errorf("%d messages elsewhere", n)
	}
	p.kill()
}

// TestDU23KilledWhileTheReplyIsPosted: the reply is there once, where the platform can tell.
func TestDU23KilledWhileTheReplyIsPosted(t *testing.T) {
	t.Parallel()
	const reply = "Done: the database staging is gone."
	for name, open := range map[string]func(t *testing.T) (platformUnderTest, func()){
		"slack": func(t *testing.T) (platformUnderTest, func()) {
			p := newSlack(t, slacktest.Config{})
			return p, func() { p.srv.Fail("chat.postMessage", slacktest.Fault{Hang: true, Applied: true}) }
		},
		"discord": func(t *testing.T) (platformUnderTest, func()) {
			p := newDiscord(t)
			return p, func() { p.srv.Fail(discordtest.RouteSend, discordtest.Fault{Hang: true, Applied: true}) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, hang := open(t)
			s := newStage(t, p)
			p.ask(deleteIt)
			s.asked(dropPrompt)
			hang()
			p.say("ana", "yes", "")
			s.says(reply) // it stands there, and the program was not told so
			s.serve.kill()
			s.start()
			if d, ok := p.(*discordStage); ok {
				s.wait("the second session", func() bool { return len(d.srv.Identifies()) == 2 && d.srv.Live() == 1 })
			}
			p.say("ana", "/status", "")
			s.says("Nothing")
			n := 0
			for _, m := range p.sent() {
				n += strings.Count(m.text, reply)
			}
			if n != 1 {
				t.Errorf("the reply stands there %d times", n)
			}
		})
	}
}

// TestSA04AChildSpeaksWhereItsParentWasAsked: two bot accounts, a topic of a forum, and an agent that asks another.
func TestSA04AChildSpeaksWhereItsParentWasAsked(t *testing.T) {
	t.Parallel()
	b := newBot(t, func(cfg map[string]any) {
		other, err := telegramtest.Start(telegramtest.Config{Token: "77:the-first-account-0123456789"})
		must(t, err)
		t.Cleanup(other.Close)
		second := cfg["channels"].([]any)[0].(map[string]any)
		first := map[string]any{"name": "first", "type": "telegram", "agent": "ops", "botToken": other.Token(), "apiURL": other.URL, "access": map[string]any{"public": true}}
		cfg["channels"] = []any{first, second}
		cfg["models"].(map[string]any)["parent"] = map[string]any{"provider": "scripted", "script": `{"rules":[{"when":"(?i)ask the researcher",
			"calls":[{"name":"agent__researcher","arguments":{"message":"delete the staging database"}}],"then":[{"say":"The researcher says: {{result}}"}]}]}`}
		agents := cfg["agents"].(map[string]any)
		agents["researcher"] = agents["ops"]
		agents["ops"] = map[string]any{"model": "parent", "agents": []string{"researcher"}}
		t.Cleanup(func() {
			for _, c := range other.Calls("") {
				if strings.HasPrefix(c.Method, "send") {
					t.Errorf("the first account was used: %s %v", c.Method, c.Params)
				}
			}
		})
	})
	at := b.server.Topic(ana, b.server.Forum(-1002))
	b.chat = at
	b.server.Say(ana, at, "@relay_bot ask the researcher")
	prompt := b.says(dropPrompt)
	b.server.Say(ana, at, "yes", telegramtest.Reply(prompt.ID))
	b.says("The researcher says: ")
	if n := len(b.server.Sent(telegramtest.Where{Chat: -1002})); n != 0 {
		t.Errorf("%d messages outside the topic", n)
	}
	b.done(1)
}
