package slack

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/slack/slacktest"
	"parley/render"
)

func key(at slacktest.Where, k string) channels.Target {
	t := to(at)
	t.Key = k
	return t
}

func TestSendText(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		root := r.srv.Say(ana, ops, "x", slacktest.Silent)
		at := thread(ops, root)
		sent, err := r.a.Send(context.Background(), key(at, "k1"), part("*Approval needed*\n```\n{}\n```"))
		if err != nil {
			t.Fatal(err)
		}
		m := r.srv.Sent(at)[0]
		if sent.Message != messageID(ops.Channel, m.TS) || sent.Order != orderOf(m.TS) || !sent.At.Equal(timeOf(m.TS)) {
			t.Errorf("sent %+v", sent)
		}
		p := r.srv.Calls("chat.postMessage")[0].Params
		if p["unfurl_links"] != "false" || p["unfurl_media"] != "false" || p["thread_ts"] != root || p["blocks"] != "[]" || p["link_names"] != "" || p["mrkdwn"] == "false" {
			t.Errorf("params %v", p)
		}
		var meta struct {
			Type    string            `json:"event_type"`
			Payload map[string]string `json:"event_payload"`
		}
		if err := json.Unmarshal(m.Metadata, &meta); err != nil || meta.Type != metadataType || meta.Payload["key"] != "k1" {
			t.Errorf("metadata %s", m.Metadata)
		}
	})
}

// Plain text that the delivery falls back to is literal: escaped once, without marks.
func TestSendPlain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.send(dm, render.Part{Text: "a_b-c.txt & <!channel> *x*", Plain: "a_b-c.txt & <!channel> *x*"})
		m := r.srv.Sent(dm)[0]
		if m.Text != "a_b-c.txt &amp; &lt;!channel&gt; *x*" || m.Mrkdwn {
			t.Errorf("shown %q, mrkdwn %v", m.Text, m.Mrkdwn)
		}
		r.send(dm, render.Part{Text: "*R&amp;D*", Plain: "R&D"})
		if m := r.srv.Sent(dm)[1]; m.Text != "*R&amp;D*" || !m.Mrkdwn {
			t.Errorf("shown %q, mrkdwn %v", m.Text, m.Mrkdwn)
		}
	})
}

// RE-04, RE-08: whatever arguments hold, no token that Slack acts on gets out of them.
func TestInjections(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		for _, s := range []string{
			"x` <https://evil.example|Approve here>", "```\n*ALREADY APPROVED*", "[ok](https://evil.example)", "<!channel> <!here> <@U0BOT> <#C1>",
			"&lt;!channel&gt;", "_ * [ ] ( ) ~ ` > # + - = | { } . ! <b>", "````` `` `", "\u202e<!everyone>", strings.Repeat("x", 2900), strings.Repeat("😀", 1400),
		} {
			parts := render.Reply(render.View{Dialect: r.a.Dialect(), Lang: "en", Now: time.Now()}, s)
			for _, p := range parts {
				p.Buttons = buttons("yes")
				r.send(dm, p)
			}
			all := r.srv.Sent(dm)
			m := all[len(all)-1]
			var blocks []struct {
				Type string
				Text struct{ Text string }
			}
			if err := json.Unmarshal(m.Blocks, &blocks); err != nil || len(blocks) == 0 || blocks[0].Text.Text != m.Text {
				t.Errorf("%.30q: the section does not show the text: %v", s, err)
			}
			for _, token := range []string{"<!", "<@", "<#", "<https://evil.example|", "|Approve here>"} {
				if strings.Contains(m.Text, token) {
					t.Errorf("%.30q is shown with %q: %.60q", s, token, m.Text)
				}
			}
		}
	})
}

