package telegramtest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels/telegram/telegramtest"
)

// A draft is in private chats alone, drawn over, and gone by a message or by time.
func TestDrafts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := telegramtest.New(telegramtest.Config{})
		defer s.Close()
		s.Private(ana)
		s.Supergroup(-1001)
		draft := func(chat, id, text string) int {
			return call(t, s, "sendMessageDraft", "chat_id", chat, "draft_id", id, "text", text).ErrorCode
		}
		for _, no := range [][3]string{{"-1001", "7", "x"}, {"42", "0", "x"}, {"42", "", "x"}, {"99", "7", "x"}} {
			if code := draft(no[0], no[1], no[2]); code != 400 {
				t.Errorf("%v: %d", no, code)
			}
		}
		want := func(text string) {
			t.Helper()
			if d, ok := s.Draft(dm); ok != (text != "") || d.Text != text {
				t.Errorf("the draft is %q (%v), want %q", d.Text, ok, text)
			}
		}
		want("")
		draft("42", "7", "He")
		draft("42", "7", "Hello")
		want("Hello")
		<-time.After(30 * time.Second)
		want("")
		draft("42", "7", "Hello")
		call(t, s, "sendMessage", "chat_id", "42", "text", "Hello.")
		want("")
		if n := len(s.Sent(dm)); n != 1 {
			t.Errorf("%d messages", n)
		}
	})
	s := telegramtest.New(telegramtest.Config{NoDrafts: true})
	defer s.Close()
	s.Private(ana)
	if a := call(t, s, "sendMessageDraft", "chat_id", "42", "draft_id", "7", "text", "x"); a.ErrorCode != 404 {
		t.Errorf("%+v", a)
	}
}

func TestDeleteMessage(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := telegramtest.New(telegramtest.Config{Now: func() time.Time { return now }})
	defer s.Close()
	theirs := s.Say(ana, dm, "hello")
	for range 2 {
		call(t, s, "sendMessage", "chat_id", "42", "text", "x")
	}
	for _, tt := range []struct {
		id   string
		want bool
	}{{"2", true}, {"2", false}, {"1", false}, {"9", false}} {
		if a := call(t, s, "deleteMessage", "chat_id", "42", "message_id", tt.id); a.OK != tt.want {
			t.Errorf("message %s: %+v", tt.id, a)
		}
	}
	now = now.Add(49 * time.Hour)
	if a := call(t, s, "deleteMessage", "chat_id", "42", "message_id", "3"); a.OK || theirs != 1 {
		t.Errorf("deleted after two days: %+v", a)
	}
}

// A file is told by its id and served below the token; nothing is served without it.
func TestFiles(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(telegramtest.Config{})
	defer s.Close()
	id := s.Say(ana, dm, "look", telegramtest.Photo(0, []byte("small"), []byte("large")))
	var told struct {
		Path string `json:"file_path"`
		Size int    `json:"file_size"`
	}
	ref := s.Messages(dm)[0].Fields["photo"].([]any)[1].(map[string]any)["file_id"].(string)
	if a := call(t, s, "getFile", "file_id", ref); !a.OK || json.Unmarshal(a.Result, &told) != nil || told.Size != 5 {
		t.Fatalf("%+v", a)
	}
	for address, want := range map[string]string{
		"/file/bot" + s.Token() + "/" + told.Path: "large", "/file/botother/" + told.Path: "", "/file/bot" + s.Token() + "/photos/none": "",
	} {
		req, err := http.NewRequest(http.MethodGet, "http://api.test"+address, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := telegramtest.Through(s).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if (resp.StatusCode == 200) != (want != "") || want != "" && string(got) != want {
			t.Errorf("%s: %d %q", address, resp.StatusCode, got)
		}
	}
	s.Discard(dm, id)
	if a := call(t, s, "getFile", "file_id", ref); a.OK {
		t.Error("a file that was discarded is told")
	}
	if a := call(t, s, "getFile", "file_id", "x"); a.ErrorCode != 400 {
		t.Errorf("%+v", a)
	}
}
