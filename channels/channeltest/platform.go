package channeltest

import (
	"testing"

	"parley/channels"
	"parley/core"
)

// Room is where people talk to the bot in the scenarios.
type Room string

// The rooms: alice's direct chat with the bot, and a group that everybody reads. In the group the platform
// has a person mention the bot, as its people do, unless a Saying is Overheard.
const (
	Direct Room = "direct"
	Group  Room = "group"
)

// The people of the scenarios. Bob may approve where a scenario says so; Mallory never may.
const (
	Alice   = "alice"
	Bob     = "bob"
	Mallory = "mallory"
)

// Agent is the one agent that a platform's conversations are with.
const Agent core.AgentID = "ops"

// Caps is what a platform can do. A scenario that needs more is skipped.
type Caps struct {
	Group   bool // more than one person, in the room Group
	Buttons bool
	Edits   bool
	Replies bool // a message can reply to another
	Crossed bool // a Saying may be Late: messages need not arrive in their order
	AtOnce  bool // messages need not wait for the turn before them
	Slash   bool // a text such as "/help" reaches the program as a command
	Rewords bool // a person can edit what they said: the platform is a Rewording
	Shows   bool // a person can send a picture: the platform is an Album
	Stores  bool // a message needs no run to be taken, and no prompt to be sent: a process may do one of them
}

// Saying is what a person says.
type Saying struct {
	Who     string
	Room    Room
	Text    string
	ReplyTo string // the platform's id of a message, "" for none
	// Overheard is said in the group without meaning the bot.
	Overheard bool
	// Late has its place now, and reaches the program at Release.
	Late bool
	// Picture comes with the text, nil for none.
	Picture []byte
}

// Seen is a message of the bot as the platform shows it now.
type Seen struct {
	ID      string
	Text    string
	Buttons []string // what a press of each submits
	Edited  bool
}

// Rewording is a Platform on which a person can edit what they said.
type Rewording interface {
	Reword(t testing.TB, who string, room Room, message, text string)
}

// Platform is a chat platform under test: a fake server that outlives the program, which is started and
// stopped around it. Its methods may be called from several goroutines; Say returns without waiting for the
// program.
type Platform interface {
	Caps() Caps
	// Adapter is a new adapter of the platform, for one start of the program.
	Adapter(t testing.TB, turns channels.Turns) channels.Adapter
	// Person is the stable id of one of the people.
	Person(name string) core.PersonID
	// Conversation is the id that the adapter gives a room.
	Conversation(Room) core.ConversationID
	// Say lets a person speak, and returns the platform's id of the message.
	Say(testing.TB, Saying) string
	// Press lets a person press the button of a message that submits reply.
	Press(t testing.TB, who string, room Room, message, reply string)
	// Shown is what a room shows of the bot, oldest first.
	Shown(Room) []Seen
	// Release hands in what was said Late.
	Release()
	// Quiet waits until the program has taken everything that was said, and pressed, except what is Late.
	Quiet(testing.TB)
}
