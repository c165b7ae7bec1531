package slack

import (
	"context"
	"errors"
	"strings"
	"time"

	"parley/channels"
)

// side is whose token a failure is about.
type side int

const (
	botSide side = iota
	appSide
)

// start learns who the bot is. It tries until it can, or ctx ends, or only the operator can help.
func (a *Adapter) start(ctx context.Context) error {
	if why, fix := a.swapped(); why != "" {
		return &channels.Permanent{Channel: a.name, Hint: fix, Err: errors.New("slack: " + why)}
	}
	var b channels.Backoff
	for {
		err := a.introduce(ctx)
		if err == nil {
			return nil
		}
		if fatal := a.fatal(err, botSide); fatal != nil {
			return fatal
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		d := max(b.Pause(), wanted(err))
		a.setReady(err)
		a.log.Warn("slack: could not connect, trying again", "after", d.Round(time.Millisecond), "err", err)
		if err := channels.Sleep(ctx, d); err != nil {
			return err
		}
	}
}

// introduce asks who the bot is.
func (a *Adapter) introduce(ctx context.Context) error {
	r, err := a.api.authTest(ctx)
	if err != nil {
		return err
	}
	if r.UserID == "" || r.TeamID == "" {
		return errors.New("slack auth.test: the answer names no bot: check apiURL")
	}
	a.mu.Lock()
	a.me = self{team: r.TeamID, enterprise: r.EnterpriseID, user: r.UserID, bot: r.BotID}
	a.mu.Unlock()
	a.log.Info("slack: connected", "team", r.TeamID, "bot", r.UserID)
	if granted := r.Header.Get("X-OAuth-Scopes"); granted != "" {
		for _, f := range missing(granted) {
			if f.Level != channels.LevelOK {
				a.log.Warn("slack: "+f.What, "fix", f.Fix)
			}
		}
	}
	return nil
}

// swapped says what is wrong with the tokens by their first letters, and what to do.
func (a *Adapter) swapped() (why, fix string) {
	s := a.api.secrets()
	bot, app := strings.HasPrefix(s.bot, "xapp-"), strings.HasPrefix(s.app, "xoxb-") || strings.HasPrefix(s.app, "xoxp-")
	switch {
	case bot && app:
		return "botToken and appToken are swapped", "put the token that begins with xoxb- into botToken and the one that begins with xapp- into appToken"
	case bot:
		return "botToken holds an app-level token", "put the Bot User OAuth Token (xoxb-…) of OAuth & Permissions into botToken"
	case app:
		return "appToken holds a bot token", "put an app-level token (xapp-…) of Basic Information into appToken"
	case strings.HasPrefix(s.bot, "xoxe."), strings.HasPrefix(s.bot, "xoxp-"):
		return "botToken holds another kind of token", "put the Bot User OAuth Token (xoxb-…) of OAuth & Permissions into botToken, with token rotation off"
	}
	return "", ""
}

// fatal is the *channels.Permanent of an error that waiting does not mend, else nil.
func (a *Adapter) fatal(err error, s side) error {
	var p *channels.Permanent
	if errors.As(err, &p) {
		return p
	}
	var e *callError
	if !errors.As(err, &e) {
		return nil
	}
	hint := hintFor(e, s)
	if hint == "" {
		return nil
	}
	return &channels.Permanent{Channel: a.name, Hint: hint, Err: e}
}

// hintFor says what the operator must do about a failure that waiting does not mend, "" for others.
func hintFor(e *callError, s side) string {
	setting := "botToken (OAuth & Permissions, xoxb-…)"
	if s == appSide {
		setting = "appToken (Basic Information, App-Level Tokens, xapp-…)"
	}
	switch e.Code {
	case "not_allowed_token_type":
		return "the tokens are swapped or of another kind: botToken begins with xoxb-, appToken with xapp-; Slack refuses " + setting
	case "missing_scope":
		return scopeHint(e.Needed, s)
	case "token_expired":
		return "the token has expired: turn token rotation off for the app, install it again and put the new token into " + setting
	case "token_revoked", "account_inactive":
		return "the token was revoked or the app was removed: install the app to the workspace again and put the new token into " + setting
	case "invalid_auth", "not_authed":
		return "Slack does not know this token: copy it again into " + setting
	case "link_disabled", "not_allowed", "socket_mode_disabled", "socket_mode_not_enabled", "not_enabled":
		return "Socket Mode is off: turn it on under Settings, Socket Mode of the app; or leave appToken out and set signingSecret for the Events API"
	case "team_access_not_granted", "org_login_required", "ekm_access_denied", "no_permission", "access_denied", "user_removed_from_team", "app_not_installed":
		return "the workspace does not let the app in: a workspace admin must approve and install it"
	}
	if e.Status >= 300 && e.Status < 500 && e.Status != 408 && e.Status != 429 {
		return "there is no Slack Web API at apiURL: leave it out, or let it end in /api/"
	}
	return ""
}

func scopeHint(needed string, s side) string {
	if needed == "" {
		needed = "a scope that it does not name"
	}
	if s == appSide {
		if needed == "a scope that it does not name" {
			needed = "connections:write"
		}
		return "the app-level token lacks " + needed + ": make a new one under Basic Information, App-Level Tokens, with connections:write"
	}
	return "the bot lacks the scope " + needed + ": add it under OAuth & Permissions, then install the app again"
}
