package js

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"parley/core/tool"
)

// run is one run of the code, as the parent sees it.
type run struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	outer  *tool.Context
	config Config
	calls  int
	ran    []string // the calls that reached a tool, for the model to know what happened
	prints strings.Builder
}

func newRun(ctx context.Context, outer *tool.Context, c Config) *run {
	r := &run{outer: outer, config: c}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	return r
}

// program is what runs the code. The file that we were started from may have been replaced since: on Linux
// it is still had.
func (r *run) program() (string, error) {
	if r.config.Program != "" {
		return r.config.Program, nil
	}
	if _, err := os.Stat("/proc/self/exe"); err == nil {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// exec runs the code in a child and returns its value.
func (r *run) exec(code string) (string, error) {
	defer r.cancel(nil)
	program, err := r.program()
	if err != nil {
		return "", fmt.Errorf("%w: %w", tool.ErrNotStarted, err)
	}
	cmd := exec.CommandContext(r.ctx, program, childArgument) // killed with its context
	cmd.Env, cmd.Dir = []string{}, os.TempDir()
	cmd.WaitDelay = time.Second
	said := &bounded{most: 4096}
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", fmt.Errorf("%w: %w", tool.ErrNotStarted, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", fmt.Errorf("%w: %w", tool.ErrNotStarted, err)
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("%w: %w", tool.ErrNotStarted, err)
	}
	e, err := r.serve(code, in, bufio.NewReader(out))
	r.cancel(nil) // a child that has said all has nothing more to do
	waitErr := cmd.Wait()
	switch cause := context.Cause(r.ctx); {
	case err == nil && e.Error == "":
		return e.Value, nil
	case err == nil:
		return "", errors.New(e.Error)
	case cause != nil && !errors.Is(cause, context.Canceled):
		return "", cause
	case r.outer.Err() != nil:
		return "", r.outer.Err()
	case errors.Is(err, errLine):
		return "", err
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || waitErr != nil:
		return "", died(said.String())
	default:
		return "", err
	}
}

// serve runs the tools that the child calls, until it ends.
func (r *run) serve(code string, in io.Writer, out *bufio.Reader) (*end, error) {
	names := []string{}
	if r.config.Tools != nil {
		for _, spec := range r.config.Tools.List() {
			if name := spec.FullName(); name != Name {
				names = append(names, name)
			}
		}
	}
	late := time.AfterFunc(r.config.Stretch, func() {
		r.cancel(fmt.Errorf("it was stopped after %v without an end or a tool call", r.config.Stretch))
	})
	defer late.Stop()
	if err := writeLine(in, start{Code: code, Most: r.config.MaxOutput, Names: names}); err != nil {
		return nil, err
	}
	for {
		var m message
		if err := readLine(out, &m); err != nil {
			return nil, err
		}
		switch {
		case m.End != nil:
			return m.End, nil
		case m.Print != nil:
			r.print(*m.Print)
		case m.Call != nil:
			late.Stop()
			answer, err := r.call(m.Call.Name, json.RawMessage(m.Call.Arguments))
			if err != nil {
				r.cancel(err)
				return nil, err
			}
			if r.ctx.Err() != nil {
				return nil, context.Cause(r.ctx)
			}
			late.Reset(r.config.Stretch)
			if err := writeLine(in, answer); err != nil {
				return nil, err
			}
		}
	}
}

func (r *run) print(line string) {
	if r.prints.Len() <= r.config.MaxOutput {
		r.prints.WriteString(line + "\n")
	}
}

// died says why a child ended without a word.
func died(said string) error {
	switch {
	case strings.Contains(said, "out of memory"), strings.Contains(said, "cannot allocate memory"), strings.Contains(said, "OOM"):
		return errMemory
	case strings.Contains(said, "stack exceeds"), strings.Contains(said, "stack overflow"):
		return errStack
	case said == "":
		return errEnded
	default:
		line, _, _ := strings.Cut(said, "\n")
		return fmt.Errorf("%w: %s", errEnded, line)
	}
}

// result is what the model is told: the value and what was printed; of a failure also which calls ran.
func (r *run) result(value string, err error) (string, error) {
	printed := strings.TrimSuffix(r.prints.String(), "\n")
	if len(printed) > r.config.MaxOutput {
		printed = strings.ToValidUTF8(printed[:r.config.MaxOutput], "") + "\n[cut here]"
	}
	var parts []string
	if value != "" {
		parts = append(parts, value)
	}
	if printed != "" {
		parts = append(parts, "Printed:\n"+printed)
	}
	if err == nil {
		if len(parts) == 0 {
			return "(no result: end the code with an expression, or print with console.log)", nil
		}
		return strings.Join(parts, "\n\n"), nil
	}
	if ran := r.history(); ran != "" {
		parts = append(parts, ran)
	}
	if len(parts) == 0 {
		return "", fmt.Errorf("the code failed: %w", err)
	}
	return "", fmt.Errorf("the code failed: %w\n\n%s", err, strings.Join(parts, "\n\n"))
}

// history lists the calls that ran before a failure: their effects stay.
func (r *run) history() string {
	const most = 20
	ran := r.ran
	if len(ran) == 0 {
		return ""
	}
	more := ""
	if len(ran) > most {
		more = fmt.Sprintf(" and %d more", len(ran)-most)
		ran = ran[:most]
	}
	return "Tools that ran before: " + strings.Join(ran, ", ") + more
}

// bounded keeps the beginning of what is written.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.most - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
