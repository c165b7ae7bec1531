package core

import (
	"fmt"
	"strings"
)

// AnswerCode says why an answer was refused. Nothing changed: the input is as it was.
type AnswerCode string

// The codes, with the HTTP status each becomes.
const (
	AnswerInvalid      AnswerCode = "invalid"        // 400: the content does not fit, Fields says where
	AnswerFromRequired AnswerCode = "from_required"  // 400: nobody is named as the one who answers
	AnswerForbidden    AnswerCode = "forbidden"      // 403: this person may not
	AnswerNotFound     AnswerCode = "not_found"      // 404
	AnswerConflict     AnswerCode = "conflict"       // 409: it ended in another way, Current says how
	AnswerMismatch     AnswerCode = "reply_mismatch" // 409: the answer is for another kind of input
)

// AnswerError is a refused answer.
type AnswerError struct {
	Code  AnswerCode
	Input InputID
	// Reason is one sentence for people.
	Reason string
	// Fields are all that does not fit, of an invalid answer.
	Fields []FieldError
	// Current is the input as it stands, of a conflict: its State and Settled tell who, when and how.
	Current *Input
}

// FieldError is one thing in an answer that does not fit. Field is a form field's name, a question's
// prompt, or "" for the whole.
type FieldError struct {
	Field  string `json:"field"`
	Reason string `json:"reason"`
}

func (e *AnswerError) Error() string {
	s := fmt.Sprintf("answer input %s: %s", e.Input, e.Reason)
	for i, f := range e.Fields {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		s += sep + strings.TrimPrefix(f.Field+": ", ": ") + f.Reason
	}
	return s
}

// ErrConflict refuses an answer to an input that has ended in another way.
func ErrConflict(in Input) *AnswerError {
	reason := "it is already " + string(in.State)
	if in.Settled != nil && in.Settled.By != "" {
		reason += " by " + string(in.Settled.By)
	}
	return &AnswerError{Code: AnswerConflict, Input: in.ID, Reason: reason, Current: &in}
}

// ErrChanged refuses an answer to a call that is no longer the one that was shown.
func ErrChanged(in Input) *AnswerError {
	return &AnswerError{Code: AnswerConflict, Input: in.ID, Reason: "the call was changed since it was shown: look at it again", Current: &in}
}

// ErrForbidden refuses an answer of a person who may not answer.
func ErrForbidden(in Input, who PersonID) *AnswerError {
	return &AnswerError{Code: AnswerForbidden, Input: in.ID, Reason: string(who) + " may not answer it"}
}

// ErrFromRequired refuses an answer that nobody stands for.
func ErrFromRequired(id InputID) *AnswerError {
	return &AnswerError{Code: AnswerFromRequired, Input: id, Reason: `say who answers with "from"`}
}

// ErrNoInput refuses an answer to an input that does not exist, or that the caller may not see.
func ErrNoInput(id InputID) *AnswerError {
	return &AnswerError{Code: AnswerNotFound, Input: id, Reason: "there is no such input"}
}

func mismatch(in Input, reason string) *AnswerError {
	return &AnswerError{Code: AnswerMismatch, Input: in.ID, Reason: reason}
}

func invalid(in Input, fields ...FieldError) *AnswerError {
	return &AnswerError{Code: AnswerInvalid, Input: in.ID, Reason: "the content does not fit", Fields: fields}
}
