package rest

import (
	"regexp"
	"strings"
	"unicode"

	"parley/channels"
	"parley/core"
)

// defaultName is the conversation where none is named.
const defaultName = "default"

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@+=-]{0,127}$`)

// maxPlace bounds the place of a channel's conversation.
const maxPlace = 256

// shown is a conversation as clients read it, CHANNEL:PLACE, and may write it.
func shown(c core.ConversationID) string { return channels.ViewPlace(c) }

// conversation reads what a client names: NAME or api:NAME of its own, api:TOKEN/NAME as shown, or
// CHANNEL:PLACE of a channel that the token names. "" is the default one.
func (t *token) conversation(agent core.AgentID, s string) (core.ConversationID, error) {
	if s == "" {
		s = defaultName
	}
	channel, place, ok := strings.Cut(s, ":")
	if !ok {
		channel, place = Channel, s
	}
	if channel != Channel {
		return t.elsewhere(agent, channel, place)
	}
	owner, name, ok := strings.Cut(place, "/")
	if !ok {
		owner, name = t.Name, place
	}
	if !nameForm.MatchString(name) {
		return "", badFields("there can be no such conversation", fieldOf("conversation",
			"want a name of letters, digits and . _ @ + = -, at most 128, or CHANNEL:PLACE"))
	}
	if owner != t.Name && !t.Admin {
		return "", notFound("conversation")
	}
	return core.NewConversation(agent, Channel, core.Place(owner+"/"+name)), nil
}

// elsewhere is a conversation of a channel that the token names.
func (t *token) elsewhere(agent core.AgentID, channel, place string) (core.ConversationID, error) {
	for _, ch := range t.Channels {
		if ch != channel {
			continue
		}
		if place == "" || len(place) > maxPlace || strings.ContainsFunc(place, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
			return "", badFields("there can be no such conversation", fieldOf("conversation", "the place does not fit"))
		}
		return core.NewConversation(agent, channel, core.Place(place)), nil
	}
	return "", notFound("conversation")
}
