package webhook

import (
	"encoding/json"
	"fmt"
	"time"

	"parley/core"
	"parley/render"
)

// The events that a hook may be told of.
const (
	Requested = "input.requested"
	Resolved  = "input.resolved"
)

// payload is the body of a message. Sequence grows with every event of the store.
type payload struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Sequence  uint64    `json:"sequence"`
	Data      inputView `json:"data"`
}

// inputView is an input as other programs see it, named as by the HTTP interface.
type inputView struct {
	ID         core.InputID    `json:"id"`
	Kind       core.Kind       `json:"kind"`
	State      core.InputState `json:"state"`
	Message    json.RawMessage `json:"message,omitempty"` // a string
	Tool       string          `json:"tool,omitempty"`
	Source     string          `json:"source,omitempty"`
	Arguments  json.RawMessage `json:"arguments,omitempty"`
	Masked     []string        `json:"masked,omitempty"` // JSON Pointers into Arguments
	Hash       string          `json:"hash,omitempty"`
	Rule       string          `json:"rule,omitempty"`
	Purpose    core.Purpose    `json:"purpose,omitempty"`
	Questions  []core.Question `json:"questions,omitempty"`
	Schema     json.RawMessage `json:"schema,omitempty"`
	URL        json.RawMessage `json:"url,omitempty"` // a string
	Nth        int             `json:"nth,omitempty"`
	Of         int             `json:"of,omitempty"`
	Responders respondersView  `json:"responders"`
	Run        core.RunID      `json:"runId"`
	Call       core.CallID     `json:"callId"`
	Agent      core.AgentID    `json:"agent"`
	Place      string          `json:"conversation"`
	CreatedAt  time.Time       `json:"createdAt"`
	ExpiresAt  *time.Time      `json:"expiresAt,omitempty"`
	Settled    *settledView    `json:"settled,omitempty"`
}

type respondersView struct {
	Audience []core.PersonID `json:"audience"`
	Asker    core.PersonID   `json:"asker,omitempty"`
}

type settledView struct {
	State     core.InputState `json:"state"`
	By        core.PersonID   `json:"by,omitempty"`
	Via       string          `json:"via,omitempty"`
	Role      string          `json:"role,omitempty"`
	At        time.Time       `json:"at"`
	Content   json.RawMessage `json:"content,omitempty"`
	Masked    []string        `json:"masked,omitempty"` // JSON Pointers into Content
	Reason    json.RawMessage `json:"reason,omitempty"` // a string
	Defaulted []string        `json:"defaulted"`
	Skipped   []string        `json:"skipped"`
}

// kindOf is the type of message that an event becomes, "" for none.
func kindOf(ev core.Event) string {
	switch ev.Type {
	case core.EventApproval, core.EventElicitation:
		return Requested
	case core.EventInputResolved:
		return Resolved
	}
	return ""
}

// compose writes the body of an event about an input. A request tells of the input as it was asked, also
// where it has ended since: another message tells of that.
func compose(ev core.Event, in core.Input) ([]byte, error) {
	kind := kindOf(ev)
	if kind == Requested {
		in.State, in.Settled = core.InputPending, nil
	}
	body, err := json.Marshal(payload{Type: kind, Timestamp: ev.At, Sequence: ev.Seq, Data: viewInput(in)})
	if err != nil {
		return nil, fmt.Errorf("write the message of event %d: %w", ev.Seq, err)
	}
	return body, nil
}

func viewInput(in core.Input) inputView {
	_, channel, place := in.Conversation.Parts()
	v := inputView{
		ID: in.ID, Kind: in.Kind, State: in.State, Message: text(in.Message, in.Redact), Tool: in.Tool, Source: in.Source,
		Hash: in.Hash, Rule: in.Rule, Purpose: in.Purpose, Questions: in.Questions, Schema: in.Schema, URL: text(in.URL, in.Redact),
		Nth: in.Nth, Of: in.Of, Responders: respondersView{Audience: in.Responders.Audience, Asker: in.Responders.Asker},
		Run: in.Run, Call: in.Call, Agent: in.Agent, Place: channel + ":" + string(place),
		CreatedAt: in.CreatedAt, Settled: viewSettled(in),
	}
	if v.Agent == "" {
		v.Agent = in.Conversation.Agent()
	}
	if v.Responders.Audience == nil {
		v.Responders.Audience = []core.PersonID{}
	}
	if !in.ExpiresAt.IsZero() {
		v.ExpiresAt = &in.ExpiresAt
	}
	v.Arguments, v.Masked = render.MaskedJSON(in.Arguments, in.Redact)
	return v
}

// masked is a value as JSON without its secrets; what cannot be encoded is null.
func masked(v any, redact []string) (json.RawMessage, []string) {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null"), nil
	}
	return render.MaskedJSON(raw, redact)
}

func text(s string, redact []string) json.RawMessage {
	if s == "" {
		return nil
	}
	out, _ := masked(s, redact)
	return out
}

func viewSettled(in core.Input) *settledView {
	s := in.Settled
	if s == nil {
		return nil
	}
	v := &settledView{State: in.State, By: s.By, Via: s.Via, Role: s.Role, At: s.At, Defaulted: []string{}, Skipped: []string{}}
	if s.Answer == nil {
		return v
	}
	v.Reason = text(s.Answer.Reason, in.Redact)
	for _, c := range s.Answer.Choices {
		if c.Defaulted {
			v.Defaulted = append(v.Defaulted, c.Question)
		}
		if c.Skipped {
			v.Skipped = append(v.Skipped, c.Question)
		}
	}
	v.Content, v.Masked = masked(content(in, *s.Answer), append(core.SecretNames(in.Schema), in.Redact...))
	return v
}

// content is an answer as the person would hand it in.
func content(in core.Input, a core.Answer) any {
	switch {
	case in.Kind == core.KindQuestion && len(a.Choices) > 0:
		out := map[string]any{}
		for _, c := range a.Choices {
			out[c.Question] = chosen(in, c)
		}
		return out
	case len(a.Fields) > 0:
		return a.Fields
	}
	return a.Action == core.ActionAccept
}

// chosen is one text where one was chosen of a question that takes one, else a list.
func chosen(in core.Input, c core.Choice) any {
	all := append([]string{}, c.Values...)
	if c.Text != "" {
		all = append(all, c.Text)
	}
	for _, q := range in.Questions {
		if q.ID == c.Question && !q.Multi && len(all) == 1 {
			return all[0]
		}
	}
	return all
}
