package core

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// SupersededText is what a call that was waiting is told when a new message came instead of an answer.
const SupersededText = "Not answered: the user sent a new message instead"

// ResultAnswered is the result of a call of kind ask whose input a person settled, however they did: what
// was asked and what was answered, in the words both were shown in. It holds no internal id.
func ResultAnswered(in Input) Result {
	a := Answer{}
	if in.Settled != nil && in.Settled.Answer != nil {
		a = *in.Settled.Answer
	}
	switch a.Action {
	case ActionDecline, "":
		return ResultDeclined(in)
	case ActionSkip:
		return ResultSkipped(in)
	}
	r := Result{Outcome: OutcomeAnswered, Content: choices(in, a)}
	return r.After(in)
}

// ResultDeclined is the result of a call that a person declined: it did not run.
func ResultDeclined(in Input) Result {
	content := "Declined: the call did not run."
	if in.Kind == KindQuestion {
		content = "Declined: the user was asked and chose nothing."
	}
	if in.Settled != nil && in.Settled.Answer != nil && in.Settled.Answer.Reason != "" {
		content += " Their reason: " + in.Settled.Answer.Reason
	}
	r := Result{Outcome: OutcomeDeclined, Content: content}
	return r.After(in)
}

// ResultSkipped is the result of a question set that a person skipped: its defaults stand, and nobody
// confirmed them.
func ResultSkipped(in Input) Result {
	content := "Skipped: nobody confirmed an answer."
	if in.Settled != nil && in.Settled.Answer != nil {
		if list := choices(in, *in.Settled.Answer); list != "" {
			content += " These defaults stand unconfirmed:\n" + list
		}
	}
	r := Result{Outcome: OutcomeSkipped, Content: content}
	return r.After(in)
}

// choices lists the answers of a set, one question a line.
func choices(in Input, a Answer) string {
	var lines []string
	for _, c := range a.Choices {
		i := in.question(c.Question)
		if i < 0 {
			continue
		}
		q := in.Questions[i]
		lines = append(lines, quote(q.Prompt)+": "+chosen(q, c)+touched(c))
	}
	return strings.Join(lines, "\n")
}

// chosen names what was chosen: labels, then free text in quotes.
func chosen(q Question, c Choice) string {
	names := c.Labels(q)
	if c.Text != "" {
		names = append(names, quote(c.Text))
	}
	if len(names) == 0 {
		if c.Skipped {
			return "no answer"
		}
		return "none of these"
	}
	return strings.Join(names, ", ")
}

// touched tells whether a person chose.
func touched(c Choice) string {
	switch {
	case c.Skipped && (len(c.Values) > 0 || c.Text != ""):
		return " (skipped: this is the default, nobody confirmed it)"
	case c.Skipped:
		return " (skipped)"
	case c.Defaulted:
		return " (the default, taken as it stood: nobody chose otherwise)"
	default:
		return ""
	}
}

// quote writes s on one line, in quotes, so that no text passes for another line of the answer.
func quote(s string) string { return string(marshal(s)) }

// marshal is JSON without the escapes that only HTML needs.
func marshal(v any) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil // strings and flat structs of them always encode
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

// After adds who settled the inputs that the call waited for, in which role, and for how many seconds it
// waited in all. Inputs that nobody settled add nothing.
func (r Result) After(inputs ...Input) Result {
	var waited time.Duration
	for _, in := range inputs {
		if !in.State.Settled() || in.Settled == nil {
			continue
		}
		r.By, r.Role = in.Settled.By, in.Settled.Role
		if r.Role == "" {
			r.Role = Role(in.Responders.Asker, r.By)
		}
		waited += max(0, in.Settled.At.Sub(in.CreatedAt))
		seconds := int64(waited / time.Second)
		r.Waited = &seconds
	}
	return r
}

