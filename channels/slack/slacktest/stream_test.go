package slacktest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/channels/slack/slacktest"
)

// A stream is begun in a thread for somebody, grows, is left alone until it ends, and is then like any message.
func TestStreamStates(t *testing.T) {
	t.Parallel()
	s := open(t, slacktest.Config{})
	s.AddUser(slacktest.User{ID: "UANA"})
	s.DM("UANA")
	root, mine := s.Say("UANA", slacktest.Where{Channel: "C1"}, "go"), s.Say("UANA", slacktest.Where{Channel: "DANA"}, "go")
	whom := []string{"channel", "C1", "thread_ts", root, "recipient_user_id", "UANA", "recipient_team_id", slacktest.DefaultTeam, "markdown_text", "Hello "}
	for _, no := range []struct{ want, name, value string }{
		{"channel_not_found", "channel", "C9"}, {"invalid_thread_ts", "thread_ts", ""}, {"invalid_thread_ts", "thread_ts", "1.000001"},
		{"missing_recipient_user_id", "recipient_user_id", ""}, {"missing_recipient_team_id", "recipient_team_id", ""},
		{"user_not_found", "recipient_user_id", "UNOBODY"}, {"msg_too_long", "markdown_text", strings.Repeat("x", 12001)}, {"markdown_text_conflict", "text", "x"},
	} {
		refused(t, s, no.want, "chat.startStream", append(whom[:len(whom):len(whom)], no.name, no.value)...)
	}
	refused(t, s, "", "chat.startStream", "channel", "DANA", "thread_ts", mine, "markdown_text", "for whom else")
	ts := fmt.Sprint(call(t, s, "chat.startStream", whom...)["ts"])
	at := []string{"channel", "C1", "ts", ts}
	refused(t, s, "no_text", "chat.appendStream", at...)
	refused(t, s, "", "chat.appendStream", append(at, "markdown_text", "world")...)
	refused(t, s, "streaming_state_conflict", "chat.update", append(at, "text", "x")...)
	refused(t, s, "streaming_state_conflict", "chat.delete", at...)
	refused(t, s, "message_not_owned_by_app", "chat.appendStream", "channel", "C1", "ts", root, "markdown_text", "x")
	refused(t, s, "", "chat.stopStream", at...)
	for _, method := range []string{"chat.appendStream", "chat.stopStream"} {
		refused(t, s, "message_not_in_streaming_state", method, append(at, "markdown_text", "x")...)
	}
	if m := s.Sent(slacktest.Where{Channel: "C1", Thread: root}); len(m) != 1 || m[0].Text != "Hello world" || m[0].Streaming || !m[0].Streamed {
		t.Errorf("the thread shows %+v", m)
	}
	refused(t, s, "", "chat.update", append(at, "text", "Hello, world.")...)
	refused(t, s, "", "chat.delete", at...)
	refused(t, s, "message_not_found", "chat.delete", at...)
	refused(t, s, "cant_delete_message", "chat.delete", "channel", "C1", "ts", root)
	ts = fmt.Sprint(call(t, s, "chat.startStream", whom...)["ts"])
	s.StopStream("C1", ts)
	refused(t, s, "stopped_by_user", "chat.appendStream", "channel", "C1", "ts", ts, "markdown_text", "x")
}

func TestTiers(t *testing.T) {
	t.Parallel()
	s := open(t, slacktest.Config{Tiers: true})
	ts := fmt.Sprint(call(t, s, "chat.postMessage", "channel", "C1", "text", "x")["ts"])
	for i := range 51 {
		want := ""
		if i == 50 {
			want = "ratelimited"
		}
		refused(t, s, want, "chat.update", "channel", "C1", "ts", ts, "text", fmt.Sprint(i))
	}
}

// A file is told by its id, and served to the bot that may read it.
func TestFiles(t *testing.T) {
	t.Parallel()
	for _, may := range []bool{true, false} {
		cfg := slacktest.Config{}
		if !may {
			cfg.Scopes = []string{"chat:write"}
		}
		s := open(t, cfg)
		ts := s.Say("UANA", slacktest.Where{Channel: "C1"}, "look", slacktest.Attach("a.png", "image/png", []byte("\x89PNG")))
		id := s.Messages(slacktest.Where{Channel: "C1"})[0].Files[0].ID
		if !may {
			refused(t, s, "missing_scope", "files.info", "file", id)
		}
		for _, token := range []string{slacktest.DefaultBotToken, slacktest.DefaultAppToken} {
			req, err := http.NewRequest(http.MethodGet, strings.TrimSuffix(s.URL, "/api/")+"/files-pri/"+slacktest.DefaultTeam+"-"+id+"/a.png", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+token)
			resp, err := s.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if served := string(got) == "\x89PNG"; served != (may && token == slacktest.DefaultBotToken) {
				t.Errorf("may %v, token %s: %q", may, token, got)
			}
		}
		s.Discard("C1", ts)
		if may {
			refused(t, s, "file_not_found", "files.info", "file", id)
		}
	}
}
