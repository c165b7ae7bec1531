package program

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// TestInboxOfTheServer: signed in by the token of the configuration, a person approves, and the call runs once.
func TestInboxOfTheServer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.begin()
	jar, err := cookiejar.New(nil)
	must(t, err)
	client := &http.Client{Jar: jar}
	at := "http://" + s.address
	read := func(resp *http.Response, err error) string {
		must(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		must(t, err)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d\n%s", resp.StatusCode, body)
		}
		return string(body)
	}
	post := func(path string, form url.Values) string {
		req, err := http.NewRequest("POST", at+path, strings.NewReader(form.Encode()))
		must(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", at)
		return read(client.Do(req))
	}
	if page := read(client.Get(at + "/inbox")); !strings.Contains(page, "Sign in") {
		t.Fatalf("the first page:\n%s", page)
	}
	page := post("/inbox/session", url.Values{"token": {s.token}})
	form := url.Values{"action": {"accept"}}
	for _, name := range []string{"csrf", "hash"} {
		m := regexp.MustCompile(`name="` + name + `" value="([^"]+)"`).FindStringSubmatch(page)
		if m == nil {
			t.Fatalf("no %s on the page:\n%s", name, page)
		}
		form.Set(name, m[1])
	}
	if page = post("/inbox/inputs/"+r.Inputs[0].ID, form); !strings.Contains(page, "Accepted by local:alice, asker, via web") {
		t.Errorf("afterwards:\n%s", page)
	}
	s.do("GET", "/v1/runs/"+r.ID+"?wait=30", nil, &r)
	if r.Status != "completed" {
		t.Errorf("run %+v", r)
	}
	wantDrops(t, s.store, 1, s.serve.story())
}
