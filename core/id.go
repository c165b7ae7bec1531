package core

import (
	"fmt"
	"strings"
)

// PersonID names who speaks, as platform:id: "telegram:42", "local:alice", "api:deploy". It is always the platform's stable id, never a user name.
type PersonID string

// Surface is the part before the colon: the platform that vouches for the person.
func (p PersonID) Surface() string {
	s, _, _ := strings.Cut(string(p), ":")
	return s
}

// ParsePerson reads a person as written in a configuration. It refuses names, spaces and numbers
// without a platform, so that no entry is silently never matched; the shape of each platform's ids is
// checked by the configuration, which knows the platforms.
func ParsePerson(s string) (PersonID, error) {
	surface, id, ok := strings.Cut(s, ":")
	switch {
	case s != strings.TrimSpace(s):
		return "", fmt.Errorf("person %q has spaces around it: write it without them", s)
	case !ok || surface == "" || id == "":
		return "", fmt.Errorf("person %q: want platform:id, such as telegram:42 or local:alice", s)
	case strings.HasPrefix(id, "@"):
		return "", fmt.Errorf("person %q is a name, which its owner can change: want the platform's stable id, such as telegram:42", s)
	}
	return PersonID(s), nil
}

type (
	// AgentID names an agent of the configuration.
	AgentID string
	// RunID names a run; ids sort by the time the run began.
	RunID string
	// CallID names a tool call within its run.
	CallID string
	// InputID names an input. It is opaque, at most 32 bytes of letters and digits, and sorts by time.
	InputID string
)

// ConversationID names where an agent is spoken to. It is agent, channel and place joined by "|";
// only NewConversation builds one.
type ConversationID string

// Place is where on a channel a conversation stands, in the channel's own terms:
// "-1001234/36" for a Telegram forum topic, "alice/default" in a terminal.
type Place string

// NewConversation returns the id of the conversation of agent at place of the configured channel.
func NewConversation(agent AgentID, channel string, place Place) ConversationID {
	return ConversationID(string(agent) + "|" + channel + "|" + string(place))
}

// Parts takes the id apart again.
func (c ConversationID) Parts() (agent AgentID, channel string, place Place) {
	a, rest, _ := strings.Cut(string(c), "|")
	ch, p, _ := strings.Cut(rest, "|")
	return AgentID(a), ch, Place(p)
}

// Channel is the configured channel the conversation stands on.
func (c ConversationID) Channel() string {
	_, ch, _ := c.Parts()
	return ch
}

// Agent is the agent the conversation is with.
func (c ConversationID) Agent() AgentID {
	a, _, _ := c.Parts()
	return a
}
