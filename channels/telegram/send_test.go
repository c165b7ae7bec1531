package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/telegram/telegramtest"
	"parley/core"
	"parley/render"
)

// RE-08, the adapter's half: every character goes out as it is, with its marks beside it and no parser.
func TestSendText(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		text := "👍 Approve *db__drop*? _ * [ ] ( ) ~ ` > # + - = | { } . ! <b> \\"
		sent := r.send(dm, render.Part{Text: text, Spans: []render.Span{
			{Kind: render.Bold, Start: 3, Length: 7}, {Kind: render.Code, Start: 11, Length: 10},
			{Kind: render.Pre, Start: 60, Length: 900}, {Kind: render.Bold, Start: -1, Length: 2}, {Kind: render.Bold, Start: 1, Length: 0},
		}})
		m := r.srv.Sent(dm)[0]
		if m.Text != text || sent.Message != messageID(42, m.ID) || sent.Order != uint64(m.ID) || !sent.At.Equal(time.Now()) {
			t.Errorf("sent %+v, stands %+v", sent, m)
		}
		want := []telegramtest.Entity{{Type: "bold", Offset: 3, Length: 7}, {Type: "code", Offset: 11, Length: 10}}
		if fmt.Sprint(m.Entities) != fmt.Sprint(want) {
			t.Errorf("entities %v, want %v", m.Entities, want)
		}
		p := r.srv.Calls("sendMessage")[0].Params
		if !strings.Contains(p["link_preview_options"], `"is_disabled":true`) || p["disable_web_page_preview"] != "true" {
			t.Error("link previews are on")
		}
		if p["parse_mode"] != "" {
			t.Error("there is a parser on the way")
		}
	})
}

func TestSendReply(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		id := r.srv.Say(ana, dm, "delete staging")
		target := channels.Target{Place: "42", ReplyTo: messageID(42, id)}
		if _, err := r.a.Send(context.Background(), target, part("Sure?")); err != nil {
			t.Fatal(err)
		}
		if got := r.srv.Sent(dm)[0].ReplyTo; got != id {
			t.Errorf("replies to %d, want %d", got, id)
		}
		for _, gone := range []string{messageID(42, 999), "43:1", "elsewhere"} {
			target.ReplyTo = gone
			if _, err := r.a.Send(context.Background(), target, part("Sure?")); err != nil {
				t.Errorf("reply to %s, which is not there: %v", gone, err)
			}
		}
	})
}

// What each failure means: whether it may have gone through, whether to try again, and what would help.
func TestSendFailures(t *testing.T) {
	tests := []struct {
		name  string
		fault telegramtest.Fault
		want  channels.SendError
		says  string
	}{
		{"rate limit", telegramtest.Fault{Status: 429, Description: "Too Many Requests: retry after 7", RetryAfter: 7}, channels.SendError{After: 7 * time.Second}, "429"},
		{"rate limit without a time", telegramtest.Fault{Status: 429, Body: "<html>"}, channels.SendError{After: time.Second}, "429"},
		{"blocked", telegramtest.Fault{Status: 403, Description: telegramtest.Blocked}, channels.SendError{Permanent: true}, "press Start"},
		{"kicked", telegramtest.Fault{Status: 403, Description: telegramtest.Kicked}, channels.SendError{Permanent: true}, "add the bot"},
		{"cannot begin", telegramtest.Fault{Status: 403, Description: "Forbidden: bot can't initiate conversation with a user"}, channels.SendError{Permanent: true}, "press Start"},
		{"chat not found", telegramtest.Fault{Status: 400, Description: "Bad Request: chat not found"}, channels.SendError{Permanent: true}, "press Start"},
		{"no rights", telegramtest.Fault{Status: 400, Description: "Bad Request: not enough rights to send text messages to the chat"}, channels.SendError{Permanent: true}, "right to write"},
		{"topic deleted", telegramtest.Fault{Status: 400, Description: "Bad Request: message thread not found"}, channels.SendError{Permanent: true}, "topic"},
		{"topic closed", telegramtest.Fault{Status: 400, Description: "Bad Request: TOPIC_CLOSED"}, channels.SendError{Permanent: true}, "topic"},
		{"form", telegramtest.Fault{Status: 400, Description: "Bad Request: can't parse entities: x"}, channels.SendError{Refused: true}, "entities"},
		{"button", telegramtest.Fault{Status: 400, Description: "Bad Request: BUTTON_DATA_INVALID"}, channels.SendError{Refused: true}, "BUTTON"},
		{"too long", telegramtest.Fault{Status: 400, Description: "Bad Request: message is too long"}, channels.SendError{Refused: true}, "too long"},
		{"too large", telegramtest.Fault{Status: 413, Body: "<html>"}, channels.SendError{Refused: true}, "413"},
		{"token revoked", telegramtest.Fault{Status: 401, Description: "Unauthorized"}, channels.SendError{After: time.Minute}, "401"},
		{"server error", telegramtest.Fault{Status: 500, Description: "Internal Server Error"}, channels.SendError{Unsure: true}, "500"},
		{"server error after", telegramtest.Fault{Status: 502, Body: "<html>bad gateway</html>", Applied: true}, channels.SendError{Unsure: true}, "502"},
		{"reset", telegramtest.Fault{Reset: true, Applied: true}, channels.SendError{Unsure: true}, "EOF"},
		{"hang", telegramtest.Fault{Hang: true, Applied: true}, channels.SendError{Unsure: true}, "no answer in time"},
		{"answer of another kind", telegramtest.Fault{Status: 200, Body: "<html>", Applied: true}, channels.SendError{Unsure: true}, "not of the Bot API"},
		{"answer cut short", telegramtest.Fault{Status: 200, Body: `{"ok":true,"result":{}}`, Applied: true}, channels.SendError{Unsure: true}, "does not name it"},
	}
	for _, tt := range tests {
		for method, p := range map[string]render.Part{"sendMessage": part("hi"), "sendDocument": {Text: "hi", File: &render.File{Name: "call.json", Data: []byte("{}")}}} {
			t.Run(tt.name+" "+method, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					r := newRig(t)
					r.srv.Fail(method, tt.fault)
					_, err := r.a.Send(context.Background(), to(dm), p)
					e := sendErr(t, err)
					got := channels.SendError{Unsure: e.Unsure, Permanent: e.Permanent, Refused: e.Refused, After: e.After, Moved: e.Moved}
					if got != tt.want {
						t.Errorf("got %+v, want %+v (%v)", got, tt.want, err)
					}
					if !strings.Contains(err.Error(), tt.says) {
						t.Errorf("error %q does not say %q", err, tt.says)
					}
					if n := len(r.srv.Calls(method)); n != 1 {
						t.Errorf("%d calls: the adapter must not try again by itself", n)
					}
				})
			})
		}
	}
}

