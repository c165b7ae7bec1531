package rest

import (
	"errors"
	"net/http"

	"parley/core"
)

func (c *call) getAgent() (reply, error) {
	id, err := c.agent()
	if err != nil {
		return reply{}, err
	}
	return c.definition(id, http.StatusOK)
}

// definition is how an agent is shown to the token.
func (c *call) definition(id core.AgentID, status int) (reply, error) {
	d, ok := c.a.c.Agents(id)
	if !ok {
		return reply{}, notFound("agent")
	}
	if d.Tools == nil {
		d.Tools = []string{}
	}
	if d.Approvers == nil {
		d.Approvers = []core.PersonID{}
	}
	if !c.token.Admin {
		d.Definition = nil
	}
	return reply{status: status, body: d}, nil
}

// putAgent defines an agent, or defines it anew. Only administrators may, since whoever defines an agent says
// what it does and who approves.
func (c *call) putAgent() (reply, error) {
	if !c.token.Admin {
		if _, err := c.agent(); err != nil {
			return reply{}, err
		}
		return reply{}, &Problem{Status: http.StatusForbidden, Code: "not_admin", Detail: "only an administrator's token may define agents"}
	}
	id := core.AgentID(c.r.PathValue("agent"))
	if c.a.c.Define == nil {
		if _, err := c.agent(); err != nil {
			return reply{}, err
		}
	}
	created, err := c.define(id)
	switch {
	case errors.Is(err, ErrReadOnly):
		return reply{}, &Problem{Status: http.StatusConflict, Code: "read_only", Detail: "change the agent in the configuration file and start the program again"}
	case err != nil:
		return reply{}, err
	case created:
		return c.definition(id, http.StatusCreated)
	}
	return c.definition(id, http.StatusOK)
}

func (c *call) define(id core.AgentID) (created bool, err error) {
	if c.a.c.Define == nil {
		return false, ErrReadOnly
	}
	return c.a.c.Define(c.ctx, id, c.body)
}
