package telegram

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/telegram/telegramtest"
	"parley/core"
)

// platform is a Bot API server for the shared scenarios: a direct chat, and a group or else a topic of a forum.
type platform struct {
	srv    *telegramtest.Server
	client *http.Client
	group  telegramtest.Where

	mu   sync.Mutex
	late []int64
}

var people = map[string]telegramtest.User{
	channeltest.Alice: {ID: 42, Username: "alice"}, channeltest.Bob: {ID: 43, Username: "bob"}, channeltest.Mallory: {ID: 44, Username: "mallory"},
}

func open(t testing.TB, forum bool) *platform {
	// Telegram's times are whole seconds: what is said in the second of a closing edit is taken to be said before
	// it. Here no two things happen in one second.
	var passed atomic.Int64
	later := func() time.Time { return time.Now().Add(time.Duration(passed.Add(1)) * time.Second) }
	p := &platform{srv: telegramtest.New(telegramtest.Config{HearsAll: true, Now: later})}
	p.client = &http.Client{Transport: telegramtest.Through(p.srv)}
	t.Cleanup(p.srv.Close)
	for _, u := range people {
		p.srv.Private(u)
	}
	if p.group = p.srv.Supergroup(-1001); forum {
		p.group = p.srv.Topic(people[channeltest.Alice], p.srv.Forum(-1002))
	}
	return p
}

func (p *platform) where(r channeltest.Room) telegramtest.Where {
	if r == channeltest.Direct {
		return telegramtest.Where{Chat: people[channeltest.Alice].ID}
	}
	return p.group
}

var _ channeltest.Album = (*platform)(nil)

func (p *platform) Caps() channeltest.Caps {
	return channeltest.Caps{Group: true, Buttons: true, Edits: true, Replies: true, Crossed: true, AtOnce: true, Slash: true, Rewords: true, Shows: true, Stores: true}
}

// Adapter writes as fast as it can: its pace has tests of its own.
func (p *platform) Adapter(t testing.TB, _ channels.Turns) channels.Adapter {
	a, err := New(Config{
		Name: "tg", Agent: channeltest.Agent, Token: p.srv.Token(), APIURL: "http://api.test", Client: p.client,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	passed := time.Now()
	a.pace = newPacer(func() time.Time { // called under the pacer's lock
		passed = passed.Add(time.Minute)
		return passed
	})
	return a
}

func (p *platform) Person(name string) core.PersonID { return personID(people[name].ID) }

func (p *platform) Conversation(r channeltest.Room) core.ConversationID {
	return core.NewConversation(channeltest.Agent, "tg", placeOf(p.where(r).Chat, p.where(r).Topic))
}

func (p *platform) Say(_ testing.TB, s channeltest.Saying) string {
	at, text := p.where(s.Room), s.Text
	if s.Room == channeltest.Group && !s.Overheard {
		text = "@relay_bot " + text
	}
	var how []telegramtest.Said
	if _, id, ok := parseMessageID(s.ReplyTo); ok {
		how = append(how, telegramtest.Reply(id))
	}
	if s.Late {
		how = append(how, telegramtest.Unheard)
	}
	if s.Picture != nil {
		how = append(how, telegramtest.Photo(0, s.Picture))
	}
	id := p.srv.Say(people[s.Who], at, text, how...)
	if s.Late {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.late = append(p.late, id)
	}
	return messageID(at.Chat, id)
}

func (p *platform) Press(t testing.TB, who string, room channeltest.Room, message, reply string) {
	t.Helper()
	_, id, _ := parseMessageID(message)
	for _, m := range p.srv.Sent(p.where(room)) {
		for _, row := range m.Buttons {
			for _, b := range row {
				if _, _, r, ok := parseButton(b.Data); m.ID == id && ok && r == reply {
					p.srv.PressData(people[who], p.where(room), id, b.Data)
					return
				}
			}
		}
	}
	t.Logf("message %s shows no button %q any more", message, reply)
}

func (p *platform) Reword(_ testing.TB, _ string, room channeltest.Room, message, text string) {
	_, id, _ := parseMessageID(message)
	p.srv.Edit(p.where(room), id, text)
}

func (p *platform) Shown(room channeltest.Room) (out []channeltest.Seen) {
	for _, m := range p.srv.Sent(p.where(room)) {
		seen := channeltest.Seen{ID: messageID(m.Chat, m.ID), Text: m.Text, Edited: m.Edits > 0}
		for _, row := range m.Buttons {
			for _, b := range row {
				if _, _, reply, ok := parseButton(b.Data); ok {
					seen.Buttons = append(seen.Buttons, reply)
				}
			}
		}
		out = append(out, seen)
	}
	return out
}

func (p *platform) Discard(room channeltest.Room, message string) {
	_, id, _ := parseMessageID(message)
	p.srv.Discard(p.where(room), id)
}

func (p *platform) Stall() { p.srv.Fail(telegramtest.Download, telegramtest.Fault{Hang: true}) }

func (p *platform) Secrets() []string { return []string{p.srv.Token(), p.srv.Token()[5:]} }

func (p *platform) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range p.late {
		p.srv.Hear(p.where(channeltest.Direct), id)
	}
	p.late = nil
}

func (p *platform) Quiet(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := p.srv.Wait(ctx, func() bool { return len(p.srv.Pending()) == 0 }); err != nil {
		t.Errorf("updates %v are not confirmed", p.srv.Pending())
	}
}

// Telegram carries every scenario that all platforms have to, in a group and in a topic of a forum.
func TestSuite(t *testing.T) {
	t.Parallel()
	for name, forum := range map[string]bool{"group": false, "topic": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			channeltest.Suite(t, 26, func(t testing.TB) channeltest.Platform { return open(t, forum) })
		})
	}
}
