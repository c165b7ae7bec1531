package rest

import (
	"context"
	"errors"
	"net/http"
	"time"

	"parley/core"
	"parley/core/turn"
)

// Problem is an error as a client sees it: application/problem+json.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Code is the last word of Type, for programs.
	Code    string `json:"code"`
	Request string `json:"requestId,omitempty"`
	// Fields are all that does not fit, of a 400.
	Fields []core.FieldError `json:"fields,omitempty"`
	// Input, State, By, Via and At tell how an input ended, of a 409.
	Input core.InputID    `json:"inputId,omitempty"`
	State core.InputState `json:"state,omitempty"`
	// Hash is that of the call as it stands, where it was changed since it was shown.
	Hash string        `json:"hash,omitempty"`
	By   core.PersonID `json:"by,omitempty"`
	Via  string        `json:"via,omitempty"`
	At   *time.Time    `json:"at,omitempty"`
	// Answer is the place, from 0, of the refused answer among several; Done are those that took effect.
	Answer *int       `json:"answer,omitempty"`
	Done   []answered `json:"done,omitempty"`
	// Again says that the same request may do later: its answer is not kept under an Idempotency-Key.
	Again bool `json:"-"`
	// RetryAfter, in seconds, becomes a header.
	RetryAfter int `json:"-"`
}

func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// titles are one sentence per code.
var titles = map[string]string{
	string(core.AnswerInvalid): "The request does not fit", string(core.AnswerFromRequired): "Nobody is named as the one who acts",
	string(core.AnswerForbidden): "This person may not", string(core.AnswerNotFound): "There is no such thing, or not for this token",
	string(core.AnswerConflict): "It has ended in another way", string(core.AnswerMismatch): "The answer is for another kind of input",
	"not_spoken_for": "This token may not speak for that person", "unauthorized": "A valid token is needed", "not_admin": "An administrator's token is needed",
	"method_not_allowed": "This method is not for this address", "too_large": "The body is too large", "media_type": "The body must be application/json",
	"key_reused": "The Idempotency-Key was used with another body", "read_only": "The definition is in the configuration file and is read-only",
	"busy": "Too many streams are open", "try_again": "It could not be stored or read", "internal": "The server failed", "timeout": "The request took too long",
}

// answerStatus is the one table from refusals of the engine to HTTP.
var answerStatus = map[core.AnswerCode]int{
	core.AnswerInvalid: http.StatusBadRequest, core.AnswerFromRequired: http.StatusBadRequest, core.AnswerForbidden: http.StatusForbidden,
	core.AnswerNotFound: http.StatusNotFound, core.AnswerConflict: http.StatusConflict, core.AnswerMismatch: http.StatusConflict,
}

func notFound(what string) *Problem {
	return &Problem{Status: http.StatusNotFound, Code: string(core.AnswerNotFound), Detail: "there is no such " + what + ", or this token may not see it"}
}

func fieldOf(name, reason string) core.FieldError {
	return core.FieldError{Field: name, Reason: reason}
}

// Invalid is the refusal of a body, with all that does not fit.
func Invalid(detail string, fields ...core.FieldError) *Problem { return badFields(detail, fields...) }

func badFields(detail string, fields ...core.FieldError) *Problem {
	return &Problem{Status: http.StatusBadRequest, Code: string(core.AnswerInvalid), Detail: detail, Fields: fields}
}

// problemOf is what a client is told about an error. What is not foreseen tells nothing of the inside.
func problemOf(err error) *Problem {
	var p *Problem
	var refused *core.AnswerError
	var several *turn.Unsettled
	switch {
	case errors.As(err, &p):
		c := *p
		p = &c
	case errors.As(err, &several):
		p = answerProblem(several.Err)
	case errors.As(err, &refused):
		p = answerProblem(refused)
	case errors.Is(err, turn.ErrNotFound):
		p = notFound("thing")
	case errors.Is(err, context.DeadlineExceeded):
		p = &Problem{Status: http.StatusServiceUnavailable, Code: "timeout", Detail: "ask again for what became of it", RetryAfter: 1}
	default:
		p = &Problem{Status: http.StatusServiceUnavailable, Code: "try_again", Detail: "nothing that was not confirmed has happened: try again", RetryAfter: 1}
	}
	p.Type, p.Title = "urn:parley:problem:"+p.Code, titles[p.Code]
	if p.State == core.InputPending {
		p.Title = "It is no longer what was shown"
	}
	return p
}

func answerProblem(e *core.AnswerError) *Problem {
	p := &Problem{Status: answerStatus[e.Code], Code: string(e.Code), Detail: e.Reason, Fields: e.Fields, Input: e.Input}
	if in := e.Current; in != nil {
		p.State = in.State
		if in.Pending() {
			p.Hash, p.Detail = in.Hash, p.Detail+`, then answer again with its "hash"`
		}
		if s := in.Settled; s != nil {
			at := s.At
			p.By, p.Via, p.At = s.By, s.Via, &at
		}
	}
	return p
}
