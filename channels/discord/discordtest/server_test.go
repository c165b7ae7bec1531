package discordtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"parley/channels/discord/discordtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ana = discordtest.User{ID: 42, Name: "ana"}

func start(t *testing.T, cfg discordtest.Config) (*discordtest.Server, *http.Client) {
	t.Helper()
	s, err := discordtest.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(func() { transport.CloseIdleConnections(); s.Close() })
	return s, &http.Client{Transport: transport}
}

// do makes a call as a bot would.
func do(t *testing.T, s *discordtest.Server, c *http.Client, method, path, body string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bot "+s.Token())
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if len(bytes.TrimSpace(raw)) > 0 && raw[0] == '{' {
		if err := json.Unmarshal(raw, &out); err != nil {
			t.Fatal(err)
		}
	}
	return resp.StatusCode, out
}

// What Discord refuses is refused here, and so is what no careful program sends.
func TestSendsAreChecked(t *testing.T) {
	t.Parallel()
	s, c := start(t, discordtest.Config{})
	room := s.Channel(s.Guild())
	const ok = `"flags":4,"allowed_mentions":{"parse":[]}`
	button := func(id string) string { return `{"type":2,"style":2,"label":"A","custom_id":"` + id + `"}` }
	row := func(in string) string { return `,"components":[{"type":1,"components":[` + in + `]}]` }
	for body, want := range map[string]int{
		`{"content":"x",` + ok + `}`:                                                                200,
		`{"content":" ",` + ok + `}`:                                                                400,
		`{"content":"` + strings.Repeat("x", 2000) + `",` + ok + `}`:                                200,
		`{"content":"` + strings.Repeat("x", 2001) + `",` + ok + `}`:                                400,
		`{"content":"x","flags":4}`:                                                                 400,
		`{"content":"x","flags":4,"allowed_mentions":{"parse":null}}`:                               400,
		`{"content":"x","flags":4,"allowed_mentions":{"parse":["everyone"]}}`:                       400,
		`{"content":"x","flags":4,"allowed_mentions":{"parse":[],"replied_user":true}}`:             400,
		`{"content":"x","flags":0,"allowed_mentions":{"parse":[]}}`:                                 400,
		`{"content":"x","nonce":"n",` + ok + `}`:                                                    400,
		`{"content":"x","nonce":"` + strings.Repeat("n", 26) + `","enforce_nonce":true,` + ok + `}`: 400,
		`{"content":"x","message_reference":{"message_id":"1"},` + ok + `}`:                         400,
		`{"content":"x",` + ok + row(button("a")) + `}`:                                             200,
		`{"content":"x",` + ok + row(button("a")+","+button("a")) + `}`:                             400,
		`{"content":"x",` + ok + row(button(strings.Repeat("a", 101))) + `}`:                        400,
		`{"content":"x",` + ok + row(button("")) + `}`:                                              400,
		`{"content":"x",` + ok + row("") + `}`:                                                      400,
		`{"content":"x",` + ok + row(`{"type":99}`) + `}`:                                           400,
		`{`: 400,
	} {
		if got, out := do(t, s, c, "POST", "/channels/"+room.String()+"/messages", body); got != want {
			t.Errorf("%.120s: %d %v, want %d", body, got, out, want)
		}
	}
	if len(s.Complaints()) == 0 {
		t.Error("no complaint")
	}
	if got, out := do(t, s, c, "POST", "/channels/1/messages", `{}`); got != 404 || out["code"] != 10003.0 {
		t.Errorf("%d %v", got, out)
	}
}

// A nonce that is enforced finds the message that is there.
func TestNonce(t *testing.T) {
	t.Parallel()
	s, c := start(t, discordtest.Config{})
	room := s.DM(ana)
	for i := range 2 {
		body := fmt.Sprintf(`{"content":"%d","nonce":"n","enforce_nonce":true,"flags":4,"allowed_mentions":{"parse":[]}}`, i)
		if got, out := do(t, s, c, "POST", "/channels/"+room.String()+"/messages", body); got != 200 || out["content"] != "0" {
			t.Errorf("%d %v", got, out)
		}
	}
	if n := len(s.Sent(room)); n != 1 {
		t.Errorf("%d messages", n)
	}
}

func TestTokenAndLimits(t *testing.T) {
	t.Parallel()
	s, c := start(t, discordtest.Config{PerFive: 1})
	room := s.DM(ana)
	const body = `{"content":"x","flags":4,"allowed_mentions":{"parse":[]}}`
	do(t, s, c, "POST", "/channels/"+room.String()+"/messages", body)
	if got, out := do(t, s, c, "POST", "/channels/"+room.String()+"/messages", body); got != 429 || out["retry_after"].(float64) <= 0 {
		t.Errorf("%d %v", got, out)
	}
	resp, err := c.Get(s.URL + "/users/@me")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 401 {
		t.Errorf("without a token: %d", resp.StatusCode)
	}
	s.Fail(discordtest.RouteMe, discordtest.Fault{Status: 418, Code: 7, Message: "tea"})
	if got, out := do(t, s, c, "GET", "/users/@me", ""); got != 418 || out["code"] != 7.0 || out["message"] != "tea" {
		t.Errorf("%d %v", got, out)
	}
	if got, out := do(t, s, c, "GET", "/users/@me", ""); got != 200 || out["id"] != discordtest.BotID.String() {
		t.Errorf("%d %v", got, out)
	}
}

