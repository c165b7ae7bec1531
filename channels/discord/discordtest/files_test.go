package discordtest_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"parley/channels/discord/discordtest"
)

// An attachment's address is told with its message, good for a day, and wants no token.
func TestFiles(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s, c := start(t, discordtest.Config{Now: func() time.Time { return now }})
	chat := s.DM(ana)
	id := s.Say(ana, chat, "look", discordtest.Attach("a.png", "image/png", []byte("\x89PNG")))
	address := func() string {
		t.Helper()
		code, m := do(t, s, c, http.MethodGet, "/channels/"+chat.String()+"/messages/"+id.String(), "")
		list, _ := m["attachments"].([]any)
		if code != 200 || len(list) != 1 {
			t.Fatalf("%d %v", code, m)
		}
		return fmt.Sprint(list[0].(map[string]any)["url"])
	}
	get := func(address string) (int, string) {
		t.Helper()
		resp, err := c.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		got, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(got)
	}
	old := address()
	if code, got := get(old); code != 200 || got != "\x89PNG" {
		t.Errorf("%d %q", code, got)
	}
	now = now.Add(25 * time.Hour)
	if code, _ := get(old); code != 404 {
		t.Errorf("an old address is good: %d", code)
	}
	if code, _ := get(address()); code != 200 {
		t.Errorf("a new address is not: %d", code)
	}
	req, _ := http.NewRequest(http.MethodGet, address(), nil)
	req.Header.Set("Authorization", "Bot "+s.Token())
	if resp, err := c.Do(req); err != nil {
		t.Error(err)
	} else {
		resp.Body.Close()
	}
	if n := len(s.Complaints()); n != 1 {
		t.Errorf("%d complaints about a token where files are", n)
	}
	s.Discard(chat, id)
	if code, m := do(t, s, c, http.MethodGet, "/channels/"+chat.String()+"/messages/"+id.String(), ""); code != 200 || len(m["attachments"].([]any)) != 0 {
		t.Errorf("%d %v", code, m)
	}
}

func TestDeletes(t *testing.T) {
	t.Parallel()
	s, c := start(t, discordtest.Config{})
	chat := s.DM(ana)
	theirs := s.Say(ana, chat, "hello")
	_, m := do(t, s, c, http.MethodPost, "/channels/"+chat.String()+"/messages", `{"content":"x","flags":4,"allowed_mentions":{"parse":[]}}`)
	for _, tt := range []struct {
		id   string
		want int
	}{{fmt.Sprint(m["id"]), 204}, {fmt.Sprint(m["id"]), 404}, {theirs.String(), 403}} {
		if code, out := do(t, s, c, http.MethodDelete, "/channels/"+chat.String()+"/messages/"+tt.id, ""); code != tt.want {
			t.Errorf("%s: %d %v", tt.id, code, out)
		}
	}
}
