package telegramtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels/telegram/telegramtest"
)

var (
	ana = telegramtest.User{ID: 42, Username: "ana", Lang: "de"}
	dm  = telegramtest.Where{Chat: 42}
)

// answer is what the server says to a call.
type answer struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	ErrorCode   int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// call makes one call; pairs are its parameters.
func call(t *testing.T, s *telegramtest.Server, method string, pairs ...string) answer {
	t.Helper()
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	req, err := http.NewRequest(http.MethodPost, "http://api.test/bot"+s.Token()+"/"+method, strings.NewReader(v.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return do(t, s, req)
}

func do(t *testing.T, s *telegramtest.Server, req *http.Request) answer {
	t.Helper()
	resp, err := telegramtest.Through(s).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var a answer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		t.Fatal(err)
	}
	return a
}

func newServer(t *testing.T, cfg telegramtest.Config) *telegramtest.Server {
	s := telegramtest.New(cfg)
	t.Cleanup(s.Close)
	s.Private(ana)
	return s
}

// The server refuses what the real one refuses.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newServer(t, telegramtest.Config{})
	s.Supergroup(-1)
	s.Forbid(-1, telegramtest.Kicked)
	s.Forum(-2)
	id := s.Say(ana, dm, "hi")
	text := func(n int) string { return strings.Repeat("a", n) }
	button := func(b string) string { return `{"inline_keyboard":[[` + b + `]]}` }
	tests := []struct {
		method string
		pairs  []string
		want   string // "" is ok
	}{
		{"sendMessage", []string{"chat_id", "42", "text", "hi"}, ""},
		{"sendMessage", []string{"chat_id", "42", "text", text(4096)}, ""},
		{"sendMessage", []string{"chat_id", "42", "text", text(4097)}, "too long"},
		{"sendMessage", []string{"chat_id", "42", "text", strings.Repeat("👍", 2049)}, "too long"},
		{"sendMessage", []string{"chat_id", "42", "text", " \n"}, "text is empty"},
		{"sendMessage", []string{"chat_id", "42", "text", "\xff"}, "UTF-8"},
		{"sendMessage", []string{"chat_id", "43", "text", "hi"}, "chat not found"},
		{"sendMessage", []string{"chat_id", "-1", "text", "hi"}, "kicked"},
		{"sendMessage", []string{"chat_id", "-2", "text", "hi", "message_thread_id", "7"}, "thread not found"},
		{"sendMessage", []string{"chat_id", "42", "text", "hi", "parse_mode", "HTML"}, "parse_mode"},
		{"sendMessage", []string{"chat_id", "42", "text", "hi", "entities", `[{"type":"bold","offset":0,"length":2}]`}, ""},
		{"sendMessage", []string{"chat_id", "42", "text", "hi", "entities", `[{"type":"bold","offset":1,"length":2}]`}, "outside"},
		{"sendMessage", []string{"chat_id", "42", "text", "👍", "entities", `[{"type":"bold","offset":0,"length":1}]`}, "inside a character"},
		{"sendMessage", []string{"chat_id", "42", "text", "hi", "entities", `{}`}, "can't parse entities"},
		{"sendMessage", []string{"chat_id", "42", "text", "hi", "reply_markup", button(`{"text":"a","callback_data":"` + text(64) + `"}`)}, ""},
		{"sendMessage", []string{"chat_id", "42", "text", "hi", "reply_markup", button(`{"text":"a","callback_data":"` + text(65) + `"}`)}, "BUTTON_DATA_INVALID"},
		{"sendMessage", []string{"chat_id", "42", "text", "hi", "reply_markup", button(`{"text":"a","callback_data":"` + strings.Repeat("я", 33) + `"}`)}, "BUTTON_DATA_INVALID"},
		{"sendMessage", []string{"chat_id", "42", "text", "hi", "reply_markup", button(`{"text":"a"}`)}, "BUTTON_DATA_INVALID"},
		{"sendMessage", []string{"chat_id", "42", "text", "hi", "reply_markup", button(`{"text":" ","callback_data":"x"}`)}, "inline keyboard button"},
		{"sendMessage", []string{"chat_id", "42", "text", "hi", "reply_markup", button(`{"text":"a","url":"javascript:x"}`)}, "BUTTON_URL_INVALID"},
		{"sendMessage", []string{"chat_id", "42", "text", "hi", "reply_parameters", `{"message_id":999}`}, "replied not found"},
		{"sendMessage", []string{"chat_id", "42", "text", "hi", "reply_parameters", `{"message_id":999,"allow_sending_without_reply":true}`}, ""},
		{"editMessageText", []string{"chat_id", "42", "message_id", "999", "text", "x"}, "edit not found"},
		{"editMessageText", []string{"chat_id", "42", "message_id", fmt.Sprint(id), "text", "x"}, "can't be edited"},
		{"answerCallbackQuery", []string{"callback_query_id", "1"}, "too old"},
		{"sendDocument", []string{"chat_id", "42"}, "no document"},
		{"sendChatAction", []string{"chat_id", "42"}, "action"},
		{"setWebhook", []string{"url", "bot.test"}, "bad webhook"},
		{"getUpdates", []string{"allowed_updates", "message"}, "allowed_updates"},
		{"sendNonsense", nil, "method not found"},
	}
	for _, tt := range tests {
		a := call(t, s, tt.method, tt.pairs...)
		if a.OK != (tt.want == "") || !strings.Contains(a.Description, tt.want) {
			t.Errorf("%s %.80q: %v %d %q, want %q", tt.method, tt.pairs, a.OK, a.ErrorCode, a.Description, tt.want)
		}
	}
	req, _ := http.NewRequest(http.MethodPost, "http://api.test/bot1:x/getMe", http.NoBody)
	if a := do(t, s, req); a.ErrorCode != http.StatusUnauthorized {
		t.Errorf("a wrong token: %+v", a)
	}
}