// Nothing was sent, for certain, where no connection came about, or the context had ended before.
func TestSendNotUnsure(t *testing.T) {
	t.Parallel()
	down := telegramtest.New(telegramtest.Config{})
	defer down.Close()
	a := mustNew(t, Config{Name: "tg", Agent: "ops", Token: down.Token(), APIURL: "http://127.0.0.1:1"})
	_, err := a.Send(context.Background(), to(dm), part("hi"))
	if e := sendErr(t, err); e.Unsure || e.Permanent || e.Refused {
		t.Errorf("refused connection: %+v", e)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = a.Send(ctx, to(dm), part("hi"))
	if e := sendErr(t, err); e.Unsure || !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %+v", e)
	}
}

// TR-06: a send that ends with its context while the server works may have gone through.
func TestSendCancelledMidway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.srv.Fail("sendMessage", telegramtest.Fault{Hang: true, Applied: true})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := r.a.Send(ctx, to(dm), part("hi"))
		if e := sendErr(t, err); !e.Unsure || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%+v", e)
		}
		if d := time.Since(began); d != time.Second {
			t.Errorf("came back after %v", d)
		}
		if n := len(r.srv.Sent(dm)); n != 1 {
			t.Fatalf("%d messages stand", n)
		}
		r.send(dm, part("hi")) // the second copy
		if got := r.srv.Sent(dm); len(got) != 2 {
			t.Errorf("%d messages stand", len(got))
		}
	})
}

func TestSendMoved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		group := r.srv.Group(-500)
		sent := r.send(group, part("Delete?"))
		super := r.srv.Migrate(group, -100500)
		_, err := r.a.Send(context.Background(), to(group), part("hi"))
		if e := sendErr(t, err); e.Moved != "-100500" || e.Permanent || e.Unsure {
			t.Errorf("%+v", e)
		}
		if err := r.a.Edit(context.Background(), to(group), sent.Message, part("Approved")); sendErr(t, err).Moved != "-100500" {
			t.Errorf("edit: %v", err)
		}
		r.send(super, part("hi"))
		r.start()
		if n := len(r.sink.Got()); n != 0 {
			t.Errorf("%d service messages reached the sink", n)
		}
		if !strings.Contains(r.log.String(), "became a supergroup") {
			t.Error("the log does not tell")
		}
	})
}

