package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/channels/webhook"
	"parley/core"
	"parley/store/bolt"
)

// letters is a log of some requests.
type letters int

func (n letters) Input(_ context.Context, id core.InputID) (core.Input, error) {
	return core.Input{ID: id, Kind: core.KindApproval, State: core.InputPending, Conversation: core.NewConversation("ops", "api", "x/y")}, nil
}

func (n letters) Events(_ context.Context, _ core.RunID, after uint64, limit int) (evs []core.Event, err error) {
	for seq := after + 1; seq <= uint64(n) && len(evs) < limit; seq++ {
		evs = append(evs, core.Event{Seq: seq, Type: core.EventApproval, Input: core.InputID(fmt.Sprint("i", seq))})
	}
	return evs, nil
}
func (n letters) LastEvent(context.Context) (uint64, error) { return 0, nil }
func (n letters) News(core.AgentID) <-chan struct{}         { return nil }
func fails(w http.ResponseWriter, _ *http.Request)          { w.WriteHeader(http.StatusServiceUnavailable) }
func gone(w http.ResponseWriter, _ *http.Request)           { w.WriteHeader(http.StatusGone) }
func hookConfig(url string) webhook.Hook                    { return webhook.Hook{URL: url, Secret: hookSecret} }
func serverOf(t *testing.T, f http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s
}

const hookSecret = "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="

// deliver runs the hooks of urls on a store until so many outcomes were heard. Each look at the clock is a day later
// than the one before, so that nothing rests.
func deliver(t *testing.T, file string, log letters, outcomes int, urls ...string) {
	t.Helper()
	store, err := bolt.Open(file, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var days, heard atomic.Int64
	var hooks []webhook.Hook
	for _, u := range urls {
		hooks = append(hooks, hookConfig(u))
	}
	h, err := webhook.New(webhook.Config{
		Turns: log, Memory: store, Hooks: hooks, Client: http.DefaultClient,
		Now: func() time.Time { return time.Now().AddDate(0, 0, int(days.Add(1))) },
		Observe: func(_ string, o webhook.Outcome) {
			if o != webhook.Retried && heard.Add(1) == int64(outcomes) {
				cancel()
			}
		},
	})
	if err == nil {
		err = h.Run(ctx)
	}
	if err = errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestWebhooksCommand lists dead letters and hands them to the next start.
func TestWebhooksCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, config := filepath.Join(dir, "parley.db"), filepath.Join(dir, "config.json")
	broken, left := serverOf(t, fails).URL+"/KEY", serverOf(t, gone).URL+"/KEY"
	err := os.WriteFile(config, fmt.Appendf(nil, `{"store": {"path": %q}, "models": {"m": {"provider": "scripted", "script": "{\"else\": {\"say\": \"x\"}}"}},
		"agents": {"ops": {"model": "m"}}, "webhooks": [{"url": %q, "secret": %q}, {"url": %q, "secret": %q}]}`, file, broken, hookSecret, left, hookSecret), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	parley := func(want int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		code := run(append([]string{"webhooks", "--config", config}, args...), strings.NewReader(""), &out, &errs, func(string) (string, bool) { return "", false })
		if code != want || strings.Contains(out.String()+errs.String(), "KEY") {
			t.Errorf("%q: exit code %d, want %d\n%s%s", args, code, want, out.String(), errs.String())
		}
		return out.String() + errs.String()
	}
	deliver(t, file, 2, 2, broken)
	deliver(t, file, 2, 1, left)

	listed := parley(exitDone)
	ids := regexp.MustCompile(`msg_\S+`).FindAllString(listed, -1)
	if len(ids) != 2 || !strings.Contains(listed, "2 dead letters") || !strings.Contains(listed, "webhooks[0] http://127.0.0.1") || !strings.Contains(listed, "webhooks[1] http://127.0.0.1") || !strings.Contains(listed, "10 tries") || !strings.Contains(listed, "503 Service Unavailable") ||
		!strings.Contains(listed, "input i1") || !strings.Contains(listed, "disabled: 410 Gone") {
		t.Fatalf("it lists\n%s", listed)
	}
	if out := parley(exitFailed, "retry", ids[0], "msg_unknown"); !strings.Contains(out, "msg_unknown") {
		t.Errorf("an unknown letter: %s", out)
	}
	if out := parley(exitDone, "retry", ids[0]); !strings.Contains(out, "1 message will be tried again") {
		t.Errorf("one letter: %s", out)
	}
	if out := parley(exitDone, "list"); !strings.Contains(out, "1 dead letter, 1 message on the way") || strings.Contains(out, ids[0]) {
		t.Errorf("after one was handed on:\n%s", out)
	}
	// One dead letter, and the two that wait at the webhook that was disabled.
	if out := parley(exitDone, "retry", "all"); !strings.Contains(out, "3 messages will be tried again") {
		t.Errorf("all: %s", out)
	}
	if out := parley(exitDone, "retry", "all"); !strings.Contains(out, "0 messages will be tried again") {
		t.Errorf("all, a second time: %s", out)
	}
	if out := parley(exitDone); strings.Contains(out, "disabled") || strings.Contains(out, "msg_") {
		t.Errorf("after all were handed on:\n%s", out)
	}
	held, err := bolt.Open(file, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if out := parley(exitFailed); !strings.Contains(out, "a running Parley holds the file") {
		t.Errorf("while it is held: %s", out)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
}
