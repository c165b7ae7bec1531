package inbox_test

import (
	"bufio"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"parley/core"
)

// listen opens the stream of a page and returns its versions.
func (b *browser) listen(path string) <-chan string {
	b.w.t.Helper()
	req, err := http.NewRequestWithContext(b.w.t.Context(), "GET", b.w.server.URL+path, nil)
	if err != nil {
		b.w.t.Fatal(err)
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.w.t.Fatal(err)
	}
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		b.w.t.Fatalf("status %d", resp.StatusCode)
	}
	out := make(chan string, 100)
	go func() {
		defer close(out)
		defer resp.Body.Close()
		for s := bufio.NewScanner(resp.Body); s.Scan(); {
			if v, ok := strings.CutPrefix(s.Text(), "data: "); ok {
				out <- v
			}
		}
	}()
	return out
}

// next is the next version; a stream that is silent for long fails the test.
func next(t *testing.T, versions <-chan string) string {
	t.Helper()
	late := time.NewTimer(20 * time.Second)
	defer late.Stop()
	select {
	case v, ok := <-versions:
		if !ok {
			return "ended"
		}
		return v
	case <-late.C:
		t.Fatal("nothing comes")
		return ""
	}
}

// TestLive: every kind of page is told when there is another version of it, and the version is that of the page.
func TestLive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin("ops", drop)[0]
	b := w.as("ben")
	pages := map[string]<-chan string{}
	shown := map[string]string{}
	for _, path := range []string{"/inbox", "/inbox/inputs/" + string(in.ID), "/inbox/runs/" + string(in.Run)} {
		p := b.get(path)
		live := attribute(p.body, "data-live")
		shown[path] = attribute(p.body, "data-version")
		pages[path] = b.listen(live)
		if v := next(t, pages[path]); v != shown[path] {
			t.Errorf("%s shows %s, its stream says %s", path, shown[path], v)
		}
	}
	w.as("ana").answer(in, url.Values{}).want(t, 303)
	w.stopped(in)
	for path, versions := range pages {
		for { // the call runs, and then has run
			v := next(t, versions)
			if now := attribute(b.get(path).body, "data-version"); v == now && now != shown[path] {
				break
			}
		}
	}
	w.close()
	for _, versions := range pages {
		for v := ""; v != "ended"; {
			v = next(t, versions)
		}
	}
}

// attribute is the value of the first attribute of that name.
func attribute(body, name string) string {
	_, rest, _ := strings.Cut(body, name+`="`)
	v, _, _ := strings.Cut(rest, `"`)
	return strings.ReplaceAll(v, "&amp;", "&")
}

// TestLiveEnds with the session; it is nobody's without one, and not without bound.
func TestLiveEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin("ops", drop)[0]
	w.stranger().get("/inbox/events").want(t, 401)
	w.as("cleo").get("/inbox/events?input="+string(in.ID)).want(t, 404)
	w.as("cleo").get("/inbox/events?run="+string(in.Run)).want(t, 404)
	b := w.as("ben")
	b.do("HEAD", "/inbox/events", "").want(t, 405)
	var all []<-chan string
	for range 4 {
		all = append(all, b.listen("/inbox/events"))
	}
	b.get("/inbox/events").want(t, 503)
	for _, versions := range all {
		next(t, versions)
	}
	b.post("/inbox/logout", url.Values{}).want(t, 303)
	w.begin("ops", drop)
	for _, versions := range all {
		for v := ""; v != "ended"; {
			v = next(t, versions)
		}
	}
}

// TestUndeliverable is seen in the queue and in the run.
func TestUndeliverable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := core.NewConversation("ops", "chat", "room")
	if _, err := w.engine.Accept(t.Context(), core.Message{ID: "m1", Conversation: c, From: ana, Text: drop, SentAt: w.now(), Addressed: true}); err != nil {
		t.Fatal(err)
	}
	run, err := w.engine.Started(t.Context(), c, "m1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.engine.Stopped(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	w.undeliverable("chat", "the bot was <b>removed</b>")
	b := w.as("ben")
	for _, path := range []string{"/inbox", "/inbox/runs/" + string(run.ID)} {
		b.get(path).want(t, 200, "could not be shown at chat:room: the bot was &lt;b&gt;removed&lt;/b&gt;")
	}
}