func TestSendDocument(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		file := &render.File{Name: "arguments.json", Data: []byte(`{"a":1}`)}
		r.send(dm, render.Part{Text: "In full:", File: file, Spans: []render.Span{{Kind: render.Bold, Start: 0, Length: 2}}})
		m := r.srv.Sent(dm)[0]
		if m.Document != file.Name || string(m.Data) != string(file.Data) || m.Text != "In full:" || len(m.Entities) != 1 {
			t.Errorf("stands %+v", m)
		}
		long := strings.Repeat("x", maxCaption+1)
		sent := r.send(dm, render.Part{Text: long, File: file, Buttons: buttons("yes")})
		got := r.srv.Sent(dm)
		if len(got) != 3 || got[1].Text != long || got[1].Buttons != nil || got[2].Text != "" || got[2].Document == "" || got[2].Buttons == nil {
			t.Fatalf("a long caption stands as %+v", got[1:])
		}
		if sent.Order != uint64(got[2].ID) {
			t.Error("the order is not that of the last message")
		}
		if err := r.a.Edit(context.Background(), to(dm), sent.Message, part("Approved")); err != nil {
			t.Fatalf("edit of a document: %v", err)
		}
		if m := r.srv.Sent(dm)[2]; m.Text != "Approved" || m.Buttons != nil {
			t.Errorf("after the edit %+v", m)
		}
		if err := r.a.Edit(context.Background(), to(dm), sent.Message, part(strings.Repeat("👍", 2000))); err != nil {
			t.Errorf("a long edit of a caption: %v", err)
		}
	})
}

func TestSendNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		for _, p := range []string{"", " \n\t"} {
			_, err := r.a.Send(context.Background(), to(dm), part(p))
			if e := sendErr(t, err); !e.Permanent {
				t.Errorf("%q: %+v", p, e)
			}
		}
		for _, place := range []core.Place{"", "@ana", "42/x"} {
			_, err := r.a.Send(context.Background(), channels.Target{Place: place}, part("hi"))
			if e := sendErr(t, err); !e.Permanent {
				t.Errorf("place %q: %+v", place, e)
			}
		}
		if n := len(r.srv.Calls("")); n != 0 {
			t.Errorf("%d calls for nothing", n)
		}
	})
}

func TestEdit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		ctx := context.Background()
		sent := r.send(dm, render.Part{Text: "Delete?", Buttons: buttons("yes")})
		for range 2 { // the second time it is not modified, which is as good
			if err := r.a.Edit(ctx, to(dm), sent.Message, part("Approved by Ana")); err != nil {
				t.Fatal(err)
			}
		}
		m := r.srv.Sent(dm)[0]
		if m.Text != "Approved by Ana" || m.Buttons != nil || m.Edits != 1 {
			t.Errorf("stands %+v", m)
		}
		r.srv.Delete(dm, m.ID)
		theirs := r.srv.Say(ana, dm, "mine")
		for _, id := range []string{sent.Message, messageID(42, theirs), "x"} {
			if err := r.a.Edit(ctx, to(dm), id, part("x")); !errors.Is(err, channels.ErrCannotEdit) {
				t.Errorf("edit of %s: %v", id, err)
			}
		}
		r.srv.Fail("editMessageText", telegramtest.Fault{Status: 429, RetryAfter: 3}, telegramtest.Fault{Status: 502})
		if e := sendErr(t, r.a.Edit(ctx, to(dm), sent.Message, part("y"))); e.After != 3*time.Second {
			t.Errorf("%+v", e)
		}
		after(3 * time.Second)
		if e := sendErr(t, r.a.Edit(ctx, to(dm), sent.Message, part("y"))); !e.Unsure {
			t.Errorf("%+v", e)
		}
	})
}

func TestTyping(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		if err := r.a.Typing(context.Background(), to(dm)); err != nil || r.srv.Typing(42) != 1 {
			t.Errorf("typing: %v", err)
		}
		r.a.pace.Hold("42", time.Minute)
		if err := r.a.Typing(context.Background(), to(dm)); err != nil || r.srv.Typing(42) != 1 {
			t.Errorf("typing in a chat that is to be left alone: %v", err)
		}
		r.srv.Forbid(43, telegramtest.Blocked)
		if e := sendErr(t, r.a.Typing(context.Background(), to(bens))); !e.Permanent {
			t.Errorf("%+v", e)
		}
	})
}

// Over a real socket a broken connection is told apart from one that never came about.
func TestSendOverLoopback(t *testing.T) {
	t.Parallel()
	srv, err := telegramtest.Start(telegramtest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	srv.Private(ana)
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	a := mustNew(t, Config{Name: "tg", Agent: "ops", Token: srv.Token(), APIURL: srv.URL + "/", Client: &http.Client{Transport: tr}})
	srv.Fail("sendMessage", telegramtest.Fault{Reset: true, Applied: true})
	_, err = a.Send(context.Background(), to(dm), part("one"))
	if e := sendErr(t, err); !e.Unsure {
		t.Errorf("%+v", e)
	}
	sent, err := a.Send(context.Background(), to(dm), render.Part{Text: "two", File: &render.File{Name: "a.txt", Data: []byte(strings.Repeat("x", 1<<20))}})
	if err != nil {
		t.Fatal(err)
	}
	if got := srv.Sent(dm); len(got) != 2 || uint64(got[1].ID) != sent.Order || len(got[1].Data) != 1<<20 {
		t.Errorf("%d messages stand", len(got))
	}
}
