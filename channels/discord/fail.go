package discord

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"parley/channels"
)

// Discord's own error codes, as far as they change what is done.
const (
	codeUnknownChannel     = 10003
	codeUnknownGuild       = 10004
	codeUnknownMessage     = 10008
	codeUnknownInteraction = 10062
	codeSlowmode           = 20016
	codeWriteLimit         = 20028
	codeOldEdits           = 30046
	codeOpeningDMs         = 40003
	codeAnswered           = 40060
	codeNoAccess           = 50001
	codeNotOurs            = 50005
	codeNoDMs              = 50007
	codeNotInChannel       = 50008
	codeNoPermission       = 50013
	codeInvalidForm        = 50035
	codeArchived           = 50083
	codeNoHistory          = 160002
	codeLocked             = 160005
	codeBlocked            = 200000
	codeBlockedTitle       = 200001
)

// fixes say what the operator can do about a channel that takes no messages, by code: none of them passes.
var fixes = map[int]string{
	codeUnknownChannel: "the channel was deleted, or the bot was removed from its server: invite it again",
	codeUnknownGuild:   "the bot was removed from the server: invite it again",
	codeNoAccess:       "the bot cannot see the channel: give it View Channel there, or invite it to the server",
	codeNoDMs:          "the person takes no direct messages from the bot: they must allow them, or share a server with it",
	codeNotInChannel:   "this kind of channel takes no messages: talk to the bot in a text channel or thread",
	codeNoPermission:   "give the bot Send Messages there (and Send Messages in Threads for a thread)",
	codeArchived:       "the thread is archived and the bot may not open it again: open it, or give the bot Manage Threads",
	codeLocked:         "the thread is locked: unlock it, or give the bot Manage Threads",
	codeBlocked:        "AutoMod of the server blocks the message: exempt the bot's role from the rule",
	codeBlockedTitle:   "AutoMod of the server blocks the message: exempt the bot's role from the rule",
}

// How long a limit lasts where the answer does not say.
const (
	unknownLimit = 5 * time.Second
	oldEditLimit = time.Minute
)

// about reports whether the refusal is about a field.
func (e *callError) about(field string) bool { return strings.Contains(e.Description, field) }

// sendError says what a failed call means for the message. Where the token itself is refused the message is
// kept: the operator will mend that, and Run says so.
func (a *Adapter) sendError(id snowflake, key string, err error) error {
	e := isCall(err)
	if e == nil {
		return err // already a *channels.SendError
	}
	out := &channels.SendError{Err: e, Unsure: e.unsure()}
	if out.Unsure && key != "" {
		out.Unsure = a.doubts.old(key, a.now())
	}
	switch {
	case e.Status == http.StatusTooManyRequests, e.Code == codeSlowmode, e.Code == codeWriteLimit, e.Code == codeOpeningDMs:
		out.After = max(e.RetryAfter, time.Second)
		if e.RetryAfter <= 0 {
			out.After = unknownLimit
		}
	case e.Code == codeOldEdits:
		out.After = oldEditLimit
	case e.Status == http.StatusUnauthorized:
		out.After = time.Minute
	case fixes[e.Code] != "":
		out.Permanent, out.Err = true, fmt.Errorf("%w: %s", e, fixes[e.Code])
	case e.Status == http.StatusForbidden, e.Status == http.StatusNotFound:
		out.Permanent, out.Err = true, fmt.Errorf("%w: %s", e, fixes[codeNoAccess])
	case e.Status == http.StatusBadRequest, e.Status == http.StatusRequestEntityTooLarge:
		out.Refused = true
	}
	return out
}

// nonceHolds is how long, to be on the safe side, Discord knows a nonce again.
const nonceHolds = 2 * time.Minute

// maxDoubts bounds the memory; it is far above what is in flight at once.
const maxDoubts = 4096

// doubts are the parts whose last attempt may have gone through, with the time of the first such. While the
// nonce holds that is no doubt: the next attempt finds the message that is there.
type doubts struct {
	mu sync.Mutex
	m  map[string]time.Time
}

// old reports whether the first attempt is so long ago that a repetition might be a second message.
func (d *doubts) old(key string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	first, ok := d.m[key]
	if ok {
		return now.Sub(first) > nonceHolds
	}
	if d.m == nil || len(d.m) >= maxDoubts {
		d.m = map[string]time.Time{}
	}
	d.m[key] = now
	return false
}

func (d *doubts) clear(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.m, key)
}
