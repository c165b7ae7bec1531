package slack

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/slack/slacktest"
	"parley/core"
)

// stream is a place of Slack where replies are streamed.
type stream struct {
	*rig
	at     slacktest.Where // of the conversation, once somebody spoke
	direct bool
}

func (s *stream) Adapter() channels.Adapter {
	s.a = mustNew(s.t, s.cfg)
	return s.a
}

func (s *stream) Say(text string) {
	switch {
	case s.direct:
		s.at = dm
		s.srv.Say(ana, dm, text)
	case s.at.Channel == "":
		s.at = thread(ops, s.srv.Say(ana, ops, slacktest.Mention(text)))
	default:
		s.srv.Say(ana, s.at, text)
	}
	synctest.Wait()
}

func (s *stream) Shown() (out []string) {
	for _, m := range s.srv.Sent(s.at) {
		if m.Streaming {
			out = append(out, m.Text+"…") // as the client marks it
		} else {
			out = append(out, m.Text)
		}
	}
	return out
}

func (s *stream) Whole(shown, words string) bool {
	return shown == strings.ReplaceAll(words, "**", "*")
}

func newStream(t *testing.T, options ...rigOption) *stream {
	tiers := func(s *slacktest.Config, c *Config) {
		s.Tiers = true
		c.Knows = func(context.Context, core.ConversationID) (bool, error) { return true, nil } // what it hears here is its own
		c.Agent = channeltest.Agent
	}
	return &stream{rig: newRig(t, append([]rigOption{tiers}, options...)...)}
}

func noStreams(s *slacktest.Config, _ *Config) { s.NoStreams = true }

// In a thread a reply flows by Slack's own calls; in a direct chat without one, and where Slack has none, it is
// edited. Either way it ends in one message, whenever the program is stopped.
func TestStreams(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) channeltest.Streamer{
		"thread":          func(t *testing.T) channeltest.Streamer { return newStream(t) },
		"thread by edits": func(t *testing.T) channeltest.Streamer { return newStream(t, noStreams) },
		"direct chat": func(t *testing.T) channeltest.Streamer {
			s := newStream(t)
			s.direct = true
			return s
		},
	} {
		t.Run(name, func(t *testing.T) { channeltest.Streams(t, open) })
	}
}

// watch plays a turn on a stage and returns its place.
func watch(t *testing.T, faults func(*stream), options ...rigOption) *stream {
	t.Helper()
	s := newStream(t, options...)
	stage := channeltest.NewStage(t)
	stage.Start(s.Adapter())
	if faults != nil {
		faults(s)
	}
	s.Say("go")
	after(time.Minute)
	stage.Stop()
	return s
}

func TestAStreamUsesSlacksCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := watch(t, nil)
		start, more, stop := s.srv.Calls("chat.startStream"), s.srv.Calls("chat.appendStream"), s.srv.Calls("chat.stopStream")
		if len(start) != 1 || len(more) == 0 || len(stop) != 1 {
			t.Fatalf("%d streams begun, %d additions, %d ended: %q", len(start), len(more), len(stop), s.Shown())
		}
		p := start[0].Params
		if p["thread_ts"] != s.at.Thread || p["recipient_user_id"] != ana || p["recipient_team_id"] != slacktest.DefaultTeam || p["markdown_text"] == "" || p["text"] != "" {
			t.Errorf("begun with %v", p)
		}
		m := s.srv.Sent(s.at)
		if len(m) != 2 || !m[0].Streamed || m[0].Streaming || !s.Whole(m[0].Text, channeltest.FirstWords) || len(m[1].Controls) == 0 {
			t.Errorf("the thread shows %+v", m)
		}
	})
}

