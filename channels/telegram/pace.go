package telegram

import (
	"strconv"
	"time"

	"parley/channels"
)

// Telegram's limits, as documented: about one message a second in a chat with some at once, twenty a minute
// in a group, thirty a second in all.
var (
	perPerson = channels.Pace{Every: time.Second, Burst: 10}
	perGroup  = channels.Pace{Every: 3 * time.Second, Burst: 5}
	perBot    = channels.Pace{Every: time.Second / 30, Burst: 30}
)

// newPacer spaces the calls of each chat, by its id: that of a group is below zero.
func newPacer(now func() time.Time) *channels.Pacer {
	return channels.NewPacer(channels.Pacing{Now: now, All: perBot, Of: func(chat string) channels.Pace {
		if chat[0] == '-' {
			return perGroup
		}
		return perPerson
	}})
}

// paceKey is a chat's key in the pacer.
func paceKey(chat int64) string { return strconv.FormatInt(chat, 10) }
