package channels_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/channeltest/faketest"
	"parley/core"
	"parley/render"
)

// opener is an adapter whose files are what its function says.
type opener struct {
	*channeltest.Fake
	read func(context.Context, core.Message, core.File) ([]byte, error)
}

func (o opener) ReadFile(ctx context.Context, m core.Message, f core.File) ([]byte, error) {
	return o.read(ctx, m, f)
}

func TestHubReadsAFileThroughItsChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := func(name string) *channeltest.Fake { return channeltest.NewFake(name, render.Dialect{Name: "test"}) }
		adapters := []channels.Adapter{
			struct{ channels.Adapter }{fake("blind")},
			opener{fake("slow"), func(ctx context.Context, _ core.Message, _ core.File) ([]byte, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}},
			opener{fake("good"), func(_ context.Context, m core.Message, f core.File) ([]byte, error) {
				return []byte(m.ID + " " + f.Ref), nil
			}},
		}
		cfg := channels.Config{Turns: channeltest.NewTurns(time.Now), Now: time.Now}
		for _, a := range adapters {
			cfg.Channels = append(cfg.Channels, channels.Channel{Adapter: a})
		}
		h, err := channels.NewHub(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			channel string
			file    core.File
			want    string
			err     error
			says    string
		}{
			{"good", core.File{Name: "a.png", Ref: "r1"}, "m1 r1", nil, ""},
			{"good", core.File{Name: "a.png", Ref: "r1", Size: channels.MaxFile}, "m1 r1", nil, ""},
			{"good", core.File{Name: "a.png"}, "", channels.ErrNotOpen, `"a.png" of message m1`},
			{"good", core.File{Name: "a.png", Ref: "r1", Size: channels.MaxFile + 1}, "", channels.ErrFileTooBig, "5 MB"},
			{"blind", core.File{Name: "a.png", Ref: "r1"}, "", channels.ErrNotOpen, `"blind"`},
			{"elsewhere", core.File{Name: "a.png", Ref: "r1"}, "", channels.ErrNotOpen, `no channel "elsewhere"`},
			{"slow", core.File{Name: "a.png", Ref: "r1"}, "", context.DeadlineExceeded, ""},
		} {
			began := time.Now()
			got, err := h.ReadFile(t.Context(), core.Message{ID: "m1", Conversation: core.NewConversation("ops", tt.channel, "p")}, tt.file)
			if string(got) != tt.want || !errors.Is(err, tt.err) || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s %+v: %q, %v", tt.channel, tt.file, got, err)
			}
			if d := time.Since(began); d > channels.FileTimeout {
				t.Errorf("%s took %v", tt.channel, d)
			}
		}
	})
}

func TestDownload(t *testing.T) {
	t.Parallel()
	const secret = "very-secret-token"
	full := bytes.Repeat([]byte("x"), channels.MaxFile)
	endless := func(w http.ResponseWriter, n int) {
		for range n {
			if _, err := w.Write(full[:1<<20]); err != nil {
				return
			}
		}
	}
	for name, tt := range map[string]struct {
		serve func(http.ResponseWriter, *http.Request)
		want  []byte
		err   error
		says  string
	}{
		"as it is": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(r.Header.Get("Authorization") + "\x00\xff"))
		}, []byte(secret + "\x00\xff"), nil, ""},
		"just fits": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(full) }, full, nil, ""},
		"says that it is too big": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(full)+1))
		}, nil, channels.ErrFileTooBig, ""},
		"is too big without a word": {func(w http.ResponseWriter, _ *http.Request) { endless(w, 40) }, nil, channels.ErrFileTooBig, ""},
		"gone":                      {http.NotFound, nil, channels.ErrFileGone, "404"},
		"not ours":                  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }, nil, channels.ErrFileGone, "403"},
		"elsewhere":                 {http.RedirectHandler("http://elsewhere.test/"+secret, http.StatusFound).ServeHTTP, nil, channels.ErrFileGone, "redirect"},
		"down":                      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, nil, nil, "503"},
		"broken":                    {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil, nil, "EOF"},
		"a page":                    {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/html") }, nil, channels.ErrFileGone, "a page"},
		"hangs":                     {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil, context.DeadlineExceeded, "no answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, stop := faketest.InProcess(http.HandlerFunc(tt.serve))
				defer stop()
				ctx, cancel := context.WithTimeout(t.Context(), channels.FileTimeout)
				defer cancel()
				got, err := channels.Download{
					What: "test file", URL: "http://files.test/" + secret, Client: channels.HTTPClient(c), Header: http.Header{"Authorization": {secret}},
					Refuse: func(r *http.Response) error {
						if r.Header.Get("Content-Type") == "text/html" {
							return fmt.Errorf("a page: %w", channels.ErrFileGone)
						}
						return nil
					},
				}.Read(ctx)
				switch {
				case tt.err == nil && tt.says == "" && (err != nil || !bytes.Equal(got, tt.want)):
					t.Errorf("%d bytes, %v", len(got), err)
				case (tt.err != nil || tt.says != "") && (err == nil || got != nil || tt.err != nil && !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.says)):
					t.Errorf("%d bytes, %v", len(got), err)
				case channeltest.Leak(channeltest.Printed(err), secret, "files.test") != "":
					t.Errorf("it says %v", err)
				}
			})
		})
	}
}
