package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxMessage is the greatest message of a server that is read, in bytes.
const maxMessage = 16 << 20

// httpTransport is streamable HTTP over the caller's client, watched by a carrier.
func (s *Source) httpTransport(x *session) sdk.Transport {
	client := http.Client{}
	if s.cfg.HTTPClient != nil {
		client = *s.cfg.HTTPClient
	}
	client.Timeout = 0 // a stream is open as long as its call
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	base := client.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	home, _ := url.Parse(s.cfg.URL) // checked by New
	carries := &carrier{base: base, home: home, headers: s.cfg.Headers, unheard: x.lose, quiet: x.change}
	client.Transport = carries
	t := &sdk.StreamableClientTransport{Endpoint: s.cfg.URL, HTTPClient: &client, MaxEventSize: -1} // the carrier bounds them
	if s.keeper != nil {
		t.OAuthHandler = s.keeper
		carries.clear = func(b []byte) []byte { return []byte(s.keeper.Hide(string(b))) }
	}
	return t
}

// carrier is the HTTP transport of a source: it adds the headers, sees what was sent and answered, bounds
// messages and annotates them.
type carrier struct {
	base    http.RoundTripper
	home    *url.URL
	headers map[string]string
	// clear masks the tokens in what a server sends back: it is shown to people and to models.
	clear masker
	// unheard is told when the stream of notifications has ended for good, quiet when it may come back.
	unheard, quiet func()
}

// RoundTrip implements http.RoundTripper.
func (c *carrier) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == c.home.Scheme && req.URL.Host == c.home.Host {
		req = req.Clone(req.Context())
		for k, v := range c.headers {
			req.Header.Set(k, v)
		}
	}
	about, err := read(req)
	if err != nil {
		return nil, err
	}
	w := wireOf(req.Context())
	switch {
	case w == nil:
		w = &wire{}
	case about.method != w.method:
		w = &wire{token: w.token} // an answer within that call, or its cancellation
	default:
		w.refused(0, nil) // it is sent again, with another token
	}
	resp, err := c.send(req, w)
	if err != nil {
		return nil, err
	}
	c.watch(resp, w, about)
	return resp, nil
}

// about is what a request says of itself; the zero value for a GET.
type about struct {
	id     json.RawMessage
	method string
}

func read(req *http.Request) (a about, err error) {
	if req.Method != http.MethodPost || req.GetBody == nil {
		return a, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return a, err
	}
	defer func() { _ = body.Close() }()
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.NewDecoder(body).Decode(&m); err != nil {
		return a, fmt.Errorf("read the request: %w", err)
	}
	return about{id: m.ID, method: m.Method}, nil
}

// send sends a request and notes whether the server may have it.
func (c *carrier) send(req *http.Request, w *wire) (*http.Response, error) {
	traced := false
	trace := &httptrace.ClientTrace{
		// Another connection is taken only where the one before had nothing of the request.
		GetConn:      func(string) { traced = true; w.sent.Store(false) },
		WroteHeaders: func() { w.sent.Store(true) },
	}
	resp, err := c.base.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err == nil || !traced && !before(err) {
		w.sent.Store(true)
	}
	return resp, err
}

// before reports whether a failure is one of reaching the server at all.
func before(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial"
}

// watch puts a reader between a response and the client library.
func (c *carrier) watch(resp *http.Response, w *wire, a about) {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		w.refuse(resp, c.clear)
		return
	}
	switch kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind {
	case "application/json":
		resp.Body = &jsonBody{from: resp.Body, wire: w, id: a.id, clear: c.clear}
		resp.ContentLength = -1
	case "text/event-stream":
		b := &eventBody{from: resp.Body, wire: w, id: a.id, clear: c.clear}
		switch {
		case a.method == methodListen:
			b.ended = c.unheard
		case resp.Request.Method == http.MethodGet && w.token == "":
			b.ended = c.quiet // the list that follows shows whether the server is there
		}
		resp.Body = b
		resp.ContentLength = -1
	}
}

// refuse keeps what a refusing response says, and leaves the body readable.
func (w *wire) refuse(resp *http.Response, clear masker) {
	const most = 64 << 10
	body, _ := io.ReadAll(io.LimitReader(resp.Body, most)) // what can be read of it
	_ = resp.Body.Close()
	body = clear.of(body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	rpc, ok := response(body, nil)
	if !ok {
		rpc = nil
	}
	w.refused(resp.StatusCode, rpc)
}

// jsonBody is a response that is one message, read whole at the first Read.
type jsonBody struct {
	from  io.ReadCloser
	wire  *wire
	id    json.RawMessage
	clear masker
	out   *bytes.Reader
	err   error
}

func (b *jsonBody) Read(p []byte) (int, error) {
	if b.out == nil && b.err == nil {
		b.fill()
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.out.Read(p)
}

func (b *jsonBody) fill() {
	raw, err := io.ReadAll(io.LimitReader(b.from, maxMessage+1))
	switch {
	case err != nil:
		b.err = err
		return
	case len(raw) > maxMessage:
		raw = tooLarge(b.id)
	}
	b.out = bytes.NewReader(b.wire.pass(b.clear.of(raw), b.id))
}

func (b *jsonBody) Close() error { return b.from.Close() }

// pass annotates a message and notes whether it is the answer.
func (w *wire) pass(raw []byte, id json.RawMessage) []byte {
	if id != nil {
		if _, ok := response(raw, id); ok {
			w.answered.Store(true)
		}
	}
	return annotate(raw, w.token)
}

// tooLarge is what stands for a message that is not read to its end.
func tooLarge(id json.RawMessage) []byte {
	if id == nil {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"the server's answer is larger than %d MiB and was not read"}}`, id, maxMessage>>20)
}
