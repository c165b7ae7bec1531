package program

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"parley/channels/telegram/telegramtest"
)

// telegramStage is a group whose bot hears every message.
type telegramStage struct {
	t       *testing.T
	srv     *telegramtest.Server
	group   telegramtest.Where
	presses []string
}

var telegramUsers = map[string]telegramtest.User{
	"ana": ana, "mallory": {ID: 44, Username: "mallory", Lang: "en"},
}

func newTelegram(t *testing.T) *telegramStage {
	t.Helper()
	srv, err := telegramtest.Start(telegramtest.Config{HearsAll: true})
	must(t, err)
	t.Cleanup(srv.Close)
	return &telegramStage{t: t, srv: srv, group: srv.Group(-900)}
}

func (s *telegramStage) channel() map[string]any {
	return map[string]any{
		"type": "telegram", "botToken": s.srv.Token(), "apiURL": s.srv.URL,
		"access": map[string]any{"allow": []string{"telegram:42", "telegram:44"}},
	}
}

func (s *telegramStage) ask(text string) {
	s.srv.Say(ana, s.group, "@"+s.srv.Bot().Username+" "+text)
}

func (s *telegramStage) say(who, text, replyTo string) {
	if id, err := strconv.ParseInt(replyTo, 10, 64); err == nil {
		s.srv.Say(telegramUsers[who], s.group, text, telegramtest.Reply(id))
		return
	}
	s.srv.Say(telegramUsers[who], s.group, "@"+s.srv.Bot().Username+" "+text)
}

func (s *telegramStage) press(who, message, label string) {
	s.t.Helper()
	id, err := strconv.ParseInt(message, 10, 64)
	must(s.t, err)
	press, err := s.srv.Press(telegramUsers[who], s.group, id, label)
	must(s.t, err)
	s.presses = append(s.presses, press)
}

func (s *telegramStage) sent() (out []standing) {
	for _, m := range s.srv.Sent(s.group) {
		one := standing{id: strconv.FormatInt(m.ID, 10), text: unmarked.Replace(m.Text), edits: m.Edits}
		for _, row := range m.Buttons {
			for _, b := range row {
				one.buttons = append(one.buttons, b.Text)
			}
		}
		out = append(out, one)
	}
	return out
}

func (s *telegramStage) whispers() (out []string) {
	for _, press := range s.presses {
		if text := s.srv.Answered(press).Text; text != "" {
			out = append(out, text)
		}
	}
	return out
}

func (s *telegramStage) wait(ctx context.Context, cond func() bool) error {
	return s.srv.Wait(ctx, cond)
}

func (s *telegramStage) complaints() (out []string) {
	for _, c := range s.srv.Calls("") {
		// An edit is refused where it changes nothing, as one that is sent again does.
		if c.Status != 200 && c.Status != 0 && c.Method != "editMessageText" {
			out = append(out, fmt.Sprintf("%s: %d", c.Method, c.Status))
		}
	}
	return out
}

func (s *telegramStage) secrets() []string { return []string{s.srv.Token()} }

func TestTelegramGroup(t *testing.T) {
	testStage(t, func(t *testing.T) platformUnderTest { return newTelegram(t) })
}
