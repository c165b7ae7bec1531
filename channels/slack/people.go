package slack

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"
)

// How long what Slack tells of a person is believed.
const peopleFor = 10 * time.Minute

// person is what is known of an account beside its id.
type person struct {
	team    string
	lang    string
	outside bool // a guest, somebody of another organisation, or a closed account
	bot     bool
	until   time.Time
}

// people asks users.info about those who speak.
type people struct {
	api  *client
	now  func() time.Time
	log  *slog.Logger
	m    *recent[person]
	mute atomic.Bool // it was said that Slack does not tell
}

func newPeople(api *client, now func() time.Time, log *slog.Logger) *people {
	return &people{api: api, now: now, log: log, m: newRecent[person](keptThreads)}
}

// look returns what is known of a user. An error says to ask again later: until then nobody knows whether
// they may be let in. Where Slack refuses to tell, the ids alone decide.
func (p *people) look(ctx context.Context, user string) (person, error) {
	who, ok := p.m.get(user)
	if ok && p.now().Before(who.until) {
		return who, nil
	}
	within, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	u, err := p.api.userInfo(within, user)
	var e *callError
	switch {
	case err == nil:
		who = person{
			team: u.TeamID, lang: u.Locale, bot: u.IsBot,
			outside: u.Deleted || u.IsRestricted || u.IsUltraRestricted || u.IsStranger,
		}
	case errors.As(err, &e) && e.passing() || ctx.Err() != nil:
		if ok {
			return who, nil // what was true a while ago
		}
		return person{}, err
	case errors.As(err, &e) && (e.Code == "user_not_found" || e.Code == "user_not_visible"):
		who = person{outside: true} // nobody of ours
	case p.mute.CompareAndSwap(false, true):
		p.log.Warn("slack: users.info does not work: guests and closed accounts cannot be told from members", "err", err,
			"fix", "give the app the scope users:read and install it again")
	}
	who.until = p.now().Add(peopleFor)
	p.m.set(user, who)
	return who, nil
}

// known is what look found before.
func (p *people) known(user string) (person, bool) { return p.m.get(user) }

func (p *people) outsider(user string) bool {
	who, _ := p.m.get(user)
	return who.outside || who.bot
}
