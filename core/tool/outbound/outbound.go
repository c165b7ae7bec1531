// Package outbound makes the HTTP client for requests to addresses that a configuration, a document or a
// server names: MCP servers, OpenAPI sources, webhooks.
//
// A request goes to public addresses only, unless the configuration key outbound.allowPrivate names the
// host, the host and port, the address or its network. A name is resolved once, every address it has is
// judged, and the connection is made to exactly what was judged: an answer that changes between the look
// and the dial changes nothing. Redirects are followed for GET and HEAD only, at most five, each hop judged
// like the first; one that would carry credentials to another origin is refused. Proxies of the environment
// are ignored, since what they connect to cannot be judged here.
//
// A request ends in one of three ways: an answer, a failure of which NotStarted is true (nothing was sent,
// it may be tried again), or a failure after something was sent, whose outcome nobody knows. Telling the
// last two apart is the caller's duty towards tool.ErrNotStarted and tool.ErrUnknownOutcome.
package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"sync/atomic"
	"time"

	"parley/core/tool"
)

// Config says what a client may reach and how long and how much it takes.
type Config struct {
	// AllowPrivate are hosts, hosts with a port, addresses and networks (CIDR) that may be reached though
	// they are not public. Entries that Check refuses allow nothing.
	AllowPrivate []string
	// Timeout bounds a whole request with its answer; 0 is a minute, less than 0 is for ever.
	Timeout time.Duration
	// MaxBytes bounds the body of one answer, unpacked; 0 is 32 MiB, less than 0 is without end. A body
	// that is longer fails with an error that ErrTooLong matches, after MaxBytes were read.
	MaxBytes int64
	// Resolver looks names up; nil is the system's.
	Resolver Resolver

	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Resolver looks up the addresses of a host, as net.Resolver does. network is "ip".
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Limits of a Config that sets none.
const (
	DefaultTimeout  = time.Minute
	DefaultMaxBytes = 32 << 20

	dialTimeout      = 15 * time.Second
	handshakeTimeout = 15 * time.Second
)

// ErrTooLong says that an answer was longer than the client reads.
var ErrTooLong = errors.New("the answer is too long")

// Client returns a client for outbound requests. It is safe for concurrent use; make one and share it.
func Client(c Config) *http.Client {
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = DefaultMaxBytes
	}
	d := newDialer(c)
	t := &transport{limit: c.MaxBytes, next: &http.Transport{
		DialContext:           d.DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          64,
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   handshakeTimeout,
		ExpectContinueTimeout: time.Second,
	}}
	return &http.Client{Transport: t, CheckRedirect: checkRedirect, Timeout: max(c.Timeout, 0)}
}

// transport notes whether a request got a connection, and bounds what is read.
type transport struct {
	next  *http.Transport
	limit int64
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent atomic.Bool // a connection was had, so bytes may have gone
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }}
	resp, err := t.next.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	if err != nil {
		if !sent.Load() && !errors.Is(err, tool.ErrNotStarted) {
			err = &notStarted{err}
		}
		return nil, err
	}
	if t.limit > 0 {
		resp.Body = &bounded{body: resp.Body, left: t.limit, host: r.URL.Host, limit: t.limit}
	}
	return resp, nil
}

// CloseIdleConnections lets http.Client close what is kept alive.
func (t *transport) CloseIdleConnections() { t.next.CloseIdleConnections() }

// notStarted is a failure before anything was sent.
type notStarted struct{ err error }

func (e *notStarted) Error() string   { return e.err.Error() }
func (e *notStarted) Unwrap() []error { return []error{e.err, tool.ErrNotStarted} }

// NotStarted reports whether a failed request proves that nothing was sent: refused here or there,
// unresolved, no connection, no TLS. It is false where that is not known.
func NotStarted(err error) bool {
	if errors.Is(err, tool.ErrNotStarted) {
		return true
	}
	var dns *net.DNSError
	var op *net.OpError
	var cert *tls.CertificateVerificationError
	return errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial" || errors.As(err, &cert)
}

// bounded reads a body up to a limit, and fails rather than ends where there is more.
type bounded struct {
	body        io.ReadCloser
	left, limit int64
	host        string
}

func (b *bounded) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if b.left == 0 {
		var one [1]byte
		n, err := b.body.Read(one[:])
		if n > 0 {
			return 0, fmt.Errorf("read the answer of %s: %w: more than %d bytes", b.host, ErrTooLong, b.limit)
		}
		return 0, err
	}
	n, err := b.body.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

func (b *bounded) Close() error { return b.body.Close() }

const maxRedirects = 5

// plain are the headers that name nobody: a request with these alone may be sent on to another origin.
var plain = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Accept-Language": true, "Cache-Control": true, "Range": true,
	"User-Agent": true, "If-Modified-Since": true, "If-None-Match": true,
}

// checkRedirect decides about one hop. What is not followed is the caller's answer, with its 3xx status.
func checkRedirect(r *http.Request, via []*http.Request) error {
	first := via[0]
	if first.Method != http.MethodGet && first.Method != http.MethodHead {
		return http.ErrUseLastResponse // an effect happens where it was sent, or not at all
	}
	if len(via) > maxRedirects {
		return fmt.Errorf("%s redirects more than %d times", first.URL.Host, maxRedirects)
	}
	if SameOrigin(first, r) {
		return nil
	}
	if first.URL.Scheme == "https" && r.URL.Scheme != "https" {
		return fmt.Errorf("%s redirects from https to %s: not followed", first.URL.Host, r.URL.Scheme)
	}
	if first.URL.User != nil || r.URL.User != nil {
		return fmt.Errorf("%s redirects to %s, and the request carries credentials: not followed", first.URL.Host, r.URL.Host)
	}
	r.Header.Del("Referer") // an address can hold secrets
	for name := range first.Header {
		if !plain[http.CanonicalHeaderKey(name)] {
			return fmt.Errorf("%s redirects to %s, and the request carries %s: not followed; give the final address", first.URL.Host, r.URL.Host, name)
		}
	}
	return nil
}

// SameOrigin reports whether two requests go to the same scheme, host and port.
func SameOrigin(a, b *http.Request) bool {
	return a.URL.Scheme == b.URL.Scheme && hostOf(a) == hostOf(b) && portOf(a) == portOf(b)
}

func hostOf(r *http.Request) string { return canonical(r.URL.Hostname()) }

func portOf(r *http.Request) string {
	switch p := r.URL.Port(); {
	case p != "":
		return p
	case r.URL.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}
