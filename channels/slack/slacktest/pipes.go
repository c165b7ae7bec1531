package slacktest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// pipes is a listener whose connections are pipes inside the process.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

// Accept waits for the next connection.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close ends the listener; connections live on.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// Addr is a name.
func (p *pipes) Addr() net.Addr { return addr{} }

type addr struct{}

func (addr) Network() string { return "pipe" }
func (addr) String() string  { return "slack.test:80" }

// dial makes a connection to the listener, whatever the address.
func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.done:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: errors.New("connection refused")}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: p.dial}}
}

// InProcess serves a handler inside the process. The client reaches it under any http address; stop ends it.
func InProcess(h http.Handler) (client *http.Client, stop func()) {
	l := newPipes()
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) }) // it ends with ErrServerClosed
	client = l.client()
	return client, func() {
		client.CloseIdleConnections()
		_ = srv.Close() // the listener is gone either way
		wg.Wait()
	}
}
