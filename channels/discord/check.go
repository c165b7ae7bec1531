package discord

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"parley/channels"
	"parley/core"
)

var _ channels.Checker = (*Adapter)(nil)

// Check examines the set-up without opening a session: the token, the Message Content Intent, the session
// starts that are left, and whether the bot may speak in the channels that the configuration names.
func (a *Adapter) Check(ctx context.Context) []channels.Finding {
	var me user
	if err := a.api.get(ctx, "ask who the bot is", discordgo.EndpointUser("@me"), &me); err != nil {
		if e := isCall(err); e != nil && e.Status == http.StatusUnauthorized {
			return []channels.Finding{{Level: channels.LevelFail, What: "Discord refuses the bot token", Fix: a.tokenAdvice()}}
		}
		return []channels.Finding{{
			Level: channels.LevelFail, What: "Discord cannot be reached: " + err.Error(), Fix: "check apiURL, the network and its proxy",
		}}
	}
	out := []channels.Finding{{Level: channels.LevelOK, What: "the bot is " + me.Name + " (" + me.ID.String() + ")"}}
	out = append(out, a.checkIntent(ctx), a.checkStarts(ctx))
	for _, place := range a.places {
		out = append(out, a.checkPlace(ctx, me.ID, place))
	}
	return out
}

// tokenAdvice knows what the other secrets of the portal look like.
func (a *Adapter) tokenAdvice() string {
	if strings.Count(a.api.token(), ".") < 2 {
		return "botToken does not look like a bot token, which has three parts with dots between: developer portal, Bot, Reset Token (not the client secret, nor the public key)"
	}
	return tokenFix
}

func (a *Adapter) checkIntent(ctx context.Context) channels.Finding {
	p, err := a.application(ctx)
	switch {
	case err != nil:
		return channels.Finding{Level: channels.LevelWarn, What: "the application could not be looked at: " + err.Error()}
	case !p.readsAll():
		return channels.Finding{
			Level: channels.LevelWarn, What: "Message Content Intent is off: " + mentionsOnly, Fix: intentFix,
		}
	}
	return channels.Finding{Level: channels.LevelOK, What: "Message Content Intent is on"}
}

func (a *Adapter) checkStarts(ctx context.Context) channels.Finding {
	g, err := a.gateway(ctx)
	switch {
	case err != nil && a.gatewayURL == "":
		return channels.Finding{Level: channels.LevelFail, What: "the gateway's address is not to be had: " + err.Error(), Fix: "check apiURL, or set gatewayURL"}
	case err != nil || g.Limit == nil:
		return channels.Finding{Level: channels.LevelOK, What: "the gateway has no limit of session starts"}
	}
	what := fmt.Sprintf("%d of %d session starts are left today", g.Limit.Remaining, g.Limit.Total)
	switch {
	case g.Shards > 1:
		return channels.Finding{Level: channels.LevelWarn, What: fmt.Sprintf("Discord advises %d connections for this bot; this program opens one", g.Shards), Fix: fatalClose[4011]}
	case g.Limit.Remaining <= 0:
		return channels.Finding{Level: channels.LevelFail, What: what, Fix: "wait until they are given again, and find out what starts the bot so often"}
	case g.Limit.Remaining < fewSessions && g.Limit.Total > fewSessions:
		return channels.Finding{Level: channels.LevelWarn, What: what, Fix: "find out what starts the bot so often: Discord resets the token when they are exceeded"}
	}
	return channels.Finding{Level: channels.LevelOK, What: what}
}

