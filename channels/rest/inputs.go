package rest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"parley/core"
	"parley/core/turn"
)

// The sizes of a page.
const (
	pageSize = 50
	maxPage  = 200
)

var states = []core.InputState{
	core.InputPending, core.InputAccepted, core.InputDeclined, core.InputSkipped, core.InputCancelled, core.InputSuperseded, core.InputExpired,
}

type inputsView struct {
	Inputs []inputView `json:"inputs"`
	// Next is the cursor of the next page, "" on the last.
	Next string `json:"next,omitempty"`
}

// query is what a list of inputs asks for.
type query struct {
	state  core.InputState
	limit  int
	cursor cursor
}

// cursor is where the next page begins, by agent ("" for all): the store's own word, and the agents that
// have no more.
type cursor struct {
	After map[core.AgentID]string `json:"a,omitempty"`
	Done  []core.AgentID          `json:"d,omitempty"`
}

func (k cursor) String() string {
	raw, err := json.Marshal(k)
	if err != nil {
		panic(err) // a map of strings always encodes
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

func (c *call) query() (q query, err error) {
	values := c.r.URL.Query()
	var bad []core.FieldError
	for name := range values {
		if !slices.Contains([]string{"state", "limit", "cursor"}, name) {
			bad = append(bad, fieldOf(name, "is not known here: want state, limit, cursor"))
		}
	}
	q.state = cmp.Or(core.InputState(values.Get("state")), core.InputPending)
	if !slices.Contains(states, q.state) {
		bad = append(bad, fieldOf("state", "want pending, accepted, declined, skipped, cancelled, superseded or expired"))
	}
	q.limit = pageSize
	if s := values.Get("limit"); s != "" {
		if q.limit, err = strconv.Atoi(s); err != nil || q.limit < 1 || q.limit > maxPage {
			bad = append(bad, fieldOf("limit", "want a number from 1 to "+strconv.Itoa(maxPage)))
		}
	}
	if s := values.Get("cursor"); s != "" {
		raw, err := base64.RawURLEncoding.DecodeString(s)
		if err != nil || json.Unmarshal(raw, &q.cursor) != nil {
			bad = append(bad, fieldOf("cursor", "is not the next of an earlier page"))
		}
	}
	if len(bad) > 0 {
		slices.SortFunc(bad, func(a, b core.FieldError) int { return cmp.Compare(a.Field, b.Field) })
		return q, badFields("the query does not fit", bad...)
	}
	return q, nil
}

func (c *call) agentInputs() (reply, error) {
	agent, err := c.agent()
	if err != nil {
		return reply{}, err
	}
	return c.page([]core.AgentID{agent})
}

func (c *call) inputs() (reply, error) {
	if c.token.Admin {
		return c.page([]core.AgentID{""})
	}
	return c.page(c.token.Agents)
}

// page is the next page of the inputs of some agents, oldest first; one that belongs to two is there once.
func (c *call) page(agents []core.AgentID) (reply, error) {
	q, err := c.query()
	if err != nil {
		return reply{}, err
	}
	var all []core.Input
	more := map[core.AgentID]bool{}
	for _, id := range agents {
		if slices.Contains(q.cursor.Done, id) {
			continue
		}
		page, next, err := c.list(q, id, q.limit)
		if err != nil {
			return reply{}, err
		}
		all, more[id] = append(all, page...), next != ""
	}
	slices.SortStableFunc(all, func(a, b core.Input) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
	all = slices.CompactFunc(all, func(a, b core.Input) bool { return a.ID == b.ID })
	rest := len(all) > q.limit || slices.ContainsFunc(agents, func(id core.AgentID) bool { return more[id] })
	out := inputsView{Inputs: viewInputs(all[:min(q.limit, len(all))])}
	if rest {
		next, err := c.next(q, agents, all[:min(q.limit, len(all))])
		if err != nil {
			return reply{}, err
		}
		out.Next = next.String()
	}
	return reply{status: http.StatusOK, body: out}, nil
}

// list asks the store for a page of one agent.
func (c *call) list(q query, id core.AgentID, limit int) ([]core.Input, string, error) {
	f := turn.InputFilter{State: q.state, Agent: id, After: q.cursor.After[id], Limit: limit}
	page, next, err := c.a.c.Turns.Inputs(c.ctx, f)
	if err != nil && f.After != "" && c.ctx.Err() == nil && !errors.Is(err, turn.ErrDamaged) {
		return nil, "", badFields("the query does not fit", fieldOf("cursor", "is not the next of an earlier page"))
	}
	return page, next, err
}

// next moves the cursor of each agent behind those of its inputs that are on the page.
func (c *call) next(q query, agents []core.AgentID, page []core.Input) (cursor, error) {
	k := cursor{After: map[core.AgentID]string{}, Done: q.cursor.Done}
	for _, id := range agents {
		n := 0
		for _, in := range page {
			if id == "" || in.Agent == id || in.Conversation.Agent() == id {
				n++
			}
		}
		switch {
		case slices.Contains(k.Done, id):
		case n == 0:
			if after, ok := q.cursor.After[id]; ok {
				k.After[id] = after
			}
		default:
			_, next, err := c.list(q, id, n)
			if err != nil {
				return k, err
			}
			if k.After[id] = next; next == "" {
				delete(k.After, id)
				k.Done = append(k.Done, id)
			}
		}
	}
	return k, nil
}

// input finds an input that the token sees. agent, if not "", must be one of its agents.
func (c *call) input(id core.InputID, agent core.AgentID) (core.Input, error) {
	in, err := c.a.c.Turns.Input(c.ctx, id)
	switch {
	case errors.Is(err, turn.ErrNotFound):
		return in, core.ErrNoInput(id)
	case err != nil:
		return in, err
	case !c.token.sees(in.Conversation.Agent(), in.Agent), agent != "" && agent != in.Agent && agent != in.Conversation.Agent():
		return core.Input{}, core.ErrNoInput(id)
	}
	return in, nil
}

func (c *call) getInput() (reply, error) {
	agent := core.AgentID("")
	if c.r.PathValue("agent") != "" {
		var err error
		if agent, err = c.agent(); err != nil {
			return reply{}, err
		}
	}
	in, err := c.input(core.InputID(c.r.PathValue("input")), agent)
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusOK, body: viewInput(in)}, nil
}
