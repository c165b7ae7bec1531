package discord

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/discord/discordtest"
	"parley/core"
)

var png = append([]byte("\x89PNG\r\n\x1a\n\x00"), bytes.Repeat([]byte{0xff}, 100000)...)

// shared has ana send a file to the bot, and returns the message as it was handed in.
func (r *rig) shared(file discordtest.Said) core.Message {
	r.t.Helper()
	r.say("look", file)
	m := r.sink.Only(r.t)
	if len(m.Files) != 1 || m.Files[0].Ref == "" || m.Text != "look" {
		r.t.Fatalf("handed in %+v", m)
	}
	return m
}

// The address that came with a message is good for a day; a new one is asked for each time.
func TestReadFile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		m := r.shared(discordtest.Attach("cat.png", "image/png", png))
		if f := m.Files[0]; f.Type != "image/png" || f.Size != int64(len(png)) {
			t.Errorf("named %+v", f)
		}
		for range 2 {
			got, err := r.a.ReadFile(t.Context(), m, m.Files[0])
			if err != nil || !bytes.Equal(got, png) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			if err := r.Stop(); err != nil {
				t.Fatal(err)
			}
			after(48 * time.Hour)
			r.a = mustNew(t, r.cfg)
		}
	})
}

func TestReadFileFails(t *testing.T) {
	token := discordtest.DefaultToken
	download := func(f discordtest.Fault) func(*rig, core.Message) {
		return func(r *rig, _ core.Message) { r.srv.Fail(discordtest.Download, f) }
	}
	get := func(f discordtest.Fault) func(*rig, core.Message) {
		return func(r *rig, _ core.Message) { r.srv.Fail(discordtest.RouteMessage, f) }
	}
	claim := func(size int, at string) discordtest.Said {
		return discordtest.Claim("a.png", "image/png", make([]byte, channels.MaxFile+1), size, at)
	}
	for name, tt := range map[string]struct {
		file   discordtest.Said
		breaks func(*rig, core.Message)
		err    error
		says   string
	}{
		"taken off": {nil, func(r *rig, m core.Message) {
			_, id, _ := parseMessageID(m.ID)
			r.srv.Discard(r.room, discordtest.ID(id))
		}, channels.ErrFileGone, "has no file"},
		"deleted":             {nil, get(discordtest.Fault{Status: 404, Code: 10008, Message: "Unknown Message"}), channels.ErrFileGone, "Unknown Message"},
		"not seen":            {nil, get(discordtest.Fault{Status: 403, Code: 50001, Message: "Missing Access"}), channels.ErrFileGone, "Read Message History"},
		"too big":             {claim(0, ""), nil, channels.ErrFileTooBig, ""},
		"bigger than it says": {claim(9, ""), nil, channels.ErrFileTooBig, ""},
		"elsewhere":           {claim(9, "https://evil.test/a.png"), nil, channels.ErrNotOpen, "not Discord's"},
		"inside":              {claim(9, "http://127.0.0.1:1/a.png"), nil, channels.ErrNotOpen, "not Discord's"},
		"nothing there":       {nil, download(discordtest.Fault{Status: 404}), channels.ErrFileGone, "404"},
		"a redirect":          {nil, download(discordtest.Fault{Status: 302, Body: token}), channels.ErrFileGone, "redirect"},
		"down":                {nil, download(discordtest.Fault{Status: 502, Body: token}), nil, "502"},
		"broken":              {nil, download(discordtest.Fault{Reset: true, Times: 9}), nil, "EOF"},
		"hangs":               {nil, download(discordtest.Fault{Hang: true}), context.DeadlineExceeded, "no answer in time"},
		"hangs early":         {nil, get(discordtest.Fault{Hang: true}), context.DeadlineExceeded, "no answer in time"},
		"limited":             {nil, get(discordtest.Fault{Status: 429, RetryAfter: 9}), nil, "429"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				r.start()
				if tt.file == nil {
					tt.file = discordtest.Attach("cat.png", "image/png", png)
				}
				m := r.shared(tt.file)
				m.Files[0].Size = 0
				if tt.breaks != nil {
					tt.breaks(r, m)
				}
				channeltest.FileFails(t, r.a, m, tt.err, tt.says, r.log, r.srv.Token(), "attachment-secret")
			})
		})
	}
}

// Files are fetched from where Discord keeps them, and from nowhere else.
func TestFilesAreDiscords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		api, file string
		want      bool
	}{
		{"", "https://cdn.discordapp.com/attachments/1/2/a.png?ex=1", true},
		{"", "https://media.discordapp.net/attachments/1/2/a.png", true},
		{"", "https://CDN.discordapp.com:443/a.png", true},
		{"", "http://cdn.discordapp.com/a.png", false},
		{"", "https://cdn.discordapp.com:8443/a.png", false},
		{"", "https://cdn.discordapp.com.evil.test/a.png", false},
		{"", "https://cdn.discordapp.com@evil.test/a.png", false},
		{"", "https://evil.test/a.png", false},
		{"", "http://127.0.0.1/a.png", false},
		{"", "http://localhost/a.png", false},
		{"", "file:///etc/passwd", false},
		{"", "", false},
		{"http://127.0.0.1:9000/api/v9", "http://127.0.0.1:9000/attachments/a.png", true},
		{"http://127.0.0.1:9000/api/v9", "http://[::1]:9001/attachments/a.png", true},
		{"http://localhost:9000/api/v9", "file://127.0.0.1/etc/passwd", false},
		{"https://proxy.test/api", "https://proxy.test/a.png", true},
		{"https://proxy.test/api", "http://proxy.test/a.png", false},
		{"https://proxy.test/api", "http://127.0.0.1/a.png", false},
	} {
		c, err := newClient(tt.api, "t", &http.Client{})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.serves(tt.file); got != tt.want {
			t.Errorf("api %q, file %q: %v", tt.api, tt.file, got)
		}
	}
}