// checkPlace examines one channel: seen, and open to the bot's words.
func (a *Adapter) checkPlace(ctx context.Context, me snowflake, place core.Place) channels.Finding {
	if who, err := core.ParsePerson(string(place)); err == nil {
		found, err := a.Find(ctx, who)
		switch number := strings.TrimPrefix(string(who), "discord:"); {
		case err != nil:
			return channels.Finding{Level: channels.LevelFail, What: number + " is no channel and nobody to write to: " + err.Error(), Fix: "Discord, Settings, Advanced, Developer Mode; then Copy Channel ID or Copy User ID"}
		case string(found) != number:
			return channels.Finding{Level: channels.LevelOK, What: "person " + number + " can be written to"}
		}
		place = found
	}
	id, err := parsePlace(place)
	if err != nil {
		return channels.Finding{Level: channels.LevelFail, What: err.Error(), Fix: "Discord, Settings, Advanced, Developer Mode; then Copy Channel ID from the channel's menu"}
	}
	what := "channel " + id.String()
	var c channel
	err = a.api.get(ctx, "look at a channel", discordgo.EndpointChannel(id.String()), &c)
	if e := isCall(err); e != nil {
		fix := fixes[e.Code]
		if fix == "" {
			fix = fixes[codeNoAccess]
		}
		return channels.Finding{Level: channels.LevelFail, What: what + " is not to be seen: " + err.Error(), Fix: fix}
	}
	if c.Guild == 0 {
		return channels.Finding{Level: channels.LevelOK, What: what + " is a direct chat"}
	}
	has, err := a.rights(ctx, me, c)
	if err != nil {
		return channels.Finding{Level: channels.LevelWarn, What: what + " is seen, but its rights could not be read: " + err.Error()}
	}
	if missing := missing(has, isThread(c.Type)); len(missing) > 0 {
		return channels.Finding{
			Level: channels.LevelFail, What: what + ": the bot lacks " + strings.Join(missing, ", "),
			Fix: "give its role these rights in the server, or in the channel's own settings, which may take them away",
		}
	}
	return channels.Finding{Level: channels.LevelOK, What: what + " is open to the bot"}
}

// missing names the rights that the bot needs and has not.
func missing(has int64, thread bool) (out []string) {
	need := []struct {
		bit  int64
		name string
	}{
		{discordgo.PermissionViewChannel, "View Channel"}, {discordgo.PermissionSendMessages, "Send Messages"},
		{discordgo.PermissionReadMessageHistory, "Read Message History"},
	}
	if thread {
		need[1] = need[0]
		need[1].bit, need[1].name = discordgo.PermissionSendMessagesInThreads, "Send Messages in Threads"
	}
	for _, n := range need {
		if has&n.bit == 0 {
			out = append(out, n.name)
		}
	}
	return out
}

// overwrite changes what a role or a person may in one channel.
type overwrite struct {
	ID    snowflake `json:"id"`
	Allow string    `json:"allow"`
	Deny  string    `json:"deny"`
}

// rights adds up what the bot may in a channel: by its roles in the server, then by the channel's own rules
// for everybody, for its roles and for itself. A thread has those of its parent.
func (a *Adapter) rights(ctx context.Context, me snowflake, c channel) (int64, error) {
	if isThread(c.Type) && c.Parent != 0 {
		parent := channel{}
		if err := a.api.get(ctx, "look at a channel", discordgo.EndpointChannel(c.Parent.String()), &parent); err != nil {
			return 0, err
		}
		c.Overwrites = parent.Overwrites
	}
	var all []role
	if err := a.api.get(ctx, "read a server's roles", discordgo.EndpointGuildRoles(c.Guild.String()), &all); err != nil {
		return 0, err
	}
	var member struct {
		Roles []snowflake `json:"roles"`
	}
	if err := a.api.get(ctx, "read the bot's membership", discordgo.EndpointGuildMember(c.Guild.String(), me.String()), &member); err != nil {
		return 0, err
	}
	return rightsOf(me, c, all, member.Roles), nil
}

func rightsOf(me snowflake, c channel, all []role, ours []snowflake) int64 {
	mine := map[snowflake]bool{c.Guild: true}
	for _, r := range ours {
		mine[r] = true
	}
	var has int64
	for _, r := range all {
		if mine[r.ID] {
			has |= bits(r.Permissions)
		}
	}
	if has&discordgo.PermissionAdministrator != 0 {
		return -1
	}
	apply := func(of func(snowflake) bool) {
		var allow, deny int64
		for _, o := range c.Overwrites {
			if of(o.ID) {
				allow, deny = allow|bits(o.Allow), deny|bits(o.Deny)
			}
		}
		has = has&^deny | allow
	}
	apply(func(id snowflake) bool { return id == c.Guild })
	apply(func(id snowflake) bool { return id != c.Guild && mine[id] })
	apply(func(id snowflake) bool { return id == me })
	return has
}

func bits(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64) // what cannot be read grants nothing
	return n
}
