package program

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/core/tool"
)

func TestPartsEndTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		a := &app{log: slog.New(slog.DiscardHandler)}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		waited := false
		err := a.together(ctx, stop, map[string]func(context.Context) error{
			"fails": func(context.Context) error { return boom },
			"waits": func(ctx context.Context) error { <-ctx.Done(); waited = true; return nil },
		})
		if !errors.Is(err, boom) || !waited {
			t.Errorf("error %v, the other part ended: %v", err, waited)
		}
	})
}

// TestStoppingIsBounded: a part that does not end is left behind after ten seconds.
func TestStoppingIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		a := &app{log: slog.New(slog.NewTextHandler(&log, nil))}
		ctx, stop := context.WithCancel(t.Context())
		hang := make(chan struct{})
		time.AfterFunc(time.Second, stop) // the signal
		began := time.Now()
		err := a.together(ctx, stop, map[string]func(context.Context) error{
			"hangs": func(context.Context) error { <-hang; return nil },
			"waits": func(ctx context.Context) error { <-ctx.Done(); return nil },
		})
		if took := time.Since(began); err != nil || took != time.Second+stopBound {
			t.Errorf("took %v with %v", took, err)
		}
		if !strings.Contains(log.String(), "goes on at the next start") {
			t.Errorf("log: %s", &log)
		}
		close(hang)
	})
}

func TestEffectsAreWrittenOnceAndWhole(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "p.db")
	e := &effects{path: store + ".effects", now: time.Now}
	for range 3 {
		must(t, e.record("db__drop", dropArguments{Name: "staging"}, "k"))
	}
	lines := effectLines(t, store)
	if len(lines) != 3 || lines[0].Key != "k" || lines[0].At.Location() != time.UTC {
		t.Errorf("%+v", lines)
	}
	e.path = filepath.Join(t.TempDir(), "nowhere", "x")
	if err := e.record("t", nil, "k"); !errors.Is(err, tool.ErrNotStarted) {
		t.Errorf("a file that cannot be opened: %v, want ErrNotStarted", err)
	}
	e.path = "/dev/full"
	if err := e.record("t", nil, "k"); !errors.Is(err, tool.ErrUnknownOutcome) {
		t.Errorf("a disk that is full: %v, want ErrUnknownOutcome", err)
	}
	// A pipe has nothing to sync, which is no failure.
	e.path = filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(e.path, 0o600))
	pipe, err := os.OpenFile(e.path, os.O_RDWR, 0)
	must(t, err)
	defer pipe.Close()
	must(t, e.record("t", nil, "k"))
}

// TestTheLogHoldsNoMessages runs a conversation with the log at info: none of its words is in it.
func TestTheLogHoldsNoMessages(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "p.db")
	code, out, log := runIn([]string{"demo", "--store", store, "--log-level", "info", "--log-format", "json"},
		"the word is swordfish\ndelete the swordfish database\nyes swordfish\nyes\ninvite a teammate\nswordfish@example.com\nviewer\n1\nyes\n")
	if code != exitDone || !strings.Contains(out, "swordfish") {
		t.Fatalf("code %d: %s", code, out)
	}
	if strings.Contains(log, "swordfish") {
		t.Errorf("the log holds what was said:\n%s", log)
	}
}

func TestModelsAreBuilt(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	for _, good := range []ModelConfig{
		{Provider: "scripted"},
		{Provider: "scripted", Script: `{"else": {"say": "hello"}}`},
		{Provider: "openai", Model: "m", APIKey: "k"},
		{Provider: "openai", Model: "m", BaseURL: "http://127.0.0.1:1/v1"},
		{Provider: "gemini", Model: "m", APIKey: "k"},
		{Provider: "anthropic", Model: "m", APIKey: "k"},
	} {
		if m, err := buildModel("x", good, log); err != nil || m == nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for _, bad := range []ModelConfig{
		{Provider: "acme", Model: "m"}, {Provider: "scripted", Script: "{"}, {Provider: "openai", Model: "m", APIKey: "sk secret"},
	} {
		if _, err := buildModel("x", bad, log); err == nil || strings.Contains(err.Error(), "sk secret") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestIdsAreDistinctAndPlain(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		id := newID()
		if len(id) != 16 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") != "" || seen[id] {
			t.Fatalf("id %q", id)
		}
		seen[id] = true
	}
}

func TestAgentsAreBuilt(t *testing.T) {
	t.Parallel()
	cfg, problems := load(t, with(t, map[string]string{"agents.ops": `{"model":"main","builtins":["ask_user","demo"],"ask":true,"redact":["ssn"],
		"maxSteps":3,"maxInputs":2,"locale":"en","intake":{"when":"every-turn","questions":[{"prompt":"Which?","options":[{"label":"A"},{"label":"B","value":"b"}],"defaults":["B"]}]}}`}))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	shop, err := newWorkshop(cfg, slog.New(slog.DiscardHandler), time.Now)
	must(t, err)
	agents, _, err := shop.fileAgents()
	must(t, err)
	a := agents[core.AgentID("ops")]
	if a.Name != "ops" || !a.AskUser || !a.Ask || a.MaxSteps != 3 || a.MaxInputs != 2 || a.Lang != "en" || len(a.Redact) != 1 || a.Model == nil {
		t.Errorf("%+v", a)
	}
	if len(a.Tools.List()) != 3 {
		t.Errorf("%d tools, want the demo's three", len(a.Tools.List()))
	}
	q := a.Intake.Questions[0]
	if !a.Intake.EveryTurn || q.ID != "q1" || q.Options[0].Value != "A" || q.Defaults[0] != "b" {
		t.Errorf("%+v", a.Intake)
	}
}
