package slack

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/slack/slacktest"
	"parley/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// platform is a Slack for the shared scenarios: a direct chat, and a group chat or else a thread of a channel.
type platform struct {
	srv   *slacktest.Server
	group slacktest.Where
	knows func(context.Context, core.ConversationID) (bool, error)
	turns channels.Turns
	mu    sync.Mutex // one saying at a time, so that one alone can be held back
}

func open(t testing.TB) *platform {
	p := &platform{srv: slacktest.New(slacktest.Config{AckWithin: 20 * time.Second}), group: slacktest.Where{Channel: "G0ROOM"}}
	t.Cleanup(p.srv.Close)
	for _, name := range []string{channeltest.Alice, channeltest.Bob, channeltest.Mallory} {
		p.srv.AddUser(slacktest.User{ID: userOf(name)})
	}
	p.srv.DM(userOf(channeltest.Alice))
	p.srv.Open("G0ROOM", slacktest.Several)
	return p
}

func userOf(name string) string { return "U" + strings.ToUpper(name) }

func (p *platform) where(r channeltest.Room) slacktest.Where {
	if r == channeltest.Direct {
		return slacktest.Where{Channel: "DALICE"}
	}
	return p.group
}

var _ channeltest.Album = (*platform)(nil)

func (p *platform) Caps() channeltest.Caps {
	return channeltest.Caps{Group: true, Buttons: true, Edits: true, Replies: true, Crossed: true, AtOnce: true, Slash: true, Rewords: true, Shows: true, Stores: true}
}

func (p *platform) Adapter(t testing.TB, _ channels.Turns) channels.Adapter {
	a, err := New(Config{
		Name: "work", Agent: channeltest.Agent, BotToken: slacktest.DefaultBotToken, AppToken: slacktest.DefaultAppToken,
		APIURL: p.srv.URL, Client: p.srv.Client(), Knows: p.knows, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (p *platform) Person(name string) core.PersonID { return who(userOf(name)) }

func (p *platform) Conversation(r channeltest.Room) core.ConversationID {
	return core.NewConversation(channeltest.Agent, "work", placeOf(p.where(r).Channel, p.where(r).Thread))
}

func (p *platform) Say(_ testing.TB, s channeltest.Saying) string {
	at, text := p.where(s.Room), escaped.Replace(s.Text)
	if s.Room == channeltest.Group && !s.Overheard {
		text = slacktest.Mention(text)
	}
	if _, ts, ok := parseMessageID(s.ReplyTo); ok {
		at.Thread = ts
	}
	var how []slacktest.Said
	if s.Picture != nil {
		how = append(how, slacktest.Attach("picture.png", "image/png", s.Picture))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.Late {
		p.srv.Hold()
		defer p.srv.Resume()
	}
	return messageID(at.Channel, p.srv.Say(userOf(s.Who), at, text, how...))
}

func (p *platform) Press(t testing.TB, who string, room channeltest.Room, message, reply string) {
	t.Helper()
	channel, ts, _ := parseMessageID(message)
	for _, m := range p.srv.Sent(p.where(room)) {
		for _, c := range m.Controls {
			if _, _, r, ok := parseValue(c.Value); m.TS == ts && ok && r == reply {
				if err := p.srv.Press(userOf(who), channel, ts, c.Label); err != nil {
					t.Error(err)
				}
				return
			}
		}
	}
	t.Logf("message %s shows no button %q any more", message, reply)
}

func (p *platform) Reword(_ testing.TB, _ string, _ channeltest.Room, message, text string) {
	channel, ts, _ := parseMessageID(message)
	p.srv.Edit(channel, ts, text)
}

func (p *platform) Shown(room channeltest.Room) (out []channeltest.Seen) {
	for _, m := range p.srv.Sent(p.where(room)) {
		seen := channeltest.Seen{ID: messageID(m.Channel, m.TS), Text: m.Text, Edited: m.Edits > 0}
		for _, c := range m.Controls {
			if _, _, reply, ok := parseValue(c.Value); ok {
				seen.Buttons = append(seen.Buttons, reply)
			}
		}
		out = append(out, seen)
	}
	return out
}

func (p *platform) Discard(_ channeltest.Room, message string) {
	channel, ts, _ := parseMessageID(message)
	p.srv.Discard(channel, ts)
}

func (p *platform) Stall() { p.srv.Fail(slacktest.Download, slacktest.Fault{Hang: true}) }

func (p *platform) Secrets() []string { return p.srv.Secrets() }

func (p *platform) Release() { p.srv.Release(false) }

func (p *platform) Quiet(t testing.TB) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := p.srv.Wait(ctx, func() bool { return p.srv.Unacked() == 0 }); err != nil {
		t.Errorf("%d deliveries are not acknowledged", p.srv.Unacked())
	}
}

// Slack carries every scenario that all platforms have to.
func TestSuite(t *testing.T) {
	t.Parallel()
	channeltest.Suite(t, 26, func(t testing.TB) channeltest.Platform { return open(t) })
}
