package turn_test

import (
	"strings"
	"testing"

	"parley/core"
)

func TestCopiesAnswerTheSameInput(t *testing.T) {
	for name, answer := range map[string]func(w *world, m *core.Message, copyOf string){
		"typed":   func(*world, *core.Message, string) {},
		"replied": func(_ *world, m *core.Message, copyOf string) { m.ReplyTo = copyOf },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				boss := core.NewConversation("ops", home, "boss")
				w.agent.Human.Approvers = []core.PersonID{ben}
				w.agent.Human.Notify = []core.ConversationID{boss}
				w.model = script(calls("", `db__drop {}`))
				w.start()
				w.say(ana, "go")
				w.restart()
				w.idle()
				in := w.waiting()[0]
				if len(in.Prompts) != 2 || in.Prompts[1].Conversation != boss {
					t.Fatalf("prompts %+v", in.Prompts)
				}
				w.wantLines("ask approval drop #0", "ask approval drop #0")
				m := w.message(cleo, "yes")
				m.Conversation, m.ReplyTo = boss, in.Prompts[1].Messages[0]
				if got := w.send(m); got.Did != core.DoNote {
					t.Errorf("a stranger's yes did %q", got.Did)
				}
				m = w.message(ben, "yes")
				m.Conversation = boss
				answer(w, &m, in.Prompts[1].Messages[0])
				if got := w.send(m); got.Did != core.DoAnswer || got.Input != in.ID {
					t.Errorf("yes at the copy: %+v", got)
				}
				w.idle()
				got := strings.Join(w.lines(), "\n")
				if strings.Count(got, "edit approval accepted") != 2 || !strings.Contains(got, "say end") || w.tools["db__drop"].ran() != 1 {
					t.Errorf("shown:\n%s", got)
				}
				m = w.message(ben, "hello")
				m.Conversation = boss
				if got := w.send(m); got.Did != core.DoStart {
					t.Errorf("an ordinary message at the copy's place did %q", got.Did)
				}
			})
		})
	}
}

// A copy for a person is forwarded to where they are spoken to, once, and answered there; not where its prompt
// stands anyway.
func TestACopyForAPersonIsForwarded(t *testing.T) {
	_, _, own := conv().Parts()
	for _, place := range []core.Place{"dm", own} {
		t.Run(string(place), func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.found = place
				w.agent.Human.Approvers = []core.PersonID{ben}
				w.agent.Human.Notify = []core.ConversationID{core.NewConversation("ops", home, "p:ben")}
				w.model = script(calls("", `db__drop {}`))
				w.start()
				w.say(ana, "go")
				w.idle()
				w.restart()
				w.idle()
				in := w.waiting()[0]
				if place == own {
					if len(in.Prompts) != 1 {
						t.Errorf("prompts %+v", in.Prompts)
					}
					return
				}
				if len(in.Prompts) != 2 || in.Prompts[1].Conversation != core.NewConversation("ops", home, "dm") {
					t.Fatalf("prompts %+v", in.Prompts)
				}
				m := w.message(ben, "yes")
				m.Conversation = in.Prompts[1].Conversation
				if got := w.send(m); got.Did != core.DoAnswer {
					t.Errorf("yes at the copy: %+v", got)
				}
			})
		})
	}
}

func TestConversationThatMoves(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		if err := w.e.Move(t.Context(), conv(), "super"); err != nil {
			t.Fatal(err)
		}
		if err := w.e.Move(t.Context(), conv(), "super"); err != nil {
			t.Fatal(err)
		}
		w.idle()
		w.wantLines("ask approval drop #0", "ask approval drop #0")
		m := w.message(ana, "yes")
		m.Conversation = core.NewConversation("ops", home, "super")
		if got := w.send(m); got.Did != core.DoAnswer {
			t.Errorf("yes at the new place did %q", got.Did)
		}
		w.idle()
		if n := w.tools["db__drop"].ran(); n != 1 {
			t.Errorf("ran %d times", n)
		}
	})
}
