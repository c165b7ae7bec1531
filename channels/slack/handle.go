package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"parley/channels"
	"parley/core"
)

// asideTimeout bounds a line for one person: nobody waits for it.
const asideTimeout = 10 * time.Second

// unstored is what a person is told whose press could not be stored, where the sink has no words for it.
const unstored = "That could not be stored. Nothing has changed; please press again."

// postman hands what arrives to the sink, by whichever way it came.
type postman struct {
	*Adapter
	sink  channels.Sink
	inbox *inbox
}

// take puts an event or a press into the inbox. A nil job wants nothing but to be acknowledged.
func (p *postman) take(kind string, payload json.RawMessage) (*job, error) {
	r := reader{me: p.self()}
	if kind == "interactive" {
		in, why := r.readPress(payload)
		if why != "" {
			p.log.Debug("slack: ignored an interaction", "why", why)
			return nil, nil
		}
		return p.inbox.submit(in.channel+"/"+in.thread, in.id(), func(ctx context.Context) error { return p.press(ctx, in) })
	}
	var c callback
	if err := json.Unmarshal(payload, &c); err != nil {
		p.log.Warn("slack: skipped an event that cannot be read", "err", err)
		return nil, nil
	}
	in, why := r.readEvent(c)
	if why != "" {
		p.log.Debug("slack: ignored an event", "event", c.ID, "why", why)
		return nil, nil
	}
	// app_mention does not say what kind of channel it is in; its lane must be that of the messages there.
	if in.kind != "" {
		p.kinds.set(in.channel, in.kind)
	} else {
		in.kind, _ = p.kinds.get(in.channel)
	}
	// One gesture may arrive as two messages; one message as two events.
	if in.gesture != "" && p.gestures.claim(strings.Join([]string{in.gesture, in.user, in.channel, in.text}, "|"), in.id()) != in.id() {
		p.log.Debug("slack: ignored a second copy of one gesture", "message", in.id())
		return nil, nil
	}
	id := in.id()
	if in.mention {
		id = "mention:" + id
	}
	return p.inbox.submit(in.lane(), id, func(ctx context.Context) error { return p.message(ctx, in) })
}

// message does what one message asks for. nil: it may be acknowledged.
func (p *postman) message(ctx context.Context, in post) error {
	if taken, _ := p.taken.get(in.id()); taken {
		return nil
	}
	who := p.people.guess(ctx, in.user)
	team := in.team
	if !in.told && who.team != "" {
		team = reader{me: p.self()}.home(who.team)
	}
	m := core.Message{
		ID: in.id(), From: personID(team, in.user), Text: in.text, Files: in.files, Command: in.command, Lang: who.lang,
		Order: orderOf(in.ts), SentAt: timeOf(in.ts), Addressed: in.meant || in.kind == direct,
	}
	heard, err := p.place(ctx, in, &m)
	if err != nil {
		return fmt.Errorf("slack message %s: %w", in.id(), err)
	}
	if !heard {
		return nil
	}
	if err := p.sink.Message(ctx, m); err != nil {
		return fmt.Errorf("slack message %s: %w", in.id(), err)
	}
	p.taken.set(in.id(), true)
	if _, _, place := m.Conversation.Parts(); p.knows == nil && strings.Contains(string(place), "/") {
		p.threads.set(string(place), true)
	}
	return nil
}

// place finds the conversation of a message, and whether the bot hears it there.
func (p *postman) place(ctx context.Context, in post, m *core.Message) (heard bool, err error) {
	kind := in.kind
	if kind == "" {
		if kind, err = p.kindOf(ctx, in.channel); err != nil {
			return false, err
		}
	}
	m.Shared = kind != direct
	at := func(thread string) {
		m.Conversation = core.NewConversation(p.agent, p.name, placeOf(in.channel, thread))
	}
	switch {
	case in.thread != "":
		at(in.thread)
		return p.inThread(ctx, in, m)
	case kind == direct || kind == several:
		at("")
		return true, nil
	case in.meant:
		at(in.ts)
		return true, nil
	}
	return false, nil
}

// inThread: a thread the bot is part of is heard; one under a message the bot posted by itself answers that
// message; in any other the bot must be meant.
func (p *postman) inThread(ctx context.Context, in post, m *core.Message) (heard bool, err error) {
	known, err := p.isPart(ctx, m.Conversation)
	if err != nil {
		return false, err
	}
	if !known {
		ours, err := p.ownRoot(ctx, in)
		if err != nil {
			return false, err
		}
		if ours {
			m.Conversation = core.NewConversation(p.agent, p.name, placeOf(in.channel, ""))
			m.ReplyTo, m.Addressed = messageID(in.channel, in.thread), true
			return true, nil
		}
	}
	m.Thread = known
	return known || m.Addressed, nil
}

// isPart reports whether the conversation of a thread is one of ours.
func (p *postman) isPart(ctx context.Context, c core.ConversationID) (bool, error) {
	_, _, place := c.Parts()
	if known, _ := p.threads.get(string(place)); known {
		return true, nil
	}
	if p.knows == nil {
		return false, nil
	}
	known, err := p.knows(ctx, c)
	if err != nil {
		return false, fmt.Errorf("look up conversation %s: %w", c, err)
	}
	if known {
		p.threads.set(string(place), true)
	}
	return known, nil
}

// press settles what a button names, and tells the person alone why not.
func (p *postman) press(ctx context.Context, in press) error {
	who := p.people.guess(ctx, in.user)
	out, err := p.sink.Press(ctx, channels.Press{
		Input: in.input, Step: in.step, Reply: in.reply, From: personID(in.team, in.user), ID: in.id(), Lang: who.lang,
		Conversation: core.NewConversation(p.agent, p.name, placeOf(in.channel, in.thread)),
	})
	if err != nil {
		p.log.Error("slack: a press was not stored", "input", in.input, "err", err)
		if out.Line == "" {
			out.Line = unstored
		}
	}
	if line := strings.TrimSpace(out.Line); line != "" {
		p.inbox.work.Go(func() { p.whisper(ctx, in, line) })
	}
	return nil
}

// whisper shows a line to the person who pressed.
func (p *postman) whisper(ctx context.Context, in press, line string) {
	within, cancel := context.WithTimeout(ctx, asideTimeout)
	defer cancel()
	if err := p.api.postEphemeral(within, in.channel, in.thread, in.user, escaped.Replace(line)); err != nil && ctx.Err() == nil {
		p.log.Warn("slack: a person was not told why their press did nothing", "channel", in.channel, "person", in.user, "err", err)
	}
}
