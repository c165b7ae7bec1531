package program

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"parley/channels"
	"parley/channels/rest"
	"parley/core"
)

// silent tells the channels on which nobody delivers: what happens there is asked for by HTTP.
func silent(channel string) bool { return slices.Contains(surfaces, channel) }

// api builds the REST interface.
func (a *app) api(hub *channels.Hub) (*rest.API, error) {
	var tokens []rest.Token
	for _, t := range a.cfg.API.Tokens {
		out := rest.Token{Name: t.Name, Secret: t.Token.Reveal(), Channels: t.Channels, SpeaksFor: t.people(), Admin: t.Admin}
		for _, id := range t.Agents {
			out.Agents = append(out.Agents, core.AgentID(id))
		}
		tokens = append(tokens, out)
	}
	return rest.New(rest.Config{
		Turns: a.engine, Memory: a.store, Tokens: tokens, Agents: a.definition, Define: a.define, Canonical: a.person, Now: a.now, NewID: newID, Log: a.log,
		Checks: []rest.Check{
			{Name: "store", Run: func(ctx context.Context) error { _, err := a.store.Events(ctx, "", 0, 1); return err }},
			{Name: "channels", Run: func(context.Context) error { return hub.Ready() }},
		},
	})
}

// definition is an agent as the API shows it.
func (a *app) definition(id core.AgentID) (rest.Definition, bool) {
	agent, known := a.engine.Agent(id)
	if !known {
		return rest.Definition{}, false
	}
	cfg, written, source := a.cfg.Agents[string(id)], a.cfg.written[string(id)], "file"
	if put := a.put.find(string(id)); put != nil {
		cfg, written, source = put.config, put.written, "api"
	}
	d := rest.Definition{
		ID: id, Name: agent.Name, Instructions: cfg.Instructions, Model: cfg.Model, Source: source, Approvers: agent.Human.Approvers,
	}
	if agent.Tools != nil {
		for _, spec := range agent.Tools.List() {
			d.Tools = append(d.Tools, spec.FullName())
		}
	}
	d.Definition, _ = json.Marshal(mask(written)) // it was read from JSON
	return d, true
}

// define puts an agent.
func (a *app) define(ctx context.Context, id core.AgentID, definition []byte) (created bool, err error) {
	return a.put.put(ctx, string(id), definition)
}

// person is somebody as the channels write them.
func (a *app) person(who core.PersonID) core.PersonID {
	for _, ch := range a.channels {
		if alias, ok := ch.Adapter.(channels.Aliases); ok {
			who = alias.Canonical(who)
		}
	}
	return who
}

// relays carries out what conversations by HTTP ask of others: copies of prompts, at the places that an
// agent notifies. A channel's own delivery does it elsewhere.
func (a *app) relays(ctx context.Context) error {
	var all sync.WaitGroup
	for _, channel := range surfaces {
		all.Go(func() { a.relay(ctx, channel) })
	}
	all.Wait()
	return nil
}

func (a *app) relay(ctx context.Context, channel string) {
	wake, stop := a.engine.Wake(channel)
	defer stop()
	for {
		if _, _, err := a.engine.Outbox(ctx, channel, 100); err != nil && !errors.Is(err, context.Canceled) {
			a.log.Error("carry copies of prompts from conversations by HTTP", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-wake:
		}
	}
}
