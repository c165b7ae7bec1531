package program

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"parley/channels/discord/discordtest"
)

// discordStage is a Discord with a channel of a server.
type discordStage struct {
	t    *testing.T
	srv  *discordtest.Server
	room discordtest.ID
	acts []discordtest.ID
}

var discordUsers = map[string]discordtest.User{
	"ana": {ID: 42, Name: "ana"}, "ben": {ID: 43, Name: "ben"}, "mallory": {ID: 44, Name: "mallory"},
}

func newDiscord(t *testing.T) *discordStage {
	t.Helper()
	srv, err := discordtest.Start(discordtest.Config{})
	must(t, err)
	t.Cleanup(srv.Close)
	s := &discordStage{t: t, srv: srv, room: srv.Channel(srv.Guild())}
	for _, u := range discordUsers {
		srv.Meet(u)
	}
	return s
}

func openDiscord(t *testing.T) platformUnderTest { return newDiscord(t) }

func (s *discordStage) channel() map[string]any {
	return map[string]any{
		"type": "discord", "botToken": s.srv.Token(), "apiURL": s.srv.URL,
		"access": map[string]any{"allow": []string{"discord:42", "discord:44"}},
	}
}

func (s *discordStage) live() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	must(s.t, s.srv.Wait(ctx, func() bool { return s.srv.Live() > 0 }))
}

func (s *discordStage) ask(text string) {
	s.live()
	s.say("ana", text, "")
}

func (s *discordStage) say(who, text, replyTo string) {
	var how []discordtest.Said
	if id, err := strconv.ParseUint(replyTo, 10, 64); err == nil {
		how = append(how, discordtest.Reply(discordtest.ID(id)))
	} else {
		text = "<@" + discordtest.BotID.String() + "> " + text
	}
	s.srv.Say(discordUsers[who], s.room, text, how...)
}

func (s *discordStage) press(who, message, label string) {
	s.t.Helper()
	s.live()
	id, err := strconv.ParseUint(message, 10, 64)
	must(s.t, err)
	act, err := s.srv.Press(discordUsers[who], s.room, discordtest.ID(id), label)
	must(s.t, err)
	s.acts = append(s.acts, act)
}

func (s *discordStage) sent() (out []standing) {
	for _, m := range s.srv.Sent(s.room) {
		one := standing{id: m.ID.String(), text: unmarked.Replace(m.Content), edits: m.Edits}
		for _, b := range m.Buttons {
			one.buttons = append(one.buttons, b.Label)
		}
		out = append(out, one)
	}
	return out
}

func (s *discordStage) whispers() (out []string) {
	for _, id := range s.acts {
		if line := s.srv.Outcome(id).Line; line != "" {
			out = append(out, line)
		}
	}
	return out
}

func (s *discordStage) wait(ctx context.Context, cond func() bool) error {
	return s.srv.Wait(ctx, cond)
}
func (s *discordStage) complaints() []string { return s.srv.Complaints() }
func (s *discordStage) secrets() []string    { return []string{s.srv.Token()} }

func TestDiscord(t *testing.T) { testStage(t, openDiscord) }

// TestDiscordCopies sends copies to a channel and to a person, written alike; the person answers theirs, after a
// kill, and every copy says how it ended.
func TestDiscordCopies(t *testing.T) {
	t.Parallel()
	p := newDiscord(t)
	desk, ben := p.srv.Channel(p.srv.Guild()), discordUsers["ben"]
	s := newStage(t, p, human(map[string]any{
		"approvers": []string{"discord:43"}, "responders": "approvers", "notify": []string{"discord:" + desk.String(), "discord:43"},
	}))
	p.ask(deleteIt)
	home := s.asked(dropPrompt)
	dm := p.srv.DM(ben)
	s.wait("both copies stand", func() bool { return len(p.srv.Sent(desk)) == 1 && len(p.srv.Sent(dm)) == 1 })
	p.srv.Say(ben, dm, "/status") // what answers it has the receipt of the copy behind it
	s.wait("the status is told", func() bool { return len(p.srv.Sent(dm)) == 2 })
	s.serve.kill()
	s.start()
	p.live()
	p.srv.Say(ben, dm, "yes")
	s.says("Done: the database staging is gone.")
	s.ends(home, "Approved by")
	for _, at := range []discordtest.ID{desk, dm} {
		s.wait("the copy says how it ended", func() bool { return strings.Contains(p.srv.Sent(at)[0].Content, "Approved by") })
	}
	s.done(1)
}

// TestDiscordLinkApart: in a channel the link of a URL step goes to the asker alone.
func TestDiscordLinkApart(t *testing.T) {
	t.Parallel()
	p := newDiscord(t)
	s := newStage(t, p)
	p.ask("connect my calendar")
	s.says("alone")
	alone := p.srv.Sent(p.srv.DM(discordUsers["ana"]))
	if len(alone) != 1 || !strings.Contains(alone[0].Content, calendarPage) || len(alone[0].Buttons) != 1 || alone[0].Buttons[0].URL != calendarPage {
		t.Errorf("ana was sent %+v", alone)
	}
	for _, m := range p.sent() {
		if strings.Contains(m.text, calendarPage) || len(m.buttons) > 2 {
			t.Errorf("in the channel: %+v", m)
		}
	}
	p.say("ana", "done", "")
	s.says("Your calendar is connected.")
	s.serve.kill()
	if c := p.complaints(); len(c) > 0 || len(effectLines(t, s.store)) != 1 {
		t.Errorf("complaints %q, effects %v", c, effectLines(t, s.store))
	}
}
