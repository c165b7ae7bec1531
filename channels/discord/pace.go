package discord

import (
	"net/http"
	"time"

	"parley/channels"
)

// Discord allows fifty calls a second in all, and tells the limit of each route in the headers of its answers.
var perBot = channels.Pace{Every: time.Second / 45, Burst: 45}

// newPacer spaces the calls of all routes together, and holds those that Discord told to wait.
func newPacer(now func() time.Time) *channels.Pacer {
	return channels.NewPacer(channels.Pacing{Now: now, All: perBot, WaitHolds: true})
}

// learn holds a route that has no call left.
func (a *Adapter) learn(route string, h http.Header) {
	if h.Get("X-RateLimit-Remaining") == "0" {
		if d := seconds(h.Get("X-RateLimit-Reset-After"), 0); d > 0 {
			a.pace.Hold(route, d)
		}
	}
}
