package inbox_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// chromium is a headless browser, spoken to through a pipe.
type chromium struct {
	t    *testing.T
	in   io.Writer
	mu   sync.Mutex
	last int
	wait map[int]chan reply
	load map[string]chan struct{} // by session: a page was loaded
}

type reply struct {
	ID        int
	Method    string
	SessionID string
	Result    json.RawMessage
	Error     *struct{ Message string }
}

// newChromium starts the browser that PARLEY_CHROMIUM names, or one that is installed; without one the test is skipped.
func newChromium(t *testing.T) *chromium {
	path := os.Getenv("PARLEY_CHROMIUM")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); path == "" && err == nil {
			path = found
		}
	}
	if path == "" {
		t.Skip("no Chromium is installed: install one, or name it in PARLEY_CHROMIUM, to test the page in a browser")
	}
	dir, err := os.MkdirTemp("", "inbox")
	if err != nil {
		t.Fatal(err)
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-extensions", "--user-data-dir="+dir)
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	_, _ = theirIn.Close(), theirOut.Close()
	c := &chromium{t: t, in: in, wait: map[int]chan reply{}, load: map[string]chan struct{}{}}
	done := make(chan struct{})
	go func() { defer close(done); c.read(out) }()
	t.Cleanup(func() {
		c.end(cmd)
		_ = in.Close()
		<-done
		_ = out.Close()
		if err := os.RemoveAll(dir); err != nil {
			t.Logf("a helper of the browser still writes: %v", err)
		}
	})
	return c
}

// end asks the browser to end, so that its helpers do too, and makes it where it does not.
func (c *chromium) end(cmd *exec.Cmd) {
	_, err := c.in.Write([]byte(`{"id":1000000,"method":"Browser.close"}` + "\x00"))
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	late := time.NewTimer(patience)
	defer late.Stop()
	if err == nil {
		select {
		case <-ended:
			return
		case <-late.C:
		}
	}
	_ = cmd.Process.Kill()
	<-ended
}

// read hands out what the browser says, until it ends.
func (c *chromium) read(out io.Reader) {
	r := bufio.NewReader(out)
	for {
		raw, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m reply
		if json.Unmarshal(raw[:len(raw)-1], &m) != nil {
			continue
		}
		c.mu.Lock()
		if ch := c.wait[m.ID]; ch != nil {
			delete(c.wait, m.ID)
			ch <- m
		}
		if ch := c.load[m.SessionID]; ch != nil && m.Method == "Page.loadEventFired" {
			select {
			case ch <- struct{}{}:
			default:
			}
		}
		c.mu.Unlock()
	}
}

// patience is how long the browser may take for one thing.
const patience = 60 * time.Second

// do sends a command and reads its result into out.
func (c *chromium) do(session, method string, params map[string]any, out any) {
	c.t.Helper()
	c.mu.Lock()
	c.last++
	id, ch := c.last, make(chan reply, 1)
	c.wait[id] = ch
	raw, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params, "sessionId": session})
	if session == "" {
		raw, err = json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	}
	if err == nil {
		_, err = c.in.Write(append(raw, 0))
	}
	c.mu.Unlock()
	if err != nil {
		c.t.Fatal(err)
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case m := <-ch:
		if m.Error != nil {
			c.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if out != nil && json.Unmarshal(m.Result, out) != nil {
			c.t.Fatalf("%s: %s", method, m.Result)
		}
	case <-late.C:
		c.t.Fatalf("%s: no answer", method)
	}
}

// tab is one page of one browser, with cookies of its own.
type tab struct {
	c       *chromium
	session string
	loaded  chan struct{}
}