// gateway connects and reads Hello.
func gateway(t *testing.T, s *discordtest.Server) *websocket.Conn {
	t.Helper()
	at := "ws" + strings.TrimPrefix(strings.TrimSuffix(s.URL, "/api/v9"), "http") + "/?v=9&encoding=json"
	ws, _, err := websocket.DefaultDialer.Dial(at, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	if op, _, _ := next(t, ws); op != 10 {
		t.Fatalf("op %d, want Hello", op)
	}
	return ws
}

func next(t *testing.T, ws *websocket.Conn) (op int, kind string, d map[string]any) {
	t.Helper()
	_ = ws.SetReadDeadline(time.Now().Add(10 * time.Second)) // the read says so
	var f struct {
		Op int
		T  string
		D  json.RawMessage
		S  int64
	}
	if err := ws.ReadJSON(&f); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal(f.D, &d) // nil where it is no object
	return f.Op, f.T, d
}

func write(t *testing.T, ws *websocket.Conn, op int, d any) {
	t.Helper()
	if err := ws.WriteJSON(map[string]any{"op": op, "d": d}); err != nil {
		t.Fatal(err)
	}
}

// A session outlives its connection, replays what was missed, and ends when it is forgotten.
func TestSessions(t *testing.T) {
	t.Parallel()
	s, _ := start(t, discordtest.Config{})
	room := s.DM(ana)
	ws := gateway(t, s)
	write(t, ws, 2, map[string]any{"token": s.Token(), "intents": 1 << 12})
	_, kind, ready := next(t, ws)
	if kind != "READY" || ready["session_id"] == "" || !strings.HasSuffix(ready["resume_gateway_url"].(string), "/resume") {
		t.Fatalf("%s %v", kind, ready)
	}
	write(t, ws, 1, 1)
	if op, _, _ := next(t, ws); op != 11 {
		t.Errorf("op %d, want an acknowledgement", op)
	}
	s.Hangup(0)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.Wait(ctx, func() bool { return s.Connected() == 0 }); err != nil {
		t.Fatal(err)
	}
	s.Say(ana, room, "missed")
	ws = gateway(t, s)
	write(t, ws, 6, map[string]any{"token": s.Token(), "session_id": ready["session_id"], "seq": 1})
	if _, kind, d := next(t, ws); kind != "MESSAGE_CREATE" || d["content"] != "missed" {
		t.Errorf("%s %v", kind, d)
	}
	if _, kind, _ := next(t, ws); kind != "RESUMED" {
		t.Error(kind)
	}
	s.Forget()
	ws = gateway(t, s)
	write(t, ws, 6, map[string]any{"token": s.Token(), "session_id": ready["session_id"], "seq": 1})
	if op, _, _ := next(t, ws); op != 9 {
		t.Errorf("op %d, want that the session is gone", op)
	}
}

// Intents decide what is heard, and the portal what may be asked for.
func TestIntents(t *testing.T) {
	t.Parallel()
	s, _ := start(t, discordtest.Config{ContentOff: true})
	room := s.Channel(s.Guild())
	for intents, want := range map[int]int{1<<9 | 1<<15: 4014, 1 << 30: 4013} {
		ws := gateway(t, s)
		write(t, ws, 2, map[string]any{"token": s.Token(), "intents": intents})
		if _, _, err := ws.ReadMessage(); !websocket.IsCloseError(err, want) {
			t.Errorf("%b: %v, want %d", intents, err, want)
		}
	}
	ws := gateway(t, s)
	write(t, ws, 2, map[string]any{"token": "wrong", "intents": 1})
	if _, _, err := ws.ReadMessage(); !websocket.IsCloseError(err, 4004) {
		t.Error(err)
	}
	ws = gateway(t, s)
	write(t, ws, 2, map[string]any{"token": s.Token(), "intents": 1 << 9})
	for range 2 { // READY and the server
		next(t, ws)
	}
	s.Say(ana, room, "secret")
	s.Say(ana, room, "<@4242> open")
	if _, _, d := next(t, ws); d["content"] != "" {
		t.Errorf("heard %v", d["content"])
	}
	if _, _, d := next(t, ws); d["content"] != "<@4242> open" {
		t.Errorf("heard %v", d["content"])
	}
}
