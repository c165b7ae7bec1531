package program

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// site is parley serve with the REST API alone, killed and started at will.
type site struct {
	t              *testing.T
	config, store  string
	address, token string
	serve          *proc
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, address: freeAddress(t), token: "a-token-of-the-test"}
	dir := t.TempDir()
	s.config, s.store = filepath.Join(dir, "c.json"), filepath.Join(dir, "p.db")
	must(t, os.WriteFile(s.config, fmt.Appendf(nil, `{"store": {"path": "p.db"}, "models": {"m": {"provider": "scripted"}}, "agents": {"ops": {"model": "m", "builtins": ["demo"], "ask": true}},
		"api": {"listen": %q, "tokens": [{"name": "t", "token": %q, "agents": ["ops"], "speaksFor": ["local:alice"]}]}}`, s.address, s.token), 0o600))
	s.start()
	return s
}

// start runs the program until it answers.
func (s *site) start() {
	s.t.Helper()
	s.serve = start(s.t, "serve", "--config", s.config)
	s.ready()
}

// ready waits until the program answers.
func (s *site) ready() {
	s.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		resp, err := http.Get("http://" + s.address + "/readyz")
		if err == nil {
			must(s.t, resp.Body.Close())
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-tick.C:
		case <-late.C:
			s.t.Fatalf("it does not come up\n%s", s.serve.story())
		}
	}
}

// do asks the API as a client of the program does.
func (s *site) do(method, path string, body, out any) {
	s.t.Helper()
	r, err := newRemote(deskFlags{server: "http://" + s.address, token: s.token})
	must(s.t, err)
	must(s.t, r.do(s.t.Context(), method, path, body, out))
}

type siteRun struct {
	ID, Status, Text string
	Inputs           []waiting
}

// begin asks for a deletion and returns the run once it waits.
func (s *site) begin() (r siteRun) {
	s.t.Helper()
	s.do("POST", "/v1/agents/ops/runs", map[string]string{"text": deleteIt}, &r)
	s.do("GET", "/v1/runs/"+r.ID+"?wait=30", nil, &r)
	if r.Status != "input_required" || len(r.Inputs) != 1 {
		s.t.Fatalf("run %+v", r)
	}
	return r
}

// desk runs a command and returns what it says.
func (s *site) desk(wantCode int, args ...string) string {
	s.t.Helper()
	code, out, errs := runIn(args, "", "PARLEY_TOKEN", s.token)
	if code != wantCode {
		s.t.Fatalf("%q: exit code %d\n%s%s", args, code, out, errs)
	}
	if strings.Contains(out+errs, s.token) {
		s.t.Errorf("%q shows the token", args)
	}
	return out + errs
}

// TestAnswerInTheFileWhereNoServerRuns: asked by REST, killed, answered in the file, gone on with at the next start.
func TestAnswerInTheFileWhereNoServerRuns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.begin()
	id := r.Inputs[0].ID
	file := []string{"--config", s.config, "--as", "local:alice"}
	if out := s.desk(exitFailed, append([]string{"inbox"}, file...)...); !strings.Contains(out, "--server") {
		t.Errorf("a held file: %s", out)
	}
	s.serve.kill()
	if out := s.desk(exitDone, append([]string{"inbox"}, file...)...); !strings.Contains(out, id) || !strings.Contains(out, `call db__drop {"name":"staging"}`) {
		t.Errorf("inbox: %s", out)
	}
	stranger := []string{"--config", s.config, "--as", "local:mallory"}
	s.desk(exitFailed, append([]string{"answer", id, "yes"}, stranger...)...)
	if out := s.desk(exitDone, append([]string{"inbox"}, stranger...)...); strings.Contains(out, id) {
		t.Errorf("a stranger's inbox: %s", out)
	}
	s.desk(exitUsage, append([]string{"answer", id, "maybe"}, file...)...)
	s.desk(exitUsage, append([]string{"answer", id}, file...)...)
	s.desk(exitUsage, append([]string{"answer", id, "yes", "--decline"}, file...)...)
	if out := s.desk(exitDone, append([]string{"answer", id, "yes"}, file...)...); !strings.Contains(out, "accepted by local:alice. The turn goes on when Parley runs.") {
		t.Errorf("answer: %s", out)
	}
	wantDrops(t, s.store, 0, "")
	s.start()
	s.do("GET", "/v1/runs/"+r.ID+"?wait=30", nil, &r)
	if r.Status != "completed" {
		t.Errorf("run %+v", r)
	}
	wantDrops(t, s.store, 1, s.serve.story())
	if code := s.serve.end(syscall.SIGTERM); code != exitDone {
		t.Errorf("exit code %d\n%s", code, s.serve.story())
	}
}

