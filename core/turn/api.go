package turn

import (
	"time"

	"parley/core"
)

// Accepted is what became of a message.
type Accepted struct {
	// Duplicate says that the message had been accepted before; nothing happened now.
	Duplicate bool
	Did       core.Doing
	// Run is the run that the message started or acted on, "" for none.
	Run core.RunID
	// Input is the input it acted on, "" for none.
	Input core.InputID
}

// Settlement ends one input by name, at whichever door.
type Settlement struct {
	Input core.InputID
	From  core.PersonID
	// Via is the door: chat, button, terminal, rest, go, mcp, web.
	Via string
	// Submission is the answer as a value. Typed, if not "", is a reply as text instead, read against the
	// input as it would be in its chat; Step is the Draft.Step of the prompt it was given to, -1 for the current one.
	Submission core.Submission
	Typed      string
	Step       int
	// Hash, if not "", is that of the call as the person saw it: one that was changed since is not settled.
	Hash string
}

// Failure is an attempt to send that did not succeed.
type Failure struct {
	// Unsure says that it may have gone through.
	Unsure bool
	// Permanent says that no further try will help; the row is dropped and the run's history tells.
	Permanent bool
	// After is how long to wait before the next try; 0 lets the engine choose.
	After time.Duration
	// Sent are the parts that did go through, as platform ids in order.
	Sent []string
	Err  string
}

// Shown is what an outbox row names, loaded in one view.
type Shown struct {
	Row          core.Out
	Conversation core.Conversation
	Run          core.Run
	// Input is the row's input, or the first that a suspended run waits on; nil if there is none.
	Input *core.Input
	// Inputs are all inputs of the run in order, for a prompt that tells what else waits.
	Inputs []core.Input
	// Edits are those of the row: their prompts are brought up to date before it is shown.
	Edits []core.Input
	// Calls are the run's calls: an edit tells how the call ended.
	Calls []core.Call
	// Agent is the agent's name as people know it.
	Agent string
	Lang  string
	Now   time.Time
}
