package program

import (
	"encoding/json"

	"parley/channels"
	"parley/core"
	"parley/core/tool/askuser"
	"parley/core/tool/schema"
	"parley/core/turn"
	"parley/parse"
)

// deps gives the engine what it must not import: how a reply is read and how arguments are checked.
func (a *app) deps() turn.Deps {
	return turn.Deps{
		Read: channels.NewReader(channels.ReaderConfig{
			Adapter: a.adapter,
			Agent: func(id core.AgentID) (name, lang string) {
				agent := a.cfg.Agents[string(id)]
				if put := a.put.find(string(id)); put != nil {
					agent = put.config
				}
				return agent.Name, agent.Locale
			},
		}),
		Prepare:  schema.Prepare,
		AskSpecs: askuser.Specs,
		ParseAsk: func(name string, arguments json.RawMessage) (string, []core.Question, []string) {
			return askuser.Parse(name, arguments, parse.Fold)
		},
	}
}

// adapter finds a channel's adapter; nil for none.
func (a *app) adapter(channel string) channels.Adapter {
	for _, ch := range a.channels {
		if ch.Adapter.Name() == channel {
			return ch.Adapter
		}
	}
	return nil
}
