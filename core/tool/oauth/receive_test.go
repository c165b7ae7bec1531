package oauth

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func newServer(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// freeRedirect is a redirect at which nobody listens yet.
func freeRedirect(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String() + "/callback"
}

// told passes on what a person is told.
type told chan string

func (w told) Write(p []byte) (int, error) { w <- string(p); return len(p), nil }

func (r *rig) get(t *testing.T, address string) (int, string) {
	t.Helper()
	resp, err := r.config.HTTPClient.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestBrowser is a login through a listener: what is not its answer changes nothing, and its answer counts once.
func TestBrowser(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.config.Redirect = freeRedirect(t)
	says := make(told, 1)
	done := make(chan error, 1)
	hold := make(chan struct{})
	fetch := Browser(says)
	go func() {
		done <- Login(t.Context(), r.config, func(ctx context.Context, v Visit) (url.Values, error) {
			back, err := fetch(ctx, v)
			<-hold
			return back, err
		})
	}()
	text := <-says
	if !strings.Contains(text, r.as.URL+"/authorize?") || !strings.Contains(text, r.config.Redirect) {
		t.Fatalf("%q", text)
	}
	page := strings.Fields(text[strings.Index(text, r.as.URL):])[0]
	state := mustQuery(t, page).Get("state")
	for _, wrong := range []string{"", "?code=x", "?code=x&state=wrong", "?error=access_denied&state=", "/../other?state=" + state, "?%zz"} {
		if status, body := r.get(t, r.config.Redirect+wrong); status == http.StatusOK {
			t.Errorf("%q was taken: %s", wrong, body)
		}
	}
	if resp, err := r.config.HTTPClient.Post(r.config.Redirect+"?code=x&state="+state, "text/plain", nil); err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("a POST: %v", err)
	}
	if status, body := r.get(t, page); status != http.StatusOK || !strings.Contains(body, "terminal") {
		t.Errorf("status %d, %s", status, body)
	}
	close(hold)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	r.served(r.keeper(), "tools/list")
}

// TestAnswerIsTakenOnce: the same answer again is told that it is over, and its code is not spent twice.
func TestAnswerIsTakenOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var answered url.Values
	err := Login(t.Context(), r.config, func(ctx context.Context, v Visit) (url.Values, error) {
		back, err := r.browser(ctx, v)
		answered = back
		return back, err
	})
	if err != nil {
		t.Fatal(err)
	}
	err = Login(t.Context(), r.config, func(context.Context, Visit) (url.Values, error) { return answered, nil })
	if err == nil || !strings.Contains(err.Error(), "belongs to another login") || len(r.as.Requests()) != 1 {
		t.Errorf("a replayed answer: %v, %d token requests", err, len(r.as.Requests()))
	}
	err = Login(t.Context(), r.config, func(_ context.Context, v Visit) (url.Values, error) {
		return url.Values{"state": {v.State}, "code": answered["code"]}, nil
	})
	if err == nil || !strings.Contains(err.Error(), "invalid_grant") {
		t.Errorf("a replayed code: %v", err)
	}
	r.clean(err.Error())
	r.served(r.keeper(), "tools/list") // the login before stands
}

func mustQuery(t *testing.T, address string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

func TestBrowserIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("stopped")
	says := make(told, 1)
	done := make(chan error, 1)
	redirect := freeRedirect(t)
	go func() {
		_, err := Browser(says)(ctx, Visit{URL: "https://example.com/", State: "s", Redirect: redirect})
		done <- err
	}()
	<-says
	_, err := Browser(io.Discard)(ctx, Visit{Redirect: redirect})
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a second listener: %v", err)
	}
	cancel(gone)
	if err := <-done; !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
	if _, err := Browser(io.Discard)(t.Context(), Visit{Redirect: "https://example.com/cb"}); err == nil {
		t.Error("it waits for what does not come back here")
	}
}

func TestPaste(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	v := Visit{URL: "https://example.com/authorize?x", State: "right", Redirect: DefaultRedirect}
	in := strings.NewReader("hello\n\nhttp://127.0.0.1:33418/callback?code=a&state=wrong\n  http://127.0.0.1:33418/callback?code=b&state=right \n")
	back, err := Paste(&out, in)(t.Context(), v)
	if err != nil || back.Get("code") != "b" {
		t.Errorf("%v, %v", back, err)
	}
	if got := strings.Count(out.String(), "Paste the whole address"); got != 2 || !strings.Contains(out.String(), v.URL) {
		t.Errorf("%s", out.String())
	}
	if _, err := Paste(io.Discard, strings.NewReader("x\n"))(t.Context(), v); err == nil || !strings.Contains(err.Error(), "ended before") {
		t.Errorf("%v", err)
	}
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Paste(io.Discard, r)(ctx, v); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func FuzzChallenge(f *testing.F) {
	for _, s := range []string{
		"", `Bearer`, `Bearer error="insufficient_scope", scope="a b", resource_metadata="https://x/y"`, `Basic realm="a", Bearer scope=a`, `"`, `Bearer a="`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		c := readChallenge(&http.Response{Header: http.Header{"Www-Authenticate": {header}}, Body: http.NoBody})
		if slices.Contains(c.scopes, "") {
			t.Errorf("%q has an empty scope: %q", header, c.scopes)
		}
	})
}

func FuzzPasted(f *testing.F) {
	f.Add("http://127.0.0.1:33418/callback?code=b&state=right")
	f.Add("?state=right")
	f.Add("state=right")
	f.Fuzz(func(t *testing.T, line string) {
		back, wrong := pasted(line, Visit{State: "right"})
		if (wrong == "") != (back.Get("state") == "right") {
			t.Errorf("%q: %v, %q", line, back, wrong)
		}
	})
}
