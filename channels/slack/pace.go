package slack

import (
	"time"

	"parley/channels"
)

// Slack takes about one message a second in a channel, and more at once for a short while; what is too much
// it says itself.
var perChannel = channels.Pace{Every: time.Second, Burst: 40}

func newPacer(now func() time.Time) *channels.Pacer {
	return channels.NewPacer(channels.Pacing{Now: now, Of: func(string) channels.Pace { return perChannel }})
}
