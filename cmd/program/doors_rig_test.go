package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/core"
)

// house is the whole program in this process, with every door on loopback. It may be stopped and started again.
type house struct {
	t       testing.TB
	doc     map[string]any
	dir     string
	address string
	app     *app
	log     *text // everything above debug, as JSON
	env     map[string]string
	client  *http.Client
	changes []func(*Config)
	stop    func()
}

func mustBe(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tokenOf is the secret of a token of the house by its name.
func tokenOf(name string) string { return "the-token-of-" + name }

// newHouse starts the program of a configuration, to which the store and the address are added. tokens are
// those of the API, by name, without their secrets.
func newHouse(t testing.TB, doc map[string]any, tokens map[string]map[string]any, changes ...func(*Config)) *house {
	t.Helper()
	h := &house{t: t, doc: maps.Clone(doc), dir: t.TempDir(), address: freeAddress(t), log: &text{}, env: map[string]string{}}
	h.client, h.changes = &http.Client{Transport: &http.Transport{}}, changes
	var list []any
	for name, k := range tokens {
		k = maps.Clone(k)
		k["name"], k["token"] = name, tokenOf(name)
		list = append(list, k)
	}
	h.doc["store"] = map[string]any{"path": "p.db"}
	h.doc["api"] = map[string]any{"listen": h.address, "tokens": list}
	h.start()
	t.Cleanup(h.end)
	return h
}

func (h *house) start() {
	h.t.Helper()
	raw, err := json.Marshal(h.doc)
	mustBe(h.t, err)
	cfg, problems, err := parseConfig(raw, h.dir, func(name string) (string, bool) { v, ok := h.env[name]; return v, ok })
	mustBe(h.t, err)
	if len(problems) > 0 {
		h.t.Fatalf("the configuration: %+v", problems)
	}
	for _, change := range h.changes {
		change(cfg)
	}
	h.app, err = newApp(cfg, slog.New(slog.NewJSONHandler(h.log, nil)))
	mustBe(h.t, err)
	mustBe(h.t, h.app.addChannels())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	running := h.app
	go func() { ended <- errors.Join(running.run(ctx), running.close()) }()
	h.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			h.t.Errorf("the program ended: %v", err)
		}
	}
	h.eventually("it listens", func() bool {
		resp, err := h.client.Get("http://" + h.address + "/healthz")
		if err != nil {
			return false
		}
		return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	})
}

func (h *house) end() {
	if h.stop != nil {
		h.client.CloseIdleConnections()
		h.stop()
		h.stop = nil
	}
}

func (h *house) restart() { h.end(); h.start() }

func (h *house) store() string { return filepath.Join(h.dir, "p.db") }

// eventually waits until ok is true, and fails the test where it does not become so.
func (h *house) eventually(what string, ok func() bool) {
	h.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(patience)
	defer late.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late.C:
			h.t.Fatalf("this did not come: %s\n%s", what, h.log)
		}
	}
}

// answered is an answer of the API.
type answered struct {
	status int
	header http.Header
	body   string
	problem
}

// problem is what a client reads of a problem document.
type problem struct {
	Code, Detail, State string
	By                  core.PersonID
	Fields              []core.FieldError
}

// into decodes the body.
func (a answered) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), v); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
}

// api asks the API as a token. body is JSON text, or a value.
func (h *house) api(token, method, path string, body any, header ...string) answered {
	h.t.Helper()
	raw, isText := body.(string)
	if !isText && body != nil {
		b, err := json.Marshal(body)
		mustBe(h.t, err)
		raw = string(b)
	}
	req, err := http.NewRequest(method, "http://"+h.address+path, strings.NewReader(raw))
	mustBe(h.t, err)
	req.Header.Set("Authorization", "Bearer "+tokenOf(token))
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := h.client.Do(req)
	mustBe(h.t, err)
	defer resp.Body.Close()
	var b bytes.Buffer
	_, err = io.Copy(&b, resp.Body)
	mustBe(h.t, err)
	a := answered{status: resp.StatusCode, header: resp.Header, body: b.String()}
	if resp.Header.Get("Content-Type") == "application/problem+json" {
		a.into(h.t, &a.problem)
	}
	return a
}

// want fails unless the status is this.
func (h *house) want(a answered, status int) answered {
	h.t.Helper()
	if a.status != status {
		h.t.Fatalf("status %d, want %d: %s\n%s", a.status, status, a.body, h.log)
	}
	return a
}

// say sends a message to an agent and returns the run at its next stop.
func (h *house) say(token, agent, text string, more ...string) (r siteRun) {
	h.t.Helper()
	body := map[string]string{"text": text}
	for i := 0; i < len(more); i += 2 {
		body[more[i]] = more[i+1]
	}
	h.want(h.api(token, "POST", "/v1/agents/"+agent+"/runs", body), 202).into(h.t, &r)
	return h.run(token, r.ID)
}

// run is a run at its next stop.
func (h *house) run(token, id string) (r siteRun) {
	h.t.Helper()
	h.want(h.api(token, "GET", "/v1/runs/"+id+"?wait=30", nil), 200).into(h.t, &r)
	return r
}
