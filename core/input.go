package core

import (
	"encoding/json"
	"time"
)

// Kind is what a run waits on.
type Kind string

// The kinds of input. A confirmation is a form without fields.
const (
	KindApproval Kind = "approval"
	KindQuestion Kind = "question"
	KindForm     Kind = "form"
	KindURL      Kind = "url"
)

// InputState is the state of an input; doc.go draws them.
type InputState string

// The states of an input.
const (
	InputPending    InputState = "pending"
	InputAccepted   InputState = "accepted"
	InputDeclined   InputState = "declined"
	InputSkipped    InputState = "skipped"
	InputCancelled  InputState = "cancelled"
	InputSuperseded InputState = "superseded"
	InputExpired    InputState = "expired"
)

// Settled reports whether a person ended the input, rather than it being closed.
func (s InputState) Settled() bool {
	return s == InputAccepted || s == InputDeclined || s == InputSkipped
}

// Input is one thing a run waits on.
type Input struct {
	ID           InputID        `json:"id"`
	Conversation ConversationID `json:"conversation"`
	Run          RunID          `json:"runId"`
	Call         CallID         `json:"callId"`
	// Agent is the agent of the run: its approvers may answer.
	Agent AgentID `json:"agent,omitempty"`
	// Place orders the inputs of a conversation's open run and of the runs below it.
	Place int `json:"place,omitempty"`
	// Wait is which wait of its call this is, from 1.
	Wait  int        `json:"wait"`
	Kind  Kind       `json:"kind"`
	State InputState `json:"state"`
	// Purpose tells apart what an input of one kind is for.
	Purpose Purpose `json:"purpose,omitempty"`
	// Message is the sentence of whoever asks: a tool's, a model's or an author's words, not trusted.
	Message   string          `json:"message,omitempty"`
	Tool      string          `json:"tool,omitempty"` // without its source
	Source    string          `json:"source,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // as they run; masked only on display
	Hash      string          `json:"hash,omitempty"`
	// Spec, Target and Digest are the tool's as they were when the input opened: what was shown. Digest is of
	// the schema.
	Spec      string     `json:"spec,omitempty"`
	Target    string     `json:"target,omitempty"`
	Digest    string     `json:"schemaDigest,omitempty"`
	Rule      string     `json:"rule,omitempty"`
	Questions []Question `json:"questions,omitempty"`
	// Schema is the flat JSON Schema of a form; empty for a confirmation.
	Schema json.RawMessage `json:"schema,omitempty"`
	URL    string          `json:"url,omitempty"`
	// Redact are further names of values that are masked on display.
	Redact []string `json:"redact,omitempty"`
	// Code is its short name while it waits, such as K2: it addresses one of several that wait in a chat.
	Code string `json:"code,omitempty"`
	// Nth and Of place it in its batch: "1 of 3, they run when all are answered".
	Nth        int        `json:"nth,omitempty"`
	Of         int        `json:"of,omitempty"`
	Responders Responders `json:"responders"`
	CreatedAt  time.Time  `json:"createdAt"`
	ExpiresAt  time.Time  `json:"expiresAt,omitzero"` // zero: never
	// Draft is what has been answered so far of a set or form that is asked one at a time.
	Draft   Draft    `json:"draft,omitzero"`
	Prompts []Prompt `json:"prompts,omitempty"`
	// Notes keeps who was told what about this input, so that nobody is told twice.
	Notes   []Note   `json:"notes,omitempty"`
	Settled *Settled `json:"settled,omitempty"`
}

// Pending reports whether the input still waits.
func (in Input) Pending() bool { return in.State == InputPending }

// Confirmation reports whether the input is a form without fields.
func (in Input) Confirmation() bool { return in.Kind == KindForm && len(in.Schema) == 0 }

// Purpose of an input beyond its kind.
type Purpose string

// The purposes. A plain input has none.
const (
	PurposeAskUser Purpose = "ask_user" // the model's question set
	PurposeAsk     Purpose = "ask"      // the model's question set with mandatory defaults
	PurposeIntake  Purpose = "intake"   // the author's question set
	PurposeUnknown Purpose = "unknown"  // what to do about a call that may or may not have run
	PurposeChanged Purpose = "changed"  // asked again, since the tool changed after the approval
)

// Question is one question of a set.
type Question struct {
	ID       string   `json:"id"`
	Prompt   string   `json:"prompt"`
	Options  []Option `json:"options,omitempty"`
	Multi    bool     `json:"multi,omitempty"`
	FreeText bool     `json:"freeText,omitempty"`
	// Defaults are values of options, or one free text. nil: the question has none; empty: none of these.
	Defaults []string `json:"defaults,omitzero"`
}

// Option is one choice of a question.
type Option struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

// HasDefaults reports whether confirming is enough.
func (q Question) HasDefaults() bool { return q.Defaults != nil }

// Responders says who may answer. Audience is frozen when the input opens; at answer time it is
// intersected with today's configuration: it can shrink, never grow.
type Responders struct {
	Audience []PersonID `json:"audience"`
	Asker    PersonID   `json:"asker"`
}

// Draft is the part of a set or form that has been answered. At is the question or field shown, counted
// from 0; at the end of a form of several fields Review is the last look. Step grows with every prompt
// that is to be shown, so that a reply is matched to the prompt it stands after.
type Draft struct {
	Step   int   `json:"step,omitempty"`
	At     int   `json:"at,omitempty"`
	Review bool  `json:"review,omitempty"`
	Seen   []int `json:"seen,omitempty"` // questions shown before the one at At: defaults of others cannot be confirmed yet
	// Held says that "default all" came to a question not yet shown, the one at At now.
	Held    bool             `json:"held,omitempty"`
	Choices []Choice         `json:"choices,omitempty"` // one per question answered, in question order
	Fields  map[string]Field `json:"fields,omitempty"`
}

// Field is a form field as drafted.
type Field struct {
	Value json.RawMessage `json:"value"`
	By    PersonID        `json:"by"`
}

// Choice is the answer to one question of a set.
type Choice struct {
	Question string   `json:"question"`       // its id
	Values   []string `json:"values"`         // values of options in list order, never nil
	Text     string   `json:"text,omitempty"` // free text as typed
	// Defaulted and Skipped tell that nobody chose: the question's defaults stand.
	Defaulted bool     `json:"defaulted,omitempty"`
	Skipped   bool     `json:"skipped,omitempty"`
	By        PersonID `json:"by,omitempty"`
}

// Prompt is where an input was shown. An input has one at home and one for each notify place.
type Prompt struct {
	Conversation ConversationID `json:"conversation"`
	// Step is the Draft.Step it showed.
	Step     int      `json:"step"`
	Messages []string `json:"messages"` // platform ids of its parts, in order
	// Order is the platform's order of the last part; a typed answer must stand after it.
	Order       uint64    `json:"order,omitempty"`
	DeliveredAt time.Time `json:"deliveredAt"`
	// ClosedAt is when the edit that shows how it ended was delivered.
	ClosedAt time.Time `json:"closedAt,omitzero"`
	Text     string    `json:"-"`
}

// Note is a line one person was told about one input.
type Note struct {
	Person PersonID  `json:"person"`
	Code   NoteCode  `json:"code"`
	Times  int       `json:"times"`
	At     time.Time `json:"at"`
}

// Settled says how an input ended: Answer is set when a person settled it.
type Settled struct {
	By  PersonID `json:"by,omitempty"`
	Via string   `json:"via,omitempty"` // chat, button, terminal, rest, go, mcp, web; "" when closed by the clock
	// Role is what the person was to the run: asker or approver.
	Role   string    `json:"role,omitempty"`
	At     time.Time `json:"at"`
	Answer *Answer   `json:"answer,omitempty"`
	// Raw is the text as typed, for the audit.
	Raw string `json:"raw,omitempty"`
}
