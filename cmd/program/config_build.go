package program

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"parley/channels"
	"parley/core"
	"parley/core/turn"
)

// What the words of the configuration mean to the engine. The configuration has been checked by now, so
// that nothing here can fail except where the checks themselves use it.

func (a AgentConfig) human(c *Config, id string) core.HumanInput {
	h := core.DefaultHumanInput()
	h.Expires = a.HumanInput.Expires.Duration()
	for _, s := range a.HumanInput.Approvers {
		h.Approvers = append(h.Approvers, core.PersonID(s))
	}
	h.ApproversOnly = a.HumanInput.Responders == "approvers"
	h.ResumeOnExpire = a.HumanInput.OnExpire == "resume"
	h.SupersededByAnyone = a.HumanInput.SupersededBy == "anyone"
	h.NearMissSupersedes = a.HumanInput.NearMiss == "supersede"
	h.Bound = a.HumanInput.Shared == "bound"
	for _, s := range a.HumanInput.Notify {
		if place, err := c.notifyPlace(id, s); err == nil {
			h.Notify = append(h.Notify, place)
		}
	}
	return h
}

// places says how a place of each platform is written.
var places = map[string]*regexp.Regexp{
	"telegram": regexp.MustCompile(`^-?[1-9][0-9]*(/[1-9][0-9]*)?$`),
	"slack":    regexp.MustCompile(`^([CDG][A-Z0-9]+(/[0-9]+\.[0-9]+)?|([TE][A-Z0-9]+/)?[UW][A-Z0-9]+)$`),
	"discord":  regexp.MustCompile(`^[1-9][0-9]*$`),
}

// notifyPlace finds the conversation that CHANNEL:PLACE names, CHANNEL being the name or the type of a channel:
// of the agent itself if it has one, else of another. A person is found when the first prompt is to go there.
func (c *Config) notifyPlace(agent, s string) (core.ConversationID, error) {
	name, place, ok := strings.Cut(s, ":")
	if !ok || place == "" {
		return "", fmt.Errorf("%q: want CHANNEL:PLACE, such as tg:-1001234", s)
	}
	found := c.channelsNamed(name, agent)
	switch {
	case len(found) == 0:
		return "", fmt.Errorf("%q: agent %s has no channel with the name or type %q, nor has another", s, agent, name)
	case len(found) > 1:
		return "", fmt.Errorf("%q: there are several channels of the type %q: give the channel's name", s, name)
	}
	ch := found[0]
	if form := places[ch.Type]; form != nil && !form.MatchString(place) {
		return "", fmt.Errorf("%q: want the platform's own id of a chat, channel or person, such as %s:-1001234/36, %[2]s:C0456, %[2]s:U0123 or %[2]s:81429", s, name)
	}
	if ch.Type == "discord" || ch.Type == "slack" && platforms["slack"].id.MatchString(place) {
		place = ch.Type + ":" + place // a person, or what only the platform can tell from one
	}
	return core.NewConversation(core.AgentID(ch.Agent), ch.Name, core.Place(place)), nil
}

// channelsNamed are the channels that a name or a type means to an agent.
func (c *Config) channelsNamed(name, agent string) []ChannelConfig {
	var own, others []ChannelConfig
	for _, ch := range c.Channels {
		switch {
		case ch.Name == name:
			return []ChannelConfig{ch}
		case ch.Type == name && ch.Agent == agent:
			own = append(own, ch)
		case ch.Type == name:
			others = append(others, ch)
		}
	}
	if len(own) > 0 {
		return own
	}
	return others
}

// build turns the author's questions into the engine's. fold is the folding that replies get: labels that
// read alike could not be told apart.
func (in *Intake) build(fold func(string) string) (*turn.Intake, error) {
	out := &turn.Intake{Preamble: in.Preamble, EveryTurn: in.When == "every-turn"}
	for _, q := range in.Questions {
		cq := core.Question{ID: q.ID, Prompt: q.Prompt, Multi: q.Multi, FreeText: q.FreeText, Defaults: q.Defaults}
		for _, o := range q.Options {
			cq.Options = append(cq.Options, core.Option{Value: o.Value, Label: o.Label})
		}
		out.Questions = append(out.Questions, cq)
	}
	out.Questions = core.FillQuestions(out.Questions)
	if reasons := core.CheckIntake(out.Questions, fold); len(reasons) > 0 {
		return nil, errors.New(strings.Join(reasons, "; "))
	}
	return out, nil
}

// access lets in who is listed, and the approvers of the agents whose prompts are shown there, who must be able
// to answer.
func (c *Config) access(ch ChannelConfig) channels.Access {
	out := channels.Access{Public: ch.Access.Public}
	people := slices.Clone(ch.Access.Allow)
	for _, id := range slices.Sorted(maps.Keys(c.Agents)) {
		if id == ch.Agent || slices.ContainsFunc(c.Agents[id].human(c, id).Notify, func(to core.ConversationID) bool { return to.Channel() == ch.Name }) {
			people = append(people, c.Agents[id].HumanInput.Approvers...)
		}
	}
	for _, s := range people {
		if p := core.PersonID(s); !slices.Contains(out.Allow, p) {
			out.Allow = append(out.Allow, p)
		}
	}
	return out
}
