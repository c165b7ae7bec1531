package inbox_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"parley/core"
)

// cookie is that of a browser.
func (b *browser) cookie() string {
	b.w.t.Helper()
	at, err := url.Parse(b.w.server.URL + "/inbox")
	if err != nil {
		b.w.t.Fatal(err)
	}
	for _, c := range b.client.Jar.Cookies(at) {
		return c.Name + "=" + c.Value
	}
	return ""
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.stranger()
	s.get("/inbox/login?next=/inbox/runs/r1").want(t, 200, `type="password"`, `value="/inbox/runs/r1"`)
	for token, status := range map[string]int{"": 401, "wrong": 401, "ana": 401, "desk-secret": 403, "mute-secret": 403} {
		p := s.post("/inbox/session", url.Values{"token": {token}}).want(t, status, "!"+token+"-secret")
		if p.header.Get("Set-Cookie") != "" {
			t.Errorf("%q gets a cookie", token)
		}
	}
	for next, to := range map[string]string{
		"": "/inbox", "/inbox/runs/r1?after=3": "/inbox/runs/r1?after=3", "https://evil.example/inbox": "/inbox", "//evil.example/inbox": "/inbox", `/\evil.example/inbox`: "/inbox",
		"/inbox/../../v1": "/inbox", "/v1/inputs": "/inbox", "/inboxes": "/inbox", "javascript:alert(1)": "/inbox", "/inbox/\r\nX: y": "/inbox",
	} {
		p := w.stranger().post("/inbox/session", url.Values{"token": {"ana-secret"}, "next": {next}}).want(t, 303)
		if got := p.header.Get("Location"); got != to {
			t.Errorf("next %q goes to %q", next, got)
		}
		set := p.header.Get("Set-Cookie")
		for _, want := range []string{"parley-inbox=", "HttpOnly", "SameSite=Strict", "Path=/inbox", "Max-Age=43200"} {
			if !strings.Contains(set, want) {
				t.Errorf("the cookie %q lacks %s", set, want)
			}
		}
		if strings.Contains(set, "ana-secret") || strings.Contains(set, "Secure") {
			t.Errorf("cookie %q on loopback", set)
		}
	}
	// Anywhere but on loopback it is for encrypted connections alone.
	req, err := http.NewRequest("POST", w.server.URL+"/inbox/session", strings.NewReader("token=ana-secret"))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "bot.example.com"
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", "https://bot.example.com")
	resp, err := w.stranger().client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if set := resp.Header.Get("Set-Cookie"); !strings.HasPrefix(set, "__Host-parley-inbox=") || !strings.Contains(set, "; Secure") || !strings.Contains(set, "Path=/;") {
		t.Errorf("cookie %q, status %d", set, resp.StatusCode)
	}
}

func TestSessionEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out, late := w.as("ana"), w.as("ben")
	stolen := out.cookie()
	out.post("/inbox/logout", url.Values{}).want(t, 303)
	if out.cookie() != "" {
		t.Error("the cookie is still there")
	}
	w.stranger().do("GET", "/inbox", "", "Cookie", stolen).want(t, 303)
	late.get("/inbox").want(t, 200)
	w.advance(12*time.Hour - time.Minute)
	late.get("/inbox").want(t, 200)
	w.advance(2 * time.Minute)
	late.get("/inbox").want(t, 303)
	in := w.begin("ops", drop)[0]
	late.answer(in, url.Values{}).want(t, 401, "Nothing was changed")
	if !w.input(in.ID).Pending() {
		t.Error("it was answered")
	}
}

