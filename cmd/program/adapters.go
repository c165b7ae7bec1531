package program

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"parley/channels"
	"parley/channels/discord"
	"parley/channels/slack"
	"parley/channels/telegram"
	"parley/core"
	"parley/core/turn"
)

// addChannels builds the channels of the configuration.
func (a *app) addChannels() error {
	all := *a.cfg
	all.Agents = a.agentConfigs()
	for _, ch := range a.cfg.Channels {
		adapter, hook, err := a.adapterOf(ch)
		if err != nil {
			return err
		}
		if hook != nil {
			a.hooks[ch.Name] = hook
		}
		a.channels = append(a.channels, channels.Channel{
			Adapter: adapter, Access: all.access(ch), PerSenderPerMinute: ch.Limits.PerSenderPerMinute,
			Streams: ch.Streaming,
		})
	}
	return nil
}

// streams reports whether a channel shows replies while they are written.
func (c *Config) streams(channel string) bool {
	return slices.ContainsFunc(c.Channels, func(ch ChannelConfig) bool { return ch.Name == channel && ch.Streaming })
}

// adapterOf builds one channel, with the handler of what arrives by HTTP where it receives that way.
func (a *app) adapterOf(ch ChannelConfig) (channels.Adapter, http.Handler, error) {
	agent, token := core.AgentID(ch.Agent), ch.BotToken.Reveal()
	switch ch.Type {
	case "telegram":
		t, err := telegram.New(telegram.Config{
			Name: ch.Name, Agent: agent, Token: token, APIURL: ch.APIURL,
			Webhook: ch.Webhook, PublicURL: a.cfg.API.PublicURL, Places: a.placesOn(ch), Log: a.log,
		})
		if err != nil || !ch.Webhook {
			return t, nil, err
		}
		return t, t.Handler(), nil
	case "slack":
		s, err := slack.New(slack.Config{
			Name: ch.Name, Agent: agent, BotToken: token, AppToken: ch.AppToken.Reveal(), SigningSecret: ch.SigningSecret.Reveal(),
			APIURL: ch.APIURL, Places: a.placesOn(ch), Knows: a.knows, Log: a.log,
		})
		if err != nil || ch.SigningSecret == "" {
			return s, nil, err
		}
		return s, s.Handler(), nil
	case "discord":
		d, err := discord.New(discord.Config{
			Name: ch.Name, Agent: agent, Token: token, APIURL: ch.APIURL, GatewayURL: ch.GatewayURL,
			Waiting: a.waitingPlaces, Inputs: a.waitingAt, Memory: a.store, Chatted: a.chattedOn(ch.Name),
			Places: a.placesOn(ch), Log: a.log,
		})
		return d, nil, err
	}
	return nil, nil, fmt.Errorf("channel %s: no platform %q", ch.Name, ch.Type)
}

// agentConfigs are the agents of the file and those that were put by the API.
func (a *app) agentConfigs() map[string]AgentConfig {
	if a.put == nil {
		return a.cfg.Agents
	}
	return a.put.all()
}

// placesOn are the places of a channel that the configuration names.
func (a *app) placesOn(ch ChannelConfig) []core.Place {
	var out []core.Place
	agents := a.agentConfigs()
	for _, id := range slices.Sorted(maps.Keys(agents)) {
		for _, to := range agents[id].human(a.cfg, id).Notify {
			if _, channel, place := to.Parts(); channel == ch.Name && !slices.Contains(out, place) {
				out = append(out, place)
			}
		}
	}
	return out
}

// knows reports whether a conversation was held before: its thread is the bot's, and every message is heard.
func (a *app) knows(ctx context.Context, c core.ConversationID) (known bool, err error) {
	err = a.store.View(ctx, c, func(r turn.Reader) error {
		conv, err := r.Conversation()
		known = conv.Last != ""
		return err
	})
	return known, err
}

// chattedOn lists the conversations that were held on a channel.
func (a *app) chattedOn(channel string) func(context.Context, int) ([]core.ConversationID, error) {
	return func(ctx context.Context, limit int) (out []core.ConversationID, err error) {
		list, err := a.store.Conversations(ctx, channel, limit)
		for _, c := range list {
			out = append(out, c.ID)
		}
		return out, err
	}
}

// waitingPlaces are the conversations in which something waits, those with copies of its prompt among them.
func (a *app) waitingPlaces(ctx context.Context) ([]core.ConversationID, error) {
	var out []core.ConversationID
	seen := map[core.ConversationID]bool{}
	filter := turn.InputFilter{Limit: 500}
	for {
		page, next, err := a.engine.Inputs(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, in := range page {
			at := []core.ConversationID{in.Conversation}
			for _, p := range in.Prompts {
				at = append(at, p.Conversation)
			}
			for _, c := range at {
				if c != "" && !seen[c] {
					seen[c] = true
					out = append(out, c)
				}
			}
		}
		if next == "" {
			return out, nil
		}
		filter.After = next
	}
}

// waitingAt are the inputs that wait in one conversation.
func (a *app) waitingAt(ctx context.Context, c core.ConversationID) ([]core.Input, error) {
	in, err := a.engine.Waiting(ctx, c)
	if errors.Is(err, turn.ErrNotFound) {
		return nil, nil
	}
	return in, err
}

// canonical is an agent whose approvers are written as its channels write people.
func (a *app) canonical(agent *turn.Agent) *turn.Agent {
	out := *agent
	out.Human.Approvers = nil
	for _, who := range agent.Human.Approvers {
		for _, ch := range a.channels {
			if alias, ok := ch.Adapter.(channels.Aliases); ok {
				who = alias.Canonical(who)
			}
		}
		out.Human.Approvers = append(out.Human.Approvers, who)
	}
	return &out
}