// Whatever fails, the thread ends with one message of all the words, and no call is over its limit.
func TestAStreamThatFails(t *testing.T) {
	t.Parallel()
	type f = slacktest.Fault
	for name, faults := range map[string]map[string][]f{
		"it cannot be begun":            {"chat.startStream": {{Error: "not_allowed_token_type", Times: 99}}},
		"nobody knows whether it began": {"chat.startStream": {{Applied: true, Reset: true}}},
		"it began, and says it failed":  {"chat.startStream": {{Applied: true, Error: "internal_error"}}},
		"it is not answered":            {"chat.startStream": {{Applied: true, Hang: true}}},
		"too many streams":              {"chat.startStream": {{Status: 429, RetryAfter: 2, Times: 2}}},
		"nothing can be added":          {"chat.appendStream": {{Error: "fatal_error", Times: 99}}},
		"it was stopped":                {"chat.appendStream": {{Error: "stopped_by_user", Times: 99}}},
		"it has ended":                  {"chat.appendStream": {{Error: "message_not_in_streaming_state", Times: 99}}},
		"too many additions":            {"chat.appendStream": {{Status: 429, RetryAfter: 2, Times: 2}}},
		"it cannot be ended at first":   {"chat.stopStream": {{Status: 502, Times: 2}}},
		"it cannot be ended":            {"chat.stopStream": {{Error: "internal_error", Times: 99}}, "chat.delete": {{Error: "internal_error"}}},
		"it cannot be edited":           {"chat.update": {{Error: "edit_window_closed", Times: 99}}},
		"too many edits":                {"chat.update": {{Status: 429, RetryAfter: 3, Times: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := watch(t, func(s *stream) {
					for method, list := range faults {
						s.srv.Fail(method, list...)
					}
				})
				shown := s.Shown()
				if name == "it cannot be ended" { // nor deleted: nothing but a second message is left
					shown = shown[1:]
				}
				if len(shown) != 2 || !s.Whole(shown[0], channeltest.FirstWords) || !strings.Contains(shown[1], channeltest.StageAsks) {
					t.Errorf("the thread shows %q", shown)
				}
				for _, c := range s.srv.Calls("") {
					if c.Error == "ratelimited" {
						t.Errorf("%s is over its limit", c.Method)
					}
				}
			})
		})
	}
}

// Ten threads at once keep to the limits of the methods, and end whole.
func TestStreamsKeepToTheLimits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStream(t)
		stage := channeltest.NewStage(t)
		stage.Start(s.Adapter())
		var roots []string
		for range 10 {
			roots = append(roots, s.srv.Say(ana, ops, slacktest.Mention("go")))
		}
		after(2 * time.Minute)
		stage.Stop()
		for _, root := range roots {
			s.at = thread(ops, root)
			if shown := s.Shown(); len(shown) != 2 || !s.Whole(shown[0], channeltest.FirstWords) {
				t.Errorf("a thread shows %q", shown)
			}
		}
		for _, c := range s.srv.Calls("") {
			if c.Error == "ratelimited" && c.Method != "chat.stopStream" {
				t.Errorf("%s is over its limit", c.Method)
			}
		}
	})
}

func TestWhatIsStreamedIsDefused(t *testing.T) {
	t.Parallel()
	got := defused("<!channel> <@U1> @here [x](https://evil.test/?q=1) www.evil.test mailto:a@b > ```a<b```")
	for _, live := range []string{"<", ">", "@h", "@U", "://", "](", "www.", "mailto:", "a@b"} {
		if strings.Contains(got, live) {
			t.Errorf("%q is alive in %q", live, got)
		}
	}
}

func TestStreamsHaveTheirPlace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		root := r.srv.Say(ana, ops, slacktest.Mention("go"))
		mine := r.srv.Say(ana, dm, "go")
		for name, tt := range map[string]struct {
			at   slacktest.Where
			who  core.PersonID
			want bool
		}{
			"a thread":                 {thread(ops, root), who(ana), true},
			"a thread of a chat":       {thread(dm, mine), "", true},
			"for nobody":               {thread(ops, root), "", false},
			"for somebody elsewhere":   {thread(ops, root), "telegram:1", false},
			"for a name without place": {thread(ops, root), "slack:UANA", false},
			"a channel":                {ops, who(ana), false},
			"a direct chat":            {dm, who(ana), false},
		} {
			target := to(tt.at)
			target.For = tt.who
			_, err := r.a.OpenStream(t.Context(), target, "hello ")
			if (err == nil) != tt.want {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestDelete(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		at := thread(ops, r.srv.Say(ana, ops, slacktest.Mention("go")))
		plain := r.send(at, part("x"))
		target := to(at)
		target.For = who(ana)
		open, err := r.a.OpenStream(t.Context(), target, "hello ")
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{plain.Message, open.Message, open.Message} { // twice is no failure
			if err := r.a.Delete(t.Context(), target, id); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
		if got := r.srv.Sent(at); len(got) != 0 {
			t.Errorf("the thread shows %+v", got)
		}
		if err := r.a.Delete(t.Context(), target, "nowhere"); err == nil {
			t.Error("a message of no place was deleted")
		}
	})
}