// Updates stay until an offset beyond them; a set of wanted kinds stays until another is named.
func TestUpdates(t *testing.T) {
	t.Parallel()
	s := newServer(t, telegramtest.Config{})
	s.Say(ana, dm, "one")
	id := s.Say(ana, dm, "two")
	got := func(pairs ...string) []int64 {
		var us []struct {
			ID int64 `json:"update_id"`
		}
		a := call(t, s, "getUpdates", pairs...)
		if err := json.Unmarshal(a.Result, &us); err != nil {
			t.Fatalf("%v in %+v", err, a)
		}
		var ids []int64
		for _, u := range us {
			ids = append(ids, u.ID)
		}
		return ids
	}
	first := got("allowed_updates", `["message"]`)
	if again := got(); len(first) != 2 || fmt.Sprint(again) != fmt.Sprint(first) {
		t.Fatalf("updates %v, then %v", first, again)
	}
	if one := got("limit", "1"); len(one) != 1 {
		t.Errorf("limit 1 gives %v", one)
	}
	if rest := got("offset", strconv.FormatInt(first[1], 10)); len(rest) != 1 || rest[0] != first[1] {
		t.Errorf("after the first is confirmed: %v", rest)
	}
	s.Edit(dm, id, "changed") // of a kind that is not wanted
	if rest := got("offset", strconv.FormatInt(first[1]+1, 10), "timeout", "0"); len(rest) != 0 {
		t.Errorf("after both are confirmed: %v", rest)
	}
	if c := s.Confirmed(); fmt.Sprint(c) != fmt.Sprint(first) {
		t.Errorf("confirmed %v", c)
	}
}

func TestTwoPollersAndAWebhookConflict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, telegramtest.Config{})
		first := make(chan answer, 1)
		go func() { first <- call(t, s, "getUpdates", "timeout", "50") }()
		synctest.Wait()
		second := make(chan answer, 1)
		go func() { second <- call(t, s, "getUpdates", "timeout", "10") }()
		if a := <-first; a.ErrorCode != http.StatusConflict || !strings.Contains(a.Description, "other getUpdates") {
			t.Errorf("the first poll: %+v", a)
		}
		began := time.Now()
		if a := <-second; !a.OK || time.Since(began) != 10*time.Second {
			t.Errorf("the second poll: %+v after %v", a, time.Since(began))
		}
		call(t, s, "setWebhook", "url", "https://bot.test/x")
		if a := call(t, s, "getUpdates"); a.ErrorCode != http.StatusConflict || !strings.Contains(a.Description, "webhook") {
			t.Errorf("with a webhook: %+v", a)
		}
		if a := call(t, s, "getWebhookInfo"); !strings.Contains(string(a.Result), "https://bot.test/x") {
			t.Errorf("info %s", a.Result)
		}
		call(t, s, "deleteWebhook")
		if a := call(t, s, "getUpdates"); !a.OK {
			t.Errorf("without it: %+v", a)
		}
	})
}

// A webhook gets each chat's updates one at a time with the secret, again until it answers 2xx.
func TestWebhookDelivery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		fails := 2
		hook := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var u struct{ Message struct{ Text string } }
			if err := json.NewDecoder(r.Body).Decode(&u); err != nil {
				t.Error(err)
			}
			seen = append(seen, u.Message.Text+" "+r.Header.Get("X-Telegram-Bot-Api-Secret-Token"))
			if fails--; fails >= 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		s := newServer(t, telegramtest.Config{HookClient: &http.Client{Transport: telegramtest.Through(hook)}})
		call(t, s, "setWebhook", "url", "https://bot.test/x", "secret_token", "s3cret")
		s.Say(ana, dm, "one")
		s.Say(ana, dm, "two")
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Wait(ctx, func() bool { return len(s.Pending()) == 0 }); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(seen, "|"); got != "one s3cret|one s3cret|one s3cret|two s3cret" {
			t.Errorf("delivered %s", got)
		}
	})
}

