package program

import (
	"cmp"
	"slices"

	"parley/channels/inbox"
	"parley/core"
)

// inbox builds the web page.
func (a *app) inbox() (*inbox.Inbox, error) {
	var tokens []inbox.Token
	for _, t := range a.cfg.API.Tokens {
		out := inbox.Token{Name: t.Name, Secret: t.Token.Reveal(), SpeaksFor: t.people(), Admin: t.Admin}
		for _, id := range t.Agents {
			out.Agents = append(out.Agents, core.AgentID(id))
		}
		tokens = append(tokens, out)
	}
	return inbox.New(inbox.Config{
		Turns: a.engine, Tokens: tokens, Agents: a.inboxAgents, Canonical: a.person,
		PublicURL: a.cfg.API.PublicURL, Now: a.now, Log: a.log,
	})
}

// inboxAgents are the agents of today, by their names.
func (a *app) inboxAgents() (out []inbox.Agent) {
	for id, cfg := range a.put.all() {
		out = append(out, inbox.Agent{ID: core.AgentID(id), Name: cmp.Or(cfg.Name, id)})
	}
	slices.SortFunc(out, func(x, y inbox.Agent) int { return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.ID, y.ID)) })
	return out
}
