package slacktest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"parley/channels/channeltest/faketest"
	"parley/channels/slack/slacktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call calls a method with the bot token.
func call(t *testing.T, s *slacktest.Server, method string, pairs ...string) map[string]any {
	t.Helper()
	form := url.Values{"token": {slacktest.DefaultBotToken}}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	resp, err := s.Client().PostForm(s.URL+method, form)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(resp.Body)
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("%s: %d %q", method, resp.StatusCode, raw)
	}
	return out
}

func refused(t *testing.T, s *slacktest.Server, want, method string, pairs ...string) {
	t.Helper()
	if got := call(t, s, method, pairs...); got["error"] != want && !(want == "" && got["ok"] == true) {
		t.Errorf("%s %.80q: %v, want %q", method, pairs, got, want)
	}
}

func open(t *testing.T, cfg slacktest.Config) *slacktest.Server {
	s := slacktest.New(cfg)
	t.Cleanup(s.Close)
	s.Open("C1", slacktest.Public)
	return s
}

// The server refuses what Slack refuses.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := open(t, slacktest.Config{})
	s.Open("C2", slacktest.Public)
	s.Archive("C2")
	s.Open("C3", slacktest.Public)
	s.Leave("C3")
	section := func(n int) string {
		return `{"type":"section","text":{"type":"mrkdwn","text":"` + strings.Repeat("x", n) + `"}}`
	}
	buttons := func(n, label, value int) string {
		var all []string
		for i := range n {
			all = append(all, `{"type":"button","action_id":"a`+strings.Repeat("i", i)+`","text":{"type":"plain_text","text":"`+strings.Repeat("l", label)+`"},"value":"`+strings.Repeat("v", value)+`"}`)
		}
		return `{"type":"actions","elements":[` + strings.Join(all, ",") + `]}`
	}
	for _, c := range []struct{ want, text, blocks string }{
		{"", "hello", ""},
		{"", strings.Repeat("x", 40000), ""},
		{"msg_too_long", strings.Repeat("x", 40001), ""},
		{"no_text", " ", ""},
		{"", "x", "[" + section(3000) + "]"},
		{"invalid_blocks", "x", "[" + section(3001) + "]"},
		{"invalid_blocks", "x", "[" + section(0) + "]"},
		{"msg_blocks_too_long", "x", "[" + strings.Repeat(section(3000)+",", 4) + section(3000) + "]"},
		{"invalid_blocks", "x", "[" + strings.Repeat(section(1)+",", 50) + section(1) + "]"},
		{"", "x", "[" + buttons(25, 75, 2000) + "]"},
		{"invalid_blocks", "x", "[" + buttons(26, 1, 1) + "]"},
		{"invalid_blocks", "x", "[" + buttons(1, 76, 1) + "]"},
		{"invalid_blocks", "x", "[" + buttons(1, 1, 2001) + "]"},
		{"invalid_blocks", "x", `[{"type":"actions","elements":[{"type":"multi_static_select","action_id":"a"}]}]`},
		{"invalid_blocks_format", "x", "{"},
	} {
		pairs := []string{"channel", "C1", "text", c.text}
		if c.blocks != "" {
			pairs = append(pairs, "blocks", c.blocks)
		}
		refused(t, s, c.want, "chat.postMessage", pairs...)
	}
	refused(t, s, "channel_not_found", "chat.postMessage", "channel", "C9", "text", "x")
	refused(t, s, "is_archived", "chat.postMessage", "channel", "C2", "text", "x")
	refused(t, s, "not_in_channel", "chat.postMessage", "channel", "C3", "text", "x")
	refused(t, s, "invalid_metadata_format", "chat.postMessage", "channel", "C1", "text", "x", "metadata", `{"event_type":"a"}`)
	refused(t, s, "unknown_method", "chat.telepathy")
	refused(t, s, "not_allowed_token_type", "apps.connections.open")
	refused(t, s, "invalid_auth", "auth.test", "token", "xoxb-wrong")
	refused(t, s, "user_not_in_channel", "chat.postEphemeral", "channel", "C1", "user", "U9", "text", "x")
	refused(t, s, "message_not_found", "chat.update", "channel", "C1", "ts", "1.000001", "text", "x")
	theirs := s.Say("U1", slacktest.Where{Channel: "C1"}, "mine")
	refused(t, s, "cant_update_message", "chat.update", "channel", "C1", "ts", theirs, "text", "x")
	refused(t, s, "invalid_arguments", "files.getUploadURLExternal", "filename", "a", "length", "0")
	refused(t, s, "file_not_found", "files.completeUploadExternal", "files", `[{"id":"F9"}]`, "channel_id", "C1")
}

func TestScopes(t *testing.T) {
	t.Parallel()
	s := open(t, slacktest.Config{Scopes: []string{"chat:write"}})
	refused(t, s, "", "chat.postMessage", "channel", "C1", "text", "x")
	refused(t, s, "missing_scope", "users.info", "user", "U1")
	refused(t, s, "missing_scope", "conversations.history", "channel", "C1")
}

