package rest

import (
	"encoding/json"
	"time"

	"parley/core"
	"parley/render"
)

// runView is a run as a client sees it.
type runView struct {
	// ID is "" while the message waits for its turn: the status is then queued.
	ID           core.RunID     `json:"id,omitempty"`
	Agent        core.AgentID   `json:"agent"`
	Conversation string         `json:"conversation"`
	Parent       core.RunID     `json:"parent,omitempty"`
	Status       core.RunStatus `json:"status"`
	From         core.PersonID  `json:"from,omitempty"`
	// Text is what the agent said when it last stopped, Reason why it failed or was closed, SetAside why it
	// cannot go on.
	Text     string `json:"text,omitempty"`
	Reason   string `json:"reason,omitempty"`
	SetAside string `json:"setAside,omitempty"`
	// Inputs are what it and the runs below it wait on, in order.
	Inputs    []inputView `json:"inputs"`
	Steps     int         `json:"steps"`
	Usage     usageView   `json:"usage"`
	CreatedAt *time.Time  `json:"createdAt,omitempty"`
	EndedAt   *time.Time  `json:"endedAt,omitempty"`
}

type usageView struct {
	Requests int `json:"requests"`
	Input    int `json:"input"`
	Output   int `json:"output"`
}

// queued is the status of a message that waits for its turn.
const queued core.RunStatus = "queued"

func agentOf(run core.Run) core.AgentID {
	if run.Agent == "" {
		return run.Conversation.Agent()
	}
	return run.Agent
}

func viewRun(run core.Run, waiting []core.Input) runView {
	v := runView{
		ID: run.ID, Agent: agentOf(run), Conversation: shown(run.Conversation), Parent: run.Parent, Status: run.Status, From: run.Asker(),
		Text: run.Text, Reason: run.Reason, SetAside: run.SetAside, Inputs: viewInputs(waiting), Steps: run.Steps,
		Usage: usageView(run.Usage), CreatedAt: when(run.CreatedAt), EndedAt: when(run.EndedAt),
	}
	return v
}

func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// inputView is an input as a client sees it. Secrets in arguments, the message and answers are masked for
// every token, as in a chat.
type inputView struct {
	ID    core.InputID    `json:"id"`
	Kind  core.Kind       `json:"kind"`
	State core.InputState `json:"state"`
	// Message is a string.
	Message json.RawMessage `json:"message,omitempty"`
	Tool    string          `json:"tool,omitempty"`
	Source  string          `json:"source,omitempty"`
	// Arguments as they run, but for those at Masked, JSON Pointers.
	Arguments  json.RawMessage `json:"arguments,omitempty"`
	Masked     []string        `json:"masked,omitempty"`
	Hash       string          `json:"hash,omitempty"`
	Rule       string          `json:"rule,omitempty"`
	Purpose    core.Purpose    `json:"purpose,omitempty"`
	Questions  []core.Question `json:"questions,omitempty"`
	Schema     json.RawMessage `json:"schema,omitempty"`
	URL        string          `json:"url,omitempty"`
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

// settledView says how an input ended. Content could be sent again as the same answer, but for what is masked.
type settledView struct {
	State     core.InputState `json:"state"`
	By        core.PersonID   `json:"by,omitempty"`
	Via       string          `json:"via,omitempty"`
	Role      string          `json:"role,omitempty"`
	At        time.Time       `json:"at"`
	Content   json.RawMessage `json:"content,omitempty"`
	Masked    []string        `json:"masked,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Defaulted []string        `json:"defaulted"`
	Skipped   []string        `json:"skipped"`
}

func inputAgent(in core.Input) core.AgentID {
	if in.Agent == "" {
		return in.Conversation.Agent()
	}
	return in.Agent
}

func viewInputs(all []core.Input) []inputView {
	out := make([]inputView, 0, len(all))
	for _, in := range all {
		out = append(out, viewInput(in))
	}
	return out
}

// Show is an input as the interface shows it, as JSON.
func Show(in core.Input) ([]byte, error) { return json.Marshal(viewInput(in)) }

func viewInput(in core.Input) inputView {
	v := inputView{
		ID: in.ID, Kind: in.Kind, State: in.State, Tool: in.Tool, Source: in.Source, Hash: in.Hash, Rule: in.Rule, Purpose: in.Purpose,
		Questions: in.Questions, Schema: in.Schema, URL: in.URL, Nth: in.Nth, Of: in.Of,
		Responders: respondersView{Audience: in.Responders.Audience, Asker: in.Responders.Asker},
		Run:        in.Run, Call: in.Call, Agent: inputAgent(in), Place: shown(in.Conversation),
		CreatedAt: in.CreatedAt, ExpiresAt: when(in.ExpiresAt), Settled: viewSettled(in),
	}
	if v.Responders.Audience == nil {
		v.Responders.Audience = []core.PersonID{}
	}
	if in.Message != "" {
		v.Message, _ = masked(in.Message, in.Redact)
	}
	v.Arguments, v.Masked = render.MaskedJSON(in.Arguments, in.Redact)
	return v
}

// masked is a value as JSON without its secrets. The values are our own and always encode.
func masked(v any, redact []string) (json.RawMessage, []string) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return render.MaskedJSON(raw, redact)
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
	v.Reason = s.Answer.Reason
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

// content is an answer as a client would send it.
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
