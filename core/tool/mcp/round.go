package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core"
	"parley/core/tool"
)

const (
	maxRequests = 20
	maxState    = 256 << 10
)

// round is what a server asks before it goes on with a call. It is the State of each ask of it, so that any
// process can go on.
type round struct {
	Round int `json:"round"`
	// State is the server's own, given back to it and shown to nobody.
	State    string    `json:"requestState,omitempty"`
	Requests []request `json:"requests"`
	// Steps says that they are web pages without which the server does not begin.
	Steps bool `json:"steps,omitempty"`
}

// request is one ask of a round.
type request struct {
	ID      string          `json:"id,omitempty"`
	Kind    core.Kind       `json:"kind"`
	Message string          `json:"message,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	URL     string          `json:"url,omitempty"`
}

func (q request) asked(state json.RawMessage) tool.Asked {
	return tool.Asked{Kind: q.Kind, Message: q.Message, Schema: q.Schema, URL: q.URL, State: state}
}

// resume goes through the rounds of earlier attempts. It returns the last with its answers, nil for none, or
// the *tool.AskError of the first that is not answered.
func resume(ctx *tool.Context) (last *round, answers []tool.Answered, err error) {
	have := ctx.Answers()
	for i := 0; i < len(have) && len(have[i].State) > 0; i += len(last.Requests) {
		r := &round{}
		if err := json.Unmarshal(have[i].State, r); err != nil || len(r.Requests) == 0 {
			return nil, nil, fmt.Errorf("what the server asked before cannot be read: %w", errors.Join(err, errEmptyRound))
		}
		last = r
		if answers, err = r.ask(ctx); err != nil {
			return nil, nil, err
		}
	}
	return last, answers, nil
}

var errEmptyRound = errors.New("want a round of asks")

// ask asks everything of a round, one after another.
func (r *round) ask(ctx *tool.Context) (answers []tool.Answered, err error) {
	state, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("keep what the server asks: %w", err)
	}
	for _, q := range r.Requests {
		a, err := ctx.Elicit(q.asked(state))
		if err != nil {
			return nil, err
		}
		answers = append(answers, a)
	}
	return answers, nil
}

// into puts the answers of a round into the next request. A step that was declined ends the call.
func (r *round) into(p *sdk.CallToolParams, answers []tool.Answered) error {
	if r.Steps {
		for _, a := range answers {
			if a.Answer.Action != core.ActionAccept {
				return &tool.ErrDeclined{By: a.By, Reason: a.Answer.Reason}
			}
		}
		return nil
	}
	p.RequestState = r.State
	p.InputResponses = sdk.InputResponseMap{}
	for i, q := range r.Requests {
		p.InputResponses[q.ID] = answerOf(answers[i])
	}
	return nil
}

// next asks what a result says is needed. It always fails: with the *tool.AskError, or with the reason why
// nobody can be asked.
func (c *call) next(res *sdk.CallToolResult, n int) error {
	if len(res.InputRequests) == 0 {
		return fmt.Errorf("call %s: the server is busy, try again later", c.tool)
	}
	r := &round{Round: n, State: res.RequestState}
	for _, id := range ordered(res) {
		p, ok := res.InputRequests[id].(*sdk.ElicitParams)
		if !ok {
			return fmt.Errorf("call %s: the server asks for a model or for folders, which it is not offered", c.tool)
		}
		q, err := requestOf(p)
		if err != nil {
			return fmt.Errorf("call %s: the server asked for what cannot be asked, so nobody was: %w", c.tool, err)
		}
		q.ID = id
		r.Requests = append(r.Requests, q)
	}
	return c.open(r)
}

// open asks a new round.
func (c *call) open(r *round) error {
	size := len(encoded(r, nil))
	switch {
	case len(r.Requests) > maxRequests:
		return fmt.Errorf("call %s: the server asks %d things at once, want at most %d: nobody was asked", c.tool, len(r.Requests), maxRequests)
	case size > maxState:
		return fmt.Errorf("call %s: what the server asks has %d bytes, want at most %d: nobody was asked", c.tool, size, maxState)
	}
	if _, err := r.ask(c.tc); err != nil {
		return err
	}
	return fmt.Errorf("call %s: the server asks again for what the user has answered", c.tool)
}

// ordered are the ids of the asks in the order the server wrote them; requestOf finds their schemas there.
func ordered(res *sdk.CallToolResult) []string {
	raw := metaText(res.Meta, metaRequests)
	dec := json.NewDecoder(bytes.NewReader(raw))
	var ids []string
	if _, err := dec.Token(); err != nil {
		return slices.Sorted(maps.Keys(res.InputRequests))
	}
	for dec.More() {
		var one struct {
			Params struct {
				Schema json.RawMessage `json:"requestedSchema"`
			} `json:"params"`
		}
		id, err := dec.Token()
		name, ok := id.(string)
		if err != nil || !ok || dec.Decode(&one) != nil {
			return slices.Sorted(maps.Keys(res.InputRequests))
		}
		p, ok := res.InputRequests[name].(*sdk.ElicitParams)
		if ok && len(one.Params.Schema) > 0 {
			if p.Meta == nil {
				p.Meta = sdk.Meta{}
			}
			p.Meta[metaSchema] = string(one.Params.Schema)
		}
		if !slices.Contains(ids, name) {
			ids = append(ids, name)
		}
	}
	return ids
}

// requestOf reads an elicitation. The error says why a person cannot be asked for it.
func requestOf(p *sdk.ElicitParams) (q request, err error) {
	q.Message = strings.ToValidUTF8(p.Message, "\uFFFD")
	if len(q.Message)+len(p.URL)+len(metaText(p.Meta, metaSchema)) > maxState {
		return q, fmt.Errorf("it has more than %d bytes", maxState)
	}
	switch {
	case p.Mode == "url", p.Mode == "" && p.URL != "":
		u, err := url.Parse(p.URL)
		if err != nil || u.Scheme != "https" || u.Host == "" {
			return q, errors.New("the step on a page has no https address")
		}
		q.Kind, q.URL = core.KindURL, p.URL
		return q, nil
	case p.Mode != "" && p.Mode != "form":
		return q, fmt.Errorf("the mode %q is not known", p.Mode)
	}
	q.Kind = core.KindForm
	raw := metaText(p.Meta, metaSchema)
	if raw == nil && p.RequestedSchema != nil {
		if raw, err = json.Marshal(p.RequestedSchema); err != nil {
			return q, fmt.Errorf("the form cannot be read: %w", err)
		}
	}
	if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		raw = nil
	}
	form, err := core.ParseForm(bytes.ToValidUTF8(raw, []byte("\uFFFD")))
	if err != nil {
		return q, err
	}
	switch {
	case len(form.Fields) > 0:
		q.Schema = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	case strings.TrimSpace(q.Message) == "":
		return q, errors.New("a confirmation that does not say of what")
	}
	return q, nil
}

// steps asks for the web pages without which a server does not begin.
func (c *call) steps(rpc *jsonrpc.Error) error {
	var data struct {
		Elicitations []*sdk.ElicitParams `json:"elicitations"`
	}
	if err := json.Unmarshal(rpc.Data, &data); err != nil || len(data.Elicitations) == 0 {
		return fmt.Errorf("call %s: the server asks for a step on a page and does not say which", c.tool)
	}
	r := &round{Steps: true}
	for _, p := range data.Elicitations {
		if p == nil || p.Mode != "url" && p.Mode != "" {
			return fmt.Errorf("call %s: the server asks for a step that is no page: nobody was asked", c.tool)
		}
		q, err := requestOf(&sdk.ElicitParams{Mode: "url", Message: p.Message, URL: p.URL})
		if err != nil {
			return fmt.Errorf("call %s: %w: nobody was asked", c.tool, err)
		}
		r.Requests = append(r.Requests, q)
	}
	return c.open(r)
}
