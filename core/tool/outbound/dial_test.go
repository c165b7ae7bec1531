package outbound

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/core/tool"
)

// names is a resolver whose answers change from look to look.
type names struct {
	mu      sync.Mutex
	answers map[string][][]string
	looks   []string
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.looks = append(n.looks, host)
	all := n.answers[host]
	if len(all) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(all) > 1 {
		n.answers[host] = all[1:]
	}
	var out []netip.Addr
	for _, s := range all[0] {
		out = append(out, netip.MustParseAddr(s))
	}
	return out, nil
}

// wire connects every address to one server, and notes which were dialled.
type wire struct {
	mu     sync.Mutex
	to     string
	refuse map[string]bool
	dialed []string
}

func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dialed = append(w.dialed, address)
	refuse := w.refuse[address]
	w.mu.Unlock()
	if refuse {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("connection refused")}
	}
	var d net.Dialer
	return d.DialContext(ctx, network, w.to)
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func get(t *testing.T, c *http.Client, url string) (*http.Response, error) {
	t.Helper()
	t.Cleanup(c.CloseIdleConnections)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(r)
	if err == nil {
		t.Cleanup(func() { _ = resp.Body.Close() })
	}
	return resp, err
}

func TestOnlyPublicAddressesAreReached(t *testing.T) {
	t.Parallel()
	srv := serve(t, func(http.ResponseWriter, *http.Request) {})
	answers := map[string][][]string{
		"public.test": {{"93.184.215.14"}}, "inside.test": {{"10.0.0.7"}}, "mixed.test": {{"93.184.215.14", "127.0.0.1"}},
		"mapped.test": {{"::ffff:127.0.0.1"}}, "nat.test": {{"64:ff9b::7f00:1"}}, "zone.test": {{"fe80::1%eth0"}}, "none.test": {{}},
		"meta.test": {{"169.254.169.254"}}, "six.test": {{"2606:4700::1111"}},
	}
	for _, c := range []struct {
		host  string
		allow []string
		fails string // "" for reached
	}{
		{"public.test", nil, ""}, {"PUBLIC.test.", nil, "no such host"}, {"93.184.215.14", nil, ""}, {"six.test", nil, ""}, {"[2606:4700::1111]", nil, ""},
		{"inside.test", nil, "request to inside.test:80 refused: its address 10.0.0.7 is not public; if it is meant, name it in outbound.allowPrivate"},
		{"mixed.test", nil, "its address 127.0.0.1 is not public"}, {"mapped.test", nil, "not public"}, {"nat.test", nil, "not public"},
		{"zone.test", nil, "fe80::1%eth0 is not public"}, {"[fe80::1%25eth0]", nil, "not public"}, {"meta.test", nil, "not public"},
		{"127.0.0.1", nil, "request to 127.0.0.1:80 refused: the address is not public"}, {"[::1]", nil, "not public"}, {"[::ffff:7f00:1]", nil, "not public"},
		{"[64:ff9b::7f00:1]", nil, "not public"}, {"0.0.0.0", nil, "not public"}, {"100.64.1.1", nil, "not public"}, {"224.0.0.1", nil, "not public"},
		{"2130706433", nil, "address in disguise"}, {"0x7f000001", nil, "address in disguise"}, {"0177.0.0.1", nil, "address in disguise"},
		{"127.1", nil, "address in disguise"}, {"0x7f.0.0.1", nil, "address in disguise"}, {"127.0.0.1.", nil, "address in disguise"}, {"010.0.0.1", nil, "address in disguise"},
		{"none.test", nil, "it has no address"}, {"unknown.test", nil, "no such host"},
		{"inside.test", []string{"inside.test"}, ""}, {"inside.test", []string{"INSIDE.test."}, ""}, {"inside.test", []string{"inside.test:80"}, ""},
		{"inside.test", []string{"inside.test:81"}, "not public"}, {"inside.test", []string{"inside"}, "not public"}, {"inside.test", []string{"*", "test"}, "not public"},
		{"inside.test", []string{"10.0.0.0/8"}, ""}, {"inside.test", []string{"10.0.0.7"}, ""}, {"inside.test", []string{"10.0.0.7:80"}, ""},
		{"inside.test", []string{"10.0.0.7:81"}, "not public"}, {"inside.test", []string{"10.0.0.8"}, "not public"},
		{"mixed.test", []string{"127.0.0.0/8"}, ""}, {"mapped.test", []string{"127.0.0.0/8"}, ""}, {"[::ffff:7f00:1]", []string{"127.0.0.1"}, ""},
		{"[fe80::1%25eth0]", []string{"fe80::/10"}, ""}, {"127.0.0.1", []string{"127.0.0.1"}, ""},
	} {
		w := &wire{to: srv.Listener.Addr().String()}
		client := Client(Config{AllowPrivate: c.allow, Resolver: &names{answers: answers}, dial: w.dial})
		_, err := get(t, client, "http://"+c.host+"/")
		switch {
		case c.fails == "" && err != nil:
			t.Errorf("%s, allowed %q: %v", c.host, c.allow, err)
		case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)):
			t.Errorf("%s, allowed %q: %v, want %q", c.host, c.allow, err, c.fails)
		case c.fails != "" && (!NotStarted(err) || !errors.Is(err, tool.ErrNotStarted)):
			t.Errorf("%s: %v does not say that nothing was sent", c.host, err)
		case c.fails != "" && len(w.dialed) > 0:
			t.Errorf("%s: refused, and dialled %q", c.host, w.dialed)
		}
	}
}

