package program

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"parley/core/tool/js"
	"parley/store/bolt"
)

func TestMain(m *testing.M) {
	if js.IsChild() { // the program under test is this binary, and so is its child
		js.Main()
	}
	if notes := os.Getenv(mcpNotes); notes != "" { // and so are the MCP servers of its tests
		os.Exit(serveMCP(notes))
	}
	testscript.Main(cleaned{m}, map[string]func(){"parley": func() { Main() }})
}

// cleaned removes the program that was built for the tests.
type cleaned struct{ m *testing.M }

func (c cleaned) Run() int {
	code := c.m.Run()
	if builtDir != "" {
		_ = os.RemoveAll(builtDir)
	}
	return code
}

// TestScripts runs whole conversations with the real program. Each script is one.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
	})
}

// runIn runs the program in this process.
func runIn(args []string, stdin string, env ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, strings.NewReader(stdin), &out, &errs, envOf(env...))
	return code, out.String(), errs.String()
}

func TestExitCodesAndErrors(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		args   []string
		code   int
		stderr []string
	}{
		{"help", []string{"--help"}, exitDone, nil},
		{"nothing", nil, exitDone, nil},
		{"an unknown command", []string{"dance"}, exitUsage, []string{`unknown command "dance"`, "hint: see parley --help"}},
		{"an unknown flag", []string{"demo", "--fast"}, exitUsage, []string{"unknown flag: --fast", "hint: see parley demo --help"}},
		{"too many arguments", []string{"version", "x"}, exitUsage, []string{"hint: see parley version --help"}},
		{"no configuration", []string{"serve"}, exitUsage, []string{"no configuration was given", "hint: name one with --config FILE"}},
		{"a configuration that is not there", []string{"serve", "--config", "/nowhere/c.json"}, exitUsage, []string{"/nowhere/c.json", "hint: "}},
		{"a log level", []string{"demo", "--log-level", "loud", "--store", "/nowhere/x.db"}, exitUsage, []string{`there is no log level "loud"`}},
		{"a log format", []string{"demo", "--log-format", "xml", "--store", "/nowhere/x.db"}, exitUsage, []string{`there is no log format "xml"`}},
		{"a folder that is not there", []string{"demo", "--store", "/nowhere/x.db"}, exitFailed, []string{"open /nowhere/x.db"}},
		{"no name for the store", []string{"demo", "--store", ""}, exitUsage, []string{"--store names no file", "hint: name one"}},
		{"a store that is not there", []string{"store", "compact", "/nowhere/x.db"}, exitFailed, []string{"compact /nowhere/x.db: no such file or directory: check the path"}},
		{"no home", []string{"demo"}, exitFailed, []string{"neither XDG_STATE_HOME nor HOME", "hint: name one with --store FILE"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := runIn(c.args, "")
			if code != c.code {
				t.Errorf("exit code %d, want %d: %s", code, c.code, stderr)
			}
			for _, want := range c.stderr {
				if !strings.Contains(stderr, want) {
					t.Errorf("errors %q, want %q", stderr, want)
				}
			}
			if strings.Contains(stderr, "Usage:") {
				t.Errorf("the usage was dumped: %s", stderr)
			}
		})
	}
}

// The check of a damaged file does not send its reader to the check, and that of a whole one prints one line.
func TestStoreCheckPrints(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.db")
	s, err := bolt.Open(file, bolt.Options{})
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := runIn([]string{"store", "check", file}, ""); code != exitDone || strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, "ok: ") {
		t.Errorf("code %d: %q", code, out)
	}
	if err := os.Truncate(file, 9000); err != nil {
		t.Fatal(err)
	}
	code, _, errs := runIn([]string{"store", "check", file}, "")
	if code != exitFailed || strings.Contains(errs, "store check on") || strings.Contains(errs, ": damaged") || !strings.Contains(errs, "hint: ") {
		t.Errorf("code %d: %q", code, errs)
	}
}

func TestSchemaAndVersionArePrinted(t *testing.T) {
	t.Parallel()
	code, out, _ := runIn([]string{"config", "schema"}, "")
	if code != exitDone || out != string(configSchema) {
		t.Errorf("code %d, %d bytes", code, len(out))
	}
	code, out, _ = runIn([]string{"version"}, "")
	if code != exitDone || !strings.HasPrefix(out, "parley ") || strings.Count(out, "\n") != 1 {
		t.Errorf("code %d: %q", code, out)
	}
}

func TestDemoStorePlace(t *testing.T) {
	t.Parallel()
	home, state := t.TempDir(), t.TempDir()
	for _, c := range []struct {
		env  []string
		want string
	}{
		{[]string{"HOME", home}, home + "/.local/state/parley/demo.db"},
		{[]string{"HOME", home, "XDG_STATE_HOME", state}, state + "/parley/demo.db"},
		{[]string{"HOME", home, "XDG_STATE_HOME", "relative"}, home + "/.local/state/parley/demo.db"},
	} {
		p := &program{env: envOf(c.env...)}
		got, err := p.demoStore("")
		if err != nil || got != c.want {
			t.Errorf("%v: %q, %v, want %q", c.env, got, err, c.want)
		}
	}
	info, err := os.Stat(home + "/.local/state/parley")
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of the file: %v, %v", info, err)
	}
}
