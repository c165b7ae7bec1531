package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/core/model/modeltest"
)

// dropper is a model that wants to drop the database when it is asked to, and else repeats what it is told.
// The server around it refuses every request with a missing or doubled result.
func dropper(r modeltest.Request) modeltest.Reply {
	last := r.Last()
	switch {
	case last.Role == "tool":
		return modeltest.Say("It ended so: " + last.Content)
	case strings.Contains(last.Content, "delete"):
		return modeltest.CallTools("I will.", modeltest.Call{ID: "call_" + string(rune('a'+r.Nth)), Name: "db__drop", Arguments: `{"name":"staging"}`})
	default:
		return modeltest.Say("You said: " + last.Content)
	}
}

// chatting is a chat with an agent whose model is a Chat Completions server on loopback.
type chatting struct {
	t             *testing.T
	config, store string
}

func newChatting(t *testing.T, server *modeltest.Server) chatting {
	t.Helper()
	dir := t.TempDir()
	c := chatting{t: t, config: filepath.Join(dir, "config.json"), store: filepath.Join(dir, "p.db")}
	cfg, err := json.Marshal(map[string]any{
		"store":  map[string]any{"path": "p.db"},
		"models": map[string]any{"main": map[string]any{"provider": "openai", "model": "gpt-test", "apiKey": server.Key, "baseURL": server.URL}},
		"agents": map[string]any{"ops": map[string]any{"model": "main", "builtins": []string{"demo"}}},
	})
	must(t, err)
	must(t, os.WriteFile(c.config, cfg, 0o600))
	t.Cleanup(func() {
		if refused := server.Refusals(); len(refused) > 0 {
			t.Errorf("the server refused requests: %q", refused)
		}
	})
	return c
}

func (c chatting) start() *proc {
	return start(c.t, "chat", "--config", c.config, "--agent", "ops", "--as", "local:ana")
}

// TestModelKilledBeforeTheAnswer is the main road with a real dialect: killed at the question, answered to
// another process, with each way a call can end.
func TestModelKilledBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, answer, say string
		drops             int
	}{
		{"yes", "yes", "dropped the database staging", 1},
		{"no", "no", "Declined", 0},
		{"something else", "what does it do?", "You said: what does it do?", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			chat := newChatting(t, modeltest.NewServer(t, dropper))
			p := chat.start()
			p.say(deleteIt)
			p.until("ask:", "Run db__drop?")
			p.kill()
			p = chat.start()
			p.until("ask:", "Run db__drop?")
			p.say(c.answer)
			p.until("say:", c.say)
			p.say("yes")
			p.until("say:", "You said: yes")
			p.kill()
			wantDrops(t, chat.store, c.drops, p.story())
		})
	}
}

// TestModelKilledWhileItThinks kills the program between the tool's result and the model's reply: the
// request is made again, the tool is not.
func TestModelKilledWhileItThinks(t *testing.T) {
	t.Parallel()
	thinking, think := make(chan struct{}, 10), make(chan struct{})
	server := modeltest.NewServer(t, func(r modeltest.Request) modeltest.Reply {
		if r.Last().Role != "tool" {
			return dropper(r)
		}
		thinking <- struct{}{}
		return modeltest.Hold(think, dropper(r))
	})
	chat := newChatting(t, server)
	p := chat.start()
	p.say(deleteIt)
	p.until("ask:", "Run db__drop?")
	p.say("yes")
	<-thinking
	wantDrops(t, chat.store, 1, p.story())
	p.kill()
	close(think)
	p = chat.start()
	p.until("say:", "dropped the database staging")
	if code := p.end(); code != exitDone {
		t.Errorf("exit code %d\n%s", code, p.story())
	}
	wantDrops(t, chat.store, 1, p.story())
}

// TestModelThatIsNotThere ends the turn with a sentence in the chat; the next message works.
func TestModelThatIsNotThere(t *testing.T) {
	t.Parallel()
	broken := true
	server := modeltest.NewServer(t, func(r modeltest.Request) modeltest.Reply {
		if broken {
			broken = false
			return modeltest.Status(401, nil, modeltest.Failure("no such key", "invalid_request_error", "", "invalid_api_key"))
		}
		return dropper(r)
	})
	chat := newChatting(t, server)
	code, out, errs := runIn([]string{"chat", "--config", chat.config, "--agent", "ops", "--as", "local:ana"}, "hello\nagain\n")
	if code != exitDone || !strings.Contains(out, "say: You said: again") || strings.Contains(out+errs, server.Key) {
		t.Errorf("code %d\n%s\n%s", code, out, errs)
	}
	first, _, _ := strings.Cut(out, "you: again")
	if _, told, _ := strings.Cut(first, "you: hello\n"); !strings.Contains(told, ": ") {
		t.Errorf("nothing was said about the failure:\n%s", out)
	}
}
