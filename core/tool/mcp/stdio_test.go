//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/core"
	"parley/core/tool"
)

func TestChildProcess(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"modern", "older", "picky"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := ready(t, start(t, childConfig(kind)))
			if out, err := attempt(t, s, "box__echo", `{"a":1}`); err != nil || out != `echo {"a":1}` {
				t.Errorf("%q, %v", out, err)
			}
			out, err := attempt(t, s, "box__env", `{}`)
			if err != nil {
				t.Fatal(err)
			}
			var vars []string
			for line := range strings.Lines(out) {
				name, _, _ := strings.Cut(line, "=")
				vars = append(vars, name)
			}
			slices.Sort(vars)
			if got := strings.Join(vars, " "); got != "HOME "+childKind+" PATH" {
				t.Errorf("the child's environment has %q", got)
			}
			pid, err := attempt(t, s, "box__pid", `{}`)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := attempt(t, s, "box__die", `{}`); !isUnknown(err) {
				t.Errorf("a child that dies of a call: %v", err)
			}
			again, err := attempt(t, s, "box__pid", `{}`)
			if err != nil || again == pid {
				t.Errorf("after its death: %q, %v", again, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if n, _ := strconv.Atoi(again); syscall.Kill(n, 0) == nil {
				t.Error("the child outlives its source")
			}
		})
	}
}

func TestHugeResultOfAChild(t *testing.T) {
	t.Parallel()
	s := ready(t, start(t, childConfig("modern")))
	if out, err := attempt(t, s, "box__huge", `{}`); err == nil || isNotStarted(err) {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	if out, err := attempt(t, s, "box__echo", `{}`); err != nil {
		t.Errorf("%q, %v", out, err)
	}
}

func TestStubbornChildIsKilled(t *testing.T) {
	t.Parallel()
	var log logged
	c := childConfig("stubborn")
	c.Log = log.logger()
	s := ready(t, start(t, c))
	pid := regexp.MustCompile(`pid (\d+)`).FindStringSubmatch(log.String())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if pid == nil {
		t.Fatalf("it did not say who it is: %s", log.String())
	}
	if n, _ := strconv.Atoi(pid[1]); syscall.Kill(n, 0) == nil {
		t.Error("the child outlives its source")
	}
}

func TestDeafChild(t *testing.T) {
	t.Parallel()
	c := childConfig("deaf")
	c.Connect = 200 * time.Millisecond
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err == nil {
		t.Error("it can be used")
	}
}

func TestErrorStreamIsLoggedWithoutSecrets(t *testing.T) {
	t.Parallel()
	var log logged
	c := childConfig("chatty")
	c.Env["API_KEY"] = "very-secret-key"
	c.Log = log.logger()
	s := ready(t, start(t, c)) // although it greets where only messages belong
	if out, err := attempt(t, s, "box__echo", `{}`); err != nil || out != "echo {}" {
		t.Errorf("%q, %v", out, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := log.String(); !strings.Contains(got, "the key is [secret]") || !strings.Contains(got, "Welcome!") || strings.Contains(got, "very-secret") {
		t.Errorf("logged %q", got[:min(len(got), 500)])
	}
}

// TestChildAsks asks inside the calls of a child, whose messages do not say for which.
func TestChildAsks(t *testing.T) {
	t.Parallel()
	s := ready(t, start(t, childConfig("older")))
	_, err := attempt(t, s, "box__ask_read", `{}`)
	one := answered(t, asked(t, err), core.ActionAccept, `{"zone":"eu"}`)
	if out, err := attempt(t, s, "box__ask_read", `{}`, one); err != nil || out != `accept {"zone":"eu"}` {
		t.Errorf("%q, %v", out, err)
	}
	out, err := waiting(t, s, "box__ask_write", func(tool.Asked) (tool.Answered, error) {
		return tool.Answered{Answer: core.Answer{Action: core.ActionDecline}}, nil
	})
	if err != nil || out != "decline null" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestChildAsksInSeveralCalls: it cannot be told whose question it is. Nobody's answer goes to another call,
// and what is made again has a connection to itself.
func TestChildAsksInSeveralCalls(t *testing.T) {
	t.Parallel()
	s := ready(t, start(t, childConfig("older")))
	var mu sync.Mutex
	open := 0
	both := make(chan struct{})
	call := func(zone string) (string, error) {
		wait := func(tool.Asked) (tool.Answered, error) {
			mu.Lock()
			if open++; open == 2 {
				close(both)
			}
			mu.Unlock()
			<-both
			return tool.Answered{Answer: core.Answer{Action: core.ActionAccept, Fields: map[string]json.RawMessage{"zone": json.RawMessage(`"` + zone + `"`)}}}, nil
		}
		return find(t, s, "box__ask_write").Call(tool.NewContext(context.WithoutCancel(t.Context()), zone, ana, nil, wait), json.RawMessage(`{}`))
	}
	s.isolate()
	var over sync.WaitGroup
	for _, zone := range []string{"eu", "us"} {
		over.Go(func() {
			if out, err := call(zone); err != nil || out != `accept {"zone":"`+zone+`"}` {
				t.Errorf("%s: %q, %v", zone, out, err)
			}
		})
	}
	over.Wait()
}

func TestMuddledAsk(t *testing.T) {
	t.Parallel()
	var isolated bool
	x := &session{calls: map[string]*call{}, confused: func() { isolated = true }}
	newCall := func(token string, safe bool) *call {
		c := &call{safe: safe, wire: &wire{token: token}, tool: token}
		c.ctx, c.cancel = context.WithCancelCause(t.Context())
		x.calls[token] = c
		return c
	}
	if _, err := x.asker(""); err == nil {
		t.Error("a question outside any call is asked")
	}
	a := newCall("a", true)
	if got, err := x.asker(""); err != nil || got != a {
		t.Errorf("the only call: %v", err)
	}
	b := newCall("b", true)
	if got, err := x.asker("b"); err != nil || got != b {
		t.Errorf("a call by its stream: %v", err)
	}
	if _, err := x.asker("c"); err == nil {
		t.Error("a call that ended is asked for")
	}
	if _, err := x.asker(""); err == nil || !isolated || !isUnknown(a.failure()) || !isUnknown(b.failure()) {
		t.Errorf("two calls: %v, %v", err, a.failure())
	}
	delete(x.calls, "a")
	c, d := newCall("c", false), newCall("d", true)
	if _, err := x.asker(""); err == nil || c.failure() != nil || d.failure() != nil {
		t.Errorf("a call that cannot be made again was dropped: %v, %v", err, c.failure())
	}
	if errors.Is(context.Cause(c.ctx), errMuddled) || runtime.GOOS == "" {
		t.Error("it was cancelled")
	}
}
