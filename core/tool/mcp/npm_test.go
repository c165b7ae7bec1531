package mcp

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core"
	"parley/core/tool"
)

// npmServer is a public server, fetched and run by npx. Only on request: it needs the network.
func npmServer(t *testing.T, approval tool.Approval, pack string, args ...string) *Source {
	t.Helper()
	if os.Getenv("PARLEY_NPM_MCP") != "1" {
		t.Skip("set PARLEY_NPM_MCP=1 to run against servers from npm; it needs npx and the network")
	}
	return start(t, Config{
		Name: "npm", Command: append([]string{npx(t), "-y", "@modelcontextprotocol/" + pack}, args...), Env: npmEnv(), Inherit: os.Environ(),
		Approval: approval, Connect: 3 * time.Minute, Log: testLog(t),
	})
}

func npx(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("npx")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// npmEnv is how npm reaches its registry from here.
func npmEnv() map[string]string {
	env := map[string]string{}
	for _, line := range os.Environ() {
		name, value, _ := strings.Cut(line, "=")
		if plain := strings.ToLower(name); strings.HasPrefix(plain, "npm_config_") || strings.HasSuffix(plain, "_proxy") || strings.HasPrefix(plain, "node_extra_") {
			env[name] = value
		}
	}
	return env
}

func readyFor(t *testing.T, s *Source) {
	t.Helper()
	until(t, s, "it runs", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.running })
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, spec := range s.List() {
		t.Logf("%s: %s, approval %v", spec.FullName(), spec.Type, tool.Decide(spec.Policy, nil).Need)
	}
}

func needs(s *Source, name string) bool {
	i := slices.IndexFunc(s.List(), func(x tool.Spec) bool { return x.Name == name })
	return i >= 0 && tool.Decide(s.List()[i].Policy, json.RawMessage(`{}`)).Need
}

func TestServerFilesystem(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := npmServer(t, tool.Approval{Tools: map[string]string{"create_directory": tool.Always}}, "server-filesystem", dir)
	readyFor(t, s)
	file := filepath.Join(dir, "note.txt")
	args, err := json.Marshal(map[string]string{"path": file, "content": "hello"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := attempt(t, s, "npm__write_file", string(args)); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "hello" {
		t.Errorf("the file holds %q, %v", b, err)
	}
	if out, err := attempt(t, s, "npm__read_text_file", `{"path":"`+file+`"}`); err != nil || !strings.Contains(out, "hello") {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := attempt(t, s, "npm__read_text_file", `{"path":"/etc/passwd"}`); err == nil {
		t.Errorf("outside its folder: %q", out)
	}
	if !needs(s, "write_file") || needs(s, "read_text_file") || !needs(s, "create_directory") {
		t.Error("the policy is not that of the annotations and the rule")
	}
}

func TestServerMemory(t *testing.T) {
	t.Parallel()
	s := npmServer(t, tool.Approval{}, "server-memory")
	readyFor(t, s)
	if _, err := attempt(t, s, "npm__create_entities", `{"entities":[{"name":"Parley","entityType":"bot","observations":["asks"]}]}`); err != nil {
		t.Error(err)
	}
	if out, err := attempt(t, s, "npm__read_graph", `{}`); err != nil || !strings.Contains(out, "Parley") {
		t.Errorf("%q, %v", out, err)
	}
}

func TestServerEverything(t *testing.T) {
	t.Parallel()
	s := npmServer(t, tool.Approval{}, "server-everything", "stdio")
	readyFor(t, s)
	if out, err := attempt(t, s, "npm__echo", `{"message":"hello"}`); err != nil || !strings.Contains(out, "hello") {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := attempt(t, s, "npm__get-tiny-image", `{}`); err != nil || !strings.Contains(out, "[image image/png") {
		t.Errorf("%q, %v", out, err)
	}
	const ask = "npm__trigger-elicitation-request"
	var seen tool.Asked
	out, err := waiting(t, s, ask, func(a tool.Asked) (tool.Answered, error) {
		seen = a
		form, err := core.ParseForm(a.Schema)
		if err != nil {
			t.Errorf("its form: %v", err)
		}
		fields := map[string]json.RawMessage{}
		for _, f := range form.Fields {
			t.Logf("field %s %s %v required %v default %s", f.Name, f.Type, f.Enum, f.Required, f.Default)
			if f.Name == "name" {
				fields[f.Name] = json.RawMessage(`"Ana"`)
			}
		}
		return tool.Answered{Answer: core.Answer{Action: core.ActionAccept, Fields: fields}}, nil
	})
	t.Logf("asked %q\nand said %q, %v", seen.Message, out, err)
	if err != nil || !strings.Contains(out, "Ana") {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := waiting(t, s, ask, func(tool.Asked) (tool.Answered, error) { return tool.Answered{}, tool.ErrUnanswered }); err == nil || strings.Contains(err.Error(), "declined") {
		t.Errorf("%q, %v", out, err)
	} else {
		t.Logf("unanswered: %v", err)
	}
}
