package discord

import (
	"slices"

	"parley/channels"
	"parley/core"
)

// The types of messages that people write: plain, and a reply.
const (
	typePlain = 0
	typeReply = 19
)

// forwarded is the type of a reference to a message that is shown again.
const forwarded = 1

// flagEphemeral is on a message that one person alone sees.
const flagEphemeral = 1 << 6

// reader reads the events of one bot. It is pure.
type reader struct {
	me      self
	ours    []string    // our mentions
	roles   []snowflake // ours
	agent   core.AgentID
	channel string
}

// message reads a new message. why says in a word why there is nothing for the agent in it.
func (r reader) message(m *message, at room) (_ *core.Message, why string) {
	if why := r.refuse(m); why != "" {
		return nil, why
	}
	// Without the privileged intent the text of a message not meant for us is empty.
	if m.Content == "" && len(m.files()) == 0 {
		return nil, "no text"
	}
	text, mentioned := stripMentions(m.Content, r.ours)
	shared := at.shared(m)
	out := &core.Message{
		ID:           messageID(m.Channel, m.ID),
		Conversation: r.conversation(m.Channel),
		From:         personID(m.Author.ID),
		Text:         unescape(text),
		Files:        m.files(),
		Order:        uint64(m.ID),
		SentAt:       m.ID.time(),
		Shared:       shared,
		Addressed:    !shared || mentioned || r.means(m),
		Thread:       isThread(at.kind) && at.ours,
		Command:      typedCommand(text),
	}
	if m.Reference != nil && m.Reference.Message != 0 {
		in := m.Reference.Channel
		if in == 0 {
			in = m.Channel
		}
		out.ReplyTo = messageID(in, m.Reference.Message)
	}
	if out.Command != "" && shared && !out.Addressed && !out.Thread {
		out.Command = "" // somebody else's
	}
	return out, ""
}

// refuse says why a message is not a person's own new words, "" where it is.
func (r reader) refuse(m *message) string {
	switch {
	case m.ID == 0 || m.Channel == 0:
		return "no id"
	case m.Type != typePlain && m.Type != typeReply:
		return "a service message"
	case m.Webhook != 0:
		return "of a webhook"
	case m.Author == nil || m.Author.ID == 0 || m.Author.Bot || m.Author.System:
		return "not from a person"
	case m.Author.ID == r.me.user:
		return "our own"
	case m.Flags&flagEphemeral != 0:
		return "ephemeral"
	case m.Reference != nil && m.Reference.Type == forwarded, len(m.Snapshots) > 0:
		return "forwarded"
	case set(m.Edited):
		return "edited"
	}
	return ""
}

// means reports whether a message is addressed to us beside its text: it replies to us, or Discord counts us
// among those it mentions.
func (r reader) means(m *message) bool {
	if m.Referenced != nil && m.Referenced.Author != nil && m.Referenced.Author.ID == r.me.user {
		return true
	}
	return slices.ContainsFunc(m.Mentions, func(u user) bool { return u.ID == r.me.user }) ||
		slices.ContainsFunc(m.Roles, func(id snowflake) bool { return slices.Contains(r.roles, id) })
}

// shared reports whether other people read along.
func (x room) shared(m *message) bool {
	switch {
	case m.Guild != 0 || x.guild != 0:
		return true
	case m.ChannelType != nil:
		return *m.ChannelType != typeDirect
	}
	return x.kind != typeDirect && x.kind != 0
}

func (r reader) conversation(channel snowflake) core.ConversationID {
	return core.NewConversation(r.agent, r.channel, placeOf(channel))
}

// press reads a component that was used; ok is false where it is not one of a prompt of ours.
func (r reader) press(i interaction) (p channels.Press, ok bool) {
	who := i.who()
	switch {
	case who == nil || who.ID == 0 || who.Bot || i.Channel == 0 || i.ID == 0:
		return p, false
	case i.Message == nil || i.Message.Author != nil && i.Message.Author.ID != r.me.user:
		return p, false
	}
	input, step, reply, ok := parseCustomID(i.Data.CustomID)
	if ok && reply == "" {
		if len(i.Data.Values) != 1 || i.Data.Values[0] == "" || len(i.Data.Values[0]) > maxCustomID {
			return p, false
		}
		reply = i.Data.Values[0]
	}
	return channels.Press{
		ID: i.ID.String(), Input: input, Step: step, Reply: reply, From: personID(who.ID),
		Conversation: r.conversation(i.Channel), Lang: i.Locale,
	}, ok
}

// command reads one of our commands; ok is false for any other. What the command says is a message of its
// own: its id is the interaction's.
func (r reader) command(i interaction) (_ *core.Message, ok bool) {
	who := i.who()
	if who == nil || who.ID == 0 || who.Bot || i.Channel == 0 || i.ID == 0 || !commands[i.Data.Name] || !installedHere(i) {
		return nil, false
	}
	return &core.Message{
		ID: messageID(i.Channel, i.ID), Conversation: r.conversation(i.Channel), From: personID(who.ID),
		Text: "/" + i.Data.Name, Command: i.Data.Name, Order: uint64(i.ID), SentAt: i.ID.time(),
		Shared: i.Guild != 0 || i.Context != nil && *i.Context == 2, Addressed: true, Lang: i.Locale,
	}, true
}

// installedHere reports whether the bot itself is where the command was used: people can carry an
// application of their own into servers that never let the bot in.
func installedHere(i interaction) bool {
	if len(i.Owners) == 0 {
		return true
	}
	_, here := i.Owners["0"]
	return here
}
