package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"parley/core"
)

// Conv is the n-th conversation of the tests, all of one agent on one channel.
func Conv(n int) core.ConversationID {
	return core.NewConversation("ops", "tg", core.Place(fmt.Sprintf("-100%d/36", n)))
}

// Rows are one row of every kind, with a value in every field, that belong together: an ended run whose
// one call was approved.
type Rows struct {
	Conversation core.Conversation
	Run          core.Run
	Steps        []core.Step
	Call         core.Call
	Input        core.Input
	Message      core.Message
	Out          core.Out
	Event        core.Event
}

// Sample returns rows whose ids end in n, of conversation Conv(n).
func Sample(n int) Rows {
	id := func(kind string) string { return fmt.Sprintf("%s%08d", kind, n) }
	at := time.Date(2026, 3, 1, 8, 0, 0, 123456789, time.UTC).Add(time.Duration(n) * time.Second)
	conv, run, input := Conv(n), core.RunID(id("r")), core.InputID(id("i"))
	waited := int64(61)
	msg := core.Message{
		ID: id("m"), Conversation: conv, From: "telegram:42", Text: "delete <the> staging & \"more\"\u2028",
		Files: []core.File{{Name: "a.txt", Type: "text/plain", Size: 3}}, Order: 17, SentAt: at, ReplyTo: id("p"),
		Shared: true, Addressed: true, Thread: true, NotBefore: at, Command: "start", Lang: "en",
	}
	return Rows{
		Conversation: core.Conversation{ID: conv, Last: run, Closed: input, Asked: true, Lang: "en", Shared: true},
		Run: core.Run{
			ID: run, Conversation: conv, Agent: "ops", Before: core.RunID(id("q")), Message: msg, Status: core.RunCompleted, Text: "Done.",
			Reason: "because", Abort: &core.Closing{By: "telegram:42", Via: "chat", At: at}, Steps: 2, Inputs: 1,
			Denied: []string{"d1"}, Stuck: 1, SetAside: "no", Usage: core.Usage{Requests: 2, Input: 900, Output: 40},
			CreatedAt: at, EndedAt: at.Add(time.Minute),
		},
		Steps: []core.Step{
			{Name: "model:1", Data: json.RawMessage(`{"text":"<b>&","n":12345678901234567890}`)},
			{Name: "persist:toolcall:c1"},
		},
		Call: core.Call{
			Run: run, ID: "c1", Provider: "call_abc", Step: 1, Index: 0, Tool: "db__drop", Source: "db", Type: core.ToolAction,
			Kind: core.CallApproval, Status: core.CallExecuted, Arguments: json.RawMessage(`{"name":"<staging>&"}`),
			Hash: "9f86d081", Spec: "60303ae2", Target: "db", Schema: "5994471a", Attempt: 1, Rule: "always", Idempotent: true, Claim: "token", Waits: 1,
			Approval: &core.Approval{Input: input, By: "telegram:42", At: at}, Asks: []core.Ask{{Key: "0:k", Input: input}},
			Result: &core.Result{Outcome: core.OutcomeOK, Content: "dropped", By: "telegram:42", Role: "asker", Waited: &waited},
		},
		Input:   sampleInput(input, conv, run, at),
		Message: msg,
		Out: core.Out{
			Conversation: conv, Kind: core.OutReply, Run: run, Input: input, Edits: []core.InputID{input}, Step: 1, Question: 1, Note: core.NoteAlready, Hint: core.HintWords,
			Person: "telegram:42", Lang: "en", ReplyTo: id("m"), CreatedAt: at, Parts: []string{"p1"}, Tries: 1, Unsure: 1,
			NextAt: at.Add(time.Second), Error: "429",
		},
		Event: core.Event{
			Type: core.EventAnswered, At: at, Conversation: conv, Run: run, Call: "c1", Input: input, By: "telegram:42",
			Via: "chat", Data: json.RawMessage(`{"raw":"yes"}`),
		},
	}
}

func sampleInput(id core.InputID, conv core.ConversationID, run core.RunID, at time.Time) core.Input {
	return core.Input{
		ID: id, Conversation: conv, Run: run, Agent: "ops", Call: "c1", Wait: 1, Place: 1, Kind: core.KindApproval, State: core.InputAccepted,
		Purpose: core.PurposeChanged, Message: "Allow db__drop to run?", Tool: "drop", Source: "db",
		Arguments: json.RawMessage(`{"name":"<staging>&"}`), Hash: "9f86d081", Rule: "always",
		Questions: []core.Question{{
			ID: "q1", Prompt: "Which?", Options: []core.Option{{Value: "a", Label: "A"}}, Multi: true, FreeText: true, Defaults: []string{},
		}},
		Schema: json.RawMessage(`{"type":"object"}`), URL: "https://example.com/x", Redact: []string{"ssn"}, Nth: 1, Of: 2,
		Responders: core.Responders{Audience: []core.PersonID{"telegram:42", "telegram:43"}, Asker: "telegram:42"},
		CreatedAt:  at, ExpiresAt: at.Add(time.Hour),
		Draft: core.Draft{
			Step: 1, At: 1, Review: true, Seen: []int{0}, Choices: []core.Choice{{Question: "q1", Values: []string{"a"}, Text: "t", Defaulted: true, Skipped: true, By: "telegram:42"}},
			Fields: map[string]core.Field{"f": {Value: json.RawMessage(`1`), By: "telegram:42"}},
		},
		Prompts: []core.Prompt{{Conversation: conv, Step: 1, Messages: []string{"p1" + string(id), "p2" + string(id)}, Order: 18, DeliveredAt: at, ClosedAt: at}},
		Notes:   []core.Note{{Person: "telegram:44", Code: core.NoteNotAllowed, Times: 1, At: at}},
		Settled: &core.Settled{
			By: "telegram:42", Via: "chat", Role: "asker", At: at, Raw: "Yes!",
			Answer: &core.Answer{
				Action: core.ActionAccept, Choices: []core.Choice{{Question: "q1", Values: []string{}}},
				Fields: map[string]json.RawMessage{"f": json.RawMessage(`true`)}, Reason: "why",
			},
		},
	}
}

// Waiting returns the rows of Sample as they are while the run waits for the approval, created at the given
// time and expiring an hour later.
func Waiting(n int, created time.Time) Rows {
	r := Sample(n)
	r.Conversation.Open = r.Run.ID
	r.Run.Status, r.Run.EndedAt, r.Run.Abort, r.Run.SetAside, r.Run.Reason = core.RunInputRequired, time.Time{}, nil, "", ""
	r.Run.CreatedAt = created
	r.Call.Status, r.Call.Result, r.Call.Approval, r.Call.Asks = core.CallPending, nil, nil, nil
	r.Input.State, r.Input.Settled, r.Input.Draft = core.InputPending, nil, core.Draft{}
	r.Input.CreatedAt, r.Input.ExpiresAt = created, created.Add(time.Hour)
	return r
}
