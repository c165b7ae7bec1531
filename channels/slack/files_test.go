package slack

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/slack/slacktest"
	"parley/core"
)

// shared has ana send a picture, and returns the message as it was handed in.
func (r *rig) shared(data []byte) core.Message {
	r.t.Helper()
	r.srv.Say(ana, dm, "look", slacktest.Attach("cat.png", "image/png", data))
	synctest.Wait()
	m := r.sink.Only(r.t)
	if len(m.Files) != 1 || m.Files[0].Ref == "" || m.Files[0].Type != "image/png" || m.Files[0].Size != int64(len(data)) || m.Text != "look" {
		r.t.Fatalf("handed in %+v", m)
	}
	return m
}

func TestReadFile(t *testing.T) {
	png := append([]byte("\x89PNG\r\n\x1a\n\x00"), bytes.Repeat([]byte{0xff}, 100000)...)
	both(t, func(t *testing.T, how rigOption) {
		r := newRig(t, how)
		r.start()
		m := r.shared(png)
		for range 2 {
			got, err := r.a.ReadFile(t.Context(), m, m.Files[0])
			if err != nil || !bytes.Equal(got, png) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			r.restart()
		}
	})
}

func TestReadFileFails(t *testing.T) {
	page := slacktest.Fault{Status: 200, Body: "<html>" + slacktest.DefaultBotToken}
	for name, tt := range map[string]struct {
		size   int
		breaks func(*rig, core.Message)
		ref    string
		err    error
		says   string
	}{
		"deleted": {9, func(r *rig, m core.Message) { _, ts, _ := parseMessageID(m.ID); r.srv.Discard(dm.Channel, ts) }, "", channels.ErrFileGone, "file_not_found"},
		"too big": {channels.MaxFile + 1, nil, "", channels.ErrFileTooBig, "5 MB"},
		"no scope": {9, func(r *rig, _ core.Message) {
			r.srv.Fail("files.info", slacktest.Fault{Error: "missing_scope", Needed: "files:read"})
		}, "", channels.ErrFileGone, "install the app again"},
		"a page":     {9, func(r *rig, _ core.Message) { r.srv.Fail(slacktest.Download, page) }, "", channels.ErrFileGone, "files:read"},
		"refused":    {9, func(r *rig, _ core.Message) { r.srv.Fail(slacktest.Download, slacktest.Fault{Status: 403}) }, "", channels.ErrFileGone, "403"},
		"a redirect": {9, func(r *rig, _ core.Message) { r.srv.Fail(slacktest.Download, slacktest.Fault{Status: 302}) }, "", channels.ErrFileGone, "redirect"},
		"down": {9, func(r *rig, _ core.Message) {
			r.srv.Fail(slacktest.Download, slacktest.Fault{Status: 500, Body: slacktest.DefaultBotToken})
		}, "", nil, "500"},
		"broken":      {9, func(r *rig, _ core.Message) { r.srv.Fail(slacktest.Download, slacktest.Fault{Reset: true, Times: 9}) }, "", nil, "EOF"},
		"hangs":       {9, func(r *rig, _ core.Message) { r.srv.Fail(slacktest.Download, slacktest.Fault{Hang: true}) }, "", context.DeadlineExceeded, "no answer in time"},
		"hangs early": {9, func(r *rig, _ core.Message) { r.srv.Fail("files.info", slacktest.Fault{Hang: true}) }, "", context.DeadlineExceeded, "no answer in time"},
		"limited":     {9, func(r *rig, _ core.Message) { r.srv.Fail("files.info", slacktest.Fault{Status: 429, RetryAfter: 9}) }, "", nil, "ratelimited"},
		"elsewhere":   {9, func(r *rig, m core.Message) { r.srv.Elsewhere(m.Files[0].Ref, "https://evil.test/cat.png") }, "", channels.ErrNotOpen, "not Slack's"},
		"no ref":      {9, nil, "../F1", channels.ErrNotOpen, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				r.start()
				m := r.shared(bytes.Repeat([]byte("x"), tt.size))
				if tt.breaks != nil {
					tt.breaks(r, m)
				}
				if tt.ref != "" {
					m.Files[0].Ref = tt.ref
				}
				channeltest.FileFails(t, r.a, m, tt.err, tt.says, r.log, r.srv.Secrets()...)
			})
		})
	}
}

// A file without the right to read it is not asked for with a page taken for its bytes.
func TestReadFileNeedsItsScope(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, func(s *slacktest.Config, _ *Config) { s.Scopes = strings.Fields("chat:write im:history users:read") })
		r.start()
		m := r.shared([]byte("x"))
		_, err := r.a.ReadFile(t.Context(), m, m.Files[0])
		if !errors.Is(err, channels.ErrFileGone) || !strings.Contains(err.Error(), "files:read") {
			t.Errorf("%v", err)
		}
	})
}

// The token goes to Slack and to where the Web API is, and nowhere else.
func TestTheTokenStaysWithSlack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		api, file string
		want      bool
	}{
		{"", "https://files.slack.com/files-pri/T1-F1/a.png", true},
		{"", "https://slack.com/files/a.png", true},
		{"", "https://FILES.slack.com:443/a.png", true},
		{"", "https://files.slack-gov.com/a.png", true},
		{"", "http://files.slack.com/a.png", false},
		{"", "https://files.slack.com:8443/a.png", false},
		{"", "https://evilslack.com/a.png", false},
		{"", "https://slack.com.evil.test/a.png", false},
		{"", "https://slack.com@evil.test/a.png", false},
		{"", "https://docs.google.com/a.png", false},
		{"", "http://127.0.0.1/a.png", false},
		{"", "/files/a.png", false},
		{"", "://", false},
		{"http://127.0.0.1:9000/api/", "http://127.0.0.1:9000/files/a.png", true},
		{"http://127.0.0.1:9000/api/", "http://127.0.0.1:9001/files/a.png", false},
		{"https://proxy.test/api/", "http://proxy.test/files/a.png", false},
		{"https://proxy.test/api/", "https://files.slack.com/a.png", true},
	} {
		c, err := newClient(tt.api, "xoxb-1", "", "", &http.Client{})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.serves(tt.file); got != tt.want {
			t.Errorf("api %q, file %q: %v", tt.api, tt.file, got)
		}
	}
}
