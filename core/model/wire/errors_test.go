package wire

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/core/model"
	"parley/core/model/modeltest"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	const date = "Mon, 02 Nov 2026 10:00:00 GMT"
	for _, tt := range []struct {
		after, ms, date string
		want            time.Duration
	}{
		{"", "", date, 0},
		{"7", "", date, 7 * time.Second},
		{" 0.5 ", "", date, 500 * time.Millisecond},
		{"7", "250", date, 250 * time.Millisecond},
		{"7", "soon", date, 7 * time.Second},
		{"-3", "", date, 0},
		{"NaN", "", date, 0},
		{"1e400", "", date, maxAfter},
		{"99999999999999999999", "", date, maxAfter},
		{"Inf", "", date, maxAfter},
		{"Mon, 02 Nov 2026 10:01:30 GMT", "", date, 90 * time.Second},
		{"Monday, 02-Nov-26 10:00:30 GMT", "", date, 30 * time.Second},
		{"Mon, 02 Nov 2026 09:00:00 GMT", "", date, 0},
		{"Mon, 02 Nov 2099 09:00:00 GMT", "", date, maxAfter},
		{"Mon, 02 Nov 2026 10:01:30 GMT", "", "", 0},
		{"tomorrow", "", date, 0},
	} {
		h := http.Header{"Retry-After": {tt.after}, "Retry-After-Ms": {tt.ms}, "Date": {tt.date}}
		if got := RetryAfter(h); got != tt.want {
			t.Errorf("%q / %q ms: %v, want %v", tt.after, tt.ms, got, tt.want)
		}
	}
}

func TestTransportErrors(t *testing.T) {
	t.Parallel()
	f := Far{Provider: "test", Host: "host.example", Secrets: []string{modeltest.Key}}
	in := func(err error) error {
		return &url.Error{Op: "Post", URL: "https://ana:" + modeltest.Key + "@host.example/v1", Err: err}
	}
	for _, tt := range []struct {
		name     string
		err      error
		sentence string
		retry    bool
	}{
		{"refused", in(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), Unreachable, true},
		{"reset", in(&net.OpError{Op: "read", Err: syscall.ECONNRESET}), Unreachable, true},
		{"unreachable", in(&net.OpError{Op: "dial", Err: syscall.ENETUNREACH}), Unreachable, true},
		{"unknown host", in(&net.DNSError{Name: "host.example", IsNotFound: true}), Unreachable, true},
		{"timeout", in(&net.DNSError{IsTimeout: true}), Late, true},
		{"certificate", in(x509.UnknownAuthorityError{}), Insecure, false},
		{"host name", in(fmt.Errorf("tls: %w", x509.HostnameError{Certificate: &x509.Certificate{}, Host: "host.example"})), Insecure, false},
		{"quotes what came", in(errors.New("malformed HTTP response \"" + modeltest.Key + "\"")), Unreachable, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := f.Transport(tt.err)
			if e.Sentence != tt.sentence || e.Retry != tt.retry {
				t.Errorf("%v (retry %v), want %q", e, e.Retry, tt.sentence)
			}
			modeltest.CheckError(t, e, model.Request{})
			if !strings.Contains(e.Error(), "host.example") {
				t.Errorf("the host is not named: %v", e)
			}
		})
	}
}
