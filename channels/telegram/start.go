package telegram

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/channels"
)

// start learns who the bot is and sets up how its updates arrive. It tries until it can, or ctx ends, or only
// the operator can help.
func (a *Adapter) start(ctx context.Context) error {
	if err := a.insist(ctx, "connect", a.introduce); err != nil {
		return err
	}
	a.warnPrivacy()
	if a.webhook {
		if err := a.insist(ctx, "set the webhook", a.setWebhook); err != nil {
			return err
		}
	} else if err := a.dropWebhook(ctx); err != nil && ctx.Err() == nil {
		// Not worth waiting for: if one is set, the first poll says so.
		a.log.Warn("telegram: could not look for a webhook", "err", err)
	}
	a.offerCommands(ctx)
	return ctx.Err()
}

// insist calls f until it works.
func (a *Adapter) insist(ctx context.Context, what string, f func(context.Context) error) error {
	var b channels.Backoff
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		if fatal := a.fatal(err); fatal != nil {
			return fatal
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		d := max(b.Pause(), wanted(err))
		a.setReady(err)
		a.log.Warn("telegram: could not "+what+", trying again", "after", d.Round(time.Millisecond), "err", err)
		if err := channels.Sleep(ctx, d); err != nil {
			return err
		}
	}
}

// wanted is how long Telegram asks to wait.
func wanted(err error) time.Duration {
	var e *callError
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}

// fatal is the *channels.Permanent of an error that waiting does not mend, else nil.
func (a *Adapter) fatal(err error) error {
	var p *channels.Permanent
	if errors.As(err, &p) {
		return p
	}
	var e *callError
	if !errors.As(err, &e) || e.Code != 401 && e.Code != 404 {
		return nil
	}
	return &channels.Permanent{
		Channel: a.name, Err: e,
		Hint: "Telegram does not know this bot: check botToken (BotFather /token shows it, /revoke makes a new one) and apiURL",
	}
}

func (a *Adapter) introduce(ctx context.Context) error {
	var u tgbotapi.User
	if err := a.api.call(ctx, "getMe", nil, &u); err != nil {
		return err
	}
	a.mu.Lock()
	a.me = self{id: u.ID, username: u.UserName, hearsAll: u.CanReadAllGroupMessages}
	a.mu.Unlock()
	a.log.Info("telegram: connected", "bot", u.ID, "username", u.UserName)
	return nil
}

// warnPrivacy names the usual reason why a bot in a group does not react, and its cure.
func (a *Adapter) warnPrivacy() {
	if a.self().hearsAll {
		return
	}
	a.log.Warn("telegram: privacy mode is on: in groups the bot hears commands, mentions and replies to its messages, not a plain \"yes\"",
		"fix", "answer prompts by replying to them; or send /setprivacy to BotFather, choose Disable, and remove the bot from its groups and add it again")
}

// dropWebhook makes polling possible: while a webhook is set Telegram refuses it. What waits is kept.
func (a *Adapter) dropWebhook(ctx context.Context) error {
	var info tgbotapi.WebhookInfo
	if err := a.api.call(ctx, "getWebhookInfo", nil, &info); err != nil || info.URL == "" {
		return err
	}
	if err := a.api.call(ctx, "deleteWebhook", tgbotapi.Params{"drop_pending_updates": "false"}, nil); err != nil {
		return err
	}
	a.log.Warn("telegram: removed a webhook, since this channel polls; what waited is kept", "host", hostOf(info.URL), "pending", info.PendingUpdateCount)
	return nil
}

// hostOf leaves out the path of a webhook, which may be a secret.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "unknown"
	}
	return u.Host
}

func (a *Adapter) setWebhook(ctx context.Context) error {
	err := a.api.call(ctx, "setWebhook", tgbotapi.Params{
		"url": a.hookURL, "secret_token": a.secret(), "allowed_updates": allowedUpdates,
		"max_connections": "40", "drop_pending_updates": "false",
	}, nil)
	var e *callError
	if errors.As(err, &e) && e.Code == 400 {
		return &channels.Permanent{
			Channel: a.name, Err: e,
			Hint: "Telegram refuses the webhook: api.publicURL must be an https address on port 443, 80, 88 or 8443 that the internet reaches; or set webhook to false",
		}
	}
	return err
}

// offerCommands fills the menu that opens at "/". It is a courtesy: where it fails all commands still work.
func (a *Adapter) offerCommands(ctx context.Context) {
	const menu = `[{"command":"cancel","description":"Stop what is running or waiting"},` +
		`{"command":"status","description":"What runs and waits here"},` +
		`{"command":"pending","description":"All that waits here, with codes to answer by"},` +
		`{"command":"inbox","description":"What waits for you"},` +
		`{"command":"help","description":"What I understand"}]`
	if err := a.api.call(ctx, "setMyCommands", tgbotapi.Params{"commands": menu}, nil); err != nil && ctx.Err() == nil {
		a.log.Info("telegram: the command menu was not set", "err", err)
	}
}

// conflict reports whether an error says that somebody else receives this bot's updates.
func conflict(err error) bool {
	var e *callError
	return errors.As(err, &e) && e.Code == 409
}

// webhookSet reports whether the conflict is with a webhook that was set meanwhile.
func webhookSet(err error) bool {
	var e *callError
	return errors.As(err, &e) && strings.Contains(strings.ToLower(e.Description), "webhook")
}
