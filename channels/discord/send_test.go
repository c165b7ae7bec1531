package discord

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/discord/discordtest"
	"parley/core"
	"parley/render"
)

func TestSend(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		asked := r.srv.Say(ana, r.room, "deploy")
		target := to(r.room)
		target.ReplyTo = messageID(snowflake(r.room), snowflake(asked))
		sent, err := r.a.Send(context.Background(), target, render.Part{Text: "**Deploy?**", Plain: "Deploy?", Buttons: append(buttons("i1"), render.Button{Label: "Open", URL: "https://a.example"})})
		if err != nil {
			t.Fatal(err)
		}
		m := r.srv.Sent(r.room)[0]
		if m.Content != "**Deploy?**" || m.ReplyTo != asked || m.Nonce != "key-of-a-part" || len(m.Buttons) != 3 || m.Buttons[0].CustomID != "i1:0:yes" || m.Buttons[2].URL != "https://a.example" {
			t.Errorf("%+v", m)
		}
		if sent.Message != messageID(snowflake(r.room), snowflake(m.ID)) || sent.Order != uint64(m.ID) || !sent.At.Equal(snowflake(m.ID).time()) {
			t.Errorf("sent %+v", sent)
		}
		target.ReplyTo = messageID(snowflake(r.dm), 9)
		target.Key = strings.Repeat("k", 40)
		if _, err := r.a.Send(context.Background(), target, part("x")); err != nil {
			t.Fatal(err)
		}
		if m := r.srv.Sent(r.room)[1]; m.ReplyTo != 0 || len(m.Nonce) > 25 || m.Nonce == "" {
			t.Errorf("%+v", m)
		}
		if err := r.a.Typing(context.Background(), to(r.room)); err != nil || r.srv.Typed(r.room) != 1 {
			t.Errorf("typing: %v", err)
		}
	})
}

func TestSendAFile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		p := render.Part{Text: "the arguments", File: &render.File{Name: "arguments.json", Data: []byte("{}")}, Buttons: buttons("i1")}
		sent := r.send(r.room, p)
		m := r.srv.Sent(r.room)[0]
		if m.Content != "the arguments" || len(m.Files) != 1 || m.Files[0] != "arguments.json" || len(m.Buttons) != 2 {
			t.Errorf("%+v", m)
		}
		p.Text, p.Buttons = "approved", nil
		if err := r.a.Edit(context.Background(), to(r.room), sent.Message, p); err != nil {
			t.Fatal(err)
		}
		if m := r.srv.Sent(r.room)[0]; m.Content != "approved" || len(m.Files) != 1 || len(m.Buttons) != 0 {
			t.Errorf("edited to %+v", m)
		}
	})
}

// An edit takes the buttons away, pings nobody and opens no preview; one of a message that is gone says so.
func TestEdit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		ctx := context.Background()
		sent := r.send(r.room, render.Part{Text: "Deploy?", Buttons: buttons("i1")})
		if err := r.a.Edit(ctx, to(r.room), sent.Message, part("Approved by @everyone https://a.example")); err != nil {
			t.Fatal(err)
		}
		if m := r.srv.Sent(r.room)[0]; len(m.Buttons) != 0 || m.Edits != 1 {
			t.Errorf("%+v", m)
		}
		_, id, _ := parseMessageID(sent.Message)
		r.srv.Delete(r.room, discordtest.ID(id))
		for _, gone := range []string{sent.Message, "no id", messageID(snowflake(r.room), snowflake(r.srv.Say(ana, r.room, "hers")))} {
			if err := r.a.Edit(ctx, to(r.room), gone, part("x")); !errors.Is(err, channels.ErrCannotEdit) {
				t.Errorf("edit of %q: %v", gone, err)
			}
		}
		if err := r.a.Edit(ctx, to(r.room), sent.Message, part(" ")); !sendErr(t, err).Permanent {
			t.Errorf("edit to nothing: %v", err)
		}
	})
}

// TR-06: the outcome of a send is not known though Discord took it: the repetition finds the message that is
// there, in this process and in the next.
func TestUnknownOutcomeLeavesOneMessage(t *testing.T) {
	for name, f := range map[string]discordtest.Fault{
		"500": {Status: 500, Applied: true}, "502": {Status: 502, Body: "<html>", Applied: true}, "reset": {Reset: true, Applied: true},
		"no answer": {Hang: true, Applied: true}, "nonsense": {Status: 200, Body: "<html>", Applied: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				r.srv.Fail(discordtest.RouteSend, f)
				sent := r.send(r.room, part("Deploy?"))
				again := r.send(r.room, part("Deploy? (sent again)"))
				got := r.srv.Sent(r.room)
				if len(got) != 1 || got[0].Content != "Deploy?" || again.Message != sent.Message {
					t.Errorf("%d messages: %+v", len(got), got)
				}
			})
		})
	}
}