// TestForgedCookies: none is taken that the process did not sign, for whomever it is.
func TestForgedCookies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name, real, _ := strings.Cut(w.as("cleo").cookie(), "=")
	text, signature, _ := strings.Cut(real, ".")
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	var s map[string]any
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	s["p"], s["t"] = string(ben), "ben"
	forged, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	other := newWorld(t)
	for _, value := range []string{
		"", ".", "x", text, text + ".", "." + signature, text + "." + signature[1:], base64.RawURLEncoding.EncodeToString(forged) + "." + signature,
		base64.RawURLEncoding.EncodeToString(forged) + ".", text + "." + signature + ".", text + "=." + signature, real + "x",
	} {
		w.stranger().do("GET", "/inbox", "", "Cookie", name+"="+value).want(t, 303)
	}
	w.stranger().do("GET", "/inbox", "", "Cookie", name+"="+real).want(t, 200)
	other.stranger().do("GET", "/inbox", "", "Cookie", name+"="+real).want(t, 303) // another process has another key
}

// TestLink signs in once, and looking at it uses nothing up.
func TestLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.stranger()
	mint := func(token, from string) page {
		return s.do("POST", "/inbox/link", url.Values{"from": {from}}.Encode(), "Authorization", "Bearer "+token+"-secret", "Origin", "")
	}
	mint("desk", "").want(t, 400)
	mint("desk", "other:x").want(t, 403)
	mint("desk", "@ben").want(t, 400)
	mint("nobody", "test:ben").want(t, 401)
	mint("mute", "test:ben").want(t, 403)
	s.do("POST", "/inbox/link", "from=test:ben", "Authorization", "").want(t, 401)
	made := mint("desk", "test:ben").want(t, 201)
	var link struct{ URL, Person string }
	if err := json.Unmarshal([]byte(made.body), &link); err != nil || link.Person != "test:ben" {
		t.Fatalf("%s: %v", made.body, err)
	}
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "GET", "HEAD"} {
		p := w.stranger().do(method, link.URL, "", "User-Agent", "crawler")
		if p.header.Get("Set-Cookie") != "" {
			t.Errorf("%s signs in", method)
		}
	}
	b := w.stranger()
	code := value(b.get(link.URL).want(t, 200, "test:ben", "works once").body, "code")
	b.post("/inbox/session", url.Values{"code": {code}}).want(t, 303)
	b.get("/inbox").want(t, 200, "test:ben")
	w.stranger().post("/inbox/session", url.Values{"code": {code}}).want(t, 410, "was used before")
	s.get(link.URL).want(t, 410, "Ask for a new one")
	// It opens what its token sees, and no more.
	in := w.begin("strict", drop)[0]
	b.get("/inbox/inputs/"+string(in.ID)).want(t, 404)
	if err := json.Unmarshal([]byte(mint("ben", "").want(t, 201).body), &link); err != nil {
		t.Fatal(err)
	}
	w.advance(11 * time.Minute)
	s.get(link.URL).want(t, 410)
	_, code, _ = strings.Cut(link.URL, "code=")
	s.post("/inbox/session", url.Values{"code": {code}}).want(t, 410)
}

// TestForeignPages: a page of somebody else can neither send our forms nor frame our pages.
func TestForeignPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin("ops", drop)[0]
	b, other := w.as("ben"), w.as("ana")
	path := "/inbox/inputs/" + string(in.ID)
	for _, to := range []string{path, path + "/reveal", "/inbox/logout", "/inbox/session"} {
		for _, header := range [][]string{
			{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Origin", ""}, {"Origin", w.server.URL + ".evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
			{"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Site", "cross-site", "Origin", ""}, {"Sec-Fetch-Site", "same-origin", "Origin", "https://evil.example"},
		} {
			b.post(to, url.Values{"action": {"accept"}, "hash": {in.Hash}, "token": {"ben-secret"}}, header...).want(t, 403, "!hunter2")
		}
	}
	for _, csrf := range []string{"x", other.csrf, b.csrf + "x", b.csrf[1:]} {
		for _, to := range []string{path, path + "/reveal", "/inbox/logout"} {
			b.post(to, url.Values{"csrf": {csrf}, "action": {"accept"}, "hash": {in.Hash}}).want(t, 403, "!hunter2")
		}
	}
	b.do("POST", path, "action=accept&hash="+in.Hash).want(t, 403)
	b.do("POST", path+"?csrf="+b.csrf+"&action=accept&hash="+in.Hash, "x=y").want(t, 403) // only the body counts
	b.do("POST", path, `{"action":"accept"}`, "Content-Type", "application/json").want(t, 415)
	b.do("POST", path, "csrf="+b.csrf+"&action=decline&reason=%ff").want(t, 400)
	b.do("POST", path, "csrf="+b.csrf+"&action=decline&reason="+strings.Repeat("x", 1<<20)).want(t, 413)
	if !w.input(in.ID).Pending() {
		t.Fatal("it was answered")
	}
	b.post(path, url.Values{"action": {"accept"}, "hash": {in.Hash}}, "Sec-Fetch-Site", "same-origin").want(t, 303)
}

