package slack

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/channels"
)

// sendError says what a failed call means for the message.
func (a *Adapter) sendError(channel string, err error) *channels.SendError {
	var e *callError
	if !errors.As(err, &e) {
		return &channels.SendError{Unsure: true, Err: err}
	}
	out := &channels.SendError{Err: e, Unsure: e.unsure()}
	switch fix := fixFor(e.Code); {
	case e.Code == "ratelimited" || e.Code == "rate_limited":
		out.After = max(e.After, time.Second)
		if e.Method != "chat.update" { // each method has a limit of its own
			a.pace.Hold(channel, out.After)
		}
	case fix != "":
		out.Permanent, out.Err = true, fmt.Errorf("%w: %s", e, fix)
	case hintFor(e, botSide) != "":
		// The token itself: the message is kept, since the operator will mend that.
		out.After, out.Err = time.Minute, fmt.Errorf("%w: %s", e, hintFor(e, botSide))
	case strings.Contains(e.Code, "block"), strings.HasPrefix(e.Code, "invalid_"), strings.HasPrefix(e.Code, "msg_"),
		e.Code == "too_many_attachments", e.Code == "metadata_too_large", e.Code == "no_text", e.Code == "as_user_not_supported":
		out.Refused = true
	case e.Code != "" && !e.passing():
		out.Permanent = true
	}
	return out
}

// fixFor says what mends a channel that takes no messages, "" for other failures.
func fixFor(code string) string {
	switch code {
	case "channel_not_found":
		return "the channel does not exist, or is private and the app is not in it: invite the app there (/invite @the app)"
	case "not_in_channel":
		return "invite the app to the channel (/invite @the app)"
	case "is_archived":
		return "the channel is archived: unarchive it, or write to the app elsewhere"
	case "messages_tab_disabled":
		return "turn the Messages tab on under App Home of the app, and let people send messages there"
	case "account_inactive", "token_revoked":
		return "the token was revoked or the app was removed: install the app to the workspace again and put the new token into botToken"
	case "restricted_action", "restricted_action_read_only_channel", "restricted_action_thread_only_channel",
		"restricted_action_non_threadable_channel", "restricted_action_thread_locked", "thread_locked", "posting_to_general_channel_denied":
		return "the channel's settings do not let the app write there: a workspace admin can allow it"
	case "cannot_reply_to_message", "thread_not_found":
		return "the thread cannot be replied to: write to the app in a new one"
	case "user_not_found", "user_disabled", "cannot_dm_bot", "user_is_bot", "user_not_visible":
		return "the account cannot be written to: it is closed, or no person's"
	case "message_limit_exceeded", "team_access_not_granted", "no_permission", "access_denied", "ekm_access_denied", "org_login_required":
		return "the workspace does not let the app write: a workspace admin must allow it"
	}
	return ""
}
