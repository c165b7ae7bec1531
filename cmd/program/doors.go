package program

import (
	"context"
	"crypto/rand"
	"crypto/subtle"

	"parley/channels/mcp"
	"parley/channels/metrics"
	"parley/channels/webhook"
	"parley/core"
)

// mcpTokens are the API's tokens as the MCP endpoint knows them.
type mcpTokens struct{ app *app }

// Client finds the client of a bearer token; every token is compared, so that time tells nothing.
func (t mcpTokens) Client(token string) (c mcp.Client, ok bool) {
	for _, have := range t.app.cfg.API.Tokens {
		if subtle.ConstantTimeCompare([]byte(have.Token.Reveal()), []byte(token)) != 1 {
			continue
		}
		c, ok = mcp.Client{Name: have.Name, All: have.Admin, Person: t.app.person(have.person()), Itself: have.itself(), MayApprove: have.MCPMayApprove}, true
		for _, id := range have.Agents {
			c.Agents = append(c.Agents, core.AgentID(id))
		}
	}
	return c, ok
}

// mcpEndpoint is the door for MCP clients.
func (a *app) mcpEndpoint() (*mcp.Endpoint, error) {
	fresh := make([]byte, 32)
	_, _ = rand.Read(fresh) // it never fails
	key, err := mcp.LoadKey(context.Background(), a.store, fresh)
	if err != nil {
		return nil, err
	}
	return mcp.New(mcp.Config{
		Turns: a.engine, Tokens: mcpTokens{a}, Key: key, Now: a.now, NewID: newID, Log: a.log,
		Agents: func(id core.AgentID) (string, bool) {
			agent, ok := a.engine.Agent(id)
			if !ok {
				return "", false
			}
			return agent.Name, true
		},
	})
}

// webhooks tell addresses of inputs; nil where the configuration names none.
func (a *app) webhooks(m *metrics.Metrics) (*webhook.Hooks, error) {
	if len(a.cfg.Webhooks) == 0 {
		return nil, nil
	}
	var hooks []webhook.Hook
	for _, w := range a.cfg.Webhooks {
		hooks = append(hooks, w.hook())
	}
	return webhook.New(webhook.Config{
		Turns: a.engine, Memory: a.store, Hooks: hooks, Client: outboundClient(a.cfg), Now: a.now, Log: a.log,
		Observe: func(host string, o webhook.Outcome) { m.Webhook(host, string(o)) },
	})
}
