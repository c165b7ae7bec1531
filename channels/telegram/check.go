package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/channels"
	"parley/core"
)

var _ channels.Checker = (*Adapter)(nil)

// Check examines the set-up without receiving anything: the token, how updates arrive, privacy mode, a rival
// poller, and the places that the configuration names.
func (a *Adapter) Check(ctx context.Context) []channels.Finding {
	if err := a.introduce(ctx); err != nil {
		fix := "check the network and apiURL"
		var p *channels.Permanent
		if errors.As(a.fatal(err), &p) {
			fix = p.Hint
		}
		return []channels.Finding{{Level: channels.LevelFail, What: "Telegram cannot be used: " + err.Error(), Fix: fix}}
	}
	me := a.self()
	out := []channels.Finding{{Level: channels.LevelOK, What: fmt.Sprintf("the bot is @%s (%d)", me.username, me.id)}}
	if me.hearsAll {
		out = append(out, channels.Finding{Level: channels.LevelOK, What: "privacy mode is off: every message of its groups is heard"})
	} else {
		out = append(out, channels.Finding{
			Level: channels.LevelWarn, What: "privacy mode is on: in groups only commands, mentions and replies to the bot are heard",
			Fix: "answer prompts by replying to them; or /setprivacy at BotFather, Disable, then remove the bot from its groups and add it again",
		})
	}
	out = append(out, a.checkArrival(ctx))
	for _, place := range a.places {
		out = append(out, a.checkPlace(ctx, place))
	}
	return out
}

// checkArrival looks at how updates arrive.
func (a *Adapter) checkArrival(ctx context.Context) channels.Finding {
	var info tgbotapi.WebhookInfo
	err := a.api.call(ctx, "getWebhookInfo", nil, &info)
	switch {
	case err != nil:
		return channels.Finding{Level: channels.LevelWarn, What: "whether a webhook is set could not be asked: " + err.Error()}
	case a.webhook && info.URL != a.hookURL:
		return channels.Finding{Level: channels.LevelWarn, What: "the webhook is not set to this program yet", Fix: "it is set when the program starts"}
	case a.webhook && info.LastErrorMessage != "":
		return channels.Finding{
			Level: channels.LevelFail, What: "Telegram cannot reach the webhook: " + info.LastErrorMessage,
			Fix: "api.publicURL must lead to api.listen over https, on port 443, 80, 88 or 8443",
		}
	case a.webhook:
		return channels.Finding{Level: channels.LevelOK, What: "the webhook is set"}
	case info.URL != "":
		return channels.Finding{
			Level: channels.LevelWarn, What: "a webhook at " + hostOf(info.URL) + " is set, and this channel polls",
			Fix: "the program removes it when it starts; find out who set it, since two cannot receive with one token",
		}
	}
	return a.checkRival(ctx)
}

// checkRival polls once, confirming nothing: another poller shows itself.
func (a *Adapter) checkRival(ctx context.Context) channels.Finding {
	var updates []json.RawMessage
	err := a.api.call(ctx, "getUpdates", tgbotapi.Params{"timeout": "0", "limit": "1", "allowed_updates": allowedUpdates}, &updates)
	var e *callError
	switch {
	case err == nil:
		return channels.Finding{Level: channels.LevelOK, What: "updates can be polled"}
	case errors.As(err, &e) && e.Code == 409:
		return channels.Finding{
			Level: channels.LevelFail, What: "another program polls with this token",
			Fix: "stop the other one (perhaps this program, running), or make a second bot: each update reaches only one of them",
		}
	}
	return channels.Finding{Level: channels.LevelFail, What: "updates cannot be polled: " + err.Error(), Fix: "check the network and apiURL"}
}

// checkPlace asks for a chat that the configuration names.
func (a *Adapter) checkPlace(ctx context.Context, place core.Place) channels.Finding {
	chat, _, _ := strings.Cut(string(place), "/")
	var got struct {
		Title string `json:"title"`
		First string `json:"first_name"`
	}
	if err := a.api.call(ctx, "getChat", tgbotapi.Params{"chat_id": chat}, &got); err != nil {
		return channels.Finding{
			Level: channels.LevelFail, What: fmt.Sprintf("chat %s cannot be reached: %v", chat, err),
			Fix: "add the bot to the chat; a person must write to the bot first",
		}
	}
	return channels.Finding{Level: channels.LevelOK, What: fmt.Sprintf("chat %s is %q", chat, got.Title+got.First)}
}