func TestButtonsAndEdit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		p := part("Deploy?")
		p.Buttons = buttons("approve", "deny")
		sent := r.send(dm, p)
		if m := r.srv.Sent(dm)[0]; len(m.Controls) != 2 || m.Text != "Deploy?" {
			t.Fatalf("message %+v", m)
		}
		if err := r.a.Edit(context.Background(), to(dm), sent.Message, part("Approved by Ana")); err != nil {
			t.Fatal(err)
		}
		if m := r.srv.Sent(dm)[0]; len(m.Controls) != 0 || m.Text != "Approved by Ana" || m.Edits != 1 {
			t.Errorf("message %+v", m)
		}
		for message, code := range map[string]string{sent.Message: "edit_window_closed", "DANA:1.000001": "", "no id": ""} {
			if code != "" {
				r.srv.Fail("chat.update", slacktest.Fault{Error: code})
			}
			if err := r.a.Edit(context.Background(), to(dm), message, part("x")); !errors.Is(err, channels.ErrCannotEdit) {
				t.Errorf("%s: %v", message, err)
			}
		}
		if e := sendErr(t, r.a.Edit(context.Background(), to(dm), sent.Message, part(strings.Repeat("x", 4001)))); !e.Refused {
			t.Errorf("%+v", e)
		}
		if e := sendErr(t, r.a.Edit(context.Background(), to(dm), sent.Message, part(" "))); !e.Permanent {
			t.Errorf("%+v", e)
		}
	})
}

// RT-13 and the other endings of a call: what each means for the message, and what to do about it.
func TestSendErrors(t *testing.T) {
	t.Parallel()
	type want struct {
		permanent, refused, unsure bool
		after                      time.Duration
		says                       string
	}
	for name, c := range map[string]struct {
		fault slacktest.Fault
		want  want
	}{
		"unknown channel":  {slacktest.Fault{Error: "channel_not_found"}, want{permanent: true, says: "/invite"}},
		"not in channel":   {slacktest.Fault{Error: "not_in_channel"}, want{permanent: true, says: "/invite"}},
		"archived":         {slacktest.Fault{Error: "is_archived"}, want{permanent: true, says: "unarchive"}},
		"no messages tab":  {slacktest.Fault{Error: "messages_tab_disabled"}, want{permanent: true, says: "App Home"}},
		"removed":          {slacktest.Fault{Error: "account_inactive"}, want{permanent: true, says: "install the app"}},
		"revoked":          {slacktest.Fault{Error: "token_revoked"}, want{permanent: true, says: "install the app"}},
		"restricted":       {slacktest.Fault{Error: "restricted_action"}, want{permanent: true, says: "admin"}},
		"unheard of":       {slacktest.Fault{Error: "error_of_the_future"}, want{permanent: true}},
		"expired":          {slacktest.Fault{Error: "token_expired"}, want{after: time.Minute, says: "rotation"}},
		"no scope":         {slacktest.Fault{Error: "missing_scope", Needed: "chat:write"}, want{after: time.Minute, says: "chat:write"}},
		"bad blocks":       {slacktest.Fault{Error: "invalid_blocks"}, want{refused: true}},
		"bad block format": {slacktest.Fault{Error: "invalid_blocks_format"}, want{refused: true}},
		"long blocks":      {slacktest.Fault{Error: "msg_blocks_too_long"}, want{refused: true}},
		"too long":         {slacktest.Fault{Error: "msg_too_long"}, want{refused: true}},
		"limited":          {slacktest.Fault{Status: 429, RetryAfter: 7}, want{after: 7 * time.Second}},
		"limited in words": {slacktest.Fault{Error: "ratelimited"}, want{after: time.Second}},
		"their fault":      {slacktest.Fault{Error: "internal_error"}, want{unsure: true}},
		"a proxy":          {slacktest.Fault{Status: 502, Body: "<html>"}, want{unsure: true}},
		"no JSON":          {slacktest.Fault{Status: 200, Body: "<html>"}, want{unsure: true}},
		"a reset":          {slacktest.Fault{Reset: true}, want{unsure: true}},
		"silence":          {slacktest.Fault{Hang: true}, want{unsure: true}},
		"not there":        {slacktest.Fault{Status: 404, Body: "x"}, want{after: time.Minute, says: "apiURL"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				r.srv.Fail("chat.postMessage", c.fault)
				_, err := r.a.Send(context.Background(), key(dm, "k"), part("hello"))
				e := sendErr(t, err)
				got := want{e.Permanent, e.Refused, e.Unsure, e.After, c.want.says}
				if got != c.want || !strings.Contains(err.Error(), c.want.says) {
					t.Errorf("%+v: %v, want %+v", got, err, c.want)
				}
			})
		})
	}
}

// A request that never left this machine did not go through.
func TestSendWithoutAConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.srv.Close()
		_, err := r.a.Send(context.Background(), key(dm, "k"), part("hello"))
		if e := sendErr(t, err); e.Unsure || e.Permanent || e.Refused {
			t.Errorf("%+v", e)
		}
	})
}

