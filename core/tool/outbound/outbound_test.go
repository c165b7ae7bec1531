package outbound_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/core/tool"
	"parley/core/tool/outbound"
)

var loopback = []string{"127.0.0.0/8"}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func do(t *testing.T, c *http.Client, method, url string, header ...string) (*http.Response, error) {
	t.Helper()
	t.Cleanup(c.CloseIdleConnections)
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(r)
	if err == nil {
		t.Cleanup(func() { _ = resp.Body.Close() })
	}
	return resp, err
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	var reached, referer atomic.Value
	other := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		reached.Store(r.Method)
		referer.Store(r.Referer())
	})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		to := r.URL.Query().Get("to")
		var n int
		if _, err := fmt.Sscanf(to, "%d", &n); err == nil && n > 0 {
			to = fmt.Sprintf("/?to=%d", n-1)
		}
		if to != "" && to != "0" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		}
	})
	c := outbound.Client(outbound.Config{AllowPrivate: loopback})
	for _, x := range []struct {
		name, method, to string
		header           []string
		status           int
		fails            string
	}{
		{"same origin, with credentials", "GET", "/?to=", []string{"Authorization", "x"}, 200, ""},
		{"five", "GET", "5", nil, 200, ""},
		{"six", "GET", "6", nil, 0, "redirects more than 5 times"},
		{"another origin, nothing to lose", "GET", other, []string{"Accept", "text/plain"}, 200, ""},
		{"another origin, authorization", "GET", other, []string{"Authorization", "x"}, 0, "the request carries Authorization: not followed"},
		{"another origin, cookie", "GET", other, []string{"Cookie", "x=y"}, 0, "carries Cookie"},
		{"another origin, a key of the API's own", "HEAD", other, []string{"X-Api-Key", "x"}, 0, "carries X-Api-Key"},
		{"a private address", "GET", "http://10.0.0.1/", nil, 0, "outbound.allowPrivate"},
		{"a file", "GET", "file:///etc/passwd", nil, 0, "unsupported protocol scheme"},
		{"an action", "POST", "/?to=", nil, 307, ""},
		{"an action to another origin", "DELETE", other, nil, 307, ""},
	} {
		resp, err := do(t, c, x.method, url+"/?to="+x.to, x.header...)
		switch {
		case x.fails != "" && (err == nil || !strings.Contains(err.Error(), x.fails)):
			t.Errorf("%s: %v, want %q", x.name, err, x.fails)
		case x.fails == "" && (err != nil || resp.StatusCode != x.status):
			t.Errorf("%s: %v, %v", x.name, resp, err)
		}
	}
	if reached.Load() != "GET" || referer.Load() != "" {
		t.Errorf("the other origin saw %v from %q", reached.Load(), referer.Load())
	}
}

func TestHTTPSIsNotLeft(t *testing.T) {
	t.Parallel()
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	srv := httptest.NewTLSServer(http.RedirectHandler(plain, http.StatusFound))
	t.Cleanup(srv.Close)
	c := srv.Client()
	c.CheckRedirect = outbound.Client(outbound.Config{}).CheckRedirect
	if _, err := do(t, c, "GET", srv.URL); err == nil || !strings.Contains(err.Error(), "from https to http") {
		t.Error(err)
	}
}

func TestLongAnswers(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", 100))
	})
	for limit, cut := range map[int64]bool{99: true, 100: false, 101: false, 0: false, -1: false} {
		resp, err := do(t, outbound.Client(outbound.Config{AllowPrivate: loopback, MaxBytes: limit}), "GET", url)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		if cut && (!errors.Is(err, outbound.ErrTooLong) || len(b) != 99) || !cut && (err != nil || len(b) != 100) {
			t.Errorf("limit %d: %d bytes, %v", limit, len(b), err)
		}
	}
}

func TestNotStarted(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + l.Addr().String()
	_ = l.Close()
	cut := serve(t, func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	slow := serve(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c := outbound.Client(outbound.Config{AllowPrivate: loopback})
	for _, x := range []struct {
		name, url string
		client    *http.Client
		want      bool
	}{
		{"refused", closed, c, true},
		{"not allowed", cut, outbound.Client(outbound.Config{}), true},
		{"another client, refused", closed, http.DefaultClient, true},
		{"an untrusted certificate", untrusted.URL, c, true},
		{"another client, an untrusted certificate", untrusted.URL, http.DefaultClient, true},
		{"cut after it was sent", cut, c, false},
		{"too slow", slow, outbound.Client(outbound.Config{AllowPrivate: loopback, Timeout: 50 * time.Millisecond}), false},
	} {
		_, err := do(t, x.client, "POST", x.url)
		if err == nil || outbound.NotStarted(err) != x.want || x.client != http.DefaultClient && errors.Is(err, tool.ErrNotStarted) != x.want {
			t.Errorf("%s: %v, not started %v", x.name, err, outbound.NotStarted(err))
		}
	}
	if outbound.NotStarted(nil) || outbound.NotStarted(io.EOF) || outbound.NotStarted(context.Canceled) {
		t.Error("what proves nothing is taken for a proof")
	}
}
