package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/channels/slack/slacktest"
)

// slackStage is a Slack with a channel, in which a mention starts a thread.
type slackStage struct {
	t      *testing.T
	srv    *slacktest.Server
	listen string // where the program takes the Events API; "" for Socket Mode
	room   slacktest.Where
	thread slacktest.Where
}

func slackUser(who string) string { return "U" + strings.ToUpper(who) }

func newSlack(t *testing.T, cfg slacktest.Config) *slackStage {
	t.Helper()
	srv, err := slacktest.Start(cfg)
	must(t, err)
	t.Cleanup(srv.Close)
	s := &slackStage{t: t, srv: srv, room: srv.Open("C0OPS", slacktest.Public)}
	for _, who := range []string{"ana", "ben", "mallory"} {
		srv.AddUser(slacktest.User{ID: slackUser(who), Locale: "en-GB"})
	}
	return s
}

func bySocket(t *testing.T) platformUnderTest { return newSlack(t, slacktest.Config{}) }

func byEvents(t *testing.T) platformUnderTest {
	address := freeAddress(t)
	retries := make([]time.Duration, 300)
	for i := range retries {
		retries[i] = 100 * time.Millisecond
	}
	s := newSlack(t, slacktest.Config{EventsURL: "http://" + address + "/channels/work", Retries: retries})
	s.listen = address
	return s
}

func (s *slackStage) channel() map[string]any {
	ch := map[string]any{
		"type": "slack", "botToken": slacktest.DefaultBotToken, "apiURL": s.srv.URL,
		"access": map[string]any{"allow": []string{"slack:UANA", "slack:UMALLORY"}},
	}
	if s.listen == "" {
		ch["appToken"] = slacktest.DefaultAppToken
	} else {
		ch["signingSecret"] = slacktest.DefaultSecret
	}
	return ch
}

// api is api.listen, where events come by HTTP.
func (s *slackStage) api(cfg map[string]any) {
	if s.listen != "" {
		cfg["api"] = map[string]any{"listen": s.listen}
	}
}

func (s *slackStage) ask(text string) {
	root := s.srv.Say(slackUser("ana"), s.room, slacktest.Mention(text))
	s.thread = slacktest.Where{Channel: s.room.Channel, Thread: root}
}

// say speaks in the thread, where there is no reply to one message.
func (s *slackStage) say(who, text, _ string) {
	s.srv.Say(slackUser(who), s.thread, text)
}

// listening waits until the program takes requests: a press is never brought again.
func (s *slackStage) listening() {
	s.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(patience); time.Now().Before(late); <-tick.C {
		resp, err := http.Get("http://" + s.listen + "/healthz")
		if err != nil {
			continue
		}
		body, err := io.ReadAll(resp.Body)
		must(s.t, errors.Join(err, resp.Body.Close()))
		if strings.Contains(string(body), `"work":"running"`) {
			return
		}
	}
	s.t.Error("the program does not listen")
}

func (s *slackStage) press(who, message, label string) {
	s.t.Helper()
	if s.listen != "" {
		s.listening()
	}
	must(s.t, s.srv.Press(slackUser(who), s.room.Channel, message, label))
}

func (s *slackStage) sent() (out []standing) {
	for _, m := range s.srv.Sent(s.thread) {
		one := standing{id: m.TS, text: unmarked.Replace(m.Text), edits: m.Edits}
		for _, c := range m.Controls {
			one.buttons = append(one.buttons, c.Label)
		}
		out = append(out, one)
	}
	return out
}

func (s *slackStage) whispers() (out []string) {
	for _, n := range s.srv.Notes() {
		out = append(out, n.User+": "+n.Text)
	}
	return out
}

func (s *slackStage) wait(ctx context.Context, cond func() bool) error { return s.srv.Wait(ctx, cond) }

func (s *slackStage) complaints() (out []string) {
	for _, c := range s.srv.Calls("") {
		if c.Error != "" {
			out = append(out, c.Method+": "+c.Error)
		}
	}
	if n := s.srv.Lost(); n > 0 {
		out = append(out, fmt.Sprintf("%d events were given up", n))
	}
	if s.srv.ForbadeRetry() {
		out = append(out, "retries were forbidden")
	}
	return out
}

func (s *slackStage) secrets() []string { return s.srv.Secrets() }

func TestSlackBySocket(t *testing.T) { testStage(t, bySocket) }
func TestSlackByEvents(t *testing.T) { testStage(t, byEvents) }

// TestSlackCopies sends copies to a channel and to a person; the person answers theirs, after a kill, and every
// copy says how it ended.
func TestSlackCopies(t *testing.T) {
	t.Parallel()
	p := newSlack(t, slacktest.Config{})
	desk := p.srv.Open("C0DESK", slacktest.Public)
	s := newStage(t, p, human(map[string]any{
		"approvers": []string{"slack:UBEN"}, "responders": "approvers", "notify": []string{"slack:C0DESK", "slack:UBEN"},
	}))
	p.ask(deleteIt)
	home := s.asked(dropPrompt)
	ben := slacktest.Where{Channel: "DBEN"}
	s.wait("both copies stand", func() bool { return len(p.srv.Sent(desk)) == 1 && len(p.srv.Sent(ben)) == 1 })
	p.say("ana", "yes", "") // she may not
	s.says("may answer")
	p.srv.Say("UBEN", ben, "/status") // what answers it has the receipt of the copy behind it
	s.wait("the status is told", func() bool { return len(p.srv.Sent(ben)) == 2 })
	s.serve.kill()
	p.srv.Say("UBEN", ben, "yes")
	s.start()
	s.says("Done: the database staging is gone.")
	s.ends(home, "Approved by")
	for _, at := range []slacktest.Where{desk, ben} {
		s.wait("the copy says how it ended", func() bool { return strings.Contains(p.srv.Sent(at)[0].Text, "Approved by") })
	}
	s.done(1)
}

// TestSlackLinkApart: in a channel the link of a URL step goes to the asker alone, in a direct message, and where the
// app may not open one, as a message that only they see.
func TestSlackLinkApart(t *testing.T) {
	t.Parallel()
	for name, scopes := range map[string][]string{"direct": nil, "ephemeral": {"chat:write", "channels:history", "channels:read", "users:read"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSlack(t, slacktest.Config{Scopes: scopes})
			s := newStage(t, p)
			p.ask("connect my calendar")
			s.says("alone")
			var alone []string
			for _, m := range p.srv.Sent(slacktest.Where{Channel: "DANA"}) {
				alone = append(alone, m.Text)
			}
			if name == "ephemeral" {
				alone = p.whispers()
			}
			if len(alone) != 1 || !strings.Contains(alone[0], calendarPage) {
				t.Errorf("ana was sent %q", alone)
			}
			for _, m := range p.sent() {
				if strings.Contains(m.text, calendarPage) {
					t.Errorf("in the thread: %s", m.text)
				}
			}
			p.say("ana", "done", "")
			s.says("Your calendar is connected.")
			s.serve.kill()
			if n := len(effectLines(t, s.store)); n != 1 {
				t.Errorf("connected %d times\n%s", n, s.serve.story())
			}
		})
	}
}
