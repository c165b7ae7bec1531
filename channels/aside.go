package channels

import (
	"context"
	"strings"
	"time"

	"parley/core"
	"parley/render"
)

// aside is a line that goes out without the outbox: to a stranger, or when storing fails.
type aside struct {
	to    Target
	parts []render.Part
}

// asideTimeout is how long such a line may take, asideGrace how long those still waiting have at the end.
const (
	asideTimeout = 15 * time.Second
	asideGrace   = 2 * time.Second
)

// tryAgain is the line when storing failed.
var tryAgain = render.NoteData{Code: core.NoteStoreTryAgain}

// line is the text of parts that are shown outside the chat, without a dialect's marks.
func line(parts []render.Part) string { return strings.TrimSpace(render.PlainText(parts)) }

// sayAside queues a line in answer to m, or drops it where too many wait: no answer is lost with it.
func (p *port) sayAside(m core.Message, parts []render.Part) {
	to := target(m.Conversation, m.ID)
	to.Key, to.Voice = core.Digest("aside", string(m.Conversation), m.ID), VoiceNote
	select {
	case p.aside <- aside{to, parts}:
	default:
		p.log.Warn("a line was not sent: too many wait", "conversation", m.Conversation)
	}
}

// speakAside sends such lines until ctx ends, and then those that wait.
func (p *port) speakAside(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case a := <-p.aside:
			p.sendAside(ctx, a)
		}
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), asideGrace)
	defer cancel()
	for {
		select {
		case a := <-p.aside:
			p.sendAside(late, a)
		default:
			return
		}
	}
}

func (p *port) sendAside(ctx context.Context, a aside) {
	try, cancel := context.WithTimeout(ctx, asideTimeout)
	defer cancel()
	for _, part := range a.parts {
		if _, err := p.Adapter.Send(try, a.to, part); err != nil {
			p.log.Warn("a line was not sent", "err", err)
			return
		}
	}
}
