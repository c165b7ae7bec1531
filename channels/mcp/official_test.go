package mcp_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/core"
)

// official are the pinned versions of what npm serves.
var official = []string{
	"@modelcontextprotocol/sdk@1.32.2", "@modelcontextprotocol/client@2.4.0", "@modelcontextprotocol/inspector@2.12.0", "node@22",
}

// npmIn installs packages into a folder that goes with the test.
func npmIn(t *testing.T, packages ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	cmd := exec.CommandContext(t.Context(), "npm", append([]string{"install", "--prefix", dir, "--no-audit", "--no-fund", "--loglevel=error"}, packages...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, out)
	}
	return dir
}

// run runs a program that npm installed, and returns its output.
func run(t *testing.T, dir string, in []byte, name string, args ...string) (string, error) {
	t.Helper()
	bin := filepath.Join(dir, "node_modules", ".bin")
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, name), args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(in)
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+dir)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil || errs.Len() > 0 {
		t.Logf("%s %s: %v\n%s", name, strings.Join(args, " "), err, errs.Bytes())
	}
	return out.String(), err
}

type playCall struct {
	Text    string `json:"text"`
	Answers []any  `json:"answers"`
}

type play struct {
	name, token string
	asks        bool
	manual      bool
	calls       []playCall
	// states are those of the inputs in the end, asked how often the client was, says what the last result holds.
	states []core.InputState
	asked  int
	says   string
	ran    int
}

type answer struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitempty"`
}

func one(text string, answers ...any) []playCall {
	return []playCall{{text, append([]any{}, answers...)}}
}

func accept(name string, v any) answer { return answer{"accept", map[string]any{name: v}} }

var (
	decline = answer{Action: "decline"}
	cancel  = answer{Action: "cancel"}
)

func plays(modern bool) []play {
	accepted, declined, cancelled, pending := core.InputAccepted, core.InputDeclined, core.InputCancelled, core.InputPending
	type states = []core.InputState
	all := []play{
		{"a message", "bound", true, false, one("hello"), nil, 0, "you said hello", 0},
		{"approved", "bound", true, false, one("db__drop", accept("approve", true)), states{accepted}, 1, "dropped staging", 1},
		{"not approved", "bound", true, false, one("db__drop", accept("approve", false)), states{declined}, 1, "", 0},
		{"approval declined", "bound", true, false, one("db__drop", decline), states{declined}, 1, "", 0},
		{"approval cancelled", "bound", true, false, one("db__drop", cancel), states{cancelled}, 1, "cancelled", 0},
		{"approval of a token that may not", "asks", true, false, one("db__drop", accept("approve", true)), states{pending}, 0, "an approval for db__drop", 0},
		{"a client that cannot ask", "bound", false, false, one("db__drop"), states{pending}, 0, "an approval for db__drop", 0},
		{"a client that fails", "bound", true, false, one("site__form", "fail"), states{pending}, 1, "", 0},
		{"form", "bound", true, false, one("site__form", accept("size", 3)), states{accepted}, 1, "form map[size:3]", 0},
		{"form that fits the second time", "bound", true, false, one("site__form", accept("size", 30), accept("size", 3)), states{accepted}, 2, "form map[size:3]", 0},
		{"form that never fits", "bound", true, false, one("site__form", accept("size", 30), accept("size", "x"), answer{"accept", map[string]any{}}), states{pending}, 3, "a form for site__form", 0},
		{"a token for nobody", "mute", true, false, one("site__form", accept("size", 3)), nil, 0, "speaks for nobody", 0},
		{"form declined, then cancelled", "asks", true, false, []playCall{{"site__form", []any{decline}}, {"site__form", []any{cancel}}}, states{declined, cancelled}, 2, "cancelled", 0},
		{"cancelled for nobody", "loose", true, false, one("site__form", cancel), states{pending}, 1, "a form for site__form", 0},
		{"confirmation", "bound", true, false, one("site__confirm", accept("confirm", true)), states{accepted}, 1, "confirmed true", 0},
		{"step", "bound", true, false, one("site__login", answer{Action: "accept"}, accept("done", true)), states{accepted}, 2, "signed in", 0},
		{"questions", "loose", true, false, one("ask_user", answer{"accept", map[string]any{"q1": "Blue", "q2": []string{"A", "B"}}}), states{accepted}, 1, "Blue", 0},
		{"a batch", "bound", true, false, one("db__drop site__form", accept("approve", true), accept("size", 2)), states{accepted, accepted}, 2, "dropped staging", 1},
	}
	if modern {
		all = append(all, play{"rounds by hand", "bound", true, true, one("db__drop", accept("approve", true)), states{accepted}, 1, "dropped staging", 1})
	}
	return all
}

