package turn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/core/model"
)

const pngMagic = "\x89PNG\r\n\x1a\n"

// shelf keeps the files of the chat by their Ref and counts who reads them.
type shelf struct {
	mu     sync.Mutex
	files  map[string]string
	reads  map[string]int
	now    int // being read
	most   int // at once
	before func(ctx context.Context, ref string) error
}

func (s *shelf) read(ctx context.Context, _ core.Message, f core.File) ([]byte, error) {
	s.mu.Lock()
	s.reads[f.Ref]++
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.now--
	}()
	if s.before != nil {
		if err := s.before(ctx, f.Ref); err != nil {
			return nil, err
		}
	}
	data, ok := s.files[f.Ref]
	if !ok {
		return nil, errors.New("no such file")
	}
	return []byte(data), nil
}

// inGallery runs f in a world whose agent sees pictures.
func inGallery(t *testing.T, f func(t *testing.T, w *world, s *shelf)) {
	t.Helper()
	inBubble(t, func(t *testing.T, w *world) {
		s := &shelf{reads: map[string]int{}, files: map[string]string{}}
		for i := range 30 {
			s.files[fmt.Sprint(i)] = fmt.Sprintf("%s-%d", pngMagic, i)
		}
		w.agent.Images, w.readFile = true, s.read
		w.model = script()
		f(t, w, s)
	})
}

func png(ref string) core.File {
	return core.File{Name: ref + ".png", Type: "image/png", Size: 10, Ref: ref}
}

// sends is a message with files, and the last request that it led to.
func (w *world) sends(text string, files ...core.File) model.Request {
	w.t.Helper()
	m := w.message(ana, text)
	m.Files = files
	w.send(m)
	w.idle()
	return w.requests[len(w.requests)-1]
}

// seen are the pictures of a request, oldest first.
func seen(r model.Request) (out []string) {
	for _, m := range r.Messages {
		for _, img := range m.Images {
			out = append(out, strings.TrimPrefix(string(img.Data), pngMagic+"-"))
		}
	}
	return out
}

func TestPicturesAreShown(t *testing.T) {
	inGallery(t, func(t *testing.T, w *world, s *shelf) {
		w.model = script(calls("", `db__read {}`, `db__drop {}`))
		w.start()
		pdf := core.File{Name: "a.pdf", Type: "application/pdf", Size: 7, Ref: "9"}
		req := w.sends("look", png("1"), pdf, core.File{Name: "b.JPG", Ref: "2"})
		if got := seen(req); !slices.Equal(got, []string{"1", "2"}) {
			t.Fatalf("shown %q", got)
		}
		m := req.Messages[0]
		if m.Text != "look\n(sent a file: a.pdf, application/pdf, 7 bytes)" {
			t.Errorf("text %q", m.Text)
		}
		if m.Images[0].Name != "1.png" || m.Images[0].Type != "image/png" || m.Images[1].Type != "image/png" {
			t.Errorf("pictures %+v: the type is what the bytes say", m.Images)
		}
		w.say(ana, "yes")
		if got := seen(w.requests[len(w.requests)-1]); !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("shown again %q", got)
		}
		w.model = script()
		if got := seen(w.sends("", png("3"))); !slices.Equal(got, []string{"1", "2", "3"}) {
			t.Errorf("shown with the history %q", got)
		}
		for ref, n := range s.reads {
			if n != 1 {
				t.Errorf("%s was read %d times", ref, n)
			}
		}
		if len(s.reads) != 3 {
			t.Errorf("read %v", s.reads)
		}
	})
}

