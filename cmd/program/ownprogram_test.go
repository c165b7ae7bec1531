package program

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parley/core/tool"
	"parley/core/tool/gotool"
)

var (
	goBlock  = regexp.MustCompile("(?s)```go\n(package main.*?)```")
	goModule = regexp.MustCompile(`(?m)^module .*$`)
)

// TestProgramOfTheREADME builds the README's program as a module of its own and has it do its work: the tool
// in Go is offered to an agent of a configuration file, asks, and runs once over a kill.
func TestProgramOfTheREADME(t *testing.T) {
	t.Parallel()
	repo, err := filepath.Abs("../..")
	must(t, err)
	readme, err := os.ReadFile(filepath.Join(repo, "README.md"))
	must(t, err)
	blocks := goBlock.FindAllSubmatch(readme, -1)
	if len(blocks) != 1 {
		t.Fatalf("the README shows %d programs, want 1", len(blocks))
	}
	code := string(blocks[0][1])
	if n := strings.Count(code, "\n"); n >= 30 {
		t.Errorf("the README's program has %d lines, want under 30", n)
	}
	dir := t.TempDir()
	// The requirements of this module, so that nothing is looked up.
	mod, err := os.ReadFile(filepath.Join(repo, "go.mod"))
	must(t, err)
	mod = append(goModule.ReplaceAll(mod, []byte("module ops")), "\nrequire parley v0.0.0\nreplace parley => "+repo+"\n"...)
	sum, err := os.ReadFile(filepath.Join(repo, "go.sum"))
	must(t, err)
	script := `{"rules": [{"when": "^delete (\\S+)", "calls": [{"name": "disk__remove", "arguments": {"path": "{{match 1}}"}}], "then": [{"say": "{{result}}"}]}], "else": {"say": "What?"}}`
	config, err := json.Marshal(map[string]any{
		"models": map[string]any{"main": map[string]any{"provider": "scripted", "script": script}},
		"agents": map[string]any{"ops": map[string]any{"model": "main"}},
	})
	must(t, err)
	for name, data := range map[string][]byte{
		"main.go": []byte(code), "go.mod": mod, "go.sum": sum, "config.json": config, "old.log": []byte("x"),
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	build := exec.Command("go", "build", "-o", "ops", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the README's program: %v\n%s", err, out)
	}
	victim := filepath.Join(dir, "old.log")
	chat := []string{"chat", "--config", filepath.Join(dir, "config.json"), "--agent", "ops", "--as", "local:ana"}
	p := startProgram(t, filepath.Join(dir, "ops"), chat...)
	p.say("delete " + victim)
	p.until("ask:", "Run disk__remove?")
	p.kill()
	if _, err := os.Stat(victim); err != nil {
		t.Fatalf("before the answer: %v", err)
	}
	p = startProgram(t, filepath.Join(dir, "ops"), chat...)
	p.until("ask:", "Run disk__remove?")
	p.say("yes")
	p.until("say:", "deleted "+victim+", approved by local:ana")
	if _, err := os.Stat(victim); !os.IsNotExist(err) {
		t.Errorf("the approved call did not run: %v", err)
	}
}

// What a program brings must fit the configuration it is started with.
func TestToolsOfAProgramThatDoNotFit(t *testing.T) {
	t.Parallel()
	source := func(name string) tool.Tool {
		return gotool.New(name, "remove", "Delete", func(*tool.Context, struct{}) (string, error) { return "", nil })
	}
	for _, c := range []struct {
		name   string
		option Option
		code   int
		want   string
	}{
		{"fits", Tools("ops", source("disk")), exitDone, ""},
		{"no such agent", Tools("dev", source("disk")), exitUsage, `tools for the agent "dev", which is not in `},
		{"passes for a configured source", Tools("ops", source("files")), exitUsage, "a source named files too"},
		{"the same name twice", Tools("ops", source("disk"), source("disk")), exitUsage, "there is one of that name already"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "config.json")
			must(t, os.WriteFile(file, []byte(`{"models": {"main": {"provider": "scripted", "script": "{\"rules\": [], \"else\": {\"say\": \"?\"}}"}},
				"agents": {"ops": {"model": "main", "openapi": [{"name": "files", "spec": "s.json"}]}}}`), 0o600))
			must(t, os.WriteFile(filepath.Join(filepath.Dir(file), "s.json"), []byte(`{"openapi": "3.1.0", "info": {"title": "s", "version": "1"}, "servers": [{"url": "https://example.com"}], "paths": {"/x": {"get": {"operationId": "x", "responses": {"200": {"description": "ok"}}}}}}`), 0o600))
			var out, errs bytes.Buffer
			args := []string{"chat", "--config", file, "--agent", "ops", "--as", "local:ana"}
			code := run(args, strings.NewReader(""), &out, &errs, envOf(), c.option)
			if code != c.code || !strings.Contains(errs.String(), c.want) {
				t.Errorf("exit code %d, want %d; errors %q, want %q", code, c.code, errs.String(), c.want)
			}
		})
	}
}