func (c *chromium) tab() *tab {
	c.t.Helper()
	var made struct{ BrowserContextID, TargetID, SessionID string }
	c.do("", "Target.createBrowserContext", nil, &made)
	c.do("", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": made.BrowserContextID}, &made)
	c.do("", "Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}, &made)
	b := &tab{c: c, session: made.SessionID, loaded: make(chan struct{}, 1)}
	c.mu.Lock()
	c.load[b.session] = b.loaded
	c.mu.Unlock()
	c.do(b.session, "Page.enable", nil, nil)
	return b
}

// during does something that loads a page, and waits for it.
func (b *tab) during(f func()) {
	b.c.t.Helper()
	select {
	case <-b.loaded:
	default:
	}
	f()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-b.loaded:
	case <-late.C:
		b.c.t.Fatal("no page is loaded")
	}
}

func (b *tab) open(url string) {
	b.c.t.Helper()
	b.during(func() { b.c.do(b.session, "Page.navigate", map[string]any{"url": url}, nil) })
}

// eval runs a script and returns its value as JSON.
func (b *tab) eval(script string) string {
	b.c.t.Helper()
	var out struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct{ Text string }
	}
	b.c.do(b.session, "Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true}, &out)
	if out.ExceptionDetails != nil {
		b.c.t.Fatalf("%s: %s", script, out.ExceptionDetails.Text)
	}
	return string(out.Result.Value)
}

// until waits for something to become true of the page as it changes, without loading it.
func (b *tab) until(condition string) {
	b.c.t.Helper()
	b.eval(fmt.Sprintf(`new Promise((done) => {
		const look = () => { if (%s) { seer.disconnect(); done(true); } };
		const seer = new MutationObserver(look);
		seer.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
		look();
	})`, condition))
}

// screen gives the page the width of a phone, or another, and a scheme of colours.
func (b *tab) screen(width, height int, scheme string) {
	b.c.t.Helper()
	b.c.do(b.session, "Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 2, "mobile": width < 600}, nil)
	b.c.do(b.session, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// picture keeps a screenshot in the folder that PARLEY_SCREENSHOTS names, if it does.
func (b *tab) picture(name string) {
	b.c.t.Helper()
	dir := os.Getenv("PARLEY_SCREENSHOTS")
	if dir == "" {
		return
	}
	var out struct{ Data string }
	b.c.do(b.session, "Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &out)
	raw, err := base64.StdEncoding.DecodeString(out.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), raw, 0o600)
	}
	if err != nil {
		b.c.t.Error(err)
	}
}

// signIn as a person does: types the token and presses Enter.
func (b *tab) signIn(w *world, token string) {
	b.c.t.Helper()
	b.open(w.server.URL + "/inbox")
	if got := b.eval("document.querySelector('h1').textContent"); got != `"Sign in"` {
		b.c.t.Fatalf("the first page is %s", got)
	}
	b.eval("document.getElementById('token').value = '" + token + "-secret'; document.getElementById('token').focus()")
	b.during(func() { b.press("Enter") })
}

// press sends a key.
func (b *tab) press(key string) {
	b.c.t.Helper()
	code := map[string]int{"Enter": 13, "Tab": 9, " ": 32}[key]
	text := map[string]string{"Enter": "\r", " ": " "}[key]
	params := map[string]any{"type": "keyDown", "key": key, "windowsVirtualKeyCode": code, "text": text}
	b.c.do(b.session, "Input.dispatchKeyEvent", params, nil)
	b.c.do(b.session, "Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "windowsVirtualKeyCode": code}, nil)
}

// TestTwoBrowsers see the same input; one answers, and the other changes without being loaded again.
func TestTwoBrowsers(t *testing.T) {
	t.Parallel()
	c := newChromium(t)
	w := newWorld(t)
	in := w.begin("ops", `call db__drop {"name":"staging","password":"hunter2"}`)[0]
	set := w.begin("ops", oneLine(ask))[0]
	one, two := c.tab(), c.tab()
	one.screen(390, 844, "light")
	two.screen(390, 844, "dark")
	one.signIn(w, "ben")
	two.signIn(w, "ben")
	card := "document.getElementById('in-" + string(in.ID) + "')"
	for _, b := range []*tab{one, two} {
		if got := b.eval(card + ".dataset.state"); got != `"pending"` {
			t.Fatalf("a browser sees %s", got)
		}
		b.eval("window.mark = 'the same page'")
	}
	one.picture("queue-phone-light")
	two.picture("queue-phone-dark")

	// Two types into the other card, which stays as it is; one approves by the keyboard alone.
	why := "document.getElementById('in-" + string(set.ID) + "-q2')"
	two.eval(why + ".value = 'half a'; " + why + ".dispatchEvent(new Event('input', {bubbles: true}))")
	one.eval(card + ".querySelector('button.yes').focus()")
	one.during(func() { one.press("Enter") })
	if got := one.eval("document.querySelector('.ended strong').textContent"); got != `"Accepted by test:ben, approver, via web"` {
		t.Errorf("the first browser sees %s", got)
	}
	two.until(card + ".dataset.state === 'accepted'")
	if got := two.eval("window.mark + ': ' + document.querySelector('.ended strong').textContent"); got != `"the same page: Accepted by test:ben, approver, via web"` {
		t.Errorf("the second browser sees %s", got)
	}
	two.until("document.getElementById('news').textContent.includes('Accepted by test:ben')")
	if got := two.eval(why + ".value"); got != `"half a"` {
		t.Errorf("what was typed is now %s", got)
	}
	two.picture("answered-phone-dark")

	// What comes anew is there as well, and nothing of it can run.
	w.begin("ops", `call team__sure {"message":"<img src=x onerror=\"window.mark=1\"><script>window.mark=2</script>"}`)
	two.until("document.querySelectorAll('#cards > article').length === 3")
	if got := two.eval("window.mark"); got != `"the same page"` {
		t.Errorf("a text ran: %s", got)
	}
	for _, b := range []*tab{one, two} {
		if got := b.eval("document.documentElement.scrollWidth <= window.innerWidth"); got != "true" {
			t.Error("the page is wider than the phone")
		}
	}
	one.open(w.server.URL + "/inbox/runs/" + string(in.Run))
	one.picture("run-phone-light")
	one.open(w.server.URL + "/inbox/inputs/" + string(set.ID))
	one.picture("questions-phone-light")
	one.screen(1280, 900, "light")
	one.open(w.server.URL + "/inbox")
	one.picture("queue-desktop-light")

	// What a chat would not take comes up as well, and is said.
	two.open(w.server.URL + "/inbox?show=lost")
	two.eval("window.mark = 'still the same page'")
	w.chat("m1", drop)
	w.undeliverable("chat", "the bot was removed")
	two.until("document.querySelector('#cards > article h2')?.textContent.includes('the bot was removed')")
	two.until("document.getElementById('news').textContent.includes('the bot was removed')")
	if got := two.eval("window.mark + ' ' + document.getElementById('empty')"); got != `"still the same page null"` {
		t.Errorf("the page is %s", got)
	}
	two.screen(1280, 900, "dark")
	two.picture("lost-desktop-dark")
	two.open(w.server.URL + "/inbox/runs/" + string(in.Run))
	two.eval("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
	two.picture("run-desktop-dark")
	two.screen(390, 844, "dark")
	if got := two.eval("document.documentElement.scrollWidth <= window.innerWidth"); got != "true" {
		t.Error("the history is wider than the phone")
	}
}

// TestInTheBrowser: every control has a name that is read out, and colours can be told apart.
func TestInTheBrowser(t *testing.T) {
	t.Parallel()
	c := newChromium(t)
	w := newWorld(t)
	w.begin("ops", `call db__drop {"name":"staging","password":"hunter2"}`)
	w.begin("ops", oneLine(ask))
	w.begin("ops", "call team__form "+oneLine(formSchema))
	w.begin("ops", `call cal__connect {"url":"https://calendar.example.com/connect"}`)
	b := c.tab()
	for _, scheme := range []string{"light", "dark"} {
		b.screen(390, 844, scheme)
		if scheme == "light" {
			b.signIn(w, "ben")
		} else {
			b.open(w.server.URL + "/inbox")
		}
		b.picture("all-phone-" + scheme)
		if got := b.eval(namesScript); got != "[]" {
			t.Errorf("controls without a name: %s", got)
		}
		if got := b.eval(referencesScript); got != "[]" {
			t.Errorf("references to what is not there, doubled ids, or buttons that do not say of what: %s", got)
		}
		if got := b.eval(contrastScript); got != "[]" {
			t.Errorf("%s: low contrast: %s", scheme, got)
		}
		if got := b.eval("document.documentElement.scrollWidth <= window.innerWidth"); got != "true" {
			t.Error("the page is wider than the phone")
		}
	}
	// The keyboard reaches what there is, and it is seen where one is.
	b.eval("document.querySelector('button.yes').focus()")
	b.press("Tab")
	if got := b.eval("getComputedStyle(document.activeElement).outlineStyle + ' ' + document.activeElement.tagName"); !strings.Contains(got, "solid") {
		t.Errorf("the focus is drawn %s", got)
	}
}

const namesScript = `JSON.stringify([...document.querySelectorAll("input:not([type=hidden]), select, textarea, button, fieldset")].filter((e) => {
	if (e.getAttribute("aria-label") || e.tagName === "BUTTON" && e.textContent.trim()) return false;
	if (e.tagName === "FIELDSET") return !e.querySelector("legend");
	return !e.labels || e.labels.length !== 1 || !e.labels[0].textContent.trim();
}).map((e) => e.outerHTML)) === "[]" ? [] : "some"`

const referencesScript = `(() => {
	const bad = [];
	for (const e of document.querySelectorAll("[aria-describedby], [aria-labelledby], label[for], [data-of]")) {
		for (const name of ["aria-describedby", "aria-labelledby", "for", "data-of"]) {
			for (const id of (e.getAttribute(name) || "").split(/\s+/)) if (id && !document.getElementById(id)) bad.push(name + " " + id);
		}
	}
	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
	bad.push(...ids.filter((id, i) => ids.indexOf(id) !== i));
	for (const e of document.querySelectorAll("article button")) if (!e.getAttribute("aria-describedby")) bad.push(e.outerHTML);
	return bad;
})()`

const contrastScript = `(() => {
	const parts = (s) => s.match(/[\d.]+/g).map(Number);
	const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const behind = (e) => { for (; e; e = e.parentElement) { const c = parts(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0.99) return c; } return matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [255, 255, 255]; };
	const bad = [];
	for (const e of document.querySelectorAll("body *")) {
		if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
		const a = light(parts(getComputedStyle(e).color)), b = light(behind(e));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) bad.push(e.tagName + "." + e.className + " " + ratio.toFixed(2));
	}
	return bad;
})()`
