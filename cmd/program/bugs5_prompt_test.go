package program

import (
	"strings"
	"testing"

	"parley/channels/discord/discordtest"
	"parley/channels/slack/slacktest"
	"parley/channels/telegram/telegramtest"
)

// TestDU03KilledWhileThePromptIsPosted: the prompt stands in the chat and the program was not told so. After the
// restart one prompt is live, or on a platform that cannot tell one copy more, marked as such, for the same input;
// the answer counts, as a reply to whichever the person sees, and the call runs once.
func TestDU03KilledWhileThePromptIsPosted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		open   func(t *testing.T) (platformUnderTest, func())
		copies int
	}{
		"slack": {func(t *testing.T) (platformUnderTest, func()) {
			p := newSlack(t, slacktest.Config{})
			return p, func() { p.srv.Fail("chat.postMessage", slacktest.Fault{Hang: true, Applied: true}) }
		}, 2},
		"discord": {func(t *testing.T) (platformUnderTest, func()) {
			p := newDiscord(t)
			return p, func() { p.srv.Fail(discordtest.RouteSend, discordtest.Fault{Hang: true, Applied: true}) }
		}, 1},
		"telegram": {func(t *testing.T) (platformUnderTest, func()) {
			p := newTelegram(t)
			return p, func() { p.srv.Fail("sendMessage", telegramtest.Fault{Hang: true, Applied: true}) }
		}, 2},
	} {
		for _, answer := range []string{"first", "last", "typed"} {
			t.Run(name+" "+answer, func(t *testing.T) {
				t.Parallel()
				p, hang := c.open(t)
				s := newStage(t, p, func(cfg map[string]any) { // one that says nothing before it asks
					cfg["models"] = map[string]any{"script": map[string]any{"provider": "scripted", "script": `{"rules":[{"when":"(?i)delete",
						"calls":[{"name":"db__drop","arguments":{"name":"staging"}}],"then":[{"say":"Done: the database staging is gone."}]}]}`}}
				})
				hang()
				p.ask(deleteIt)
				s.says(dropPrompt)
				s.serve.kill()
				s.start()
				if d, ok := p.(*discordStage); ok {
					s.wait("the second session", func() bool { return len(d.srv.Identifies()) == 2 && d.srv.Live() == 1 })
				}
				p.say("ana", "/status", "")
				s.says("waits for an answer")
				prompts := prompted(p)
				if len(prompts) > c.copies {
					t.Fatalf("%d prompts stand there, want at most %d", len(prompts), c.copies)
				}
				if len(prompts) == 2 && !strings.Contains(prompts[1].text, "twice") {
					t.Errorf("the copy is not marked: %q", prompts[1].text)
				}
				to := map[string]string{"first": prompts[0].id, "last": prompts[len(prompts)-1].id}[answer]
				p.say("ana", "yes", to)
				s.says("Done: the database staging is gone.")
				s.serve.kill()
				wantDrops(t, s.store, 1, s.serve.story())
			})
		}
	}
}

// prompted are the messages that ask, oldest first.
func prompted(p platformUnderTest) (out []standing) {
	for _, m := range p.sent() {
		if strings.Contains(m.text, dropPrompt) {
			out = append(out, m)
		}
	}
	return out
}
