package channels_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/core"
	"parley/core/turn"
	"parley/render"
)

// notebook is a Memory that outlives hubs.
type notebook struct {
	mu   sync.Mutex
	m    map[string][]byte
	fail bool
}

func (n *notebook) Remember(_ context.Context, name string, value []byte, _ time.Duration) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fail {
		return errors.New("disk full")
	}
	if n.m == nil {
		n.m = map[string][]byte{}
	}
	n.m[name] = value
	return nil
}

func (n *notebook) Recall(_ context.Context, name string) ([]byte, bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	v, ok := n.m[name]
	return v, ok, nil
}

func (n *notebook) refuse(on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fail = on
}

// next is another process over the same platform, engine and memory, until the test ends.
func (w *writer) next(a channels.Adapter, m channels.Memory) {
	w.t.Helper()
	if err := w.stop(); err != nil {
		w.t.Fatal(err)
	}
	pass(time.Second)
	hub, err := channels.NewHub(channels.Config{Turns: w.turns, Now: time.Now, Memory: m, Channels: []channels.Channel{{Adapter: a, Streams: true}}})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- hub.Run(ctx) }()
	w.stop = func() error { cancel(); return <-done }
	w.t.Cleanup(func() { cancel() })
}

// A kill at any point leaves one message with the whole reply.
func TestOneReplyAcrossAKill(t *testing.T) {
	t.Parallel()
	final := core.Out{Kind: core.OutReply, Run: "r1", Text: "It is four."}
	for name, tt := range map[string]struct {
		knows bool
		// lost is how the first call ends, though it was made.
		lost error
		// after is what happens once the next process stands.
		after func(w *writer)
		want  []string
	}{
		"the next process sends the row": {false, nil, func(w *writer) { w.stops(final) }, []string{"It is four."}},
		"the next process writes on": {false, nil, func(w *writer) {
			w.write("r1", "It is three, no")
			pass(2 * time.Second)
			w.want("It is three, no …")
			w.stops(final)
		}, []string{"It is four."}},
		"killed between the call and its note": {true, &channels.SendError{Unsure: true, Err: errors.New("killed")}, func(w *writer) { w.stops(final) }, []string{"It is four."}},
		"killed there, and it writes on": {true, &channels.SendError{Unsure: true, Err: errors.New("killed")}, func(w *writer) {
			w.write("r1", "It is three, no")
			pass(2 * time.Second)
			w.stops(final)
		}, []string{"It is four."}},
		"the run was cancelled": {false, nil, func(w *writer) {
			w.stops(core.Out{Kind: core.OutNote, Note: core.NoteAborted, Run: "r1", Person: "p:1"})
		}, nil},
		"another run": {false, nil, func(w *writer) {
			w.stops(core.Out{Kind: core.OutReply, Run: "r2", Text: "Else."})
		}, []string{"It is …", "Else."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				kept := &notebook{}
				w := newWriter(t, editing, func(_ *channels.Channel, cfg *channels.Config, s *stand) { cfg.Memory, s.Knows = kept, tt.knows })
				if tt.lost != nil {
					w.Fail(channeltest.Failing{Err: tt.lost, Lost: true}, channeltest.Failing{Err: tt.lost}, channeltest.Failing{Err: tt.lost})
				}
				w.write("r1", "It is")
				pass(2 * time.Second)
				w.Fail() // no more of them than were used
				w.next(w.Fake, kept)
				tt.after(w)
				pass(time.Minute)
				if name == "the run was cancelled" {
					if got := texts(w.Shown("room")); len(got) != 1 || strings.Contains(got[0], "It is") {
						t.Errorf("shown %q", got)
					}
					return
				}
				w.want(tt.want...)
				if rows := w.turns.Rows(); len(rows) != 0 {
					t.Errorf("%d rows left", len(rows))
				}
			})
		})
	}
}

// A receipt that was not stored has the row shown again in the same message; what the run writes later is a
// message of its own.
func TestATakenMessageIsTheRowsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := &notebook{}
		var lose atomic.Bool
		lose.Store(true)
		w := newWriter(t, editing, func(_ *channels.Channel, cfg *channels.Config, s *stand) {
			cfg.Memory, cfg.Grace = kept, time.Second
			s.turns.OnSent = func(core.Out, core.Receipt) error {
				if lose.Load() {
					return errors.New("killed")
				}
				return nil
			}
		})
		w.write("r1", "It is")
		pass(2 * time.Second)
		w.stops(core.Out{Kind: core.OutReply, Run: "r1", Text: "It is four."})
		w.want("It is four.")
		lose.Store(false)
		w.next(w.Fake, kept)
		pass(5 * time.Second)
		w.want("It is four.")
		if n := len(w.turns.Receipts()); n != 1 {
			t.Fatalf("%d receipts", n)
		}
		w.write("r1", "And then")
		pass(2 * time.Second)
		w.next(w.Fake, kept)
		w.want("It is four.", "And then …")
		w.stops(core.Out{Kind: core.OutReply, Run: "r1", Text: "And then five."})
		pass(5 * time.Second)
		w.want("It is four.", "And then five.")
	})
}

// What cannot be remembered is not shown before it is whole.
func TestNothingIsStreamedThatCannotBeRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := &notebook{fail: true}
		w := newWriter(t, editing, func(_ *channels.Channel, cfg *channels.Config, _ *stand) { cfg.Memory = kept })
		w.write("r1", "It")
		pass(1500 * time.Millisecond)
		w.want()
		kept.refuse(false)
		w.write("r1", "It is")
		pass(2 * time.Second)
		w.want("It is …")
	})
}

