package terminal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/terminal"
	"parley/core"
	"parley/core/turn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// screen is a writer that breaks when told to. before, if set, is called with each write that comes.
type screen struct {
	mu     sync.Mutex
	buf    bytes.Buffer
	err    error
	before func(string)
}

func (s *screen) Write(p []byte) (int, error) {
	if s.before != nil {
		s.before(string(p))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	return s.buf.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

func (s *screen) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// desk is a terminal with a hub and an engine that echoes.
type desk struct {
	*terminal.Adapter
	in    *io.PipeWriter
	out   *screen
	turns *channeltest.Turns
	hub   *channels.Hub
	stop  context.CancelFunc
	done  chan error
}

func newDesk(t *testing.T, change func(*terminal.Config)) *desk {
	t.Helper()
	r, w := io.Pipe()
	d := &desk{in: w, out: &screen{}, turns: channeltest.NewTurns(time.Now), done: make(chan error, 1)}
	n := 0
	cfg := terminal.Config{
		Agent: "ops", Person: "local:alice", In: r, Out: d.out, Turns: d.turns, Now: time.Now,
		NewID: func() string { n++; return fmt.Sprint(n) },
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if d.Adapter, err = terminal.New(cfg); err != nil {
		t.Fatal(err)
	}
	d.hub, err = channels.NewHub(channels.Config{
		Turns: d.turns, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Channels: []channels.Channel{{Adapter: d.Adapter, Access: channels.Access{Allow: []core.PersonID{"local:alice"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.turns.OnAccept = func(_ context.Context, m core.Message) (turn.Accepted, error) {
		d.turns.Put(core.Out{Kind: core.OutReply, Conversation: m.Conversation, Run: core.RunID(m.Text)})
		return turn.Accepted{Did: core.DoStart}, nil
	}
	return d
}

// start runs the hub until the test ends or its input does.
func (d *desk) start(t *testing.T) *desk {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	d.stop = cancel
	go func() { d.done <- d.hub.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		d.in.Close()
	})
	return d
}

func (d *desk) typeLine(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(d.in, text); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func (d *desk) end(t *testing.T) error {
	t.Helper()
	d.in.Close()
	return <-d.done
}

func TestPipe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil).start(t)
		d.turns.OnShow = func(row core.Out) (turn.Shown, error) {
			return turn.Shown{Row: row, Run: core.Run{Text: "one\n\ntwo"}, Input: pending("Sure?")}, nil
		}
		d.typeLine(t, "hello\n\n  \nbye")
		if err := d.end(t); err != nil {
			t.Fatal(err)
		}
		out := d.out.String()
		for line := range strings.SplitSeq(strings.TrimSuffix(out, "\n"), "\n") {
			if p, _, _ := strings.Cut(line, ":"); p != "say" && p != "ask" && p != "note" && p != "you" {
				t.Errorf("line %q has no prefix", line)
			}
		}
		if !strings.HasPrefix(out, "you: hello\nsay: one\nsay:\nsay: two\nask: ") || strings.Count(out, "you: ") != 2 {
			t.Errorf("output\n%s", out)
		}
		if got := d.turns.Accepted(); len(got) != 2 || got[1].Text != "bye" {
			t.Errorf("accepted %+v", got)
		}
	})
}

func pending(message string) *core.Input {
	return &core.Input{
		ID: "i1", Conversation: core.NewConversation("ops", "terminal", "alice/default"), Run: "r1",
		Kind: core.KindApproval, State: core.InputPending, Message: message, Tool: "drop", Source: "db",
		Responders: core.Responders{Audience: []core.PersonID{"local:alice"}, Asker: "local:alice"},
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct{ name, typed, text, command string }{
		{"plain", "yes\n", "yes", ""},
		{"carriage return", "yes\r\n", "yes", ""},
		{"not UTF-8", "y\xffes\n", "y\uFFFDes", ""},
		{"spaces stay", "  a  b \n", "  a  b ", ""},
		{"command", "/cancel\n", "/cancel", "cancel"},
		{"command in capitals", " /HELP \n", " /HELP ", "help"},
		{"other slash", "/etc/passwd\n", "/etc/passwd", ""},
		{"100 kB", long[:100_000] + "\n", long[:100_000], ""},
		{"1 MiB", long[:1<<20-1] + "\n", long[:1<<20-1], ""},
		{"longer", long + long + "\nafter\n", "after", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, nil).start(t)
				d.typeLine(t, c.typed)
				if err := d.end(t); err != nil {
					t.Fatal(err)
				}
				got := d.turns.Accepted()
				if len(got) != 1 || got[0].Text != c.text || got[0].Command != c.command {
					t.Fatalf("%d messages, first of %d bytes, command %q", len(got), len(got[0].Text), got[0].Command)
				}
				if m := got[0]; m.From != "local:alice" || !m.Addressed || m.Shared || m.Conversation != "ops|terminal|alice/default" {
					t.Errorf("message %+v", m)
				}
				if c.name == "longer" && !strings.Contains(d.out.String(), "note: ") {
					t.Error("nothing is said of the line that was not taken")
				}
			})
		})
	}
}

func TestWhatWaitsIsShownAgainAtTheStart(t *testing.T) {
	t.Parallel()
	for _, wrong := range []bool{false, true} { // the clock may have gone back meanwhile
		t.Run(fmt.Sprintf("clockBack=%v", wrong), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, nil)
				in := pending("Sure?")
				order := uint64(time.Now().Add(-time.Hour).UnixNano())
				if wrong {
					order = uint64(time.Now().Add(time.Hour).UnixNano())
				}
				in.Prompts = []core.Prompt{{Conversation: in.Conversation, Messages: []string{"old"}, Order: order}}
				d.turns.SetWaiting(*in)
				d.start(t)
				synctest.Wait()
				if out := d.out.String(); !strings.HasPrefix(out, "ask: ") || !strings.Contains(out, "Sure?") {
					t.Fatalf("output %q", out)
				}
				d.typeLine(t, "yes\n")
				if got := d.turns.Accepted(); len(got) != 1 || got[0].Order <= order {
					t.Errorf("the answer does not stand after the prompt: %+v", got)
				}
				if n := len(d.turns.Receipts()); n != 1 { // the reply to the line alone
					t.Errorf("%d receipts: showing it again was stored", n)
				}
			})
		})
	}
}

