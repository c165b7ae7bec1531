package program

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// built is the real program, built once for all tests that kill it.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "parley")
	if err != nil {
		return "", err
	}
	builtDir = dir
	path := filepath.Join(dir, "parley")
	out, err := exec.Command("go", "build", "-o", path, "../parley").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, nil
})

var builtDir string // removed by TestMain

// patience is how long a test waits for what must come. It only runs out when the test fails.
const patience = 30 * time.Second

// proc is the real program in a process of its own, with its standard input held open.
type proc struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	seen  []string
	log   *text
	ended bool
}

func start(t *testing.T, args ...string) *proc {
	t.Helper()
	path, err := built()
	must(t, err)
	return startProgram(t, path, args...)
}

func startProgram(t *testing.T, path string, args ...string) *proc {
	t.Helper()
	var err error
	p := &proc{t: t, cmd: exec.Command(path, args...), lines: make(chan string, 10000), log: &text{}}
	p.cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	p.cmd.Stderr = p.log
	p.in, err = p.cmd.StdinPipe()
	must(t, err)
	out, err := p.cmd.StdoutPipe()
	must(t, err)
	must(t, p.cmd.Start())
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(p.kill)
	return p
}

// say writes one line to the program.
func (p *proc) say(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatalf("say %q: %v\n%s", line, err, p.story())
	}
}

// until reads lines up to the first that begins with prefix and contains words.
func (p *proc) until(prefix, words string) string {
	p.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("the program ended before it wrote %q with %q\n%s", prefix, words, p.story())
			}
			p.seen = append(p.seen, line)
			if strings.HasPrefix(line, prefix) && strings.Contains(line, words) {
				return line
			}
		case <-late.C:
			p.t.Fatalf("no line %q with %q\n%s", prefix, words, p.story())
		}
	}
}

// kill is kill -9.
func (p *proc) kill() {
	if p.ended {
		return
	}
	p.ended = true
	_ = p.cmd.Process.Kill()
	p.rest()
	_ = p.cmd.Wait() // killed
}

// end closes the input, or sends a signal where one is given, and returns the exit code.
func (p *proc) end(sig ...syscall.Signal) int {
	p.t.Helper()
	for _, s := range sig {
		must(p.t, p.cmd.Process.Signal(s))
	}
	if len(sig) == 0 {
		must(p.t, p.in.Close())
	}
	late := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	p.rest()
	p.ended = true
	_ = p.cmd.Wait() // the code says it
	return p.cmd.ProcessState.ExitCode()
}

// rest reads to the end of the output.
func (p *proc) rest() {
	for line := range p.lines {
		p.seen = append(p.seen, line)
	}
}

func (p *proc) story() string {
	return strings.Join(p.seen, "\n") + "\nlog:\n" + p.log.String()
}

// text is what one goroutine writes and another may read meanwhile.
type text struct {
	mu sync.Mutex
	b  strings.Builder
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// effectLines reads an effects file; a file that is not there has none.
func effectLines(t *testing.T, store string) []effect {
	t.Helper()
	data, err := os.ReadFile(store + ".effects")
	if os.IsNotExist(err) {
		return nil
	}
	must(t, err)
	var out []effect
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var e effect
		must(t, d.Decode(&e))
		out = append(out, e)
	}
	return out
}

// wantDrops demands that exactly n databases were dropped, each by a call of its own.
func wantDrops(t *testing.T, store string, n int, story string) {
	t.Helper()
	lines := effectLines(t, store)
	keys := map[string]bool{}
	for _, e := range lines {
		args, _ := json.Marshal(e.Arguments)
		if e.Tool != "db__drop" || string(args) != `{"name":"staging"}` || e.Key == "" || e.At.IsZero() {
			t.Errorf("effect %+v", e)
		}
		keys[e.Key] = true
	}
	if len(lines) != n || len(keys) != n {
		t.Errorf("%d effects under %d keys, want %d\n%s", len(lines), len(keys), n, story)
	}
}

// nextPort is below the ports that systems give to connections and to listeners that ask for any: an address
// that was found free stays so until its program takes it, and takes it again after a kill.
var nextPort atomic.Uint32

// freeAddress is one on loopback that nobody has now, and no other test is given.
func freeAddress(t testing.TB) string {
	t.Helper()
	nextPort.CompareAndSwap(0, 20000+uint32(os.Getpid()%100)*100)
	for range 1000 {
		address := fmt.Sprintf("127.0.0.1:%d", nextPort.Add(1))
		if l, err := net.Listen("tcp", address); err == nil {
			mustBe(t, l.Close())
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}
