package telegram

import (
	"testing"

	"parley/channels/channeltest"
	"parley/channels/telegram/telegramtest"
	"parley/core"
)

func personOf(i int) telegramtest.User { return telegramtest.User{ID: int64(1000 + i)} }

func (p *platform) Enter(n int) {
	for i := range n {
		p.srv.Private(personOf(i))
	}
}

func (p *platform) Chat(i int) core.ConversationID {
	return core.NewConversation(channeltest.Agent, "tg", placeOf(personOf(i).ID, 0))
}

func (p *platform) Speak(i int, text string) {
	p.srv.Say(personOf(i), telegramtest.Where{Chat: personOf(i).ID}, text)
}

func (p *platform) Prompts(i int) (n int) {
	for _, m := range p.srv.Sent(telegramtest.Where{Chat: personOf(i).ID}) {
		if channeltest.Asks(m.Text) {
			n++
		}
	}
	return n
}

func BenchmarkWaiting(b *testing.B)  { channeltest.FigureWaiting(b, open(b, false), 1000) }
func BenchmarkAccepted(b *testing.B) { channeltest.FigureIntake(b, open(b, false)) }
