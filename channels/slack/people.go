package slack

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	slackapi "github.com/slack-go/slack"
)

// How long what Slack tells of a person is believed, and how long it is left alone after it did not answer.
const (
	peopleFor  = 10 * time.Minute
	peopleRest = time.Second
)

// person is what is known of an account beside its id.
type person struct {
	team    string
	name    string // what they call themselves: to be shown beside the id, never to be judged by
	lang    string
	outside bool // a guest, another app, somebody of another organisation, or a closed account
	until   time.Time
}

// silence is a failure to learn about somebody, and until when not to ask again.
type silence struct {
	err   error
	until time.Time
}

// people asks users.info about those who speak.
type people struct {
	api    *client
	now    func() time.Time
	log    *slog.Logger
	m      *recent[person]
	failed *recent[silence]
	mute   atomic.Bool // it was said that Slack does not tell
}

func newPeople(api *client, now func() time.Time, log *slog.Logger) *people {
	return &people{api: api, now: now, log: log, m: newRecent[person](keptThreads), failed: newRecent[silence](keptKeys)}
}

// look returns what is known of a user. An error says to ask again later: until then nobody knows whether
// they are a member. Where Slack refuses to tell, the ids alone decide.
func (p *people) look(ctx context.Context, user string) (person, error) {
	who, ok := p.m.get(user)
	if ok && p.now().Before(who.until) {
		return who, nil
	}
	if f, bad := p.failed.get(user); bad && p.now().Before(f.until) {
		return who, orNil(f.err, ok)
	}
	within, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	u, err := p.api.userInfo(within, user)
	var e *callError
	switch {
	case err == nil:
		who = person{
			team: u.TeamID, lang: u.Locale, name: nameOf(u),
			outside: u.Deleted || u.IsRestricted || u.IsUltraRestricted || u.IsStranger || u.IsBot,
		}
	case errors.As(err, &e) && e.passing() || ctx.Err() != nil:
		p.failed.set(user, silence{err, p.now().Add(max(peopleRest, wanted(err)))})
		return who, orNil(err, ok)
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

// longestName is how much of a name is shown; the id follows it.
const longestName = 40

func nameOf(u *slackapi.User) string {
	name := strings.TrimSpace(u.Profile.DisplayName)
	if name == "" {
		name = strings.TrimSpace(u.RealName)
	}
	if r := []rune(name); len(r) > longestName {
		name = string(r[:longestName]) + "…"
	}
	return name
}

// orNil is no error where something is known from a while ago.
func orNil(err error, known bool) error {
	if known {
		return nil
	}
	return err
}

// guess is look for what can be done without: a language, and the team where an event does not name it.
func (p *people) guess(ctx context.Context, user string) person {
	who, err := p.look(ctx, user)
	if err != nil {
		p.log.Debug("slack: nothing is known of a person yet", "person", user, "err", err)
	}
	return who
}