// TR-06: a message that went through although nobody said so is found by its key, at once or at the next try.
func TestNoCopyOfWhatWentThrough(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault slacktest.Fault
		look  []slacktest.Fault // at the look that follows at once
		tries int
	}{
		"a reset":                      {slacktest.Fault{Reset: true, Applied: true}, nil, 1},
		"silence":                      {slacktest.Fault{Hang: true, Applied: true}, nil, 1},
		"a proxy":                      {slacktest.Fault{Status: 504, Applied: true}, nil, 1},
		"a look that fails":            {slacktest.Fault{Reset: true, Applied: true}, []slacktest.Fault{{Status: 500}}, 2},
		"looks that fail for a while":  {slacktest.Fault{Reset: true, Applied: true}, []slacktest.Fault{{Status: 500, Times: 3}}, 4},
		"it really did not go through": {slacktest.Fault{Reset: true}, nil, 2},
	} {
		for _, at := range []slacktest.Where{dm, {Channel: ops.Channel, Thread: "root"}} {
			t.Run(name+" in "+at.Channel, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					r := newRig(t)
					if err := r.a.introduce(context.Background()); err != nil {
						t.Fatal(err)
					}
					look := "conversations.history"
					if at.Thread != "" {
						at.Thread, look = r.srv.Say(ana, ops, "x", slacktest.Silent), "conversations.replies"
					}
					r.send(at, part("before"))
					r.srv.Fail("chat.postMessage", c.fault)
					r.srv.Fail(look, c.look...)
					tries := 0
					for {
						tries++
						sent, err := r.a.Send(context.Background(), key(at, "k1"), part("Deploy?"))
						if err == nil {
							if m := r.srv.Sent(at)[1]; sent.Message != messageID(at.Channel, m.TS) {
								t.Errorf("sent %+v, want %s", sent, m.TS)
							}
							break
						}
						if tries > 5 {
							t.Fatal(err)
						}
					}
					if n := len(r.srv.Sent(at)); n != 2 || tries != c.tries {
						t.Errorf("%d messages after %d tries, want %d tries", n, tries, c.tries)
					}
				})
			})
		}
	}
}

// TR-06: a process that died between sending and noting that leaves no copy: the next finds the message.
func TestNoCopyOfAnEarlierProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		for _, at := range []slacktest.Where{dm, thread(ops, r.srv.Say(ana, ops, "x", slacktest.Silent))} {
			began := time.Now()
			sent, err := r.a.Send(context.Background(), key(at, "k1"), part("Deploy?"))
			if err != nil {
				t.Fatal(err)
			}
			r.restart()
			after(time.Hour)
			again := key(at, "k1")
			again.Since = began
			if found, err := r.a.Send(context.Background(), again, part("Deploy? (again)")); err != nil || found != sent {
				t.Errorf("%+v, %v, want %+v", found, err, sent)
			}
			again.Key = "k2"
			if _, err := r.a.Send(context.Background(), again, part("Another")); err != nil {
				t.Fatal(err)
			}
			if got := r.srv.Sent(at); len(got) != 2 || got[0].Text != "Deploy?" {
				t.Errorf("shown %+v", got)
			}
		}
	})
}

// A 429 holds its channel and no other.
func TestLimitHoldsOneChannel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.srv.Limit("chat.postMessage", dm.Channel, 30*time.Second)
		_, err := r.a.Send(context.Background(), key(dm, "k"), part("hello"))
		if e := sendErr(t, err); e.After != 30*time.Second || e.Unsure {
			t.Fatalf("%+v", e)
		}
		r.send(bens, part("hello"))
		before := len(r.srv.Calls("chat.postMessage"))
		_, err = r.a.Send(context.Background(), key(dm, "k"), part("hello"))
		if e := sendErr(t, err); e.After <= 0 || len(r.srv.Calls("chat.postMessage")) != before {
			t.Errorf("%+v: the channel is not held", e)
		}
		after(31 * time.Second)
		r.send(dm, part("hello"))
	})
}