// While the nonce holds a failed send is no doubt; afterwards it is.
func TestDoubtAfterTheNonce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.srv.Fail(discordtest.RouteSend, discordtest.Fault{Status: 503, Times: 9})
		for i, want := range []bool{false, false, true} {
			_, err := r.a.Send(context.Background(), to(r.room), part("x"))
			if e := sendErr(t, err); e.Unsure != want || e.Permanent || e.Refused {
				t.Errorf("try %d: %+v", i, e)
			}
			after(time.Minute + time.Second)
		}
		target := to(r.room)
		target.Key = ""
		r.srv.Fail(discordtest.RouteSend, discordtest.Fault{Status: 503})
		_, err := r.a.Send(context.Background(), target, part("x"))
		if e := sendErr(t, err); !e.Unsure {
			t.Errorf("without a key: %+v", e)
		}
	})
}

// RT-13 and its kin: what will not pass is permanent and says what to do, what may pass is tried again, what
// is wrong with the form may go as plain text.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		fault     discordtest.Fault
		permanent bool
		refused   bool
		wait      time.Duration
		fix       string
	}{
		"unknown channel":   {fault: discordtest.Fault{Status: 404, Code: 10003}, permanent: true, fix: "deleted"},
		"no access":         {fault: discordtest.Fault{Status: 403, Code: 50001}, permanent: true, fix: "View Channel"},
		"no permission":     {fault: discordtest.Fault{Status: 403, Code: 50013}, permanent: true, fix: "Send Messages"},
		"closed DMs":        {fault: discordtest.Fault{Status: 403, Code: 50007}, permanent: true, fix: "direct messages"},
		"voice":             {fault: discordtest.Fault{Status: 400, Code: 50008}, permanent: true, fix: "text channel"},
		"locked":            {fault: discordtest.Fault{Status: 403, Code: 160005}, permanent: true, fix: "unlock"},
		"automod":           {fault: discordtest.Fault{Status: 400, Code: 200000}, permanent: true, fix: "AutoMod"},
		"any other 403":     {fault: discordtest.Fault{Status: 403}, permanent: true, fix: "View Channel"},
		"form":              {fault: discordtest.Fault{Status: 400, Code: 50035}, refused: true},
		"too large":         {fault: discordtest.Fault{Status: 413}, refused: true},
		"token":             {fault: discordtest.Fault{Status: 401}, wait: time.Minute},
		"slow mode":         {fault: discordtest.Fault{Status: 400, Code: 20016}, wait: 5 * time.Second},
		"429":               {fault: discordtest.Fault{Status: 429, RetryAfter: 2.5}, wait: 2500 * time.Millisecond},
		"429 without time":  {fault: discordtest.Fault{Status: 429, Body: "<html>"}, wait: time.Second},
		"429 of a proxy":    {fault: discordtest.Fault{Status: 429, Body: "<html>error 1015", RetryAfter: 90}, wait: 90 * time.Second},
		"edits of old ones": {fault: discordtest.Fault{Status: 400, Code: 30046}, wait: time.Minute},
		"redirect":          {fault: discordtest.Fault{Status: 302, Body: "moved"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				r.srv.Fail(discordtest.RouteSend, c.fault)
				_, err := r.a.Send(context.Background(), to(r.room), part("x"))
				e := sendErr(t, err)
				if e.Permanent != c.permanent || e.Refused != c.refused || e.After != c.wait || e.Unsure || !strings.Contains(e.Error(), c.fix) {
					t.Errorf("%+v", e)
				}
			})
		})
	}
}

// A channel that was told to wait is held, alone unless the limit is on everything; the wait ends with ctx.
func TestRateLimits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		ctx := context.Background()
		r.srv.Fail(discordtest.RouteSend, discordtest.Fault{Status: 429, RetryAfter: 60})
		if _, err := r.a.Send(ctx, to(r.room), part("x")); sendErr(t, err).After != time.Minute {
			t.Error(err)
		}
		r.send(r.dm, part("others go on"))
		before := len(r.srv.Calls(""))
		if _, err := r.a.Send(ctx, to(r.room), part("x")); sendErr(t, err).After != time.Minute {
			t.Error(err)
		}
		if err := r.a.Typing(ctx, to(r.room)); err != nil || len(r.srv.Calls("")) != before {
			t.Error("a held channel was called")
		}
		after(57 * time.Second)
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		began := time.Now()
		if _, err := r.a.Send(short, to(r.room), part("x")); err == nil || time.Since(began) != time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		r.send(r.room, part("x"))
		r.srv.Fail(discordtest.RouteSend, discordtest.Fault{Status: 429, RetryAfter: 30, Global: true})
		if _, err := r.a.Send(ctx, to(r.room), part("y")); err == nil {
			t.Error("sent")
		}
		if _, err := r.a.Send(ctx, to(r.dm), part("y")); sendErr(t, err).After != 30*time.Second {
			t.Error(err)
		}
	})
}

