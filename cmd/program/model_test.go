package program

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// chatting is a chat with an agent whose model is a strict server on loopback.
type chatting struct {
	t             *testing.T
	config, store string
}

func newChatting(t *testing.T, server *modeltest.Server) chatting {
	t.Helper()
	dir := t.TempDir()
	c := chatting{t: t, config: filepath.Join(dir, "config.json"), store: filepath.Join(dir, "p.db")}
	provider := map[modeltest.Dialect]string{modeltest.Chat: "openai", modeltest.Gemini: "gemini", modeltest.Messages: "anthropic"}[server.Dialect]
	cfg, err := json.Marshal(map[string]any{
		"store":  map[string]any{"path": "p.db"},
		"models": map[string]any{"main": map[string]any{"provider": provider, "model": "gpt-test", "apiKey": server.Key, "baseURL": server.URL}},
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
		{"yes", "yes", "the database staging is gone", 1},
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
	p.until("say:", "the database staging is gone")
	if code := p.end(); code != exitDone {
		t.Errorf("exit code %d\n%s", code, p.story())
	}
	wantDrops(t, chat.store, 1, p.story())
}

// TestModelFailsAfterTheTool (DU-05): the tool has run, then the model fails, and the turn with it. The result
// is kept, the next message works, and neither it nor a restart runs the tool again.
func TestModelFailsAfterTheTool(t *testing.T) {
	t.Parallel()
	var fail sync.Once
	server := modeltest.NewServer(t, func(r modeltest.Request) (reply modeltest.Reply) {
		reply = dropper(r)
		if r.Last().Role == "tool" {
			fail.Do(func() {
				reply = modeltest.Status(400, nil, modeltest.Failure("no", "invalid_request_error", "", "bad_request"))
			})
		}
		return reply
	})
	chat := newChatting(t, server)
	p := chat.start()
	p.say(deleteIt)
	p.until("ask:", "Run db__drop?")
	p.say("yes")
	p.until("you:", "yes")
	p.until("", "model") // the sentence about the failure
	p.say("again")
	p.until("say:", "You said: again")
	p.kill()
	requests := server.Requests()
	results := 0
	for _, m := range requests[len(requests)-1].Messages {
		if m.Role == "tool" && strings.Contains(m.Content, "the database staging is gone") {
			results++
		}
	}
	if results != 1 {
		t.Errorf("the model is told the result %d times, want once", results)
	}
	p = chat.start()
	p.say("once more")
	p.until("say:", "You said: once more")
	p.kill()
	wantDrops(t, chat.store, 1, p.story())
}

// TestTwoApprovalsInOneReply: they are asked one after the other, killed in between; both run once all are
// answered, in the order of the calls, and a declined one does not.
func TestTwoApprovalsInOneReply(t *testing.T) {
	t.Parallel()
	for answers, want := range map[string]string{"yes yes": "staging test", "no yes": "test", "yes no": "staging", "no no": ""} {
		t.Run(answers, func(t *testing.T) {
			t.Parallel()
			server := modeltest.NewServer(t, func(r modeltest.Request) modeltest.Reply {
				if r.Last().Role == "tool" {
					return modeltest.Say("That is all.")
				}
				return modeltest.CallTools("Two of them.",
					modeltest.Call{ID: "a", Name: "db__drop", Arguments: `{"name":"staging"}`},
					modeltest.Call{ID: "b", Name: "db__drop", Arguments: `{"name":"test"}`})
			})
			chat := newChatting(t, server)
			first, second, _ := strings.Cut(answers, " ")
			p := chat.start()
			p.say("delete both databases")
			p.until("ask:", `"staging"`)
			p.until("ask:", "Run db__drop?")
			p.kill()
			p = chat.start()
			p.until("ask:", "Run db__drop?")
			p.say(first)
			p.until("ask:", `"test"`)
			p.until("ask:", "Run db__drop?")
			wantDrops(t, chat.store, 0, p.story())
			p.kill()
			p = chat.start()
			p.until("ask:", `"test"`)
			p.until("ask:", "Run db__drop?")
			p.say(second)
			p.until("say:", "That is all.")
			p.kill()
			var ran []string
			for _, e := range effectLines(t, chat.store) {
				ran = append(ran, e.Arguments.(map[string]any)["name"].(string))
			}
			if got := strings.Join(ran, " "); got != want {
				t.Errorf("ran %q, want %q\n%s", got, want, p.story())
			}
		})
	}
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
