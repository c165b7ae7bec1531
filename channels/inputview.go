package channels

import (
	"encoding/json"
	"time"

	"parley/core"
	"parley/render"
)

// InputView is an input as other programs see it: the JSON of the HTTP interface, of its events and of webhooks.
// Secrets in arguments, sentences and answers are masked for everybody, as in a chat.
type InputView struct {
	ID    core.InputID    `json:"id"`
	Kind  core.Kind       `json:"kind"`
	State core.InputState `json:"state"`
	// Message is a string.
	Message json.RawMessage `json:"message,omitempty"`
	Tool    string          `json:"tool,omitempty"`
	Source  string          `json:"source,omitempty"`
	// Arguments as they run, but for those at Masked, JSON Pointers.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Masked    []string        `json:"masked,omitempty"`
	Hash      string          `json:"hash,omitempty"`
	Rule      string          `json:"rule,omitempty"`
	Purpose   core.Purpose    `json:"purpose,omitempty"`
	Questions []core.Question `json:"questions,omitempty"`
	Schema    json.RawMessage `json:"schema,omitempty"`
	// URL is a string, as it is to be opened; where it only tells, MaskURL takes its secrets out.
	URL        json.RawMessage `json:"url,omitempty"`
	Nth        int             `json:"nth,omitempty"`
	Of         int             `json:"of,omitempty"`
	Responders RespondersView  `json:"responders"`
	Run        core.RunID      `json:"runId"`
	Call       core.CallID     `json:"callId"`
	Agent      core.AgentID    `json:"agent"`
	// Place is the conversation, CHANNEL:PLACE.
	Place     string       `json:"conversation"`
	CreatedAt time.Time    `json:"createdAt"`
	ExpiresAt *time.Time   `json:"expiresAt,omitempty"`
	Settled   *SettledView `json:"settled,omitempty"`
}

// RespondersView says who may answer. Audience is a list, also where it is empty.
type RespondersView struct {
	Audience []core.PersonID `json:"audience"`
	Asker    core.PersonID   `json:"asker,omitempty"`
}

// SettledView says how an input ended. Content could be handed in again as the same answer, but for what is at
// Masked, JSON Pointers.
type SettledView struct {
	State   core.InputState `json:"state"`
	By      core.PersonID   `json:"by,omitempty"`
	Via     string          `json:"via,omitempty"`
	Role    string          `json:"role,omitempty"`
	At      time.Time       `json:"at"`
	Content json.RawMessage `json:"content,omitempty"`
	Masked  []string        `json:"masked,omitempty"`
	// Reason is a string.
	Reason    json.RawMessage `json:"reason,omitempty"`
	Defaulted []string        `json:"defaulted"`
	Skipped   []string        `json:"skipped"`
}

// ViewInput is an input as other programs see it.
func ViewInput(in core.Input) InputView {
	v := InputView{
		ID: in.ID, Kind: in.Kind, State: in.State, Message: maskedText(in.Message, in.Redact), Tool: in.Tool, Source: in.Source,
		Hash: in.Hash, Rule: in.Rule, Purpose: in.Purpose, Questions: in.Questions, Schema: in.Schema, Nth: in.Nth, Of: in.Of,
		Responders: RespondersView{Audience: in.Responders.Audience, Asker: in.Responders.Asker},
		Run:        in.Run, Call: in.Call, Agent: in.Agent, Place: ViewPlace(in.Conversation),
		CreatedAt: in.CreatedAt, Settled: viewSettled(in),
	}
	if v.Agent == "" {
		v.Agent = in.Conversation.Agent()
	}
	if v.Responders.Audience == nil {
		v.Responders.Audience = []core.PersonID{}
	}
	if in.URL != "" {
		v.URL = encoded(in.URL)
	}
	if !in.ExpiresAt.IsZero() {
		v.ExpiresAt = &in.ExpiresAt
	}
	v.Arguments, v.Masked = render.MaskedJSON(in.Arguments, in.Redact)
	return v
}

// MaskURL takes the secrets out of its address, for those who are told of an input and do not answer it.
func (v InputView) MaskURL() InputView {
	v.URL, _ = render.MaskedJSON(v.URL, nil)
	return v
}

// ViewPlace is a conversation as other programs read it, CHANNEL:PLACE.
func ViewPlace(c core.ConversationID) string {
	_, channel, place := c.Parts()
	return channel + ":" + string(place)
}

// encoded is a value as JSON. The values are our own: one that does not encode is null.
func encoded(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

func maskedText(s string, redact []string) json.RawMessage {
	if s == "" {
		return nil
	}
	out, _ := render.MaskedJSON(encoded(s), redact)
	return out
}

func viewSettled(in core.Input) *SettledView {
	s := in.Settled
	if s == nil {
		return nil
	}
	v := &SettledView{State: in.State, By: s.By, Via: s.Via, Role: s.Role, At: s.At, Defaulted: []string{}, Skipped: []string{}}
	if s.Answer == nil {
		return v
	}
	v.Reason = maskedText(s.Answer.Reason, in.Redact)
	for _, c := range s.Answer.Choices {
		if c.Defaulted {
			v.Defaulted = append(v.Defaulted, c.Question)
		}
		if c.Skipped {
			v.Skipped = append(v.Skipped, c.Question)
		}
	}
	v.Content, v.Masked = render.MaskedJSON(encoded(viewContent(in, *s.Answer)), append(core.SecretNames(in.Schema), in.Redact...))
	return v
}

// viewContent is an answer as a client would send it.
func viewContent(in core.Input, a core.Answer) any {
	switch {
	case in.Kind == core.KindQuestion && len(a.Choices) > 0:
		out := map[string]any{}
		for _, c := range a.Choices {
			out[c.Question] = viewChoice(in, c)
		}
		return out
	case len(a.Fields) > 0:
		return a.Fields
	}
	return a.Action == core.ActionAccept
}

// viewChoice is one text where one was chosen of a question that takes one, else a list.
func viewChoice(in core.Input, c core.Choice) any {
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