// river is a platform with streams of its own.
type river struct {
	*channeltest.Fake
	mu   sync.Mutex
	text string // of the open stream, "" for none
	said []string
	none bool
	errs []error
}

func (r *river) OpenStream(ctx context.Context, to channels.Target, text string) (channels.Sent, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.none || to.For == "" {
		return channels.Sent{}, channels.ErrNoStream
	}
	r.said = append(r.said, text)
	r.text = text
	return r.Fake.Send(ctx, to, render.Part{Text: "~" + text})
}

func (r *river) GrowStream(ctx context.Context, to channels.Target, message, more string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.errs) > 0 {
		err := r.errs[0]
		r.errs = r.errs[1:]
		return err
	}
	r.said = append(r.said, more)
	r.text += more
	return r.Fake.Edit(ctx, to, message, render.Part{Text: "~" + r.text})
}

// inRiver streams a reply on a platform that has streams.
func inRiver(t *testing.T, f func(t *testing.T, w *writer, r *river)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &river{}
		w := newWriter(t, editing, func(c *channels.Channel, _ *channels.Config, s *stand) {
			r.Fake = s.Fake
			c.Adapter = r
			show := s.turns.OnShow
			s.turns.OnShow = func(row core.Out) (turn.Shown, error) {
				shown, err := show(row)
				shown.Run.Message.From = "p:1"
				return shown, err
			}
		})
		f(t, w, r)
	})
}

func TestReplyFlowsInAStream(t *testing.T) {
	inRiver(t, func(t *testing.T, w *writer, r *river) {
		w.write("r1", "It is fo")
		pass(1200 * time.Millisecond)
		w.want("~It is ")
		w.write("r1", "It is four [a](https://x")
		pass(1200 * time.Millisecond)
		w.want("~It is four ")
		w.stops(core.Out{Kind: core.OutReply, Run: "r1", Text: "It is four."})
		w.want("It is four.")
		if !slices.Equal(r.said, []string{"It is ", "four "}) {
			t.Errorf("the stream was given %q", r.said)
		}
	})
}

func TestStreamsFallBackToEdits(t *testing.T) {
	inRiver(t, func(t *testing.T, w *writer, r *river) {
		r.none = true
		w.write("r1", "It is")
		pass(1200 * time.Millisecond)
		w.want("It is …")
		w.stops(core.Out{Kind: core.OutReply, Run: "r1", Text: "It is four."})
		w.want("It is four.")
		r.none = false
		w.write("r2", "Then five ")
		pass(1200 * time.Millisecond)
		w.want("It is four.", "~Then five ")
		w.write("r2", "No, ") // taken back
		pass(1200 * time.Millisecond)
		w.want("It is four.", "No, …")
		w.stops(core.Out{Kind: core.OutReply, Run: "r2", Text: "No, six."})
		w.want("It is four.", "No, six.")
		r.errs = []error{channels.ErrNoStream}
		w.write("r3", "And ")
		pass(1200 * time.Millisecond)
		w.write("r3", "And so ")
		pass(1200 * time.Millisecond)
		w.want("It is four.", "No, six.", "And so …")
		w.stops(core.Out{Kind: core.OutNote, Note: core.NoteAborted, Run: "r3", Person: "p:1"})
		if got := texts(w.Shown("room")); len(got) != 4 || got[2] != "And so" && got[2] != "And so " {
			t.Errorf("shown %q", got)
		}
	})
}

// pencil is a platform with drafts.
type pencil struct {
	*channeltest.Fake
	mu     sync.Mutex
	drafts []string
	keys   map[string]bool
	none   bool
}

func (p *pencil) Draft(_ context.Context, to channels.Target, part render.Part) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.none {
		return channels.ErrNoStream
	}
	p.drafts, p.keys[to.Key] = append(p.drafts, part.Text), true
	return nil
}

func (p *pencil) drawn() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.drafts)
}

func inPencil(t *testing.T, none bool, f func(t *testing.T, w *writer, p *pencil)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pencil{keys: map[string]bool{}, none: none}
		w := newWriter(t, editing, func(c *channels.Channel, _ *channels.Config, s *stand) {
			p.Fake = s.Fake
			c.Adapter = p
		})
		f(t, w, p)
	})
}

// A draft is no message: the reply is sent once, and after a kill as well. One that stands still is drawn
// again before it is gone.
func TestReplyIsDrafted(t *testing.T) {
	inPencil(t, false, func(t *testing.T, w *writer, p *pencil) {
		w.write("r1", "It")
		pass(1200 * time.Millisecond)
		w.write("r1", "It is")
		pass(50 * time.Second)
		w.want()
		if got := p.drawn(); !slices.Equal(got, []string{"It …", "It is …", "It is …", "It is …"}) || len(p.keys) != 1 {
			t.Errorf("drafts %q under %d keys", got, len(p.keys))
		}
		w.next(p, &notebook{})
		w.stops(core.Out{Kind: core.OutReply, Run: "r1", Text: "It is four."})
		pass(time.Minute)
		w.want("It is four.")
		if n := len(p.drawn()); n != 4 {
			t.Errorf("%d drafts", n)
		}
	})
}

func TestDraftsFallBackToEdits(t *testing.T) {
	inPencil(t, true, func(t *testing.T, w *writer, p *pencil) {
		w.write("r1", "It")
		pass(1200 * time.Millisecond)
		w.want("It …")
		pass(time.Minute)
		w.stops(core.Out{Kind: core.OutReply, Run: "r1", Text: "It is four."})
		w.want("It is four.")
	})
}
