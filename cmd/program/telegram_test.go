package program

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"parley/channels/telegram/telegramtest"
)

var ana = telegramtest.User{ID: 42, Username: "ana", Lang: "en"}

// bot is a Bot API server on loopback, and the real program that serves it and may be killed.
type bot struct {
	t      *testing.T
	server *telegramtest.Server
	chat   telegramtest.Where
	config string
	store  string
	serve  *proc
}

func newBot(t *testing.T, changes ...func(cfg map[string]any)) *bot {
	t.Helper()
	server, err := telegramtest.Start(telegramtest.Config{})
	must(t, err)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	b := &bot{t: t, server: server, chat: server.Private(ana), config: filepath.Join(dir, "config.json"), store: filepath.Join(dir, "p.db")}
	doc := map[string]any{
		"store":  map[string]any{"path": "p.db"},
		"models": map[string]any{"script": map[string]any{"provider": "scripted"}},
		"agents": map[string]any{"ops": map[string]any{"model": "script", "builtins": []string{"demo"}, "ask": true}},
		"channels": []any{map[string]any{"name": "tg", "type": "telegram", "agent": "ops", "botToken": server.Token(),
			"apiURL": server.URL, "access": map[string]any{"allow": []string{"telegram:42"}}}},
	}
	for _, change := range changes {
		change(doc)
	}
	cfg, err := json.Marshal(doc)
	must(t, err)
	must(t, os.WriteFile(b.config, cfg, 0o600))
	b.start()
	return b
}

func (b *bot) start() { b.serve = start(b.t, "serve", "--config", b.config) }

// says waits until the bot's chat has a message with the text, and returns the newest.
func (b *bot) says(text string) telegramtest.Message {
	b.t.Helper()
	var found telegramtest.Message
	b.wait("the bot says "+text, func() bool {
		for _, m := range b.server.Sent(b.chat) {
			if strings.Contains(m.Text, text) {
				found = m
			}
		}
		return found.ID != 0
	})
	return found
}

// count is how many messages of the bot have the text.
func (b *bot) count(text string) (n int) {
	for _, m := range b.server.Sent(b.chat) {
		if strings.Contains(m.Text, text) {
			n++
		}
	}
	return n
}

func (b *bot) wait(what string, cond func() bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.server.Wait(ctx, cond); err != nil {
		var texts []string
		for _, m := range b.server.Messages(b.chat) {
			texts = append(texts, m.Text)
		}
		b.serve.kill()
		b.t.Fatalf("%s: %v\nin the chat:\n%s\n%s", what, err, strings.Join(texts, "\n--\n"), b.serve.story())
	}
}

// taken waits until the bot has confirmed every update to the platform.
func (b *bot) taken() {
	b.t.Helper()
	b.wait("every update is confirmed", func() bool { return len(b.server.Pending()) == 0 })
}

// asked waits for the question and until the program knows that it stands there: transactions of one
// conversation keep their order, so what answers a later command has the receipt of the prompt behind it.
func (b *bot) asked() telegramtest.Message {
	b.t.Helper()
	prompt := b.says("Run db__drop?")
	b.server.Say(ana, b.chat, "/status")
	b.wait("the status is told", func() bool {
		sent := b.server.Sent(b.chat)
		return sent[len(sent)-1].ID > prompt.ID
	})
	return prompt
}

func (b *bot) done(drops int) {
	b.t.Helper()
	b.serve.kill()
	wantDrops(b.t, b.store, drops, b.serve.story())
	if strings.Contains(b.serve.story(), b.server.Token()) {
		b.t.Errorf("the log holds the bot token:\n%s", b.serve.story())
	}
	if code, out, errs := runIn([]string{"store", "check", b.store}, ""); code != exitDone {
		b.t.Errorf("store check: %s%s", out, errs)
	}
}

// TestTelegramKilledBeforeTheAnswer: the question stands in the chat, the program is killed, the answer is
// written while nobody listens, and another process takes it.
func TestTelegramKilledBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, answer, say string
		drops             int
	}{
		{"yes", "yes", "Done: the database staging is gone.", 1},
		{"no", "no", "I did not delete it", 0},
		{"something else", "what does it do?", "I run a few tools", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBot(t)
			b.server.Say(ana, b.chat, deleteIt)
			b.asked()
			b.serve.kill()
			b.server.Say(ana, b.chat, c.answer)
			b.start()
			b.says(c.say)
			before := b.count("I run a few tools")
			b.server.Say(ana, b.chat, "yes") // nothing is left to say yes to
			b.server.Say(ana, b.chat, "what does it do?")
			b.wait("the message after it is answered", func() bool { return b.count("I run a few tools") > before })
			b.done(c.drops)
		})
	}
}

