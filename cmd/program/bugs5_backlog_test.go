package program

import (
	"testing"

	"parley/channels/telegram/telegramtest"
)

// TestDU14AYesOlderThanThePrompt waits in the backlog: the prompt could not be sent before the program was killed, so
// that it stands after the yes now, which is never applied to it. DU-13: one that stands after it is, though nobody
// listened when it was said.
func TestDU14AYesOlderThanThePrompt(t *testing.T) {
	t.Parallel()
	p := newTelegram(t)
	s := newStage(t, p, func(cfg map[string]any) { // one that says nothing before it asks
		cfg["models"] = map[string]any{"script": map[string]any{"provider": "scripted", "script": `{"rules":[{"when":"(?i)delete",
			"calls":[{"name":"db__drop","arguments":{"name":"staging"}}],"then":[{"say":"Done: the database staging is gone."}]}]}`}}
	})
	p.srv.Fail("sendMessage", telegramtest.Fault{Hang: true}) // it never stands there
	p.ask(deleteIt)
	s.wait("the prompt is being sent", func() bool { return len(p.srv.Calls("sendMessage")) > 0 })
	s.serve.kill()
	p.say("ana", "yes", "")
	s.start()
	s.asked(dropPrompt)
	s.says("waits for an answer")
	s.serve.kill()
	wantDrops(t, s.store, 0, s.serve.story())
	p.say("ana", "yes", "")
	s.start()
	s.says("Done: the database staging is gone.")
	s.serve.kill()
	wantDrops(t, s.store, 1, s.serve.story())
}
