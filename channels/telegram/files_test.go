package telegram

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/telegram/telegramtest"
	"parley/core"
)

// shared has ana send a file, and returns the message as it was handed in.
func (r *rig) shared(file telegramtest.Said) core.Message {
	r.t.Helper()
	r.srv.Say(ana, dm, "look", file)
	synctest.Wait()
	m := r.sink.Only(r.t)
	if len(m.Files) != 1 || m.Files[0].Ref == "" || m.Text != "look" {
		r.t.Fatalf("handed in %+v", m)
	}
	return m
}

func TestReadFile(t *testing.T) {
	small, large := []byte("\xff\xd8\xffsmall"), append([]byte("\xff\xd8\xff"), bytes.Repeat([]byte{0}, 90000)...)
	huge := bytes.Repeat([]byte("x"), channels.MaxFile+1)
	for name, tt := range map[string]struct {
		file telegramtest.Said
		kind string
		want []byte
	}{
		"a photo":                          {telegramtest.Photo(0, small, large), "image/jpeg", large},
		"a photo whose largest is too big": {telegramtest.Photo(0, small, large, huge), "image/jpeg", large},
		"a photo of unknown sizes":         {telegramtest.Photo(0, large), "image/jpeg", large},
		"a picture as a document":          {telegramtest.Attach("cat.png", "image/png", large), "image/png", large},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				r.start()
				m := r.shared(tt.file)
				if m.Files[0].Type != tt.kind || m.Files[0].Size != int64(len(tt.want)) {
					t.Errorf("named %+v", m.Files[0])
				}
				for range 2 {
					got, err := r.a.ReadFile(t.Context(), m, m.Files[0])
					if err != nil || !bytes.Equal(got, tt.want) {
						t.Fatalf("%d bytes, %v", len(got), err)
					}
					if err := r.Stop(); err != nil {
						t.Fatal(err)
					}
					r.a = mustNew(t, r.cfg)
				}
			})
		})
	}
}

func TestLargestSize(t *testing.T) {
	t.Parallel()
	at := func(w, h, size int64) object { return object{Width: w, Height: h, Size: size} }
	for name, tt := range map[string]struct {
		sizes []object
		want  int
	}{
		"the last":           {[]object{at(90, 60, 100), at(900, 600, 9000)}, 1},
		"in any order":       {[]object{at(900, 600, 9000), at(90, 60, 100)}, 0},
		"the last that fits": {[]object{at(90, 60, 100), at(900, 600, 9000), at(9000, 6000, channels.MaxFile+1)}, 1},
		"none fits":          {[]object{at(90, 60, channels.MaxFile+1), at(900, 600, channels.MaxFile+2)}, 0},
		"nothing is told":    {[]object{at(0, 0, 0)}, 0},
	} {
		if got := largest(tt.sizes); got != tt.sizes[tt.want] {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestReadFileFails(t *testing.T) {
	token := telegramtest.DefaultToken
	download := func(f telegramtest.Fault) func(*rig, core.Message) {
		return func(r *rig, _ core.Message) { r.srv.Fail(telegramtest.Download, f) }
	}
	get := func(f telegramtest.Fault) func(*rig, core.Message) {
		return func(r *rig, _ core.Message) { r.srv.Fail("getFile", f) }
	}
	for name, tt := range map[string]struct {
		file   telegramtest.Said
		breaks func(*rig, core.Message)
		err    error
		says   string
	}{
		"gone":                    {nil, func(r *rig, m core.Message) { _, id, _ := parseMessageID(m.ID); r.srv.Discard(dm, id) }, channels.ErrFileGone, "wrong file_id"},
		"too big to be read":      {telegramtest.Attach("a.png", "image/png", make([]byte, channels.MaxFile+1)), nil, channels.ErrFileTooBig, ""},
		"too big for bots":        {telegramtest.Attach("a.png", "image/png", make([]byte, 21<<20)), nil, channels.ErrFileTooBig, "file is too big"},
		"bigger than it says":     {telegramtest.Photo(9, make([]byte, channels.MaxFile+1)), nil, channels.ErrFileTooBig, ""},
		"a file of a disk":        {nil, func(r *rig, _ core.Message) { r.srv.Elsewhere("/var/lib/telegram-bot-api/photos/1.jpg") }, channels.ErrNotOpen, "local mode"},
		"a path upwards":          {nil, func(r *rig, _ core.Message) { r.srv.Elsewhere("photos/../../getMe") }, channels.ErrNotOpen, ""},
		"nothing there":           {nil, download(telegramtest.Fault{Status: 404}), channels.ErrFileGone, "404"},
		"a redirect":              {nil, download(telegramtest.Fault{Status: 302, Body: token}), channels.ErrFileGone, "redirect"},
		"down":                    {nil, download(telegramtest.Fault{Status: 502, Body: token}), nil, "502"},
		"broken":                  {nil, download(telegramtest.Fault{Reset: true, Times: 9}), nil, "EOF"},
		"hangs":                   {nil, download(telegramtest.Fault{Hang: true}), context.DeadlineExceeded, "no answer in time"},
		"hangs early":             {nil, get(telegramtest.Fault{Hang: true}), context.DeadlineExceeded, "no answer in time"},
		"an error with the token": {nil, get(telegramtest.Fault{Status: 400, Description: "Bad Request: /file/bot" + token}), channels.ErrFileGone, "[token]"},
		"limited":                 {nil, get(telegramtest.Fault{Status: 429, RetryAfter: 9}), nil, "429"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				r.start()
				if tt.file == nil {
					tt.file = telegramtest.Photo(0, []byte("\xff\xd8\xff"))
				}
				m := r.shared(tt.file)
				if tt.breaks != nil {
					tt.breaks(r, m)
				}
				channeltest.FileFails(t, r.a, m, tt.err, tt.says, r.log, r.srv.Token(), r.srv.Token()[5:])
			})
		})
	}
}

func FuzzEscapePath(f *testing.F) {
	for _, s := range []string{"photos/file_1.jpg", "/etc/passwd", "a/../b", "a?b#c/%2e%2e", "a\\..\\b", "", "a//b", "é/ü"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		escaped, ok := escapePath(path)
		if ok && (strings.ContainsAny(escaped, "?#\\ ") || strings.HasPrefix(escaped, "/") || strings.Contains("/"+escaped+"/", "/../")) {
			t.Errorf("%q becomes %q", path, escaped)
		}
	})
}