// The journal knows nothing of pictures: a turn with them has the steps of one without, and no byte of them
// is stored.
func TestPicturesAreNotRecorded(t *testing.T) {
	inGallery(t, func(t *testing.T, w *world, s *shelf) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		s.files["1"] = pngMagic + "the bytes of a picture"
		w.sends("look", png("1"))
		delete(s.files, "1") // gone from the platform
		w.restart()
		w.say(ana, "yes")
		want := []string{"model:1", "persist:toolcall:c1_1", "tool:RUN:c1_1", "result:c1_1", "model:2"}
		if got := stepNames(t, w); !slices.Equal(got, want) {
			t.Errorf("steps %q, want %q", got, want)
		}
		last := w.requests[len(w.requests)-1]
		if text := last.Messages[0].Text; len(seen(last)) != 0 || text != "look\n(sent a picture that could not be opened: 1.png, image/png, 10 bytes)" {
			t.Errorf("text %q", text)
		}
		w.close()
		raw, err := os.ReadFile(w.path)
		if err != nil || bytes.Contains(raw, []byte("the bytes of a picture")) || !bytes.Contains(raw, []byte("1.png")) {
			t.Errorf("the store holds a picture, or not its name: %v", err)
		}
	})
}

func TestPicturesThatCannotBeOpened(t *testing.T) {
	for name, tc := range map[string]struct {
		file  core.File
		spoil func(*shelf)
		text  string
		took  time.Duration
	}{
		"gone":        {file: png("none"), text: "(sent a picture that could not be opened: none.png, image/png, 10 bytes)"},
		"no picture":  {file: png("1"), spoil: func(s *shelf) { s.files["1"] = "<html>log in first</html>" }, text: "(sent a picture that could not be opened: 1.png, image/png, 10 bytes)"},
		"empty":       {file: png("1"), spoil: func(s *shelf) { s.files["1"] = "" }, text: "(sent a picture that could not be opened: 1.png, image/png, 10 bytes)"},
		"large":       {file: png("1"), spoil: func(s *shelf) { s.files["1"] += strings.Repeat("x", model.MaxImageBytes) }, text: "(sent a picture that is too large to be seen: 1.png, image/png, 10 bytes)"},
		"said large":  {file: core.File{Name: "x.gif", Type: "image/gif", Size: 6 << 20, Ref: "1"}, text: "(sent a picture that is too large to be seen: x.gif, image/gif, 6291456 bytes)"},
		"without Ref": {file: core.File{Name: "x.gif", Type: "image/gif", Size: 6}, text: "(sent a file: x.gif, image/gif, 6 bytes)"},
		"slow": {file: png("1"), spoil: func(s *shelf) {
			s.before = func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
		}, text: "(sent a picture that could not be opened: 1.png, image/png, 10 bytes)", took: 15 * time.Second},
		"crash": {file: png("1"), spoil: func(s *shelf) {
			s.before = func(context.Context, string) error { panic("a reader's bug") }
		}, text: "(sent a picture that could not be opened: 1.png, image/png, 10 bytes)"},
	} {
		t.Run(name, func(t *testing.T) {
			inGallery(t, func(t *testing.T, w *world, s *shelf) {
				if tc.spoil != nil {
					tc.spoil(s)
				}
				w.model = script(calls("", `db__read {}`))
				w.start()
				began := time.Now()
				req := w.sends("", tc.file)
				if took := time.Since(began).Truncate(time.Second); took != tc.took {
					t.Errorf("took %v, want %v", took, tc.took)
				}
				if m := req.Messages[0]; m.Text != tc.text || len(m.Images) != 0 {
					t.Errorf("told %q with %d pictures, want %q", m.Text, len(m.Images), tc.text)
				}
				w.wantLines("say end")
				if n := s.reads[tc.file.Ref]; n > 1 {
					t.Errorf("read %d times within one turn", n)
				}
			})
		})
	}
}

func TestPicturesThatFailedAreTriedAgainLater(t *testing.T) {
	inGallery(t, func(t *testing.T, w *world, s *shelf) {
		w.start()
		s.before = func(context.Context, string) error { return errors.New("busy") }
		w.sends("look", png("1"))
		s.before = nil
		if got := seen(w.sends("and now?")); len(got) != 0 {
			t.Errorf("shown %q at once", got)
		}
		w.pass(5 * time.Minute)
		if got := seen(w.sends("and now?")); !slices.Equal(got, []string{"1"}) {
			t.Errorf("shown %q after a while", got)
		}
	})
}

