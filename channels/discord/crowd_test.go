package discord

import (
	"testing"

	"parley/channels/channeltest"
	"parley/channels/discord/discordtest"
	"parley/core"
)

func personOf(i int) discordtest.User {
	return discordtest.User{ID: discordtest.ID(1000 + i), Name: "p"}
}

func (s *server) Enter(n int) {
	for i := range n {
		s.crowd = append(s.crowd, s.srv.DM(personOf(i)))
	}
}

func (s *server) Chat(i int) core.ConversationID {
	return core.NewConversation(channeltest.Agent, "guild", core.Place(s.crowd[i].String()))
}

func (s *server) Speak(i int, text string) {
	s.connected()
	s.srv.Say(personOf(i), s.crowd[i], text)
}

func (s *server) Prompts(i int) (n int) {
	for _, m := range s.srv.Sent(s.crowd[i]) {
		if channeltest.Asks(m.Content) {
			n++
		}
	}
	return n
}

func BenchmarkWaiting(b *testing.B)  { channeltest.FigureWaiting(b, openServer(b), 1000) }
func BenchmarkAccepted(b *testing.B) { channeltest.FigureIntake(b, openServer(b)) }
