package core

import (
	"strings"
	"time"
)

// Message is what a person said, as a channel hands it in. It is stored before it is acknowledged.
type Message struct {
	// ID is the platform's identity of the message within its conversation: the key of deduplication.
	ID           string         `json:"id"`
	Conversation ConversationID `json:"conversation"`
	From         PersonID       `json:"from"`
	// Text is plain: the platform's escapes undone, the bot's own mention taken out.
	Text string `json:"text"`
	// Files are named to the model; a message that carries one never settles an input.
	Files []File `json:"files,omitempty"`
	// Order is the platform's own order of messages in the conversation (Slack ts, Telegram message
	// id, Discord snowflake); 0 where there is none. Equal is not after.
	Order  uint64    `json:"order,omitempty"`
	SentAt time.Time `json:"sentAt"`
	// ReplyTo is the platform's identity of the message this one replies to, "" for none.
	ReplyTo string `json:"replyTo,omitempty"`
	// ReplyInput and ReplyStep are the prompt that the message it replies to shows, as our own buttons on it say;
	// "" where there are none. They count where no receipt tells: of a copy whose sending was cut short.
	ReplyInput InputID `json:"replyInput,omitempty"`
	ReplyStep  int     `json:"replyStep,omitempty"`
	// Shared says that other people read along: a group, a channel, a thread of one.
	Shared bool `json:"shared,omitempty"`
	// Addressed says that the bot is meant: a direct chat, a mention, a reply to it.
	Addressed bool `json:"addressed,omitempty"`
	// Thread says that it stands in a thread the bot is part of, where every message is heard.
	Thread bool `json:"thread,omitempty"`
	// Command is a platform command without its slash ("cancel", "help", "start", "status", "pending", "inbox"),
	// "" for ordinary text.
	Command string `json:"command,omitempty"`
	// Lang is the person's language as a BCP 47 tag where the platform tells it.
	Lang string `json:"lang,omitempty"`
	// Fresh says that it is a new message whatever its text: it comes by a door where answers name their input.
	Fresh bool `json:"fresh,omitempty"`
	// NotBefore delays a message of a sender who is over the rate limit: it starts no run before this
	// time. Answers, commands and cancel are not held back.
	NotBefore time.Time `json:"notBefore,omitzero"`
}

// File is an attachment of a message, named to the model. What it holds is never stored.
type File struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
	Size int64  `json:"size,omitempty"` // bytes
	// Ref is what its channel finds the file by again; empty where it cannot be opened.
	Ref string `json:"ref,omitempty"`
}

// Empty reports whether the message has no text: it never answers and never supersedes.
func (m Message) Empty() bool { return strings.TrimSpace(m.Text) == "" }

// Conversation is one agent's one history at one place, and what is open there.
type Conversation struct {
	ID ConversationID `json:"id"`
	// Open is the run that is running or waits, "" for none (I1).
	Open RunID `json:"open,omitempty"`
	// Last is the newest run, open or ended; runs are chained back through Run.Before.
	Last RunID `json:"last,omitempty"`
	// Closed is the input whose prompt ended last here: what a late answer is told about.
	Closed InputID `json:"closed,omitempty"`
	// Moved is where the platform has put the conversation since its id was made; "" where it stood.
	Moved Place `json:"moved,omitempty"`
	// Alias is the conversation that this place belongs to since the platform moved it here.
	Alias ConversationID `json:"alias,omitempty"`
	// Copies are inputs of other conversations whose prompts were copied here and still wait.
	Copies []InputID `json:"copies,omitempty"`
	// Asked says that the agent's intake was shown here.
	Asked bool `json:"asked,omitempty"`
	// Lang is the language last heard here.
	Lang string `json:"lang,omitempty"`
	// Shared says that more than one person reads here.
	Shared bool `json:"shared,omitempty"`
}

// Queued is a message that waits for its turn.
type Queued struct {
	Seq     uint64  `json:"seq"` // the order of acceptance in its conversation
	Message Message `json:"message"`
	// Held: the message met a prompt whose delivery is not yet known; it is routed again once it is.
	Held bool `json:"held,omitempty"`
}