func TestPicturesAreBounded(t *testing.T) {
	inGallery(t, func(t *testing.T, w *world, s *shelf) {
		s.before = func(context.Context, string) error { <-time.After(time.Second); return nil }
		w.start()
		var first, second []core.File
		for i := range 13 {
			first, second = append(first, png(fmt.Sprint(i))), append(second, png(fmt.Sprint(13+i)))
		}
		w.sends("first", first...)
		req := w.sends("second", second...)
		got := seen(req)
		if len(got) != model.MaxImages || got[0] != "0" || got[7] != "13" || got[19] != "25" {
			t.Errorf("shown %q", got)
		}
		if text := req.Messages[0].Text; !strings.HasSuffix(text, "(sent a picture that is not shown, to save room: 12.png, image/png, 10 bytes)") {
			t.Errorf("text %q", text)
		}
		if s.most > 4 || s.most < 2 {
			t.Errorf("%d were read at once", s.most)
		}
		for i := range 6 { // 4 MB each: five of them are all that fits
			s.files[fmt.Sprintf("big%d", i)] = pngMagic + strings.Repeat(fmt.Sprint(i), 4<<20-len(pngMagic))
		}
		req = w.sends("third", png("big0"), png("big1"), png("big2"), png("big3"), png("big4"), png("big5"))
		if got := seen(req); len(got) != 5 {
			t.Errorf("%d pictures of 4 MB each are shown", len(got))
		}
	})
}

func TestNoPicturesWhereNobodyLooks(t *testing.T) {
	inGallery(t, func(t *testing.T, w *world, s *shelf) {
		w.agent.Images = false
		w.start()
		req := w.sends("look", png("1"))
		if m := req.Messages[0]; m.Text != "look\n(sent a file: 1.png, image/png, 10 bytes)" || len(m.Images) != 0 || len(s.reads) != 0 {
			t.Errorf("message %+v, read %v", m, s.reads)
		}
		w.agent.Images, w.readFile = true, nil
		w.restart()
		if m := w.sends("again").Messages[0]; m.Text != "look\n(sent a file: 1.png, image/png, 10 bytes)" {
			t.Errorf("message %+v", m)
		}
	})
}

// What no longer fits the model goes with its pictures, which are not even read.
func TestPicturesGoWithTheirMessage(t *testing.T) {
	inGallery(t, func(t *testing.T, w *world, s *shelf) {
		w.start()
		w.sends("first", png("1"))
		w.agent.ContextTokens = 2000 // one picture fits
		w.restart()
		s.reads = map[string]int{}
		req := w.sends("second", png("2"))
		if got := seen(req); !slices.Equal(got, []string{"2"}) || s.reads["1"] != 0 || req.Messages[0].Text != model.LeftOut {
			t.Errorf("shown %q, read %v, first %q", got, s.reads, req.Messages[0].Text)
		}
	})
}

func TestAbortWhileAPictureIsRead(t *testing.T) {
	inGallery(t, func(t *testing.T, w *world, s *shelf) {
		s.before = func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
		w.start()
		m := w.message(ana, "look")
		m.Files = []core.File{png("1")}
		w.send(m)
		synctest.Wait()
		began := time.Now()
		w.send(w.message(ana, "cancel"))
		w.idle()
		if took := time.Since(began); took > time.Second || len(w.requests) != 0 {
			t.Errorf("took %v, %d requests", took, len(w.requests))
		}
		w.wantLines("note aborted")
		s.before = nil
		if got := seen(w.sends("and now?")); !slices.Equal(got, []string{"1"}) {
			t.Errorf("shown %q: an abort is no failure of the picture", got)
		}
	})
}
