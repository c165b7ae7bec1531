package core

import "time"

// OutKind is what an outbox row asks a channel to show.
type OutKind string

// The kinds of outbox rows. A row names what is to be shown; delivery renders it.
const (
	OutReply  OutKind = "reply"  // a run stopped: its text, and its first prompt if it waits
	OutPrompt OutKind = "prompt" // the prompt of an input, or its next question
	OutEdit   OutKind = "edit"   // bring an input's prompts up to date: outcome, buttons gone
	OutNote   OutKind = "note"   // one line
	OutRelay  OutKind = "relay"  // has a row written in another conversation, To: a copy of a prompt, or its edit
)

// Out is one row of the outbox: written in the commit that makes it true, sent after it.
type Out struct {
	Seq          uint64         `json:"seq"` // given by the store; order within a conversation
	Conversation ConversationID `json:"conversation"`
	Kind         OutKind        `json:"kind"`
	Run          RunID          `json:"run,omitempty"`
	Input        InputID        `json:"input,omitempty"`
	// To is the conversation of a relay: a prompt of Input goes there, or the edit of Edits.
	To ConversationID `json:"to,omitempty"`
	// Text is what the agent said when the run stopped, of a reply: the run may have gone on since. Of a note
	// it is the detail.
	Text string `json:"text,omitempty"`
	// Edits are inputs whose prompts are brought up to date before the row is shown.
	Edits []InputID `json:"edits,omitempty"`
	// Step is the Draft.Step a prompt shows.
	Step int `json:"step,omitempty"`
	// Question is the question or field, from 0, that a note is about.
	Question int `json:"question,omitempty"`
	// Note, with Hint and Person where they say more, is the line of an OutNote.
	Note   NoteCode `json:"note,omitempty"`
	Hint   Hint     `json:"hint,omitempty"`
	Person PersonID `json:"person,omitempty"`
	Lang   string   `json:"lang,omitempty"`
	// ReplyTo is the platform's message the row answers, where that helps.
	ReplyTo   string    `json:"replyTo,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	// Parts are the platform's ids of the parts that are known to be sent.
	Parts []string `json:"parts,omitempty"`
	// Tries counts failed attempts; Unsure those of them that may have gone through.
	Tries  int       `json:"tries,omitempty"`
	Unsure int       `json:"unsure,omitempty"`
	NextAt time.Time `json:"nextAt,omitzero"`
	Error  string    `json:"error,omitempty"`
}

// Receipt says where an outbox row was shown.
type Receipt struct {
	Messages []string  // platform ids of all parts, in order
	Order    uint64    // the platform's order of the last part
	At       time.Time // when the platform confirmed it
	// Prompted says that the messages are the parts of the row's prompt: it had not ended when it was shown.
	Prompted bool
}

// NoteCode names a line that Parley says in its own name. render has its sentence in each language.
type NoteCode string

// The notes.
const (
	NoteUnclear       NoteCode = "unclear"        // which replies count
	NoteNotAllowed    NoteCode = "not_allowed"    // who may answer
	NoteAlready       NoteCode = "already"        // how the input ended
	NoteTooEarly      NoteCode = "too_early"      // an answer that was sent before its prompt stood there
	NoteNothingOpen   NoteCode = "nothing_open"   // /cancel with nothing open
	NoteAborted       NoteCode = "aborted"        // cancelled, by whom
	NoteAborting      NoteCode = "aborting"       // will stop after the call that runs
	NoteSuperseded    NoteCode = "superseded"     // inputs closed by a new message
	NoteMayHaveRun    NoteCode = "may_have_run"   // a superseded unknown outcome: the call may have run
	NoteExpired       NoteCode = "expired"        // nobody answered in time
	NoteDetails       NoteCode = "details"        // the stored call again
	NoteHelp          NoteCode = "help"           // what Parley understands
	NoteStatus        NoteCode = "status"         // what runs and waits here
	NoteInbox         NoteCode = "inbox"          // what waits for the person
	NoteQueued        NoteCode = "queued"         // handled after the open turn
	NoteNoText        NoteCode = "no_text"        // a message without text never answers
	NoteNoDefault     NoteCode = "no_default"     // the question has no default
	NoteCannotGoBack  NoteCode = "cannot_go_back" // this is the first question
	NoteNoSuchPart    NoteCode = "no_such_part"   // edit N beyond the set
	NoteSecretField   NoteCode = "secret_field"   // a secret is never asked in a shared chat
	NotePending       NoteCode = "pending"        // all that waits here, with codes
	NoteWhich         NoteCode = "which"          // several stand here: say the code
	NoteNotShown      NoteCode = "not_shown"      // several are answered at once only after all were shown
	NoteChangeRefused NoteCode = "change_refused" // the changed arguments do not fit; Text says why
	NoteSetAside      NoteCode = "set_aside"      // the run cannot go on and is kept for the operator
	NoteStoreTryAgain NoteCode = "try_again"      // storing failed, nothing changed
)
