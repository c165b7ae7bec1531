package core

import (
	"encoding/json"
	"time"
)

// RunStatus is the state of a run.
type RunStatus string

// The states of a run; doc.go draws them.
const (
	RunRunning       RunStatus = "running"
	RunInputRequired RunStatus = "input_required"
	RunCompleted     RunStatus = "completed"
	RunFailed        RunStatus = "failed"
	RunCancelled     RunStatus = "cancelled"
	RunSuperseded    RunStatus = "superseded"
	RunExpired       RunStatus = "expired"
)

// Open reports whether the run still goes on or waits.
func (s RunStatus) Open() bool { return s == RunRunning || s == RunInputRequired }

// Run is one message and all that the agent does about it.
type Run struct {
	ID           RunID          `json:"id"`
	Conversation ConversationID `json:"conversation"`
	// Agent works on it: the conversation's, or the one that a call delegated to.
	Agent AgentID `json:"agent,omitempty"`
	// Parent is the run whose call this one works on, "" for the root; Children of a root are all runs below it.
	Parent   RunID   `json:"parent,omitempty"`
	Children []RunID `json:"children,omitempty"`
	// Before is the run before it in the conversation, "" for the first.
	Before  RunID     `json:"before,omitempty"`
	Message Message   `json:"message"` // what started it; its sender is the asker
	Status  RunStatus `json:"status"`
	// Text is what the agent said when the run last stopped.
	Text string `json:"text,omitempty"`
	// Reason is the plain sentence of why a run failed or was closed.
	Reason string `json:"reason,omitempty"`
	// Abort is set while the run is running by someone who wants it to stop.
	Abort *Closing `json:"abort,omitempty"`
	// Steps and Inputs count against the agent's limits.
	Steps  int `json:"steps,omitempty"`
	Inputs int `json:"inputs,omitempty"`
	// Denied holds the digests of calls a person declined in this run: proposed again they are refused unasked.
	Denied []string `json:"denied,omitempty"`
	// Stuck counts attempts that failed at one journal position; SetAside keeps the run for the operator.
	Stuck     int       `json:"stuck,omitempty"`
	SetAside  string    `json:"setAside,omitempty"`
	Usage     Usage     `json:"usage,omitzero"`
	CreatedAt time.Time `json:"createdAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	// Trace is where the span of the stretch in which it was last advanced stands (a W3C traceparent), and
	// TraceSettled those of the inputs that ended since. Empty where nothing is traced.
	Trace        string   `json:"trace,omitempty"`
	TraceSettled []string `json:"traceSettled,omitempty"`
}

// Asker is the person whose message started the run.
func (r Run) Asker() PersonID { return r.Message.From }

// Usage counts the tokens that the model's service billed.
type Usage struct {
	Requests int `json:"requests,omitempty"`
	Input    int `json:"input,omitempty"`
	Output   int `json:"output,omitempty"`
}

// Closing says who ended something, when, and by which door.
type Closing struct {
	By  PersonID  `json:"by,omitempty"`
	Via string    `json:"via,omitempty"`
	At  time.Time `json:"at"`
}

// ToolType says what a tool does to the world.
type ToolType string

// The tool types.
const (
	ToolRead   ToolType = "read"
	ToolAction ToolType = "action"
	ToolAgent  ToolType = "agent"
)

// CallStatus is the state of a tool call.
type CallStatus string

// The states of a call. auto_executed is a call that needed nobody and ran; executing is recorded before
// a call starts.
const (
	CallAutoExecuted CallStatus = "auto_executed"
	CallPending      CallStatus = "pending_approval"
	CallExecuting    CallStatus = "executing"
	CallExecuted     CallStatus = "executed"
	CallRejected     CallStatus = "rejected"
	CallFailed       CallStatus = "failed"
	CallSuperseded   CallStatus = "superseded"
	CallCancelled    CallStatus = "cancelled"
	CallExpired      CallStatus = "expired"
)

// Call is one tool call of the model. Its arguments are frozen when it is recorded: what was shown is what runs.
type Call struct {
	Run RunID  `json:"run"`
	ID  CallID `json:"id"` // ours, unique in the run, in call order
	// Provider is the id the model gave, sent back to it with the result.
	Provider string     `json:"provider,omitempty"`
	Step     int        `json:"step"`  // the model reply it came in, from 1
	Index    int        `json:"index"` // its place in that reply, from 0
	Tool     string     `json:"tool"`  // "source__tool"
	Source   string     `json:"source,omitempty"`
	Type     ToolType   `json:"toolType"`
	Kind     CallKind   `json:"kind"`
	Status   CallStatus `json:"status"`
	// Arguments are frozen after schema defaults were applied; Hash is over them and Spec, Spec over the tool's schema and target.
	Arguments json.RawMessage `json:"arguments"`
	Hash      string          `json:"hash"`
	Spec      string          `json:"spec"`
	// Target is where the call goes and Schema the digest of its tool's schema, as they were shown.
	Target string `json:"target,omitempty"`
	Schema string `json:"schema,omitempty"`
	// Changed says that a person changed the arguments before they were approved.
	Changed bool `json:"changed,omitempty"`
	// Rule is the policy rule that demanded approval, "" if none did.
	Rule string `json:"rule,omitempty"`
	// Idempotent calls may run again after a crash.
	Idempotent bool `json:"idempotent,omitempty"`
	// Claim is the token under which executing was written: under another one the outcome is unknown.
	Claim string `json:"claim,omitempty"`
	// Waits counts the inputs this call has had; Attempt is what it was when executing was last written.
	Waits    int       `json:"waits,omitempty"`
	Attempt  int       `json:"attempt,omitempty"`
	Approval *Approval `json:"approval,omitempty"`
	// StartedAt and EndedAt are those of its last attempt: when executing was written, and when the tool came
	// back, with a result or with an ask. StartedAt is zero where it never ran, EndedAt also where nobody knows
	// how it ended.
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	// Child is the run that a call of an agent delegated to.
	Child RunID `json:"child,omitempty"`
	// Asks are the inputs the tool itself asked for, in the order it asked.
	Asks   []Ask   `json:"asks,omitempty"`
	Result *Result `json:"result,omitempty"`
}

// Done reports whether the call has its result.
func (c Call) Done() bool { return c.Result != nil }

// Took is how long the call's last attempt took; ok is false where it never ran, or where its end is not known.
func (c Call) Took() (d time.Duration, ok bool) {
	if c.StartedAt.IsZero() || c.EndedAt.IsZero() {
		return 0, false
	}
	return max(c.EndedAt.Sub(c.StartedAt), 0), true
}

// Key is the idempotency key of the call, the same at every attempt.
func (c Call) Key() string { return string(c.Run) + "/" + string(c.ID) }

// CallKind is how a call waits; it is decided once, in the step persist:toolcall:<callId>.
type CallKind string

// The kinds of a call.
const (
	CallAuto     CallKind = "auto"     // runs unasked
	CallApproval CallKind = "approval" // runs after an approval
	CallAsk      CallKind = "ask"      // a question set of ask, ask_user or the intake: has no handler
	CallRefused  CallKind = "refused"  // never runs; Result says why
)

// Approval is the consent that an approved call carries.
type Approval struct {
	Input InputID   `json:"input"`
	By    PersonID  `json:"by"`
	At    time.Time `json:"at"`
}

// Ask ties an ask of a tool (Confirm, Ask, RequireURL) to the input that answers it. Key is the ask's
// position and content, so that several asks of one tool each get their own answer.
type Ask struct {
	Key   string  `json:"key"`
	Input InputID `json:"input"`
}

// Result is what the model is told about a call: exactly one, whatever happened.
type Result struct {
	// Outcome is a fixed word: ok, error, declined, skipped, answered, superseded, cancelled, expired,
	// interrupted, refused, not_run, assumed_done.
	Outcome Outcome `json:"outcome"`
	Content string  `json:"content"`
	// By, Role and Waited tell who answered, as what, and after how many seconds, of a call that waited.
	By     PersonID `json:"answeredBy,omitempty"`
	Role   string   `json:"role,omitempty"`
	Waited *int64   `json:"waited,omitempty"`
	// RanWith are the arguments that ran, where a person changed them.
	RanWith json.RawMessage `json:"ranWith,omitempty"`
}

// Outcome is how a call ended, for the model.
type Outcome string

// The outcomes of a call.
const (
	OutcomeOK          Outcome = "ok"
	OutcomeError       Outcome = "error"
	OutcomeAnswered    Outcome = "answered"
	OutcomeDeclined    Outcome = "declined"
	OutcomeSkipped     Outcome = "skipped"
	OutcomeSuperseded  Outcome = "superseded"
	OutcomeCancelled   Outcome = "cancelled"
	OutcomeExpired     Outcome = "expired"
	OutcomeInterrupted Outcome = "interrupted"
	OutcomeRefused     Outcome = "refused"
	OutcomeNotRun      Outcome = "not_run"
	OutcomeAssumed     Outcome = "assumed_done"
)

// Step is one entry of a run's journal.
type Step struct {
	Name string          `json:"name"`
	Data json.RawMessage `json:"data,omitempty"`
}
