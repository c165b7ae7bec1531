package faketest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// Pipes is a listener whose connections are pipes inside the process.
type Pipes struct {
	name  string
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// NewPipes returns a listener of that name.
func NewPipes(name string) *Pipes {
	return &Pipes{name: name, conns: make(chan net.Conn), done: make(chan struct{})}
}

// Accept waits for the next connection.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close ends the listener; connections live on.
func (p *Pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// Addr is the name.
func (p *Pipes) Addr() net.Addr { return addr(p.name) }

type addr string

func (addr) Network() string  { return "pipe" }
func (a addr) String() string { return string(a) }

// Dial makes a connection to the listener, whatever the address.
func (p *Pipes) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
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

// Client makes requests to the listener.
func (p *Pipes) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: p.Dial}}
}

// InProcess serves a handler inside the process. The client reaches it under any http address; stop ends it.
func InProcess(h http.Handler) (client *http.Client, stop func()) {
	l := NewPipes("inprocess.test:80")
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) }) // it ends with ErrServerClosed
	client = l.Client()
	return client, func() {
		client.CloseIdleConnections()
		_ = srv.Close() // the listener is gone either way
		wg.Wait()
	}
}