// A name that is public at the look and loopback a moment later (DNS rebinding) is looked up once and
// connected to as it was judged.
func TestANameIsLookedUpOnce(t *testing.T) {
	t.Parallel()
	srv := serve(t, func(http.ResponseWriter, *http.Request) {})
	n := &names{answers: map[string][][]string{"rebind.test": {{"93.184.215.14"}, {"127.0.0.1"}}}}
	w := &wire{to: srv.Listener.Addr().String()}
	if _, err := get(t, Client(Config{Resolver: n, dial: w.dial}), "http://rebind.test:8080/"); err != nil {
		t.Fatal(err)
	}
	if len(n.looks) != 1 || !slices.Equal(w.dialed, []string{"93.184.215.14:8080"}) {
		t.Errorf("looked up %q, dialled %q", n.looks, w.dialed)
	}
	if _, err := get(t, Client(Config{Resolver: n, dial: w.dial}), "http://rebind.test:8080/"); err == nil {
		t.Error("a new connection was not judged again")
	}
}

func TestTheNextAddressIsTried(t *testing.T) {
	t.Parallel()
	srv := serve(t, func(http.ResponseWriter, *http.Request) {})
	n := &names{answers: map[string][][]string{"two.test": {{"2606:4700::1111", "93.184.215.14"}}}}
	w := &wire{to: srv.Listener.Addr().String(), refuse: map[string]bool{"[2606:4700::1111]:80": true}}
	if _, err := get(t, Client(Config{Resolver: n, dial: w.dial}), "http://two.test/"); err != nil || len(w.dialed) != 2 {
		t.Fatalf("%v, dialled %q", err, w.dialed)
	}
	w = &wire{refuse: map[string]bool{"[2606:4700::1111]:80": true, "93.184.215.14:80": true}}
	if _, err := get(t, Client(Config{Resolver: n, dial: w.dial}), "http://two.test/"); !NotStarted(err) {
		t.Errorf("%v", err)
	}
}

// The system's own dialer is held to the judged address too.
func TestAmong(t *testing.T) {
	t.Parallel()
	judged := []netip.Addr{netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("fe80::1%eth0")}
	for address, ok := range map[string]bool{"93.184.215.14:80": true, "[::ffff:93.184.215.14]:80": true, "[fe80::1%eth0]:80": true, "127.0.0.1:80": false, "x:80": false, "": false} {
		if err := among(address, judged); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestProxiesOfTheEnvironmentAreIgnored(t *testing.T) {
	t.Parallel()
	if Client(Config{}).Transport.(*transport).next.Proxy != nil {
		t.Error("what a proxy connects to cannot be judged")
	}
}

// Over HTTP/2 too, what was sent and then cut is not taken for something that was never sent.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 || r.URL.Path == "/cut" {
			panic(http.ErrAbortHandler)
		}
	}))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	c := Client(Config{AllowPrivate: []string{"127.0.0.1"}})
	if _, err := get(t, c, srv.URL); !NotStarted(err) {
		t.Errorf("an untrusted certificate: %v", err)
	}
	c = Client(Config{AllowPrivate: []string{"127.0.0.1"}})
	c.Transport.(*transport).next.TLSClientConfig = srv.Client().Transport.(*http.Transport).TLSClientConfig
	if _, err := get(t, c, srv.URL); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, c, srv.URL+"/cut"); err == nil || NotStarted(err) {
		t.Errorf("cut: %v", err)
	}
}