type played struct {
	Failed   string   `json:"failed"`
	Protocol string   `json:"protocol"`
	Server   string   `json:"server"`
	Tools    []string `json:"tools"`
	Asked    []struct {
		Message string `json:"message"`
	} `json:"asked"`
	Results []struct {
		Failed  string `json:"failed"`
		IsError bool   `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"results"`
}

func TestOfficial(t *testing.T) {
	t.Parallel()
	if os.Getenv("PARLEY_NPM_MCP") != "1" {
		t.Skip("set PARLEY_NPM_MCP=1 to run the official clients from npm; they need npm and the network")
	}
	dir := npmIn(t, official...)
	t.Run("clients", func(t *testing.T) { officialClients(t, dir) })
	t.Run("inspector", func(t *testing.T) { inspector(t, dir) })
}

// officialClients plays every way to answer with the official TypeScript clients of both generations.
func officialClients(t *testing.T, dir string) {
	script, err := os.ReadFile(filepath.Join("testdata", "npm", "client.mjs"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "client.mjs"), script, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ library, era, protocol string }{
		{"sdk", "legacy", "2025-11-25"}, {"client", "legacy", "2025-11-25"}, {"client", "auto", now},
	} {
		t.Run(c.library+" "+c.era, func(t *testing.T) {
			var input []map[string]any
			var worlds []*world
			all := plays(c.protocol == now)
			for _, p := range all {
				w := newWorld(t)
				worlds = append(worlds, w)
				input = append(input, map[string]any{"url": w.url + "/v1/agents/ops/mcp", "token": p.token, "asks": p.asks, "manual": p.manual, "calls": p.calls})
			}
			raw, err := json.Marshal(input)
			if err != nil {
				t.Fatal(err)
			}
			out, err := run(t, dir, raw, "node", "client.mjs", c.library, c.era)
			var got []played
			if err == nil {
				err = json.Unmarshal([]byte(out), &got)
			}
			if err != nil || len(got) != len(all) {
				t.Fatalf("%d of %d were played: %v", len(got), len(all), err)
			}
			for i, p := range all {
				t.Run(p.name, func(t *testing.T) { worlds[i].judge(t, p, got[i], c.protocol) })
			}
		})
	}
}

// judge compares what became of a case.
func (w *world) judge(t *testing.T, p play, got played, protocol string) {
	if got.Failed != "" || len(got.Results) == 0 {
		t.Fatalf("it failed: %s", got.Failed)
	}
	last := got.Results[len(got.Results)-1]
	text := last.Failed
	for _, c := range last.Content {
		text += c.Text
	}
	t.Logf("%s %s, tools %q, asked %d times, %q", got.Server, got.Protocol, got.Tools, len(got.Asked), text)
	if !p.manual && (got.Protocol != protocol || !slices.Equal(got.Tools, []string{"send_message"}) || got.Server != "parley") {
		t.Errorf("%s speaks %s, want %s, and has %q", got.Server, got.Protocol, protocol, got.Tools)
	}
	if p.manual && (len(got.Results) != 2 || !got.Results[0].IsError) {
		t.Errorf("what was tampered with is taken: %+v", got.Results)
	}
	var states []core.InputState
	for _, in := range w.inputs() {
		states = append(states, in.State)
	}
	if !slices.Equal(states, p.states) || len(got.Asked) != p.asked || len(w.effects()) != p.ran || !strings.Contains(text, p.says) {
		t.Errorf("inputs %q, want %q; asked %d times, want %d; ran %q, want %d; %q, want %q", states, p.states, len(got.Asked), p.asked, w.effects(), p.ran, text, p.says)
	}
}

// inspector runs the official inspector's command line in both generations: it lists the tool and calls it.
func inspector(t *testing.T, dir string) {
	for _, era := range []string{"legacy", "modern"} {
		for name, c := range map[string]struct {
			args []string
			want []string
		}{
			"list":  {[]string{"--method", "tools/list", "--strict"}, []string{`"send_message"`, `"inputSchema"`}},
			"send":  {[]string{"--method", "tools/call", "--tool-name", "send_message", "--tool-arg", "text=hello"}, []string{"you said hello", `"completed"`}},
			"waits": {[]string{"--method", "tools/call", "--tool-name", "send_message", "--tool-arg", "text=db__drop"}, []string{"an approval for db__drop", `"input_required"`}},
		} {
			t.Run(era+" "+name, func(t *testing.T) {
				w := newWorld(t)
				args := append([]string{"--cli", w.url + "/v1/agents/ops/mcp", "--transport", "http", "--protocol-era", era, "--header", "Authorization: Bearer bound"}, c.args...)
				out, err := run(t, dir, nil, "mcp-inspector", args...)
				t.Logf("%s", out)
				for _, want := range c.want {
					if err != nil || !strings.Contains(out, want) {
						t.Errorf("%v: want %q", err, want)
					}
				}
				if len(w.effects()) > 0 {
					t.Errorf("it ran: %q", w.effects())
				}
			})
		}
	}
}