func TestPace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		began := time.Now()
		for range perChannel.Burst + 3 {
			r.send(dm, part("hello"))
		}
		if d := time.Since(began); d < 3*time.Second || d > 4*time.Second {
			t.Errorf("%d messages took %v", perChannel.Burst+3, d)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := r.a.Send(ctx, to(dm), part("hello")); err == nil {
			t.Error("sent after the end")
		}
		for range 10 {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(time.Nanosecond, cancel)
			_, _ = r.a.pace.Turn(ctx, dm.Channel) // the turn is spent, whoever goes away
		}
		_, err := r.a.Send(context.Background(), to(dm), part("hello"))
		if e := sendErr(t, err); e.After < channels.LongestTurn {
			t.Errorf("%+v", e)
		}
	})
}

func TestSendNowhere(t *testing.T) {
	t.Parallel()
	a := mustNew(t, Config{Name: "work", Agent: "ops", BotToken: "xoxb-1", AppToken: "xapp-1"})
	for _, place := range []string{"", "c1", "C1/x", "C1/1.000001/2", "42"} {
		_, err := a.Send(context.Background(), channels.Target{Place: placeOf(place, "")}, part("x"))
		if e := sendErr(t, err); !e.Permanent {
			t.Errorf("%q: %+v", place, e)
		}
	}
	_, err := a.Send(context.Background(), to(dm), part(" \n"))
	if e := sendErr(t, err); !e.Permanent {
		t.Errorf("%+v", e)
	}
}

// A document is seen in its place before anything that follows it is sent.
func TestSendDocument(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		if err := r.a.introduce(context.Background()); err != nil {
			t.Fatal(err)
		}
		at := thread(ops, r.srv.Say(ana, ops, "x", slacktest.Silent))
		doc := render.Part{Text: "the arguments", Plain: "the arguments", File: &render.File{Name: "arguments.json", Data: []byte(`{"sql":"drop"}`)}}
		sent, err := r.a.Send(context.Background(), key(at, "k1"), doc)
		if err != nil {
			t.Fatal(err)
		}
		m := r.srv.Sent(at)[0]
		if sent.Message != messageID(ops.Channel, m.TS) || m.Text != "the arguments" || len(m.Files) != 1 || string(m.Files[0].Data) != `{"sql":"drop"}` {
			t.Errorf("sent %+v, shown %+v", sent, m)
		}
		// One whose sharing got no answer is found; one whose upload failed is sent anew.
		r.srv.Fail("files.completeUploadExternal", slacktest.Fault{Reset: true, Applied: true})
		r.srv.Fail("files.getUploadURLExternal", slacktest.Fault{Reset: true})
		_, err = r.a.Send(context.Background(), key(at, "k2"), doc)
		if e := sendErr(t, err); e.Unsure {
			t.Errorf("%+v: nothing was shown", e)
		}
		if _, err := r.a.Send(context.Background(), key(at, "k2"), doc); err != nil {
			t.Fatal(err)
		}
		if n := len(r.srv.Sent(at)); n != 2 {
			t.Errorf("%d documents, want 2", n)
		}
		r.srv.Fail("files.getUploadURLExternal", slacktest.Fault{Error: "missing_scope", Needed: "files:write"})
		_, err = r.a.Send(context.Background(), key(at, "k3"), doc)
		if e := sendErr(t, err); !strings.Contains(e.Error(), "files:write") {
			t.Errorf("%+v", e)
		}
		_, err = r.a.Send(context.Background(), key(at, "k4"), render.Part{File: &render.File{Name: "empty"}})
		if e := sendErr(t, err); !e.Permanent {
			t.Errorf("%+v", e)
		}
	})
}

func TestTyping(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		at := thread(ops, r.srv.Say(ana, ops, "x", slacktest.Silent))
		for _, place := range []slacktest.Where{at, dm, ops} {
			if err := r.a.Typing(context.Background(), to(place)); err != nil {
				t.Error(err)
			}
		}
		if s := r.srv.Statuses(); len(s) != 1 || s[0].Where != at || s[0].Text == "" {
			t.Errorf("statuses %+v", s)
		}
		r.srv.Fail("assistant.threads.setStatus", slacktest.Fault{Error: "not_allowed", Times: 9})
		for range 3 {
			if err := r.a.Typing(context.Background(), to(at)); err != nil {
				t.Error(err)
			}
		}
		if n := len(r.srv.Calls("assistant.threads.setStatus")); n != 2 {
			t.Errorf("asked %d times", n)
		}
	})
}