// TestEveryAnswerIsGuarded: each page, whoever asks for it, forbids frames, inline code and being kept.
func TestEveryAnswerIsGuarded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin("ops", drop)[0]
	b := w.as("ben")
	pages := []page{
		w.stranger().get("/inbox"), w.stranger().get("/inbox/login"), b.get("/inbox"), b.get("/inbox/inputs/" + string(in.ID)), b.get("/inbox/runs/" + string(in.Run)), b.get("/inbox/nothing"),
		b.do("PUT", "/inbox", "x"), b.get("/inbox/assets/inbox.js"), b.get("/inbox/assets/inbox.css"), b.get("/inbox/assets/card.html"), b.get("/inbox/inputs/none"), w.stranger().get("/inbox/events"), b.get("/inbox/../inbox/x"),
		b.post("/inbox/inputs/"+string(in.ID), url.Values{"action": {"x"}}), b.post("/inbox/inputs/"+string(in.ID)+"/reveal", url.Values{}),
	}
	for i, p := range pages {
		h := p.header
		if got := h.Get("Content-Security-Policy"); got != "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'" {
			t.Errorf("page %d: policy %q", i, got)
		}
		if h.Get("X-Frame-Options") != "DENY" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "same-origin" {
			t.Errorf("page %d: %v", i, h)
		}
		if cache := h.Get("Cache-Control"); cache != "no-store" && !strings.HasPrefix(h.Get("Content-Type"), "text/css") && !strings.HasPrefix(h.Get("Content-Type"), "text/javascript") {
			t.Errorf("page %d: cache %q", i, cache)
		}
		for _, bad := range []string{" style=", " onclick=", "<script>", "<style"} {
			if strings.Contains(p.body, bad) && strings.HasPrefix(h.Get("Content-Type"), "text/html") {
				t.Errorf("page %d: %s", i, bad)
			}
		}
	}
}

// TestUR01NothingComesOfLooking: whoever looks, with whatever is no POST, changes nothing.
func TestUR01NothingComesOfLooking(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin("ops", `call cal__connect {"url":"https://calendar.example.com/connect"}`)[0]
	events := func() int {
		all, err := w.engine.Events(t.Context(), "", 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	before := events()
	b := w.as("ana")
	for range 2 {
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", "WHAT"} {
			for _, who := range []*browser{b, w.stranger()} {
				for _, path := range []string{"/inbox", "/inbox/inputs/" + string(in.ID), "/inbox/inputs/" + string(in.ID) + "/reveal", "/inbox/runs/" + string(in.Run), "/inbox/logout", "/inbox/login", "/inbox/session", "/inbox/link"} {
					who.do(method, path+"?action=accept&csrf="+b.csrf, "", "User-Agent", "Slackbot-LinkExpanding 1.0", "Purpose", "prefetch")
				}
			}
		}
	}
	if got := w.input(in.ID); !got.Pending() || events() != before {
		t.Errorf("state %s, %d events, were %d", got.State, events(), before)
	}
	b.answer(in, url.Values{}).want(t, 303)
	if got := w.input(in.ID); got.State != core.InputAccepted {
		t.Errorf("state %s", got.State)
	}
}
