package channels

import (
	"net"
	"net/http"
	"time"
)

// HTTPClient is hc, or one with time-outs of its own where that is nil, as every adapter needs it: a redirect
// is returned and not followed, since it would carry a token to another host, and a call twice.
func HTTPClient(hc *http.Client) *http.Client {
	if hc == nil {
		hc = &http.Client{Transport: newTransport()}
	}
	own := *hc
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// newTransport has time-outs on every phase but the wait for an answer, which the context bounds. Idle
// connections go before the server drops them: a request on a dropped one may or may not have arrived.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     30 * time.Second,
		MaxIdleConnsPerHost: 8,
		ForceAttemptHTTP2:   true,
	}
}
