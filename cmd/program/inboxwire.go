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
		out := inbox.Token{Name: t.Name, Secret: t.Token.Reveal(), SpeaksFor: t.SpeaksFor, Admin: t.Admin}
		for _, id := range t.Agents {
			out.Agents = append(out.Agents, core.AgentID(id))
		}
		tokens = append(tokens, out)
	}
	var agents []inbox.Agent
	for id, cfg := range a.cfg.Agents {
		agents = append(agents, inbox.Agent{ID: core.AgentID(id), Name: cmp.Or(cfg.Name, id)})
	}
	slices.SortFunc(agents, func(x, y inbox.Agent) int { return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.ID, y.ID)) })
	return inbox.New(inbox.Config{
		Turns: a.engine, Tokens: tokens, Agents: func() []inbox.Agent { return agents }, Canonical: a.person,
		PublicURL: a.cfg.API.PublicURL, Now: a.now, Log: a.log,
	})
}