// An input that is overdue is about to be closed, which is said then; its prompt is not shown any more.
func TestOverdueInputIsNotShownAtTheStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		in := pending("Sure?")
		in.ExpiresAt = time.Now()
		in.Prompts = []core.Prompt{{Conversation: in.Conversation, Messages: []string{"old"}, Order: 1}}
		d.turns.SetWaiting(*in)
		d.turns.OnShow = func(row core.Out) (turn.Shown, error) { return turn.Shown{Row: row, Input: in}, nil }
		d.turns.Put(core.Out{Kind: core.OutPrompt, Conversation: d.Conversation(), Input: in.ID})
		d.turns.Put(core.Out{Kind: core.OutNote, Note: core.NoteExpired, Conversation: d.Conversation(), Input: in.ID})
		d.start(t)
		synctest.Wait()
		if out := d.out.String(); strings.Contains(out, "ask: ") || !strings.HasPrefix(out, "note: ") {
			t.Errorf("output %q", out)
		}
	})
}

// No reply looks like a prompt, a note or the mark where to type.
func TestRepliesCannotImitate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, func(c *terminal.Config) { c.Interactive, c.Columns = true, func() int { return 40 } })
		d.turns.OnShow = func(row core.Out) (turn.Shown, error) {
			return turn.Shown{Row: row, Run: core.Run{Text: "hello\n│ Run db__drop? Reply approve or deny.\n> yes\n" + strings.Repeat("x", 38) + "> yes\n◈ Approved"}, Input: pending("Sure?")}, nil
		}
		d.start(t)
		d.turns.Put(core.Out{Kind: core.OutReply, Conversation: d.Conversation(), Run: "r1"})
		synctest.Wait()
		prompt := false
		for line := range strings.SplitSeq(d.out.String(), "\n") {
			line = strings.TrimPrefix(line, "\r  \r")
			prompt = prompt || strings.HasPrefix(line, "│ ◈")
			if !prompt && line != "" && !strings.HasPrefix(line, "  ") && line != "> " {
				t.Errorf("line %q begins at the edge", line)
			}
		}
		if !prompt {
			t.Errorf("output %q", d.out)
		}
	})
}

func TestPromptOfThisProcessIsNotShownTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		in := pending("Sure?")
		d.turns.OnShow = func(row core.Out) (turn.Shown, error) { return turn.Shown{Row: row, Input: in}, nil }
		d.turns.OnSent = func(_ core.Out, r core.Receipt) error {
			in.Prompts = []core.Prompt{{Conversation: in.Conversation, Messages: r.Messages, Order: r.Order}}
			d.turns.SetWaiting(*in)
			return nil
		}
		d.turns.Put(core.Out{Kind: core.OutPrompt, Conversation: d.Conversation(), Input: in.ID})
		d.start(t)
		synctest.Wait()
		if n := strings.Count(d.out.String(), "Sure?"); n != 1 {
			t.Errorf("shown %d times:\n%s", n, d.out)
		}
	})
}

func TestBrokenOutputLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil).start(t)
		synctest.Wait()
		d.out.fail(io.ErrClosedPipe)
		d.turns.OnAccept = nil
		d.turns.Put(core.Out{Kind: core.OutReply, Conversation: d.Conversation(), Run: "r1"})
		d.turns.Put(core.Out{Kind: core.OutReply, Conversation: d.Conversation(), Run: "r2"})
		var perm *channels.Permanent
		if err := <-d.done; !errors.As(err, &perm) || !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("ended with %v", err)
		}
		if rows := d.turns.Rows(); len(rows) != 2 || len(d.turns.Receipts()) != 0 {
			t.Errorf("rows %+v, receipts %+v", rows, d.turns.Receipts())
		}
	})
}

// A line that the output shows is stored; it is also stored where the output breaks before it shows.
func TestLineIsStoredBeforeItIsEchoed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil).start(t)
		var shown string
		d.turns.OnAccept = func(context.Context, core.Message) (turn.Accepted, error) {
			shown = d.out.String()
			d.out.fail(io.ErrClosedPipe)
			return turn.Accepted{Did: core.DoStart}, nil
		}
		d.typeLine(t, "drop it\n")
		var perm *channels.Permanent
		if err := <-d.done; !errors.As(err, &perm) {
			t.Errorf("ended with %v", err)
		}
		if shown != "" || len(d.turns.Accepted()) != 1 {
			t.Errorf("shown before it was stored: %q, accepted %d", shown, len(d.turns.Accepted()))
		}
	})
}

func TestStoreFailureIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil).start(t)
		ok := d.turns.OnAccept
		d.turns.OnAccept = func(context.Context, core.Message) (turn.Accepted, error) {
			return turn.Accepted{}, errors.New("disk full")
		}
		d.typeLine(t, "yes\n")
		if !strings.Contains(d.out.String(), "note: ") {
			t.Errorf("output %q", d.out)
		}
		d.turns.OnAccept = ok
		d.typeLine(t, "yes\n")
		if err := d.end(t); err != nil || len(d.turns.Accepted()) != 1 {
			t.Errorf("%v, accepted %d", err, len(d.turns.Accepted()))
		}
	})
}

func TestContextEndsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil).start(t)
		d.typeLine(t, "hello\n")
		d.stop()
		if err := <-d.done; err != nil {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestInputThatCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil).start(t)
		d.in.CloseWithError(errors.New("input/output error"))
		var perm *channels.Permanent
		if err := <-d.done; !errors.As(err, &perm) || perm.Hint == "" {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestInteractive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, func(c *terminal.Config) { c.Interactive = true }).start(t)
		d.typeLine(t, "hello\n")
		d.turns.Put(core.Out{Kind: core.OutReply, Conversation: d.Conversation(), Run: "late"})
		if err := d.end(t); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if out := d.out.String(); strings.Contains(out, "say: ") || strings.Contains(out, "you: ") || !strings.HasPrefix(out, ">   reply hello\n> ") {
			t.Errorf("output %q", out)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	good := func() terminal.Config {
		return terminal.Config{
			Agent: "ops", Person: "local:alice", In: strings.NewReader(""), Out: io.Discard,
			Turns: channeltest.NewTurns(time.Now), Now: time.Now, NewID: func() string { return "" },
		}
	}
	if _, err := terminal.New(good()); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*terminal.Config){
		"person of another platform": func(c *terminal.Config) { c.Person = "api:alice" },
		"no agent":                   func(c *terminal.Config) { c.Agent = "" },
		"no input":                   func(c *terminal.Config) { c.In = nil },
	} {
		c := good()
		change(&c)
		if _, err := terminal.New(c); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
