package program

import (
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// newHeldBench is a program in the terminal whose agent has a tool that asks inside its call.
func newHeldBench(t *testing.T) bench {
	t.Helper()
	box := stdioBox(t)
	box["env"].(map[string]any)[mcpOlder] = "1"
	return newBench(t, map[string]any{"ops": withServer(box)}, nil)
}

func (b bench) wantTold(p *proc, want ...string) {
	b.t.Helper()
	var got []string
	for _, n := range readNotes(b.t, b.notes) {
		got = append(got, n.Answered)
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("the tool was told %q, want %q\n%s", got, want, p.story())
	}
}

// TestHeldAskIsAnswered: what a tool asks inside its call takes the next line, which stands below its prompt: an
// answer, a no, something near to an answer and then one, and something else altogether.
func TestHeldAskIsAnswered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines []string
		last  []string // prefix and words of what ends it
		told  []string
	}{
		"answer":         {[]string{"eu"}, []string{"say:", "Ask: ask did accept"}, []string{` accept {"zone":"eu"}`}},
		"wrong at first": {[]string{"asia", "us"}, []string{"say:", "Ask: ask did accept"}, []string{` accept {"zone":"us"}`}},
		"something else": {[]string{"Please tell me what this is about."}, []string{"say:", "You said: Please tell me"}, []string{" cancel null"}},
		"cancel":         {[]string{"cancel"}, []string{"note:", "Cancelled by local:ana"}, nil},
		"slash cancel":   {[]string{"/cancel"}, []string{"note:", "Cancelled by local:ana"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newHeldBench(t)
			p := b.start()
			p.say("ask crate") // all at once, as a pipe does
			for _, line := range c.lines {
				p.say(line)
			}
			p.say("bye")
			p.until("ask:", "Where to?")
			for _, line := range c.lines {
				p.until("you:", line)
			}
			p.until(c.last[0], c.last[1])
			p.until("you:", "bye")
			p.until("say:", "You said: bye")
			if code := p.end(); code != exitDone || strings.Contains(p.story(), "ends without an answer") {
				t.Errorf("exit code %d\n%s", code, p.story())
			}
			if c.told != nil {
				b.wantTold(p, c.told...)
			}
		})
	}
}

// TestHeldAskWhenTheProgramEnds: at the end of the input, and at a signal, it ends at once with code 0; what was asked
// ends without an answer, and the turn goes on at the next start.
func TestHeldAskWhenTheProgramEnds(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string][]syscall.Signal{"end of input": nil, "SIGTERM": {syscall.SIGTERM}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newHeldBench(t)
			p := b.start()
			p.say("ask crate")
			p.until("ask:", "Where to?")
			p.until("ask:", "us")
			if code := p.end(sig...); code != exitDone {
				t.Errorf("exit code %d\n%s", code, p.story())
			}
			if told := strings.Contains(p.story(), "note: ◈ The question ends without an answer"); told != (sig == nil) {
				t.Errorf("said so: %v\n%s", told, p.story())
			}
			p = b.start()
			p.until("say:", "Ask: ")
			p.say("eu")
			p.until("say:", "You said: eu")
			p.kill()
			if !strings.Contains(p.story(), "nobody answered") || strings.Contains(p.story(), "eclined") {
				t.Errorf("the model was told otherwise\n%s", p.story())
			}
		})
	}
}

// TestHeldAskOfAKilledProgram: what was asked is over with it; the person is asked what to do about the call.
func TestHeldAskOfAKilledProgram(t *testing.T) {
	t.Parallel()
	b := newHeldBench(t)
	p := b.start()
	p.say("ask crate")
	p.until("ask:", "us")
	p.kill()
	p = b.start()
	p.until("ask:", "It may or may not have run")
	p.until("ask:", "Run it again")
	p.say("Run it again")
	p.until("ask:", "Where to?")
	p.say("us")
	p.until("say:", "Ask: ask did accept")
	if code := p.end(); code != exitDone {
		t.Errorf("exit code %d\n%s", code, p.story())
	}
	if notes := readNotes(t, b.notes); notes[len(notes)-1].Answered != ` accept {"zone":"us"}` {
		t.Errorf("the tool was told %+v", notes)
	}
}

// TestTheTerminalListensToNobody: the address of the API is taken by another, and chat does not mind.
func TestTheTerminalListensToNobody(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	b := newBench(t, map[string]any{"ops": map[string]any{"model": "main"}}, map[string]any{"api": map[string]any{"listen": l.Addr().String()}})
	args := []string{"--config", b.config, "--agent", "ops", "--as", "local:ana", "--log-level", "info"}
	code, out, errs := runIn(append([]string{"chat"}, args...), "hello\n")
	if code != exitDone || !strings.Contains(out, "say: You said: hello") || strings.Contains(errs, "listening") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if code, _, errs := runIn([]string{"serve", "--config", b.config}, ""); code != exitFailed || !strings.Contains(errs, "listen for HTTP") {
		t.Errorf("serve: exit code %d\n%s", code, errs) // so the address was taken
	}
}
