package rest

import (
	"encoding/json"
	"errors"

	"parley/core"
	"parley/core/turn"
)

type toolCallBody struct {
	Run     string          `json:"runId"`
	Call    string          `json:"toolCallId"`
	Answers json.RawMessage `json:"answers"`
	Reason  string          `json:"reason"`
	From    *string         `json:"from"`
	Hash    string          `json:"hash"`
}

// verdict is the route that settles a call's one pending input by a word.
func verdict(word string) action {
	return func(c *call) (reply, error) {
		var b toolCallBody
		if err := decode(c.body, &b); err != nil {
			return reply{}, err
		}
		if word == "answer" != given(b.Answers) {
			reason := "only answer takes answers"
			if word == "answer" {
				reason = "want the answers"
			}
			return reply{}, badFields("the answers do not fit", fieldOf("answers", reason))
		}
		in, err := c.asked(core.RunID(b.Run), core.CallID(b.Call))
		if err != nil {
			return reply{}, err
		}
		s, err := submission(word, in, b)
		if err != nil {
			return reply{}, err
		}
		return c.settleOne(in.ID, b.From, b.Hash, s)
	}
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// submission is what a word means to an input: a verdict on a question set takes its defaults or skips it;
// answers are never a verdict.
func submission(word string, in core.Input, b toolCallBody) (core.Submission, error) {
	switch {
	case word == "skip":
		return core.Submission{Action: core.ActionSkip, Reason: b.Reason}, nil
	case word == "answer" && in.Kind == core.KindApproval:
		return core.Submission{}, &core.AnswerError{Code: core.AnswerMismatch, Input: in.ID, Reason: "this is an approval: approve or reject it"}
	case word == "answer":
		return core.Submission{Action: core.ActionAccept, Content: b.Answers}, nil
	case word == "approve":
		return core.Submission{Action: core.ActionAccept}, nil
	case in.Kind == core.KindQuestion:
		return core.Submission{Action: core.ActionSkip, Reason: b.Reason}, nil
	default:
		return core.Submission{Action: core.ActionDecline, Reason: b.Reason}, nil
	}
}

// asked is the input that a call waits on, or where none does the last it waited on.
func (c *call) asked(run core.RunID, id core.CallID) (core.Input, error) {
	row, err := c.a.c.Turns.RunByID(c.ctx, run)
	if errors.Is(err, turn.ErrNotFound) || err == nil && !c.token.sees(row.Conversation.Agent(), row.Agent) {
		return core.Input{}, notFound("run")
	}
	if err != nil {
		return core.Input{}, err
	}
	t, err := c.a.c.Turns.Trace(c.ctx, run)
	if err != nil {
		return core.Input{}, err
	}
	var found *core.Input
	for i, in := range t.Inputs {
		if in.Call == id && (found == nil || !found.Pending()) {
			found = &t.Inputs[i]
		}
	}
	if found == nil {
		return core.Input{}, notFound("input of this call")
	}
	return *found, nil
}
