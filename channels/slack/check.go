package slack

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"parley/channels"
	"parley/core"
)

// scopes are those that the app's manifest asks for, each with what does not work without it.
var scopes = []struct {
	name, without string
	level         channels.Level
}{
	{"chat:write", "nothing can be sent", channels.LevelFail},
	{"im:history", "direct messages do not arrive", channels.LevelFail},
	{"channels:history", "messages in channels do not arrive", channels.LevelFail},
	{"groups:history", "messages in private channels do not arrive", channels.LevelWarn},
	{"mpim:history", "messages in group chats do not arrive", channels.LevelWarn},
	{"app_mentions:read", "mentions arrive only where the bot is a member", channels.LevelWarn},
	{"im:write", "the bot cannot begin a direct chat", channels.LevelWarn},
	{"users:read", "guests and closed accounts cannot be told from members, and languages are not known", channels.LevelWarn},
	{"files:read", "pictures that people send are not shown to the model", channels.LevelWarn},
	{"files:write", "arguments too long for messages cannot be sent", channels.LevelFail},
	{"channels:read", "it cannot be seen whether the bot is in a channel", channels.LevelWarn},
	{"groups:read", "it cannot be seen whether the bot is in a private channel", channels.LevelWarn},
	{"im:read", "it cannot be seen what a direct chat is", channels.LevelWarn},
	{"mpim:read", "it cannot be seen what a group chat is", channels.LevelWarn},
}

// Check examines the tokens, the scopes, Socket Mode and the channels of the configuration. It sends nothing
// to anybody and opens no socket.
func (a *Adapter) Check(ctx context.Context) (out []channels.Finding) {
	add := func(level channels.Level, what, fix string) {
		out = append(out, channels.Finding{Level: level, What: what, Fix: fix})
	}
	if why, fix := a.swapped(); why != "" {
		add(channels.LevelFail, why, fix)
		return out
	}
	auth, err := a.api.authTest(ctx)
	if err != nil {
		add(channels.LevelFail, err.Error(), a.fix(err, botSide))
		return out
	}
	add(channels.LevelOK, fmt.Sprintf("botToken is that of bot %s in workspace %s (%s)", auth.UserID, auth.TeamID, auth.Team), "")
	if granted := auth.Header.Get("X-OAuth-Scopes"); granted == "" {
		add(channels.LevelWarn, "Slack does not say which scopes the bot has", "compare OAuth & Permissions of the app with docs/slack-manifest.yaml")
	} else {
		out = append(out, missing(granted)...)
	}
	out = append(out, a.checkSocket(ctx)...)
	for _, place := range a.places {
		if who, err := core.ParsePerson(string(place)); err == nil {
			out = append(out, a.checkPerson(ctx, who))
		} else {
			out = append(out, a.checkPlace(ctx, string(place)))
		}
	}
	add(channels.LevelWarn, "event subscriptions cannot be seen with these tokens", "send the bot a direct message: if nothing comes back, compare Event Subscriptions of the app with docs/slack-manifest.yaml")
	return out
}

// missing names the scopes that the bot lacks.
func missing(granted string) (out []channels.Finding) {
	has := map[string]bool{}
	for _, s := range strings.Split(granted, ",") {
		has[strings.TrimSpace(s)] = true
	}
	for _, s := range scopes {
		if !has[s.name] {
			out = append(out, channels.Finding{
				Level: s.level, What: "the bot lacks the scope " + s.name + ": " + s.without,
				Fix: "add " + s.name + " under OAuth & Permissions, then install the app again",
			})
		}
	}
	if len(out) == 0 {
		out = []channels.Finding{{Level: channels.LevelOK, What: "the bot has all scopes"}}
	}
	return out
}

func (a *Adapter) checkSocket(ctx context.Context) []channels.Finding {
	if !a.api.hasAppToken() {
		return []channels.Finding{{Level: channels.LevelOK, What: "events come by the Events API: appToken is empty"}}
	}
	if err := a.api.openSocket(ctx); err != nil {
		return []channels.Finding{{Level: channels.LevelFail, What: err.Error(), Fix: a.fix(err, appSide)}}
	}
	return []channels.Finding{{Level: channels.LevelOK, What: "Socket Mode is on and appToken works"}}
}

// checkPlace reports whether the bot can be heard and speak in a channel.
func (a *Adapter) checkPlace(ctx context.Context, place string) channels.Finding {
	channel, _, _ := strings.Cut(place, "/")
	info, err := a.api.channelInfo(ctx, channel)
	var e *callError
	switch {
	case errors.As(err, &e) && fixFor(e.Code) != "":
		return channels.Finding{Level: channels.LevelFail, What: "channel " + channel + ": " + e.Code, Fix: fixFor(e.Code)}
	case err != nil:
		return channels.Finding{Level: channels.LevelWarn, What: "channel " + channel + ": " + err.Error(), Fix: a.fix(err, botSide)}
	case info.IsArchived:
		return channels.Finding{Level: channels.LevelFail, What: "channel " + channel + " is archived", Fix: fixFor("is_archived")}
	case !info.IsMember && !info.IsIM && !info.IsMpIM:
		return channels.Finding{Level: channels.LevelFail, What: "the bot is not in channel " + channel, Fix: fixFor("not_in_channel")}
	}
	return channels.Finding{Level: channels.LevelOK, What: "the bot is in channel " + channel}
}

// checkPerson reports whether the bot can write to a person.
func (a *Adapter) checkPerson(ctx context.Context, who core.PersonID) channels.Finding {
	_, err := a.Find(ctx, who)
	var no *channels.SendError
	switch {
	case err == nil:
		return channels.Finding{Level: channels.LevelOK, What: string(who) + " can be written to"}
	case errors.As(err, &no) && no.Permanent:
		return channels.Finding{Level: channels.LevelFail, What: string(who) + " cannot be written to: " + err.Error(), Fix: "check the id (the person's profile, Copy member ID) and the scope im:write"}
	}
	return channels.Finding{Level: channels.LevelWarn, What: string(who) + ": " + err.Error(), Fix: a.fix(err, botSide)}
}

// fix is what to do about a failed call.
func (a *Adapter) fix(err error, s side) string {
	var e *callError
	if errors.As(err, &e) {
		if hint := hintFor(e, s); hint != "" {
			return hint
		}
	}
	return "Slack could not be asked: check the network and apiURL, and try again"
}
