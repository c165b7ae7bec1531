package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// rebuilt is the program of another release: the same code built anew, with another version in it.
func rebuilt(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "parley")
	out, err := exec.Command("go", "build", "-ldflags", "-X parley/cmd/program.version=99.0.0", "-o", path, "../parley").CombinedOutput()
	if err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	if out, err = exec.Command(path, "version").Output(); err != nil || !strings.Contains(string(out), "99.0.0") {
		t.Fatalf("%s, %v", out, err)
	}
	return path
}

// TestDU21AnotherBuildGoesOn: asked by one process, killed; a new build starts on the same file, gets the answer by
// REST, and the call runs once. A file of a layout that a build does not know is refused clearly and left alone.
func TestDU21AnotherBuildGoesOn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.begin()
	other := s.begin() // supersedes the first
	if other.ID == r.ID {
		t.Fatal("one run for two messages")
	}
	s.serve.kill()

	next := rebuilt(t)
	s.serve = startProgram(t, next, "serve", "--config", s.config)
	s.ready()
	s.do("GET", "/v1/runs/"+r.ID, nil, &r)
	if r.Status != "superseded" {
		t.Errorf("the first is %s", r.Status)
	}
	var out struct {
		Input   struct{ State string }
		Request *siteRun
	}
	s.do("POST", "/v1/agents/ops/inputs/"+other.Inputs[0].ID, map[string]any{"action": "accept"}, &out)
	if out.Input.State != "accepted" || out.Request == nil || out.Request.ID != other.ID {
		t.Errorf("%+v", out)
	}
	s.do("GET", "/v1/runs/"+other.ID+"?wait=30", nil, &other)
	if other.Status != "completed" || !strings.Contains(other.Text, "Done") {
		t.Errorf("run %+v", other)
	}
	wantDrops(t, s.store, 1, s.serve.story())
	s.serve.kill()

	// A newer layout than this build knows.
	db, err := bbolt.Open(s.store, 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte("version"), []byte("1000")) }))
	must(t, db.Close())
	before, err := os.ReadFile(s.store)
	must(t, err)
	code, _, errs := runIn([]string{"serve", "--config", s.config}, "")
	if code != exitFailed || !strings.Contains(errs, "p.db") || !strings.Contains(errs, "a newer Parley wrote it") || !strings.Contains(errs, "start the newer program") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	after, err := os.ReadFile(s.store)
	must(t, err)
	if string(before) != string(after) {
		t.Error("the file was changed")
	}
}
