package mcp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// writePatience is how long a child may leave its standard input unread.
	writePatience = 30 * time.Second
	// exitPatience is how long it may take to end, first by itself and then on request.
	exitPatience = 2 * time.Second
)

// process is a server that runs as our child, in a process group of its own.
type process struct {
	cmd    *exec.Cmd
	stderr *os.File
	exited chan struct{}
	once   sync.Once
	over   sync.WaitGroup
}

// startProcess starts the child and returns the transport that talks to it.
func (s *Source) startProcess(x *session) (sdk.Transport, error) {
	cmd := exec.Command(s.cfg.Command[0], s.cfg.Command[1:]...)
	cmd.Dir, cmd.Env = s.cfg.Dir, s.environment()
	ownGroup(cmd)
	p := &process{cmd: cmd, exited: make(chan struct{})}
	in, out, err := p.start(s)
	if err != nil {
		return nil, err
	}
	x.down = p.stop
	said := func(line string) { s.log.Debug("the MCP server says", "stdout", s.hide(line)) }
	return &pipeTransport{process: p, in: in, out: &messageLines{File: out, lines: bufio.NewReader(out), other: said}}, nil
}

// environment is what is configured, with PATH and HOME.
func (s *Source) environment() []string {
	env := []string{}
	for _, line := range s.cfg.Inherit {
		name, _, _ := strings.Cut(line, "=")
		if _, set := s.cfg.Env[name]; !set && (name == "PATH" || name == "HOME") {
			env = append(env, line)
		}
	}
	for k, v := range s.cfg.Env {
		env = append(env, k+"="+v)
	}
	return env
}

// start runs the child with pipes on its streams and returns our ends of its input and output.
func (p *process) start(s *Source) (in, out *os.File, err error) {
	var pipes [3][2]*os.File
	for i := range pipes {
		if pipes[i][0], pipes[i][1], err = os.Pipe(); err != nil {
			return nil, nil, errors.Join(err, closeAll(pipes))
		}
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = pipes[0][0], pipes[1][1], pipes[2][1]
	started := make(chan error, 1)
	p.over.Go(func() {
		// The system kills the child with the thread that started it: the thread stays with it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // how it ended is told by its error stream
		}
		close(p.exited)
	})
	if err := <-started; err != nil {
		p.over.Wait()
		return nil, nil, errors.Join(err, closeAll(pipes))
	}
	err = errors.Join(pipes[0][0].Close(), pipes[1][1].Close(), pipes[2][1].Close())
	p.stderr = pipes[2][0]
	p.over.Go(func() { logLines(p.stderr, s) })
	return pipes[0][1], pipes[1][0], err
}

func closeAll(pipes [3][2]*os.File) (err error) {
	for _, pair := range pipes {
		for _, f := range pair {
			if f != nil {
				err = errors.Join(err, f.Close())
			}
		}
	}
	return err
}

// logLines logs what the child writes to its error stream, a line at a time and without secrets.
func logLines(r io.Reader, s *Source) {
	const most = 4096
	lines := bufio.NewReaderSize(r, most)
	for {
		part, err := lines.ReadSlice('\n') // a longer line comes in several parts
		if text := strings.TrimSpace(strings.ToValidUTF8(string(part), "\uFFFD")); text != "" {
			s.log.Debug("the MCP server says", "stderr", s.hide(text))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// stop ends the child and its group, and waits for that. Its input has been closed, which asks it to end.
func (p *process) stop() {
	p.once.Do(func() {
		if !p.gone() {
			terminate(p.cmd)
			_ = p.gone()
		}
		kill(p.cmd) // also what the child itself left behind
		_ = p.stderr.Close()
	})
	p.over.Wait()
}

// gone waits a little for the child to end.
func (p *process) gone() bool {
	timer := time.NewTimer(exitPatience)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// pipeTransport is newline-delimited JSON over a child's standard streams.
type pipeTransport struct {
	process *process
	in      *os.File
	out     io.ReadCloser
}

// Connect implements the client library's Transport.
func (t *pipeTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	pipes := &sdk.IOTransport{Reader: t.out, Writer: patient{t.in}, MaxLineLength: maxMessage}
	inner, err := pipes.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &pipeConn{Connection: inner, process: t.process, open: map[jsonrpc.ID]*wire{}}, nil
}

// messageLines reads a child's output without the lines that are no messages: banners and what was meant for
// the error stream.
type messageLines struct {
	*os.File
	lines  *bufio.Reader
	rest   []byte // of the line being read
	within bool   // the line goes on
	skip   bool   // and is none of ours
	other  func(line string)
}

func (m *messageLines) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		part, err := m.lines.ReadSlice('\n') // a longer line comes in several parts
		if !m.within {
			start := strings.TrimSpace(string(part[:min(len(part), 100)]))
			m.skip = start == "" || start[0] != '{' && start[0] != '['
			if m.skip && start != "" {
				m.other(strings.ToValidUTF8(start, "\uFFFD"))
			}
		}
		m.within = len(part) > 0 && part[len(part)-1] != '\n'
		if !m.skip {
			m.rest = part // valid until the next read
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && len(m.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// patient writes to a pipe, but not for ever.
type patient struct{ *os.File }

func (p patient) Write(b []byte) (int, error) {
	late := time.AfterFunc(writePatience, func() { _ = p.Close() })
	defer late.Stop()
	return p.File.Write(b)
}

// pipeConn watches a connection: what was sent, what was answered, and messages as they came.
type pipeConn struct {
	sdk.Connection
	process *process

	mu   sync.Mutex
	open map[jsonrpc.ID]*wire
}

func (c *pipeConn) Write(ctx context.Context, m jsonrpc.Message) error {
	w := wireOf(ctx)
	req, ok := m.(*jsonrpc.Request)
	if !ok || w == nil || req.Method != w.method {
		return c.Connection.Write(ctx, m)
	}
	c.mu.Lock()
	c.open[req.ID] = w
	c.mu.Unlock()
	context.AfterFunc(ctx, func() { c.forget(req.ID) })
	err := c.Connection.Write(ctx, m)
	if err == nil {
		w.sent.Store(true) // a message that is not whole is never acted on
	}
	return err
}

func (c *pipeConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	switch m := m.(type) {
	case *jsonrpc.Request:
		if m != nil && m.Method == methodElicit {
			m.Params = annotateParams(m.Params, "")
		}
	case *jsonrpc.Response:
		if m != nil {
			c.answered(m)
		}
	}
	return m, err
}

func (c *pipeConn) answered(m *jsonrpc.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w, ok := c.open[m.ID]; ok {
		w.sent.Store(true)
		w.answered.Store(true)
		delete(c.open, m.ID)
		m.Result = annotateResult(m.Result)
	}
}

func (c *pipeConn) forget(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, id)
}

// Close closes the child's streams and waits for its end.
func (c *pipeConn) Close() error {
	err := c.Connection.Close()
	c.process.stop()
	return err
}
