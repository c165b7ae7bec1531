package slack

import (
	"context"
	"strings"
	"testing"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/slack/slacktest"
	"parley/core"
	"parley/core/turn"
)

// inThread is the whole program with a group that is a thread of a channel, begun by a mention of alice's.
func inThread(t *testing.T, human func(*platform) core.HumanInput) (*channeltest.World, *platform) {
	t.Helper()
	t.Parallel()
	p := open(t)
	at := p.srv.Open("C0OPS", slacktest.Public)
	at.Thread = p.srv.Say(userOf(channeltest.Alice), at, "good morning", slacktest.Silent)
	p.group = at
	h := core.DefaultHumanInput()
	if human != nil {
		h = human(p)
	}
	seen := &store{}
	p.knows = seen.Knows
	return channeltest.NewWorld(t, watched{p, seen}, h), p
}

// store is what the program's store knows of conversations: here all whose message was accepted.
type store struct{ channeltest.Sink }

// watched notes what the engine accepts.
type watched struct {
	*platform
	seen *store
}

func (w watched) Adapter(t testing.TB, turns channels.Turns) channels.Adapter {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turns = turns
	return noting{w.platform.Adapter(t, turns).(*Adapter), w.seen}
}

// noting is the adapter with a sink that notes what was accepted.
type noting struct {
	*Adapter
	seen *store
}

func (n noting) Run(ctx context.Context, s channels.Sink) error {
	return n.Adapter.Run(ctx, notingSink{s, n.seen})
}

type notingSink struct {
	channels.Sink
	seen *store
}

func (n notingSink) Message(ctx context.Context, m core.Message) error {
	if err := n.Sink.Message(ctx, m); err != nil {
		return err
	}
	return n.seen.Message(ctx, m)
}

func say(t *testing.T, p *platform, who, text string, mention bool) {
	t.Helper()
	p.Say(t, channeltest.Saying{Who: who, Room: channeltest.Group, Text: text, Overheard: !mention})
}

// DU-24, RT-15: a prompt in a thread is answered by a plain yes, after a restart.
func TestPlainYesInAThreadAfterARestart(t *testing.T) {
	w, p := inThread(t, nil)
	say(t, p, channeltest.Alice, "drop staging", true)
	in := w.Asked(channeltest.Group, 0)
	w.Restart()
	w.Still(channeltest.Group)
	say(t, p, channeltest.Alice, "yes", false)
	w.Says(channeltest.Group, "Results:")
	if got := w.Effects.Done(); len(got) != 1 || w.Input(in.ID).State != core.InputAccepted {
		t.Errorf("the tools did %q", got)
	}
	if n := len(p.srv.Sent(slacktest.Where{Channel: "C0OPS"})); n != 0 {
		t.Errorf("%d messages outside the thread", n)
	}
}

// AU-01, AU-18: in a thread Mallory's yes changes nothing; Ben, who may approve, does.
func TestWhoMayAnswerInAThread(t *testing.T) {
	w, p := inThread(t, func(p *platform) core.HumanInput {
		h := core.DefaultHumanInput()
		h.Approvers = []core.PersonID{p.Person(channeltest.Bob)}
		return h
	})
	say(t, p, channeltest.Alice, "drop staging", true)
	in := w.Asked(channeltest.Group, 0)
	say(t, p, channeltest.Mallory, "yes", false)
	say(t, p, channeltest.Mallory, "yes", true)
	w.Still(channeltest.Group)
	if w.Input(in.ID).State != core.InputPending {
		t.Fatal("a stranger's yes counted")
	}
	say(t, p, channeltest.Bob, "yes", false)
	w.Says(channeltest.Group, "Results:")
	if s := w.Input(in.ID).Settled; s == nil || s.By != p.Person(channeltest.Bob) {
		t.Errorf("settled %+v", s)
	}
}

// DU-11: an answer that mentions the bot arrives as two events, in either order, and is one answer.
func TestAnswerWithAMentionIsOneAnswer(t *testing.T) {
	for _, swapped := range []bool{false, true} {
		t.Run(map[bool]string{false: "message first", true: "mention first"}[swapped], func(t *testing.T) {
			w, p := inThread(t, nil)
			p.srv.Swapped(swapped)
			say(t, p, channeltest.Alice, "drop staging", true)
			w.Asked(channeltest.Group, 0)
			say(t, p, channeltest.Alice, "yes", true)
			w.Says(channeltest.Group, "Results:")
			w.Still(channeltest.Group)
			for _, s := range w.Shown(channeltest.Group) {
				if strings.Contains(s.Text, "Heard") {
					t.Errorf("an extra turn: %q", s.Text)
				}
			}
			if got := w.Effects.Done(); len(got) != 1 {
				t.Errorf("the tools did %q", got)
			}
		})
	}
}

// RT-14: an answer from elsewhere shows in the thread, on the prompt and as the reply that follows.
func TestAnswerFromElsewhereShowsInTheThread(t *testing.T) {
	w, p := inThread(t, nil)
	say(t, p, channeltest.Alice, "drop staging", true)
	in := w.Asked(channeltest.Group, 0)
	if _, err := p.turns.Settle(context.Background(), turn.Settlement{Input: in.ID, From: p.Person(channeltest.Alice), Via: "api", Typed: "approve"}); err != nil {
		t.Fatal(err)
	}
	w.Says(channeltest.Group, "Results:")
	w.Until("the prompt says who decided", func() bool {
		for _, s := range w.Shown(channeltest.Group) {
			if s.Edited && len(s.Buttons) == 0 && strings.Contains(s.Text, "slack:T0HOME/UALICE") {
				return true
			}
		}
		return false
	})
}

// TR-06: a prompt whose sending timed out at our side stands there once, and can be answered.
func TestPromptThatTimedOutStandsThereOnce(t *testing.T) {
	w, p := inThread(t, nil)
	say(t, p, channeltest.Alice, "hello", true)
	w.Says(channeltest.Group, "Heard: hello")
	p.srv.Fail("chat.postMessage", slacktest.Fault{Reset: true, Applied: true, Times: 2})
	say(t, p, channeltest.Alice, "drop staging", false)
	w.Asked(channeltest.Group, 0)
	w.Still(channeltest.Group)
	n := 0
	for _, s := range w.Shown(channeltest.Group) {
		if len(s.Buttons) > 0 {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d prompts, want 1", n)
	}
	say(t, p, channeltest.Alice, "yes", false)
	w.Says(channeltest.Group, "Results:")
}

// RT-13: a prompt that cannot be sent leaves its input waiting and is known as undeliverable.
func TestPromptThatCannotBeSent(t *testing.T) {
	w, p := inThread(t, nil)
	p.srv.Fail("chat.postMessage", slacktest.Fault{Error: "not_in_channel", Times: 9})
	say(t, p, channeltest.Alice, "drop staging", true)
	w.Until("an input waits", func() bool { return w.Waiting(channeltest.Group) == 1 })
	w.Still(channeltest.Group)
	if len(w.Effects.Done()) != 0 || w.Waiting(channeltest.Group) != 1 {
		t.Error("a prompt nobody saw was answered")
	}
}
