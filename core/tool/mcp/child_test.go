package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core/tool"
)

// child runs the test binary as a server of some kind.
func child(kind string) int {
	switch kind {
	case "conformance":
		return conform(os.Args[len(os.Args)-1])
	case "parent":
		return parent()
	case "picky": // dies of a request it does not know
		return picky()
	case "stubborn": // does not end when asked to
		signal.Ignore(syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, "pid", os.Getpid())
		_ = childServer(older).Run(context.Background(), &sdk.StdioTransport{})
		select {}
	case "deaf": // does not read
		select {}
	case "chatty":
		fmt.Println("Welcome!\n\n  \x1b[1m" + strings.Repeat("=", 9000) + "\x1b[0m")
		fmt.Fprintln(os.Stderr, "the key is", os.Getenv("API_KEY"), strings.Repeat("x", 10_000))
	}
	g := modern
	if kind == string(older) {
		g = older
	}
	if err := childServer(g).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// parent runs a source whose child says who it is, until it is killed.
func parent() int {
	s, err := New(childConfig("stubborn"))
	if err != nil {
		return 1
	}
	go func() { _ = s.Run(context.Background()) }()
	t, ok := tool.Tool(nil), false
	for !ok {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if t, ok = s.Lookup("box__pid"); !ok {
			<-changed
		}
	}
	pid, err := t.Call(tool.NewContext(context.Background(), "k", ana, nil, nil), json.RawMessage(`{}`))
	fmt.Println(pid)
	if err != nil {
		return 1
	}
	select {}
}

func picky() int {
	lines := bufio.NewReader(os.Stdin)
	first, err := lines.ReadString('\n')
	if err != nil || strings.Contains(first, "server/discover") {
		return 3
	}
	in, out, err := os.Pipe()
	if err != nil {
		return 1
	}
	go func() {
		_, _ = out.WriteString(first)
		_, _ = lines.WriteTo(out)
		_ = out.Close()
	}()
	_ = childServer(older).Run(context.Background(), &sdk.IOTransport{Reader: in, Writer: os.Stdout})
	return 0
}

// childServer has tools that tell about the process they are in.
func childServer(g generation) *sdk.Server {
	s := newServer(g)
	add(s, "echo", &sdk.ToolAnnotations{ReadOnlyHint: true}, nil)
	add(s, "env", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return says(strings.Join(os.Environ(), "\n")), nil
	})
	add(s, "pid", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return says(fmt.Sprint(os.Getpid())), nil
	})
	add(s, "die", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		os.Exit(9)
		return nil, nil
	})
	add(s, "huge", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return says(strings.Repeat("x", maxMessage+1)), nil
	})
	ask := func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return elicit(ctx, r, formAsk("Where to?"))
	}
	add(s, "ask_read", &sdk.ToolAnnotations{ReadOnlyHint: true}, ask)
	add(s, "ask_write", nil, ask)
	return s
}
