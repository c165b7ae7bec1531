package turn

import (
	"sync"

	"parley/core"
)

// bulletin wakes those who wait for news of one topic: a conversation, a channel, an agent, or all. The zero value works.
type bulletin struct {
	mu    sync.Mutex
	chans map[string]chan struct{}
}

// wait returns a channel that is closed at the next news of the topic.
func (b *bulletin) wait(topic string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.chans == nil {
		b.chans = map[string]chan struct{}{}
	}
	ch := b.chans[topic]
	if ch == nil {
		ch = make(chan struct{})
		b.chans[topic] = ch
	}
	return ch
}

// tell spreads news of a conversation, which is news of its channel and its agent too.
func (b *bulletin) tell(c core.ConversationID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, topic := range []string{string(c), channelTopic(c.Channel()), agentTopic(c.Agent()), agentTopic("")} {
		if ch := b.chans[topic]; ch != nil {
			close(ch)
			delete(b.chans, topic)
		}
	}
}

// ring spreads news of one topic alone.
func (b *bulletin) ring(topic string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ch := b.chans[topic]; ch != nil {
		close(ch)
		delete(b.chans, topic)
	}
}

func agentTopic(id core.AgentID) string { return "agent " + string(id) }

func channelTopic(channel string) string { return "channel " + channel }
