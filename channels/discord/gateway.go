package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"parley/channels"
)

const (
	// identifyEvery is the pace at which one bot may open sessions.
	identifyEvery = 5 * time.Second
	// shortLife is how long a connection must have lasted for the next to follow at once.
	shortLife = 10 * time.Second
	// resumeTries is how often the address of a session may fail before a new session is opened.
	resumeTries = 4
	// fewSessions is how many starts are left when the operator is warned.
	fewSessions = 50
)

// session is what Discord keeps for us between two connections: what was missed comes again on a resume.
type session struct {
	id, address string
	failed      int // tries to reach it in a row
}

// listener keeps the gateway connected.
type listener struct {
	a          *Adapter
	w          *worker
	session    session
	seq        atomic.Int64 // of the last event
	rest       channels.Backoff
	identified time.Time
	noContent  bool // Discord refused the intent
}

// listen receives until ctx ends or only the operator can help.
func (a *Adapter) listen(ctx context.Context, w *worker) error {
	l := &listener{a: a, w: w, rest: channels.Backoff{Longest: lastPause}}
	if err := a.introduce(ctx); err != nil {
		return err
	}
	for {
		began := a.now()
		err := l.once(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		a.setReady(err)
		wait, fatal := l.next(err, a.now().Sub(began))
		if fatal != nil {
			return fatal
		}
		a.log.Warn("discord: the gateway's connection ended, connecting again",
			"after", wait.Round(time.Millisecond), "resume", l.session.id != "", "err", err)
		if err := channels.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// next decides how to go on after a connection ended: how long to wait, and with which session.
func (l *listener) next(err error, lasted time.Duration) (wait time.Duration, fatal error) {
	var closed *websocket.CloseError
	var invalid *invalidError
	var spent *spentError
	if lasted > time.Minute {
		l.rest.Reset()
	}
	wait = l.rest.Pause()
	switch {
	case errors.As(err, &closed):
		return l.closed(closed, wait)
	case errors.As(err, &invalid):
		if !invalid.resumable {
			l.drop()
		}
		return time.Second + rand.N(4*time.Second), nil
	case errors.As(err, &spent):
		return spent.reset, nil
	case errors.Is(err, errAsked) && lasted > shortLife:
		return 0, nil
	}
	if fatal := l.a.fatal(err); fatal != nil {
		return 0, fatal
	}
	if e := isCall(err); e != nil {
		wait = max(wait, e.RetryAfter)
	}
	return wait, nil
}

// drop gives the session up: what was missed has to be fetched.
func (l *listener) drop() {
	l.session = session{}
	l.seq.Store(0)
}

// closed decides by the gateway's close code.
func (l *listener) closed(e *websocket.CloseError, wait time.Duration) (time.Duration, error) {
	switch e.Code {
	case 4003, 4007, 4009: // not authenticated, a wrong sequence, timed out: the session is gone
		l.drop()
	case 4008: // too many frames
		wait = max(wait, time.Minute)
	case 4014:
		if !l.noContent && l.a.self().content {
			l.noContent = true
			l.drop()
			l.a.setSelf(func(s *self) { s.content = false })
			l.a.log.Error("discord: the Message Content Intent is off for this bot: "+mentionsOnly, "fix", intentFix)
			return wait, nil
		}
	}
	if hint := fatalClose[e.Code]; hint != "" {
		return 0, l.a.permanent(hint, fmt.Errorf("discord gateway: closed with %d %s", e.Code, l.a.api.redact(e.Text, "")))
	}
	return wait, nil
}

// fatalClose says what the operator must do about the codes that come again at every try.
var fatalClose = map[int]string{
	4004: tokenFix,
	4010: "the gateway refuses the shard: this program opens one connection for all servers; check gatewayURL",
	4011: "the bot is in too many servers for one connection (2,500): run several bots, each in a part of the servers",
	4012: "the gateway does not know this version of its protocol: check gatewayURL",
	4013: "the gateway does not know the intents that were asked for: check gatewayURL, or use a newer release of this program",
	4014: "the gateway refuses the intents: " + intentFix,
}

// once opens a connection and keeps it until it ends; it says why.
func (l *listener) once(ctx context.Context) error {
	address, err := l.address(ctx)
	if err != nil {
		return err
	}
	conn, err := dialSocket(ctx, l.a.dial, address)
	if err != nil {
		if l.session.failed++; l.session.failed >= resumeTries {
			l.drop()
		}
		return err
	}
	hello, err := l.hello()
	if err != nil {
		_ = conn.Close()
		return err
	}
	return serve(ctx, conn, l.seq.Load, hello, l.hear)
}

// address is where to connect: where the session lives, else where the API says, once a start may be spent.
func (l *listener) address(ctx context.Context) (string, error) {
	if l.session.id != "" && l.session.address != "" {
		return withVersion(l.session.address)
	}
	if l.session.id == "" && !l.identified.IsZero() {
		if d := identifyEvery - l.a.now().Sub(l.identified); d > 0 {
			if err := channels.Sleep(ctx, d); err != nil {
				return "", err
			}
		}
	}
	g, err := l.a.gateway(ctx)
	switch {
	case err != nil && l.a.gatewayURL == "":
		return "", err
	case err != nil && l.a.fatal(err) != nil:
		return "", err
	case err == nil && g.Limit != nil && g.Limit.Total > 0 && g.Limit.Remaining <= 0 && l.session.id == "":
		return "", &spentError{time.Duration(max(g.Limit.ResetAfter, 1000)) * time.Millisecond}
	case err == nil && g.Limit != nil && g.Limit.Total > fewSessions && g.Limit.Remaining < fewSessions:
		l.a.log.Warn("discord: few session starts are left today", "remaining", g.Limit.Remaining, "total", g.Limit.Total)
	}
	if l.a.gatewayURL != "" {
		return withVersion(l.a.gatewayURL)
	}
	return withVersion(g.URL)
}

// spentError says that no session may be opened for now: Discord resets the token of a bot that goes on.
type spentError struct{ reset time.Duration }

func (e *spentError) Error() string {
	return "discord: all session starts of today are spent: the next is possible in " + e.reset.Round(time.Second).String()
}

// withVersion adds what the protocol is to an address of the gateway.
func withVersion(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return "", errors.New("discord: the API names no WebSocket as its gateway: check apiURL, or set gatewayURL")
	}
	if u.Path == "" {
		u.Path = "/"
	}
	q := u.Query()
	q.Set("v", discordgo.APIVersion)
	q.Set("encoding", "json")
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// hello is Resume where there is a session, else Identify.
func (l *listener) hello() (frame, error) {
	if l.session.id != "" {
		d, err := json.Marshal(map[string]any{
			"token": l.a.api.token(), "session_id": l.session.id, "seq": l.seq.Load(),
		})
		return frame{Op: opResume, Data: d}, err
	}
	l.identified = l.a.now()
	intents := discordgo.IntentGuilds | discordgo.IntentGuildMessages | discordgo.IntentDirectMessages
	if l.a.self().content {
		intents |= discordgo.IntentMessageContent
	}
	d, err := json.Marshal(map[string]any{
		"token": l.a.api.token(), "intents": intents, "compress": false, "large_threshold": 50,
		"properties": map[string]string{"os": runtime.GOOS, "browser": "parley", "device": "parley"},
	})
	return frame{Op: opIdentify, Data: d}, err
}

// hear takes one event, in the reader: what may wait goes to a lane. It reports whether the session stands.
func (l *listener) hear(f frame) bool {
	if f.Seq > 0 {
		l.seq.Store(f.Seq)
	}
	switch f.Type {
	case "READY":
		l.readyUp(f.Data)
		return true
	case "RESUMED":
		l.session.failed = 0
		l.a.setReady(nil)
		l.a.log.Info("discord: the session was resumed, nothing was missed")
		return true
	}
	l.w.hear(f)
	return false
}

func (l *listener) readyUp(data json.RawMessage) {
	var r struct {
		Session string `json:"session_id"`
		Resume  string `json:"resume_gateway_url"`
		User    user   `json:"user"`
		App     struct {
			ID snowflake `json:"id"`
		} `json:"application"`
		Guilds []struct {
			ID snowflake `json:"id"`
		} `json:"guilds"`
	}
	if err := json.Unmarshal(data, &r); err != nil {
		l.a.log.Error("discord: READY could not be read", "err", err)
	}
	l.session.id, l.session.address, l.session.failed = r.Session, r.Resume, 0
	l.a.setSelf(func(s *self) {
		if r.User.ID != 0 {
			s.user = r.User.ID
		}
		if r.App.ID != 0 {
			s.app = r.App.ID
		}
	})
	l.a.names.learn(&r.User)
	l.a.setReady(nil)
	l.a.log.Info("discord: connected", "bot", r.User.ID, "username", r.User.Name)
	var guilds []snowflake
	for _, g := range r.Guilds {
		guilds = append(guilds, g.ID)
	}
	l.w.began(guilds)
}
