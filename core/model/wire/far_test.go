package wire

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

func mustParse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestParseBase(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"http://h":                     "http://h/",
		" https://h/v1/ ":              "https://h/v1/",
		"http://h/a%2Fb/op":            "http://h/a/b/",
		"http://u:p@h/op//":            "http://u:p@h/",
		"https://h:8443/x/op/more/op/": "https://h:8443/x/op/more/",
	} {
		got, err := ParseBase("test", given, "/op", "x")
		if err != nil || got.String() != want {
			t.Errorf("%q is %v (%v), want %s", given, got, err, want)
		}
	}
}

// TestNoRedirect checks that a key never goes where it was not meant for.
func TestNoRedirect(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer elsewhere.Close()
	here := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer here.Close()
	given := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
	for _, c := range []*http.Client{Client(nil), Client(given)} {
		resp, err := c.Post(here.URL, "application/json", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusTemporaryRedirect {
			t.Errorf("status %d (%v)", resp.StatusCode, err)
		}
	}
}

func TestBounded(t *testing.T) {
	t.Parallel()
	for size, ok := range map[int]bool{0: true, MaxBody: true, MaxBody + 1: false} {
		resp, err := Bounded(nil, func(*http.Request) (*http.Response, error) {
			return &http.Response{Body: io.NopCloser(io.LimitReader(zeros{}, int64(size)))}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, resp.Body); (err == nil) != ok || ok && n != int64(size) {
			t.Errorf("%d bytes: read %d (%v)", size, n, err)
		}
	}
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