// TestAnswerByServer: inbox and answer over HTTP; what is refused is said in words.
func TestAnswerByServer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.begin()
	id := r.Inputs[0].ID
	at := []string{"--server", "http://" + s.address}
	if out := s.desk(exitDone, append([]string{"inbox", "--agent", "ops"}, at...)...); !strings.Contains(out, id) {
		t.Errorf("inbox: %s", out)
	}
	if out := s.desk(exitFailed, append([]string{"answer", "i0", "yes"}, at...)...); !strings.Contains(out, "there is no such input") {
		t.Errorf("unknown: %s", out)
	}
	if out := s.desk(exitFailed, append([]string{"answer", id, "yes", "--as", "local:bob"}, at...)...); !strings.Contains(out, "may not speak for local:bob") {
		t.Errorf("another person: %s", out)
	}
	if out := s.desk(exitFailed, append([]string{"inbox", "--token", "wrong"}, at...)...); !strings.Contains(out, "use a token of api.tokens") {
		t.Errorf("a wrong token: %s", out)
	}
	if out := s.desk(exitDone, append([]string{"answer", id, "--decline", "--reason", "not today"}, at...)...); !strings.Contains(out, "declined by local:alice. The turn goes on.") {
		t.Errorf("answer: %s", out)
	}
	if out := s.desk(exitFailed, append([]string{"answer", id, "yes"}, at...)...); !strings.Contains(out, "already declined by local:alice") {
		t.Errorf("again: %s", out)
	}
	if out := s.desk(exitDone, append([]string{"inbox"}, at...)...); !strings.Contains(out, "Nothing waits.") {
		t.Errorf("inbox: %s", out)
	}
	s.desk(exitUsage, "inbox")
	s.desk(exitUsage, "inbox", "--server", "nowhere")
	s.desk(exitUsage, "answer", id, "yes", "--config", s.config, "--as", "slack:U1")
	wantDrops(t, s.store, 0, s.serve.story())
}

// TestValues reads what was typed by the kind of the input.
func TestValues(t *testing.T) {
	t.Parallel()
	form := waiting{Kind: "form", Schema: []byte(`{}`)}
	for _, tt := range []struct {
		in   waiting
		s    string
		want string
	}{
		{waiting{Kind: "approval"}, " YES ", "true"}, {waiting{Kind: "approval"}, "no", "false"}, {waiting{Kind: "approval"}, "y", ""}, {waiting{Kind: "url"}, "yes", "true"},
		{waiting{Kind: "form"}, "no", "false"}, {form, `{"a":1}`, `{"a":1}`}, {form, "yes", ""}, {form, `{"a"`, ""},
		{waiting{Kind: "question"}, "Monday", `"Monday"`}, {waiting{Kind: "question"}, "2", `"2"`}, {waiting{Kind: "question"}, `["a"]`, `["a"]`}, {waiting{Kind: "question"}, `yes`, `"yes"`},
	} {
		got, err := value(tt.in, tt.s)
		if string(got) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s %q: %s, %v", tt.in.Kind, tt.s, got, err)
		}
	}
}