// ResultClosed is the result of a call that nobody answered before its run ended: outcome is superseded,
// cancelled, expired or interrupted, by is who ended it, nobody where it was the clock. A call that never
// asked says that it was not run.
func ResultClosed(call Call, outcome Outcome, by Closing) Result {
	switch {
	case call.Waits == 0 && call.Kind != CallApproval && call.Kind != CallAsk:
		return Result{Outcome: outcome, Content: "Not run: " + because(outcome, by.By)}
	case outcome == OutcomeSuperseded:
		return Result{Outcome: outcome, Content: SupersededText}
	default:
		return Result{Outcome: outcome, Content: "Not answered: " + because(outcome, by.By)}
	}
}

// ResultNotRun is the result of a call whose input in was settled, but whose run ended before the call
// could run. A question that was answered keeps its answer and a declined call its decline; a call that
// was approved says that it was not run.
func ResultNotRun(call Call, in Input, outcome Outcome) Result {
	switch {
	case call.Kind == CallAsk:
		return ResultAnswered(in)
	case in.State == InputDeclined && in.Kind == KindApproval:
		return ResultDeclined(in)
	case call.Approval != nil:
		return notRun(outcome, fmt.Sprintf("approved by %s, not run: ", call.Approval.By)).After(in)
	case in.Kind == KindApproval && in.Settled != nil:
		return notRun(outcome, fmt.Sprintf("approved by %s, not run: ", in.Settled.By)).After(in)
	default:
		return notRun(outcome, "Not run: ").After(in)
	}
}

func notRun(outcome Outcome, before string) Result {
	return Result{Outcome: outcome, Content: before + because(outcome, "")}
}

// because says why a run ended.
func because(outcome Outcome, by PersonID) string {
	switch outcome {
	case OutcomeSuperseded:
		return "the user sent a new message instead"
	case OutcomeCancelled:
		if by != "" {
			return "cancelled by " + string(by)
		}
		return "the turn was cancelled"
	case OutcomeExpired:
		return "nobody answered in time"
	default:
		return "the turn was interrupted"
	}
}

// ResultInterrupted is the result of a call of which nobody knows whether it ran, and that is not tried again.
func ResultInterrupted(call Call) Result {
	content := "Interrupted: the call had been started, and it may or may not have run. It is not tried again."
	if call.Approval != nil {
		content = "approved by " + string(call.Approval.By) + ". " + content
	}
	return Result{Outcome: OutcomeInterrupted, Content: content}
}

// ResultAssumed is the result of such a call that a person says to treat as done.
func ResultAssumed(inputs ...Input) Result {
	r := Result{Outcome: OutcomeAssumed, Content: "Treated as done: the call was interrupted, and a person said to go on as if it had run. Its output is lost."}
	return r.After(inputs...)
}

// ResultRefused is the result of a call that a person declined before in this run.
func ResultRefused() Result {
	return Result{Outcome: OutcomeRefused, Content: "Not run and not asked again: a person declined this same call before in this turn."}
}

// Text is what the model reads: the content itself of a call that waited for nobody, else one JSON
// object that says who answered, in which role and after how many seconds.
func (r Result) Text() string {
	if r.Waited == nil && r.By == "" {
		return r.Content
	}
	return string(marshal(struct {
		Outcome Outcome         `json:"outcome"`
		By      PersonID        `json:"answeredBy,omitempty"`
		Role    string          `json:"role,omitempty"`
		Waited  *int64          `json:"waited,omitempty"`
		RanWith json.RawMessage `json:"ranWith,omitempty"`
		Content string          `json:"content"`
	}{r.Outcome, r.By, r.Role, r.Waited, r.RanWith, r.Content}))
}

// MaxResult is the greatest length of a tool's result, in bytes.
const MaxResult = 100_000

// BoundResult makes a tool's result fit to be stored and sent: bytes that are no UTF-8 become U+FFFD, and
// what is longer than MaxResult is cut at a character with a note of how much was left out.
func BoundResult(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= MaxResult {
		return s
	}
	cut := MaxResult
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "\n[cut here: " + strconv.Itoa(len(s)-cut) + " of " + strconv.Itoa(len(s)) + " bytes are left out]"
}
