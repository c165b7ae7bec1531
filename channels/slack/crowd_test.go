package slack

import (
	"fmt"
	"testing"

	"parley/channels/channeltest"
	"parley/channels/slack/slacktest"
	"parley/core"
)

func chatOf(i int) slacktest.Where { return slacktest.Where{Channel: fmt.Sprintf("DP%d", i)} }

func (p *platform) Enter(n int) {
	for i := range n {
		p.srv.AddUser(slacktest.User{ID: fmt.Sprintf("UP%d", i)})
		p.srv.DM(fmt.Sprintf("UP%d", i))
	}
}

func (p *platform) Chat(i int) core.ConversationID {
	return core.NewConversation(channeltest.Agent, "work", placeOf(chatOf(i).Channel, ""))
}

func (p *platform) Speak(i int, text string) { p.srv.Say(fmt.Sprintf("UP%d", i), chatOf(i), text) }

func (p *platform) Prompts(i int) (n int) {
	for _, m := range p.srv.Sent(chatOf(i)) {
		if channeltest.Asks(m.Text) {
			n++
		}
	}
	return n
}

func BenchmarkWaiting(b *testing.B)  { channeltest.FigureWaiting(b, open(b), 1000) }
func BenchmarkAccepted(b *testing.B) { channeltest.FigureIntake(b, open(b)) }