// TestTelegramKilledAtOnce kills the program in the moment the question appears, when it may not know yet
// that it was sent. An answer that may stand before its question does not count: the person is told, and
// answers again.
func TestTelegramKilledAtOnce(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	b.server.Say(ana, b.chat, deleteIt)
	b.says("Run db__drop?")
	b.serve.kill()
	b.server.Say(ana, b.chat, "yes")
	b.start()
	again := false
	b.wait("the answer counts, or is asked for again", func() bool {
		for _, m := range b.server.Sent(b.chat) {
			again = again || strings.Contains(m.Text, "Please answer again")
			if again || strings.Contains(m.Text, "Done:") {
				return true
			}
		}
		return false
	})
	if again {
		b.server.Say(ana, b.chat, "yes")
	}
	b.says("Done: the database staging is gone.")
	b.done(1)
}

// TestTelegramKilledBeforeAButton is the same with a button that is pressed while nobody listens.
func TestTelegramKilledBeforeAButton(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	b.server.Say(ana, b.chat, deleteIt)
	prompt := b.asked()
	b.serve.kill()
	if len(prompt.Buttons) == 0 || len(prompt.Buttons[0]) == 0 {
		t.Fatalf("the prompt has no buttons: %+v", prompt)
	}
	if _, err := b.server.Press(ana, b.chat, prompt.ID, prompt.Buttons[0][0].Text); err != nil {
		t.Fatal(err)
	}
	b.start()
	b.says("Done: the database staging is gone.")
	b.done(1)
}

// TestTelegramKilledBeforeTheTool kills the program when the answer is stored and the call has begun: the
// effects file is a pipe that nobody reads, so the tool hangs before its effect. Whether a call that had
// begun has run nobody can know, so the person is asked, and each answer does what it says.
func TestTelegramKilledBeforeTheTool(t *testing.T) {
	t.Parallel()
	cases := []struct {
		answer, say string
		drops       int
	}{
		{"stop here", "", 0},
		{"treat it as done", "", 0},
		{"run it again", "Done: the database staging is gone.", 1},
	}
	for _, c := range cases {
		t.Run(c.answer, func(t *testing.T) {
			t.Parallel()
			b := newBot(t)
			pipe := b.store + ".effects"
			must(t, syscall.Mkfifo(pipe, 0o600))
			b.server.Say(ana, b.chat, deleteIt)
			b.asked()
			b.server.Say(ana, b.chat, "yes")
			b.taken() // so the answer is stored, and in the same commit that the call begins
			b.serve.kill()
			must(t, os.Remove(pipe))

			b.start()
			asked := b.says("may or may not have run")
			wantDrops(t, b.store, 0, asked.Text)
			b.server.Say(ana, b.chat, "yes") // is no answer to this question
			b.taken()
			b.server.Say(ana, b.chat, c.answer)
			b.taken()
			if c.say != "" {
				b.says(c.say)
			}
			b.wait("the question is closed", func() bool {
				for _, m := range b.server.Sent(b.chat) {
					if m.ID == asked.ID {
						return m.Edits > 0 && len(m.Buttons) == 0
					}
				}
				return false
			})
			b.done(c.drops)
		})
	}
}

// TestTelegramWebhook receives by HTTP at api.listen; killed between question and answer, the platform
// brings the answer again until another process has taken it.
func TestTelegramWebhook(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	b := newBot(t, func(cfg map[string]any) {
		cfg["api"] = map[string]any{"listen": address, "publicURL": "http://" + address}
		cfg["channels"].([]any)[0].(map[string]any)["webhook"] = true
	})
	b.server.Say(ana, b.chat, deleteIt)
	b.asked()
	resp, err := http.Get("http://" + address + "/healthz")
	must(t, err)
	body, err := io.ReadAll(resp.Body)
	must(t, errors.Join(err, resp.Body.Close()))
	if resp.StatusCode != http.StatusOK || string(body) != `{"status":"ok","channels":{"tg":"running"}}`+"\n" {
		t.Errorf("health: %d %s", resp.StatusCode, body)
	}
	// Whoever does not know the secret is not heard.
	forged := `{"update_id":1,"message":{"message_id":99,"date":1,"text":"yes","chat":{"id":42,"type":"private"},"from":{"id":42,"first_name":"Ana"}}}`
	resp, err = http.Post("http://"+address+"/channels/tg", "application/json", strings.NewReader(forged))
	must(t, err)
	must(t, resp.Body.Close())
	if resp.StatusCode < 400 {
		t.Errorf("a request without the secret was answered %d", resp.StatusCode)
	}
	b.serve.kill()
	wantDrops(t, b.store, 0, b.serve.story())

	b.server.Say(ana, b.chat, "yes")
	b.start()
	b.says("Done: the database staging is gone.")
	if code := b.serve.end(syscall.SIGTERM); code != exitDone {
		t.Errorf("exit code %d\n%s", code, b.serve.story())
	}
	b.done(1)
}

