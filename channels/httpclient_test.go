package channels

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestHTTPClientFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/elsewhere", http.StatusFound))
	defer srv.Close()
	given := srv.Client()
	for _, hc := range []*http.Client{nil, given} {
		c := HTTPClient(hc)
		resp, err := c.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusFound {
			t.Errorf("status %d", resp.StatusCode)
		}
		c.CloseIdleConnections()
	}
	if given.CheckRedirect != nil {
		t.Error("the client that was given is changed")
	}
}
