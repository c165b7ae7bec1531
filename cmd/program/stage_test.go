package program

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// platformUnderTest is a platform's server on loopback, with a conversation of the bot in a room that several read.
// The people are ana, who asks, and mallory, who may speak and not answer.
type platformUnderTest interface {
	// channel is the channel of the configuration, without name and agent.
	channel() map[string]any
	// ask has ana start the conversation by a mention.
	ask(text string)
	// say speaks in the conversation; replyTo is a message of the bot or "".
	say(who, text, replyTo string)
	press(who, message, label string)
	// sent is what the conversation shows of the bot, oldest first.
	sent() []standing
	// whispers are what one person alone was shown.
	whispers() []string
	wait(ctx context.Context, cond func() bool) error
	// complaints are what the server had to say about the program, and what it lost.
	complaints() []string
	secrets() []string
}

// standing is a message of the bot as it stands now.
type standing struct {
	id, text string
	buttons  []string
	edits    int
}

// unmarked takes the marks of a platform off a text.
var unmarked = strings.NewReplacer("`", "", "*", "", `\`, "")

// stage is a platform with the real program that serves it and may be killed.
type stage struct {
	t             *testing.T
	p             platformUnderTest
	config, store string
	serve         *proc
}

func newStage(t *testing.T, p platformUnderTest, changes ...func(cfg map[string]any)) *stage {
	t.Helper()
	dir := t.TempDir()
	s := &stage{t: t, p: p, config: filepath.Join(dir, "config.json"), store: filepath.Join(dir, "p.db")}
	ch := p.channel()
	ch["name"], ch["agent"] = "work", "ops"
	doc := map[string]any{
		"store":    map[string]any{"path": "p.db"},
		"models":   map[string]any{"script": map[string]any{"provider": "scripted"}},
		"agents":   map[string]any{"ops": map[string]any{"model": "script", "builtins": []string{"demo"}, "ask": true}},
		"channels": []any{ch},
	}
	if api, ok := p.(interface{ api(map[string]any) }); ok {
		api.api(doc)
	}
	for _, change := range changes {
		change(doc)
	}
	cfg, err := json.Marshal(doc)
	must(t, err)
	must(t, os.WriteFile(s.config, cfg, 0o600))
	s.start()
	return s
}

// human sets humanInput of the agent.
func human(set map[string]any) func(map[string]any) {
	return func(cfg map[string]any) { cfg["agents"].(map[string]any)["ops"].(map[string]any)["humanInput"] = set }
}

func (s *stage) start() { s.serve = start(s.t, "serve", "--config", s.config) }

func (s *stage) wait(what string, cond func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.p.wait(ctx, cond); err != nil {
		var texts []string
		for _, m := range s.p.sent() {
			texts = append(texts, m.text)
		}
		s.serve.kill()
		s.t.Fatalf("%s: %v\nin the chat:\n%s\nto one person: %q\n%s", what, err, strings.Join(texts, "\n--\n"), s.p.whispers(), s.serve.story())
	}
}

// says waits until the conversation shows a text, and returns the newest message with it.
func (s *stage) says(text string) (found standing) {
	s.t.Helper()
	s.wait("the bot says "+text, func() bool {
		for _, m := range s.p.sent() {
			if strings.Contains(m.text, text) {
				found = m
			}
		}
		return found.id != ""
	})
	return found
}

// asked waits for the question, and until the program knows that it stands there: transactions of one conversation
// keep their order, so what answers a later command has the receipt of the prompt behind it.
func (s *stage) asked(title string) standing {
	s.t.Helper()
	prompt := s.says(title)
	s.p.say("ana", "/status", "")
	s.wait("the status is told", func() bool {
		all := s.p.sent()
		return len(all) > 0 && all[len(all)-1].id != prompt.id
	})
	return prompt
}

// ends waits until a prompt says how it ended, without buttons.
func (s *stage) ends(prompt standing, how string) {
	s.t.Helper()
	s.wait("the prompt says "+how, func() bool {
		i := slices.IndexFunc(s.p.sent(), func(m standing) bool { return m.id == prompt.id })
		m := s.p.sent()[i]
		return m.edits > 0 && len(m.buttons) == 0 && strings.Contains(m.text, how)
	})
}

func (s *stage) done(drops int) {
	s.t.Helper()
	s.serve.kill()
	wantDrops(s.t, s.store, drops, s.serve.story())
	for _, secret := range s.p.secrets() {
		if strings.Contains(s.serve.story(), secret) {
			s.t.Errorf("the log holds the secret %q:\n%s", secret, s.serve.story())
		}
	}
	if c := s.p.complaints(); len(c) > 0 {
		s.t.Errorf("the platform complains: %q\n%s", c, s.serve.story())
	}
	if code, out, errs := runIn([]string{"store", "check", s.store}, ""); code != exitDone {
		s.t.Errorf("store check: %s%s", out, errs)
	}
}

const dropPrompt = "Run db__drop?"

// testStage carries the promises through a platform: each by the real program, killed between question and answer.
func testStage(t *testing.T, open func(t *testing.T) platformUnderTest) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer func(s *stage, prompt standing) // written while nobody listens
		after  func(s *stage, prompt standing) // once the program is there again
		ends   string
		say    string
		drops  int
	}{
		{name: "typed yes", answer: func(s *stage, _ standing) { s.p.say("ana", "yes", "") }, ends: "Approved by", say: "Done: the database staging is gone.", drops: 1},
		{name: "typed no", answer: func(s *stage, _ standing) { s.p.say("ana", "no", "") }, ends: "Declined by", say: "I did not delete it"},
		{name: "reply", answer: func(s *stage, p standing) { s.p.say("ana", "yes", p.id) }, ends: "Approved by", say: "Done: the database staging is gone.", drops: 1},
		{name: "button", after: func(s *stage, p standing) { s.p.press("ana", p.id, p.buttons[0]) }, ends: "Approved by", say: "Done: the database staging is gone.", drops: 1},
		{name: "supersede", answer: func(s *stage, _ standing) { s.p.say("ana", "what does it do?", "") }, ends: "new message", say: "I run a few tools"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, open(t))
			s.p.ask(deleteIt)
			prompt := s.asked(dropPrompt)
			if len(prompt.buttons) < 2 {
				t.Errorf("the prompt has the buttons %q", prompt.buttons)
			}
			s.serve.kill()
			wantDrops(t, s.store, 0, s.serve.story())
			if c.answer != nil {
				c.answer(s, prompt)
			}
			s.start()
			if c.after != nil {
				c.after(s, prompt)
			}
			s.says(c.say)
			s.ends(prompt, c.ends)
			s.done(c.drops)
		})
	}
	t.Run("a stranger", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, open(t))
		s.p.ask(deleteIt)
		prompt := s.asked(dropPrompt)
		s.p.say("mallory", "yes", "")
		s.says("may answer")
		s.p.press("mallory", prompt.id, prompt.buttons[0])
		s.wait("the stranger is told alone", func() bool { return len(s.p.whispers()) > 0 })
		s.p.say("ana", "yes", "")
		s.says("Done: the database staging is gone.")
		s.done(1)
	})
	t.Run("nobody in time", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, open(t), human(map[string]any{"expiresInSeconds": 3}))
		s.p.ask(deleteIt)
		prompt := s.asked(dropPrompt)
		s.serve.kill()
		s.start()
		s.ends(prompt, "in time")
		s.says("Nobody answered in time")
		before := len(s.p.sent())
		s.p.say("ana", "yes", prompt.id)
		s.wait("a late yes is answered, and runs nothing", func() bool { return len(s.p.sent()) > before })
		s.done(0)
	})
}