func TestPrivacyModeHears(t *testing.T) {
	t.Parallel()
	s := newServer(t, telegramtest.Config{Username: "Relay_Bot"})
	g := s.Supergroup(-1)
	said := func(text string, how ...telegramtest.Said) bool {
		before := len(s.Pending())
		s.Say(ana, g, text, how...)
		return len(s.Pending()) > before
	}
	if said("yes") || said("/cancel") || said("/cancel@other_bot") || said("@relay_bot2 yes") {
		t.Error("privacy mode lets through what is not for the bot")
	}
	if !said("@relay_bot yes") || !said("/cancel@RELAY_BOT") {
		t.Error("a mention or command does not arrive")
	}
	a := call(t, s, "sendMessage", "chat_id", "-1", "text", "Delete?")
	var m struct {
		ID int64 `json:"message_id"`
	}
	if err := json.Unmarshal(a.Result, &m); err != nil {
		t.Fatal(err)
	}
	if !said("yes", telegramtest.Reply(m.ID)) || !said("/cancel") {
		t.Error("a reply, or a command after the bot spoke last, does not arrive")
	}
}

func TestMigrationAndFaults(t *testing.T) {
	t.Parallel()
	s := newServer(t, telegramtest.Config{})
	g := s.Group(-5)
	s.Migrate(g, -1005)
	if a := call(t, s, "sendMessage", "chat_id", "-5", "text", "hi"); a.Parameters.MigrateTo != -1005 {
		t.Errorf("%+v", a)
	}
	s.Fail("sendMessage", telegramtest.Fault{Status: 429, RetryAfter: 3, Times: 2}, telegramtest.Fault{Applied: true})
	for i, want := range []int{429, 429, 500} {
		if a := call(t, s, "sendMessage", "chat_id", "-1005", "text", "hi"); a.ErrorCode != want {
			t.Errorf("call %d: %+v", i, a)
		}
	}
	if n := len(s.Sent(telegramtest.Where{Chat: -1005})); n != 1 {
		t.Errorf("%d messages stand, want that of the fault after", n)
	}
	s.Fail("", telegramtest.Fault{Status: 503})
	s.Mend()
	if a := call(t, s, "getMe"); !a.OK {
		t.Errorf("after Mend: %+v", a)
	}
}

func TestPressesAndEdits(t *testing.T) {
	t.Parallel()
	s := newServer(t, telegramtest.Config{})
	call(t, s, "sendMessage", "chat_id", "42", "text", "Delete?", "reply_markup", `{"inline_keyboard":[[{"text":"Yes","callback_data":"x"}]]}`)
	m := s.Sent(dm)[0]
	if _, err := s.Press(ana, dm, m.ID, "No"); err == nil {
		t.Error("a button that is not there was pressed")
	}
	press, err := s.Press(ana, dm, m.ID, "Yes")
	if err != nil {
		t.Fatal(err)
	}
	if a := call(t, s, "answerCallbackQuery", "callback_query_id", press, "text", "done"); !a.OK {
		t.Errorf("%+v", a)
	}
	if a := s.Answered(press); !a.Done || a.Text != "done" {
		t.Errorf("%+v", a)
	}
	id := fmt.Sprint(m.ID)
	if a := call(t, s, "editMessageText", "chat_id", "42", "message_id", id, "text", "Approved"); !a.OK {
		t.Errorf("%+v", a)
	}
	if a := call(t, s, "editMessageText", "chat_id", "42", "message_id", id, "text", "Approved"); !strings.Contains(a.Description, "not modified") {
		t.Errorf("%+v", a)
	}
	if _, err := s.Press(ana, dm, m.ID, "Yes"); err == nil {
		t.Error("the button survived the edit")
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	s := newServer(t, telegramtest.Config{})
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	f, err := w.CreateFormFile("document", "a.txt")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, "content")
	_ = w.WriteField("chat_id", "42") // a bytes.Buffer does not fail
	_ = w.WriteField("caption", "in full")
	_ = w.Close()
	req, _ := http.NewRequest(http.MethodPost, "http://api.test/bot"+s.Token()+"/sendDocument", &body)
	req.Header.Set("Content-Type", w.FormDataContentType())
	if a := do(t, s, req); !a.OK {
		t.Fatalf("%+v", a)
	}
	if m := s.Sent(dm)[0]; m.Document != "a.txt" || string(m.Data) != "content" || m.Text != "in full" {
		t.Errorf("%+v", m)
	}
}

// A server that listens is reached like the real one, and Close ends a poll that waits.
func TestStart(t *testing.T) {
	t.Parallel()
	s, err := telegramtest.Start(telegramtest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{DisableKeepAlives: true}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		resp, err := (&http.Client{Transport: tr}).Get(s.URL + "/bot" + s.Token() + "/getUpdates?timeout=50")
		if err == nil {
			resp.Body.Close()
		}
	}()
	if err := s.Wait(context.Background(), s.Polling); err != nil {
		t.Fatal(err)
	}
	s.Close()
	<-ended
}