// A burst into one channel goes out whole, at the pace that Discord sets.
func TestABurstAgainstALimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, func(s *discordtest.Config, _ *Config) { s.PerFive = 5 })
		for i := range 12 {
			target := to(r.room)
			target.Key = core.Digest("part", string(rune('a'+i)))
			for {
				_, err := r.a.Send(context.Background(), target, part(string(rune('a'+i))))
				if err == nil {
					break
				}
				after(sendErr(t, err).After)
			}
		}
		var got string
		for _, m := range r.srv.Sent(r.room) {
			got += m.Content
		}
		if got != "abcdefghijkl" {
			t.Errorf("sent %q", got)
		}
	})
}

// RT-12: sending opens an archived thread again, and so does an edit; a locked one is reported with its cure.
func TestArchivedAndLockedThreads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		ctx := context.Background()
		thread := r.srv.Thread(r.room, true)
		r.start()
		sent := r.send(thread, render.Part{Text: "Deploy?", Buttons: buttons("i1")})
		r.srv.Archive(thread, false)
		if err := r.a.Edit(ctx, to(thread), sent.Message, part("Approved")); err != nil || r.srv.Archived(thread) {
			t.Errorf("edit: %v", err)
		}
		r.srv.Archive(thread, false)
		target := to(thread)
		target.Key = "another"
		if _, err := r.a.Send(ctx, target, part("done")); err != nil || r.srv.Archived(thread) {
			t.Errorf("send: %v", err)
		}
		r.srv.Archive(thread, true)
		r.srv.Say(ana, thread, "yes")
		synctest.Wait()
		if m := r.sink.Only(t); m.Text != "yes" || !m.Thread {
			t.Errorf("the answer still counts: %+v", m)
		}
		target.Key = "a third"
		_, err := r.a.Send(ctx, target, part("done"))
		if e := sendErr(t, err); !e.Permanent || !strings.Contains(e.Error(), "unlock") {
			t.Errorf("send to a locked thread: %+v", e)
		}
		err = r.a.Edit(ctx, to(thread), sent.Message, part("x"))
		if e := sendErr(t, err); !e.Permanent || !strings.Contains(e.Error(), "Manage Threads") {
			t.Errorf("edit in a locked thread: %+v", e)
		}
	})
}

// RE-04: where the marked text is refused the plain text goes out, and its signs do nothing either.
func TestPlainFallbackIsLiteral(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		const evil = "x` [ok](https://evil.example) **ALREADY APPROVED** <@42> @everyone\n# big\n> quote\n1. one"
		r.send(r.room, render.Part{Text: evil, Plain: evil})
		got := r.srv.Sent(r.room)[0].Content
		for _, live := range []string{"[ok](", "**A", "<@42>", "@everyone", "\n# ", "\n> ", "\n1. "} {
			if strings.Contains(got, live) {
				t.Errorf("%q is live in %q", live, got)
			}
		}
		full := strings.Repeat("*", 1500)
		target := to(r.room)
		target.Key = "full"
		if _, err := r.a.Send(context.Background(), target, render.Part{Text: full, Plain: full}); err != nil {
			t.Errorf("a text that has no room for escapes: %v", err)
		}
	})
}

// Replying needs the right to read the history; saying it does not.
func TestReplyWithoutHistory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		target := to(r.room)
		target.ReplyTo = messageID(snowflake(r.room), snowflake(r.srv.Say(ana, r.room, "x")))
		r.srv.Fail(discordtest.RouteSend, discordtest.Fault{Status: 403, Code: 160002})
		if _, err := r.a.Send(context.Background(), target, part("y")); err != nil {
			t.Fatal(err)
		}
		if m := r.srv.Sent(r.room)[0]; m.ReplyTo != 0 {
			t.Errorf("%+v", m)
		}
	})
}

func TestWhatCannotBeSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		ctx := context.Background()
		if _, err := r.a.Send(ctx, channels.Target{Place: "general"}, part("x")); !sendErr(t, err).Permanent {
			t.Error(err)
		}
		if _, err := r.a.Send(ctx, to(r.room), part(" \n")); !sendErr(t, err).Permanent {
			t.Error(err)
		}
		if err := r.a.Typing(ctx, channels.Target{Place: "general"}); !sendErr(t, err).Permanent {
			t.Error(err)
		}
		if n := len(r.srv.Calls("")); n != 0 {
			t.Errorf("%d calls", n)
		}
	})
}

// Lists that are empty go out as such: null would mean the default, which pings.
func TestWireFormOfASend(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(creation{Content: "x", Mentions: nobody(), Components: components(nil)})
	if err != nil || string(raw) != `{"content":"x","flags":0,"allowed_mentions":{"parse":[],"replied_user":false}}` {
		t.Errorf("%s %v", raw, err)
	}
	raw, err = json.Marshal(edition{Mentions: nobody(), Components: components(nil)})
	if err != nil || string(raw) != `{"content":"","flags":0,"allowed_mentions":{"parse":[],"replied_user":false},"components":[]}` {
		t.Errorf("%s %v", raw, err)
	}
}
