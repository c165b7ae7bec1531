package discord

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"

	"parley/channels"
)

// What the operator can do.
const (
	tokenFix     = "Discord does not know this bot: check botToken (developer portal, Bot, Reset Token) and apiURL"
	intentFix    = "developer portal, Bot, Privileged Gateway Intents: switch Message Content Intent on, and start again"
	mentionsOnly = "in servers the bot reads mentions of it, replies to it and buttons, and no other message"
)

// lastPause is how long a failed try to connect waits at the most before the next.
const lastPause = time.Minute

// Flags of an application that let its bot read every message, in few or in many servers.
const (
	flagContent        = 1 << 18
	flagContentLimited = 1 << 19
)

// fatal is the *channels.Permanent of an error that waiting does not mend, else nil.
func (a *Adapter) fatal(err error) error {
	var p *channels.Permanent
	if errors.As(err, &p) {
		return p
	}
	if e := isCall(err); e != nil && e.Status == http.StatusUnauthorized {
		return a.permanent(tokenFix, e)
	}
	return nil
}

func (a *Adapter) permanent(hint string, err error) error {
	return &channels.Permanent{Channel: a.name, Hint: hint, Err: err}
}

// application is what Discord knows of the bot's application.
type application struct {
	ID    snowflake `json:"id"`
	Flags int64     `json:"flags"`
	Bot   *user     `json:"bot"`
}

func (p application) readsAll() bool { return p.Flags&(flagContent|flagContentLimited) != 0 }

// application asks for our own. The library has it at an address of another API.
func (a *Adapter) application(ctx context.Context) (p application, err error) {
	err = a.api.get(ctx, "look at the application", discordgo.EndpointAPI+"applications/@me", &p)
	return p, err
}

// introduce learns which intents the bot may ask for. Where that cannot be learned it asks for all of them:
// the gateway says no where it has to. The error is a *channels.Permanent.
func (a *Adapter) introduce(ctx context.Context) error {
	p, err := a.application(ctx)
	switch {
	case err == nil:
	case a.fatal(err) != nil:
		return a.fatal(err)
	default:
		if ctx.Err() == nil {
			a.log.Info("discord: the application could not be looked at", "err", err)
		}
		a.setSelf(func(s *self) { s.content = true })
		return nil
	}
	a.setSelf(func(s *self) {
		s.app, s.content = p.ID, p.readsAll()
		if p.Bot != nil {
			s.user = p.Bot.ID
		}
	})
	if !p.readsAll() {
		a.log.Error("discord: the Message Content Intent is off for this bot: "+mentionsOnly, "fix", intentFix)
	}
	return nil
}

// gatewayInfo is where the gateway is, and how often a session may be started.
type gatewayInfo struct {
	URL    string      `json:"url"`
	Shards int         `json:"shards"`
	Limit  *startLimit `json:"session_start_limit"`
}

type startLimit struct {
	Total      int `json:"total"`
	Remaining  int `json:"remaining"`
	ResetAfter int `json:"reset_after"` // milliseconds
}

// gateway asks for the gateway: with the limit of a bot, else as anybody may.
func (a *Adapter) gateway(ctx context.Context) (g gatewayInfo, err error) {
	err = a.api.get(ctx, "ask for the gateway", discordgo.EndpointGatewayBot, &g)
	if e := isCall(err); e != nil && e.Status != 0 && e.Status != http.StatusUnauthorized && e.Status != http.StatusTooManyRequests {
		err = a.api.get(ctx, "ask for the gateway", discordgo.EndpointGateway, &g)
	}
	return g, err
}

// offerCommands fills the menu that opens at "/". It is a courtesy: where it fails all can be typed.
func (a *Adapter) offerCommands(ctx context.Context) {
	app := a.self().app
	if app == 0 {
		return
	}
	menu := []discordgo.ApplicationCommand{
		{Name: "cancel", Description: "Stop what is running or waiting"},
		{Name: "status", Description: "What runs and waits here"},
		{Name: "pending", Description: "All that waits here, with codes to answer by"},
		{Name: "inbox", Description: "What waits for you"},
		{Name: "help", Description: "What I understand"},
	}
	_, err := a.api.do(ctx, call{
		op: "offer commands", method: http.MethodPut, endpoint: discordgo.EndpointApplicationGlobalCommands(app.String()), body: menu,
	})
	if err != nil && ctx.Err() == nil {
		a.log.Info("discord: the command menu was not set", "err", err)
	}
}