// Updates keep blocks that they do not name, as Slack does; history tells metadata only where asked for.
func TestUpdatesAndHistory(t *testing.T) {
	t.Parallel()
	s := open(t, slacktest.Config{})
	blocks := `[{"type":"actions","elements":[{"type":"button","action_id":"a","text":{"type":"plain_text","text":"Yes"},"value":"v"}]}]`
	sent := call(t, s, "chat.postMessage", "channel", "C1", "text", "x", "blocks", blocks, "metadata", `{"event_type":"e","event_payload":{"key":"k"}}`)
	ts := sent["ts"].(string)
	refused(t, s, "", "chat.update", "channel", "C1", "ts", ts, "text", "y")
	if m := s.Sent(slacktest.Where{Channel: "C1"})[0]; len(m.Controls) != 1 || m.Text != "y" {
		t.Errorf("%+v", m)
	}
	refused(t, s, "", "chat.update", "channel", "C1", "ts", ts, "text", "z", "blocks", "[]")
	if m := s.Sent(slacktest.Where{Channel: "C1"})[0]; len(m.Controls) != 0 {
		t.Errorf("%+v", m)
	}
	for all, want := range map[string]bool{"0": false, "1": true} {
		list := call(t, s, "conversations.history", "channel", "C1", "include_all_metadata", all)["messages"].([]any)
		if _, ok := list[0].(map[string]any)["metadata"]; ok != want {
			t.Errorf("metadata told: %v, want %v", ok, want)
		}
	}
}

// client is a socket as a bot has it.
type client struct {
	t  *testing.T
	ws *websocket.Conn
}

func dial(t *testing.T, s *slacktest.Server) *client {
	t.Helper()
	opened := call(t, s, "apps.connections.open", "token", slacktest.DefaultAppToken)
	d := websocket.Dialer{NetDialContext: s.Client().Transport.(*http.Transport).DialContext}
	ws, resp, err := d.Dial(opened["url"].(string), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	c := &client{t, ws}
	if hello := c.next(); hello["type"] != "hello" {
		t.Fatalf("%v", hello)
	}
	return c
}

func (c *client) next() (out map[string]any) {
	c.t.Helper()
	if err := c.ws.ReadJSON(&out); err != nil {
		c.t.Fatal(err)
	}
	return out
}

func (c *client) ack(e map[string]any) {
	c.t.Helper()
	if err := c.ws.WriteJSON(map[string]any{"envelope_id": e["envelope_id"]}); err != nil {
		c.t.Fatal(err)
	}
}

// What is not acknowledged comes again in a new envelope, on the next socket, and is given up in the end.
func TestSocketRedelivers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := slacktest.New(slacktest.Config{Retries: []time.Duration{0, time.Minute, 5 * time.Minute}})
		defer s.Close()
		at := s.Open("C1", slacktest.Public)
		s.Say("U1", at, "said before anybody listens")
		a := dial(t, s)
		first := a.next()
		if first["retry_attempt"].(float64) != 0 {
			t.Errorf("%v", first)
		}
		a.ws.Close()
		b := dial(t, s)
		second := b.next()
		if second["envelope_id"] == first["envelope_id"] || second["retry_attempt"].(float64) != 1 {
			t.Errorf("%v after %v", second, first)
		}
		b.ack(first) // an old envelope acknowledges nothing
		b.ack(second)
		synctest.Wait()
		if s.Unacked() != 0 || len(s.Acknowledged()) != 1 {
			t.Errorf("%d left, %d acknowledged", s.Unacked(), len(s.Acknowledged()))
		}
		s.Say("U1", at, "never acknowledged")
		for range 4 {
			b.next()
		}
		<-time.After(time.Minute)
		if s.Lost() != 1 || s.Unacked() != 0 {
			t.Errorf("%d lost, %d left", s.Lost(), s.Unacked())
		}
		b.ws.Close()
	})
}

// By HTTP the same: signed, in order, retried after the pauses, with the number of the retry.
func TestHTTPRedelivers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var seen []string
		hc, stop := faketest.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			body, _ := io.ReadAll(r.Body)
			if !strings.Contains(string(body), "hello") || !strings.HasPrefix(r.Header.Get("X-Slack-Signature"), "v0=") {
				t.Errorf("%s", body)
			}
			seen = append(seen, r.Header.Get("X-Slack-Retry-Num"))
			if len(seen) < 4 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		defer stop()
		s := slacktest.New(slacktest.Config{EventsURL: "http://app.test/", EventsClient: hc})
		defer s.Close()
		began := time.Now()
		s.Say("U1", s.Open("C1", slacktest.Public), "hello")
		if err := s.Wait(context.Background(), func() bool { return len(s.Acknowledged()) == 1 }); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(seen, ","); got != ",1,2,3" || time.Since(began) != 6*time.Minute {
			t.Errorf("attempts %q in %v", got, time.Since(began))
		}
	})
}

// Faults come before or after the effect, and a server on loopback is reached by its address.
func TestFaultsOnLoopback(t *testing.T) {
	t.Parallel()
	s, err := slacktest.Start(slacktest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	at := s.Open("C1", slacktest.Public)
	form := url.Values{"token": {slacktest.DefaultBotToken}, "channel": {"C1"}, "text": {"x"}}
	s.Fail("chat.postMessage", slacktest.Fault{Reset: true}, slacktest.Fault{Reset: true, Applied: true}, slacktest.Fault{Error: "internal_error"})
	for i, want := range []int{0, 1, 1, 2} {
		resp, err := s.Client().PostForm(s.URL+"chat.postMessage", form)
		if (err != nil) != (i < 2) {
			t.Errorf("call %d: %v", i, err)
		}
		if err == nil {
			resp.Body.Close()
		}
		if n := len(s.Sent(at)); n != want {
			t.Errorf("call %d: %d messages, want %d", i, n, want)
		}
	}
	c := dial(t, s)
	s.Say("U1", at, slacktest.Mention("hi"))
	for range 4 { // two of our own, the message and the mention
		c.ack(c.next())
	}
	if err := s.Wait(context.Background(), func() bool { return s.Unacked() == 0 }); err != nil {
		t.Fatal(err)
	}
	c.ws.Close()
}