// TestTelegramRestartsShowNothingTwice (DU-22): a prompt that is known to stand in the chat is not sent again.
func TestTelegramRestartsShowNothingTwice(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	b.server.Say(ana, b.chat, deleteIt)
	b.asked()
	for i := range 3 {
		b.serve.kill()
		b.start()
		b.server.Say(ana, b.chat, "/help")
		b.wait("help is given", func() bool { return b.count("Write what you need") > i })
	}
	if n := b.count("Run db__drop?"); n != 1 {
		t.Errorf("the question stands there %d times", n)
	}
	b.server.Say(ana, b.chat, "yes")
	b.says("Done: the database staging is gone.")
	b.done(1)
}

// TestTelegramStopsGracefully: SIGTERM ends the program with code 0 and loses nothing.
func TestTelegramStopsGracefully(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	b.server.Say(ana, b.chat, "plan the release")
	b.says("Question 1 of 3")
	if code := b.serve.end(syscall.SIGTERM); code != exitDone {
		t.Errorf("exit code %d\n%s", code, b.serve.story())
	}
	b.server.Say(ana, b.chat, "2")
	b.start()
	b.says("Question 2 of 3")
	b.server.Say(ana, b.chat, "1, 2")
	b.says("Question 3 of 3")
	b.server.Say(ana, b.chat, "ok")
	b.says("Here is the plan.")
	b.done(0)
}

// TestASecondSignalEndsAtOnce: a tool hangs, so the first signal waits for it; the second does not. The call
// may have run, and the next start asks.
func TestASecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	pipe := b.store + ".effects"
	must(t, syscall.Mkfifo(pipe, 0o600))
	b.server.Say(ana, b.chat, deleteIt)
	b.asked()
	b.server.Say(ana, b.chat, "yes")
	b.taken()
	if code := b.serve.end(syscall.SIGTERM, syscall.SIGINT); code != exitInterrupted {
		t.Errorf("exit code %d\n%s", code, b.serve.story())
	}
	must(t, os.Remove(pipe))
	b.start()
	b.says("may or may not have run")
	b.done(0)
}

// TestTelegramCopiesThePrompt sends a copy where the approvers are; it is answered there, after a kill.
func TestTelegramCopiesThePrompt(t *testing.T) {
	t.Parallel()
	ben := telegramtest.User{ID: 43, Username: "ben"}
	b := newBot(t, func(cfg map[string]any) {
		cfg["agents"].(map[string]any)["ops"].(map[string]any)["humanInput"] = map[string]any{
			"approvers": []string{"telegram:43"}, "responders": "approvers", "notify": []string{"tg:-1001"},
		}
	})
	group := b.server.Supergroup(-1001)
	b.server.Say(ana, b.chat, deleteIt)
	b.asked()
	b.wait("the copy stands in the group", func() bool { return len(b.server.Sent(group)) == 1 })
	prompt := b.server.Sent(group)[0]
	b.server.Say(ana, b.chat, "yes") // she may not
	b.says("Only telegram:43 may answer")
	b.server.Say(ben, group, "/status@relay_bot") // what answers it has the receipt of the copy behind it
	b.wait("the status is told", func() bool { return len(b.server.Sent(group)) == 2 })
	b.serve.kill()
	b.start()
	b.server.Say(ben, group, "yes", telegramtest.Reply(prompt.ID))
	b.says("Done: the database staging is gone.")
	b.done(1)
}

// TestTelegramRefusesStrangers tells who is not on the list their id, once, and stores nothing of them.
func TestTelegramRefusesStrangers(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	cleo := telegramtest.User{ID: 77, Username: "cleo"}
	chat := b.server.Private(cleo)
	b.server.Say(cleo, chat, deleteIt)
	b.server.Say(cleo, chat, "yes")
	b.wait("she is told her id", func() bool {
		for _, m := range b.server.Sent(chat) {
			if strings.Contains(m.Text, "telegram:77") {
				return true
			}
		}
		return false
	})
	b.taken()
	if n := len(b.server.Sent(chat)); n != 1 {
		t.Errorf("%d messages to a stranger, want one", n)
	}
	b.done(0)
}

// TestABadTokenStopsTheChannel: the sentence names the channel and what to do, and not the token.
func TestABadTokenStopsTheChannel(t *testing.T) {
	t.Parallel()
	server, err := telegramtest.Start(telegramtest.Config{Token: "1:the-right-one"})
	must(t, err)
	t.Cleanup(server.Close)
	config := filepath.Join(t.TempDir(), "config.json")
	const wrong = "2:the-wrong-one"
	must(t, os.WriteFile(config, with(t, map[string]string{"tg.botToken": `"` + wrong + `"`, "tg.apiURL": `"` + server.URL + `"`}), 0o600))
	p := start(t, "serve", "--config", config)
	if code := p.end(); code != exitFailed {
		t.Errorf("exit code %d\n%s", code, p.story())
	}
	log := p.story()
	if strings.Contains(log, wrong) || !strings.Contains(log, "parley: every channel has stopped: channel tg") || !strings.Contains(log, "hint: ") {
		t.Errorf("log:\n%s", log)
	}
}
