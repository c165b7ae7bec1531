package terminal_test

import (
	"context"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/terminal"
	"parley/core"
)

// feed is an input that a person types into. A line is handed out when the terminal asks for one.
type feed struct {
	mu     sync.Mutex
	lines  []string
	asking chan struct{} // closed while the terminal waits for a line that nobody has typed
	typed  chan struct{}
	closed bool
}

func newFeed() *feed { return &feed{asking: make(chan struct{}), typed: make(chan struct{}, 1)} }

func (f *feed) Read(p []byte) (int, error) {
	for {
		f.mu.Lock()
		if len(f.lines) > 0 {
			n := copy(p, f.lines[0])
			f.lines = f.lines[1:]
			f.mu.Unlock()
			return n, nil
		}
		if f.closed {
			f.mu.Unlock()
			return 0, io.EOF
		}
		close(f.asking)
		f.mu.Unlock()
		<-f.typed
	}
}

func (f *feed) put(line string, end bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if line != "" {
		f.lines = append(f.lines, line)
	}
	f.closed = f.closed || end
	select {
	case <-f.asking: // it waits: from now on it does not
		f.asking = make(chan struct{})
		f.typed <- struct{}{}
	default:
	}
}

func (f *feed) quiet() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asking
}

// console is a Platform: one person at a pipe, at whose end the program is started again.
type console struct {
	out *screen
	mu  sync.Mutex
	in  *feed
	n   int
}

func (c *console) Caps() channeltest.Caps { return channeltest.Caps{Slash: true} }

func (c *console) Adapter(t testing.TB, turns channels.Turns) channels.Adapter {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.in != nil {
		c.in.put("", true)
	}
	c.in = newFeed()
	t.Cleanup(func() { c.in.put("", true) })
	a, err := terminal.New(terminal.Config{
		Agent: channeltest.Agent, Person: "local:alice", In: c.in, Out: c.out, Turns: turns, Now: time.Now,
		NewID: func() string { c.n++; return strconv.Itoa(c.n) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (c *console) Person(name string) core.PersonID { return core.PersonID("local:" + name) }

func (c *console) Conversation(channeltest.Room) core.ConversationID {
	return core.NewConversation(channeltest.Agent, "terminal", "alice/default")
}

func (c *console) Say(_ testing.TB, s channeltest.Saying) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in.put(s.Text+"\n", false)
	return ""
}

func (c *console) Press(testing.TB, string, channeltest.Room, string, string) {}
func (c *console) Release()                                                   {}

func (c *console) Quiet(t testing.TB) {
	t.Helper()
	c.mu.Lock()
	asking := c.in.quiet()
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	select {
	case <-asking:
	case <-ctx.Done():
		t.Fatalf("the terminal does not ask for a line:\n%s", c.out)
	}
}

// Shown is every line of output but the echo.
func (c *console) Shown(channeltest.Room) (out []channeltest.Seen) {
	for line := range strings.SplitSeq(c.out.String(), "\n") {
		if line != "" && !strings.HasPrefix(line, "you:") {
			out = append(out, channeltest.Seen{Text: line})
		}
	}
	return out
}

func TestSuite(t *testing.T) {
	t.Parallel()
	channeltest.Suite(t, 14, func(testing.TB) channeltest.Platform { return &console{out: &screen{}} })
}
